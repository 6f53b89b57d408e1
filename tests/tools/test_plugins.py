"""Tools of other authors: those of installed packages, and the files of a folder."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tools
from tools.__main__ import main
from tools.calling.plugins import find_plugins
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolCall, ToolContext
from tools.contract.forms import ToolSettings

DICE = '''
import secrets

async def roll_dice(sides: int = 6) -> str:
    """Roll one die.

    Args:
        sides: How many sides it has. Example: 20
    """
    return f"{1 + secrets.randbelow(sides)} of {sides}"
'''
WITH_SETTINGS = """
from pydantic import SecretStr
from parley_chat.tool import FunctionTool, Key, ToolSettings, Unavailable

class Settings(ToolSettings):
    printer_key: Key = SecretStr("")

def open_tool(settings):
    if not settings.printer_key.get_secret_value():
        raise Unavailable("it needs PRINTER_KEY")

    async def print_page(text: str) -> str:
        "Print a page."
        return settings.printer_key.get_secret_value()

    return FunctionTool(print_page, effects=True)
"""
DECLARED = """
from parley_chat.tool import tool

@tool(category="fun", cache_seconds=60.0)
async def flip_coin() -> str:
    "Flip a coin."
    return _side()

def _side() -> str:
    return "heads"
"""
BROKEN = {
    "syntax.py": ("async def f(\n", "SyntaxError"),
    "lacks.py": ("import a_library_that_nobody_has\n", "a_library_that_nobody_has"),
    "exits.py": ("import sys\nsys.exit(3)\n", "ends the program"),
    "panics.py": ("class Panic(BaseException): ...\nraise Panic\n", "threw Panic"),
    "sync.py": ("def f(a: int) -> str:\n    'F.'\n    return ''\n", "f must be written `async def`"),
    "untyped.py": ("async def f(a) -> str:\n    'F.'\n    return ''\n", "'a' has no type"),
    "empty.py": ("_x = 1\n", "it has none"),
    "two.py": ("async def f() -> str: ...\nasync def g() -> str: ...\n", "it has several: f, g"),
    "taken.py": ("async def calculator() -> str:\n    'C.'\n    return ''\n", "another tool has its name"),
    "twice.py": (DICE, "another tool has its name, 'roll_dice'"),
    "closes.py": ("def open_tool(settings):\n    raise SystemExit\n", "SystemExit"),
    "strange.py": ("def open_tool(settings):\n    return 5\n", "AttributeError"),
    "kind.py": (f"class Settings: ...\n{DICE}", "must be a ToolSettings"),
}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No file that a test imports stays."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("parley_tools_dir.", "tool_of_a_test")):
            del sys.modules[name]


def opened(folder: Path, **settings: ToolSettings) -> ToolRegistry:
    return tools.open_registry(settings, plugins=find_plugins(str(folder)))


async def test_a_file_with_one_annotated_function_is_a_tool(tmp_path: Path) -> None:
    (tmp_path / "dice.py").write_text(DICE)
    (tmp_path / "_helper.py").write_text("raise RuntimeError('this is no tool')")
    registry = opened(tmp_path)

    done = await registry.run(ToolCall("1", "roll_dice", {"sides": 1}), ToolContext())
    wrong = await registry.run(ToolCall("2", "roll_dice", {"sides": "many"}), ToolContext())
    await registry.close()

    assert (done.ok, done.text, wrong.ok) == (True, "1 of 1", False)
    assert not registry.broken


def test_of_a_bare_function_the_worst_is_assumed_and_what_is_declared_holds(tmp_path: Path) -> None:
    (tmp_path / "dice.py").write_text(DICE)
    (tmp_path / "coin.py").write_text(DECLARED)
    registry = opened(tmp_path)

    bare, declared = registry.spec("roll_dice"), registry.spec("flip_coin")

    assert bare is not None and declared is not None
    assert (bare.effects, bare.outside) == (True, True)
    assert (declared.effects, declared.outside, declared.cache_seconds) == (False, False, 60.0)


async def test_whatever_is_wrong_with_one_file_it_is_named_and_the_others_work(tmp_path: Path) -> None:
    (tmp_path / "dice.py").write_text(DICE)
    for name, (text, _) in BROKEN.items():
        (tmp_path / name).write_text(text)
    registry = opened(tmp_path)

    assert {"roll_dice", "calculator"} <= {spec.name for spec in registry.specs()}
    assert registry.broken.keys() == BROKEN.keys()
    for name, (_, why) in BROKEN.items():
        assert why in registry.broken[name] and "\n" not in registry.broken[name], name


def test_a_plug_in_has_settings_of_its_own_whose_keys_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "printer.py").write_text(WITH_SETTINGS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLS_DIR", str(folder))

    assert main(["print_page", '{"text": "hello"}']) == 2
    assert "there is no tool 'print_page'" in capsys.readouterr().err
    assert main([]) == 0
    assert "✗ printer.py: not available, it needs PRINTER_KEY" in capsys.readouterr().out
    (tmp_path / ".env").write_text("PRINTER_KEY=open-sesame-42-and-more\n")
    assert main(["print_page", '{"text": "hello"}']) == 0
    said = capsys.readouterr().out
    assert said.strip() and "sesame" not in said


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
def test_a_file_that_everybody_may_change_is_not_run(tmp_path: Path) -> None:
    folder, file = tmp_path / "mine", tmp_path / "mine" / "dice.py"
    folder.mkdir()
    file.write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n")
    for open_to_all in (file, folder):
        mode = stat.S_IMODE(open_to_all.stat().st_mode)
        open_to_all.chmod(mode | stat.S_IWOTH)
        [plugin] = find_plugins(str(folder))
        open_to_all.chmod(mode)

        assert plugin.fault == f"everybody on this machine may write to {open_to_all} (chmod o-w)"
    assert not (folder / "ran").exists()


def test_a_folder_that_is_not_there_is_named_with_the_one_that_was_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mytools").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLS_DIR", str(tmp_path / "mytool"))

    assert main([]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tools: TOOLS_DIR: there is no folder") and error.strip().endswith("mytools?")


@pytest.mark.parametrize("what", ["", ":roll_dice", ":nothing"])
async def test_a_package_brings_a_tool_by_its_entry_point(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tool_of_a_test.py").write_text(DICE)
    info = tmp_path / "tool_of_a_test-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tool-of-a-test\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[parley.tools]\ndice = tool_of_a_test{what}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = tools.open_registry({}, plugins=find_plugins(""))

    done = await registry.run(ToolCall("1", "roll_dice", {"sides": 1}), ToolContext())
    await registry.close()

    if what == ":nothing":
        [(origin, why)] = registry.broken.items()
        assert origin == "dice (package tool-of-a-test 1.2)" and "nothing" in why
    else:
        assert done.text == "1 of 1" and not registry.broken
