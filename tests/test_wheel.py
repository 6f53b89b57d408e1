"""What the build makes of our modules' names, and what a start says where a clone's short names mislead Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from parley_chat.__main__ import find_foreign
from setup import DATA, FOLDERS, NotRewritten, rewrite

ROOT = Path(__file__).parent.parent
WRITTEN = (
    ("from tools.contract.base import Tool", "from parley_chat.tools.contract.base import Tool"),
    ("from  bot import app", "from  parley_chat.bot import app"),
    ("def f():\n    from tools import (\n        shell,\n    )", None),
    ("import bot.contract.words as w, os", "import parley_chat.bot.contract.words as w, os"),
    ("é = '鏡'; from bot import app", "é = '鏡'; from parley_chat.bot import app"),
    ("T = {'calculator': 'tools.calculator'}", "T = {'calculator': 'parley_chat.tools.calculator'}"),
    ("x = r'bot.cli.main.parser'", "x = r'parley_chat.bot.cli.main.parser'"),
    ("m = importlib.import_module('adapters')", "m = importlib.import_module('parley_chat.adapters')"),
    ("c = (exe, '-m', 'playground', '--port')", "c = (exe, '-m', 'parley_chat.playground', '--port')"),
    ("'''Run `python -m tools NAME`,\nor python -m bot.'''", None),
)
UNTOUCHED = (
    *("from . import base", "from toolbox import bot", "import tavily", "x = f'{tools}.base'", "x = 'tools/call'"),
    *(
        "author = 'bot'",
        "x = 'bot.log'",
        "kind = ('bot', 'run')",
        "body['tools'] = 'tools.'",
        "x = 'not bot.app'",
    ),
    *("x = '\\ud800 tools'", "x = b'tools.contract.base'"),
)


@pytest.mark.parametrize(("source", "built"), WRITTEN)
def test_a_name_of_a_module_is_written_in_full_and_no_line_moves(source: str, built: str | None) -> None:
    if built is None:
        built = source.replace("from tools", "from parley_chat.tools").replace("-m ", "-m parley_chat.")

    assert rewrite(source.encode(), "a.py").decode() == built


@pytest.mark.parametrize("source", UNTOUCHED)
def test_what_names_no_module_stays_as_it_is(source: str) -> None:
    assert rewrite(source.encode(), "a.py").decode() == source


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import tools.contract.base", "another name"),
        ("import os, bot", "another name"),
        ("m = load(f'bot.model.{name}')", "f-string"),
        ("m = f'{a} python -m tools'", "f-string"),
        ("m = f'{load(\"tools.contract.base\")}'", "f-string"),
        ("m = 'tools' '.settings'", "in parts"),
        ("m = 'tools\\x2esettings'", "in parts"),
        ("p = root / 'tools/fetch/reader.py'", "a path"),
    ],
)
def test_the_build_fails_on_a_name_that_nobody_translates(source: str, why: str) -> None:
    with pytest.raises(NotRewritten, match=rf"^x\.py, line 2: .*{why}"):
        rewrite(f"#\n{source}".encode(), "x.py")


@pytest.mark.parametrize("name", ["bot", "tools"])
def test_a_start_from_a_clone_names_the_module_that_stands_before_its_own(name: str, tmp_path: Path) -> None:
    """A `tools.py` in the working folder: `-m` puts it first."""
    (tmp_path / f"{name}.py").write_text("raise SystemExit('somebody else was started')\n")

    told = subprocess.run(
        [sys.executable, "-S", "-m", "parley_chat", "tools"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith(f"parley: Python finds another module {name!r} ({tmp_path / name}.py) before")
    assert told.stderr.count("\n") == 1


def test_what_stands_beside_the_modules_is_in_the_wheel() -> None:
    packed = {
        path
        for package, patterns in DATA.items()
        for pattern in patterns
        for path in ROOT.joinpath(*package.split(".")).glob(pattern)
    }
    beside = {
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }

    assert len(beside) > 20 and beside <= packed


def test_a_clone_that_finds_its_own_and_a_wheel_have_nothing_to_say(tmp_path: Path) -> None:
    for folder in FOLDERS:
        (tmp_path / "parley_chat" / folder).mkdir(parents=True)

    assert find_foreign(ROOT / "parley_chat") == ""
    assert find_foreign(tmp_path / "parley_chat") == ""
    assert "'bot'" in find_foreign(tmp_path / "elsewhere")
