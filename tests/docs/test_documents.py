"""What the documents tell people to type, and what they name, exists: commands, settings, files, tests, links.

A command is held against the parser that would read it, or the help of its program. What would install something or
need a network is looked at in its form: the file, module, option, extra or test that it names must exist.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import os
import re
import shlex
import struct
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.published import summary
from bot.cli.main import parser
from bot.contract import words
from bot.settings import variables
from bot.settings.configuration import settings_classes
from tests.conftest import Nursery

ROOT = Path(__file__).parent.parent.parent
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FENCE = re.compile(r"^(`{3,}|~{3,})(\S*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")
TESTED_LINE = re.compile(r"^(?:[\w./-]+/)?test_\w+\.py::(\w+)$")


def fences(page: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks of a page: language word and text."""
    yield from ((match[2], match[3]) for match in FENCE.finditer(PAGES[page]))


def inline(page: str) -> Iterator[str]:
    """The inline code of a page, each on one line."""
    for match in INLINE.finditer(FENCE.sub("", PAGES[page])):
        yield " ".join(match[1].split())


# Commands


def commands() -> list[tuple[str, str]]:
    """Every command of every page: (page, command)."""
    found = []
    for page in PAGES:
        for language, text in fences(page):
            if language == "sh":
                found += [(page, line) for line in text.replace("\\\n", " ").splitlines() if line.strip()]
        found += [(page, code) for code in inline(page) if is_command(code)]
    return [(page, part) for page, line in found for part in re.split(r"\s(?:&&|;)\s", f" {line} ")]


def is_command(code: str) -> bool:
    first, _, rest = code.partition(" ")
    return program(first) in CHECKS and (bool(rest) or first == "parley") and not code.endswith(":")


def program(word: str) -> str:
    """The program that the first word of a command names, without the environment's folder."""
    return word.removeprefix(".venv/bin/") if word.startswith(".venv/") else word


def forms(command: str) -> list[str]:
    """The commands that a usage line stands for: `a [b|c] [D]` is `a`, `a b D`, `a c D`."""
    if not re.search(r"(?<=\s)\[", command):
        return [command]
    parts = re.split(r"(?<=\s)\[([^]]+)\](?=\s|$)", command)
    choices = [[part] if place % 2 == 0 else re.split(r"\\?\|", part) for place, part in enumerate(parts)]
    with_all = [" ".join(one) for one in itertools.product(*choices)]
    return ["".join(parts[::2]), *with_all]


def exists(name: str) -> None:
    assert (ROOT / name).exists(), f"there is no {name}"


@functools.cache
def told(*command: str) -> str:
    """What a program says of its options."""
    said = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    return said.stdout


def has_options(arguments: list[str], help_text: str) -> None:
    for word in arguments:
        if word.startswith("-"):
            option = re.escape(word.partition("=")[0])
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", help_text), f"there is no option {word}"


def check_parley(arguments: list[str]) -> None:
    try:
        parser().parse_args(arguments)
    except SystemExit as error:
        assert error.code == 0, f"parley does not take {arguments}"


def check_python(arguments: list[str]) -> None:
    if arguments[:2] in (["-m", "bot"], ["-m", "parley_chat"]):
        check_parley(arguments[2:])
    elif arguments[0] == "-m":
        name, rest = arguments[1], arguments[2:]
        spec = importlib.util.find_spec(name)
        assert spec is not None, f"there is no module {name}"
        assert spec.submodule_search_locations is None or importlib.util.find_spec(f"{name}.__main__")
        if name != "venv" and any(word.startswith("-") for word in rest):
            has_options(rest, told("-m", name, "--help"))
    else:
        exists(arguments[0])
        assert '__name__ == "__main__"' in (ROOT / arguments[0]).read_text(encoding="utf-8")


def check_pytest(arguments: list[str]) -> None:
    has_options(arguments, told("-m", "pytest", "--help"))
    markers = {text.partition(":")[0] for text in PROJECT["tool"]["pytest"]["ini_options"]["markers"]}
    texts = [""]
    for before, word in itertools.pairwise(["", *arguments]):
        if word.startswith("tests"):
            file, _, name = word.partition("::")
            exists(file)
            paths = [ROOT / file] if file.endswith(".py") else sorted((ROOT / file).rglob("test_*.py"))
            texts = [path.read_text(encoding="utf-8") for path in paths]
            assert any(f"def {name}" in text for text in texts), f"there is no test {word}"
        elif before == "-m":
            assert word in markers, f"there is no marker {word}"
    for before, word in itertools.pairwise(arguments):
        assert before != "-k" or any(re.search(rf"def test_\w*{word}", text) for text in texts), f"no test like {word}"


def check_pip(arguments: list[str]) -> None:
    assert arguments[0] == "install"
    has_options(arguments, told("-m", "pip", "install", "--help"))
    for before, word in itertools.pairwise(arguments):
        if before in ("-r", "-c"):
            exists(word)
        elif not word.startswith("-"):
            name, _, extras = word.rstrip("]").partition("[")
            assert name in (".", PROJECT["project"]["name"]), f"{name} is not this project"
            assert not extras or set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])


def check_uv(arguments: list[str]) -> None:
    """The locks' command; uv is no part of the environment."""
    assert arguments[:2] == ["pip", "compile"]
    for before, word in itertools.pairwise(arguments):
        if before in ("-c", "-o") or word.endswith((".toml", ".txt", ".lock")):
            exists(word)
        elif before == "--extra":
            assert word in PROJECT["project"]["optional-dependencies"]


def check_suite(*arguments: str) -> None:
    """`tests/test_style.py` runs it."""
    checks = (ROOT / "tests" / "test_style.py").read_text(encoding="utf-8")
    written = "".join(f', "{word}"' for word in arguments)
    assert f'["-m"{written}]' in checks, f"the suite does not run {' '.join(arguments)}"


def check_mypy(arguments: list[str]) -> None:
    """A step of `.ci/run`, in the same words."""
    assert (
        " ".join([".venv/bin/mypy", *arguments])
        in (ROOT / ".ci" / "run").read_text(encoding="utf-8").replace(" &\n", "\n").splitlines()
    )


def check_bash(arguments: list[str]) -> None:
    exists(arguments[0])
    subprocess.run(["bash", "-n", str(ROOT / arguments[0])], check=True)


def check_docker(arguments: list[str]) -> None:
    recipe = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    if arguments[0] == "compose":
        exists("compose.yaml")
    assert arguments[0] in ("build", "run", "compose")
    for before, word in itertools.pairwise(arguments):
        if before == "-v":
            assert f"VOLUME {word.partition(':')[2]}" in recipe


def check_real(arguments: list[str]) -> None:
    script = (ROOT / "tests" / "real" / "install").read_text(encoding="utf-8")
    assert all(f"= {word} ]" in script for word in arguments)


def check_distribution(arguments: list[str]) -> None:
    """`uvx parley-chat`, `pipx run parley-chat`; `uvx uv`, whose command is checked beside it."""
    assert arguments[-1] in (*PROJECT["project"]["scripts"], "uv")


CHECKS: dict[str, Callable[[list[str]], None]] = {
    "parley": check_parley,
    "python": check_python,
    "python3": check_python,
    "pytest": check_pytest,
    "pip": check_pip,
    "ruff": lambda arguments: check_suite("ruff", *arguments),
    "mypy": check_mypy,
    "uv": check_uv,
    "uvx": check_distribution,
    "pipx": check_distribution,
    "bash": check_bash,
    ".ci/run": lambda arguments: check_bash([".ci/run"]),
    ".ci/python": lambda arguments: check_bash([".ci/python"]),
    "docker": check_docker,
    "git": lambda arguments: exists(".gitignore") if arguments == ["pull"] else exists("no such command"),
    "tests/real/install": check_real,
    ".": lambda arguments: exists("pyproject.toml") if arguments == [".venv/bin/activate"] else exists(arguments[0]),
    "cp": lambda arguments: exists(arguments[-2]),
    **dict.fromkeys(("pg_dump", "pg_restore"), lambda arguments: exists("tests/docs/test_operating_server.py")),
    "install": lambda arguments: exists(arguments[-2]),
    "chmod": lambda arguments: exists(".env.example") if arguments[-1] == ".env" else exists(arguments[-1]),
}
COMMANDS = commands()


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[f"{page}: {one.strip()}" for page, one in COMMANDS])
def test_a_command_of_a_document_is_one_that_works(page: str, command: str) -> None:
    for form in forms(command.strip()):
        line, _, into = form.partition(" > ")
        if into:
            exists(into.strip())
        first, *arguments = shlex.split(line)

        assert program(first) in CHECKS, f"{page} names a program that this test does not know: {first}"
        CHECKS[program(first)](arguments)


def test_there_are_commands_to_check() -> None:
    """Also in each page that tells people what to type."""
    pages = {page for page, _ in COMMANDS}
    programs = {program(command.split()[0]) for _, command in COMMANDS}

    assert {"README.md", "CONTRIBUTING.md"} <= pages
    assert {"parley", "python", "pytest", "pip", "ruff", "bash"} <= programs
    assert len(COMMANDS) > 40, COMMANDS


def test_the_readme_says_all_that_parley_can_do() -> None:
    named = {command.split()[1] for _, command in COMMANDS if re.match(r" *parley [a-z]", command)}
    (subparsers,) = [action for action in parser()._actions if action.dest == "command"]

    assert subparsers.choices is not None and named == set(subparsers.choices)


@pytest.mark.parametrize("command", [" parley dance", " pytest tests/nowhere", " python -m bot.nothing", " pip list"])
def test_a_wrong_command_is_found(command: str) -> None:
    with pytest.raises((AssertionError, ModuleNotFoundError)):
        test_a_command_of_a_document_is_one_that_works("here", command)


# What is named


def spans() -> list[tuple[str, str]]:
    return [(page, code) for page in PAGES for code in inline(page)]


def test_every_file_that_is_named_exists() -> None:
    tops = {path.name for path in ROOT.iterdir() if path.is_dir()}
    named = {
        (page, code.partition("::")[0])
        for page, code in spans()
        if re.fullmatch(r"[\w./-]+(::\w+)?", code)
        and (code.split("/")[0] in tops or re.fullmatch(r"\w+\.(md|lock)", code))
        and "/" in code + "/" * code.endswith((".md", ".lock"))
        and not re.search(r"NAME|\.venv|\.real|^data/", code)
    }

    assert len(named) > 15
    assert not sorted(f"{page}: {file}" for page, file in named if not (ROOT / file).exists())


@functools.cache
def functions_of(file: str) -> set[str]:
    return set(re.findall(r"^ *(?:async )?def (\w+)\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE))


def test_every_test_that_is_named_exists() -> None:
    named = {(page, code) for page, code in spans() if TESTED_LINE.fullmatch(code)}
    wrong = []
    for page, code in named:
        file, name = code.split("::")
        if name not in functions_of(file):
            wrong.append(f"{page}: {code}")

    assert not sorted(wrong)


def test_every_setting_that_is_named_exists() -> None:
    known = variables(settings_classes())
    given = {(page, code.partition("=")[0]) for page, code in spans() if re.match(r"[A-Z][A-Z0-9_]+=", code)}
    plain = {(page, code) for page, code in spans() if re.fullmatch(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+", code)}
    code = "\n".join(
        path.read_text(encoding="utf-8") for top in ("bot", "adapters", "tools") for path in (ROOT / top).rglob("*.py")
    )

    assert len(given) > 10 and len(plain) > 20
    assert not sorted(f"{page}: {name}" for page, name in given if name not in known)
    assert not sorted(
        f"{page}: {name}"
        for page, name in plain
        if name not in known and not re.search(rf"\b{name}\b", code) and (page != "CHANGELOG.md")
    )


def test_every_command_of_the_chat_that_is_named_exists() -> None:
    served = re.findall(r'add_get\("/(\w+)"', (ROOT / "bot/operations/http.py").read_text(encoding="utf-8"))
    served += re.findall(r'PATH: Final = "/(\w+)"', (ROOT / "bot/operations/session.py").read_text(encoding="utf-8"))
    console = (ROOT / "adapters" / "console" / "adapter.py").read_text(encoding="utf-8")
    served += re.findall(r'"/(\w+)"', console)
    elsewhere = {"newbot", "setprivacy", "invite", "ask", "parley", "data", "gateway"}
    """Another program's, or the way to us on Slack and Discord."""
    named = {
        (page, word)
        for page, code in spans()
        if code.startswith("/")
        for word in re.findall(r"(?:^|\s)/(\w+)(?=\s|$)", code)
    }

    assert served and len(named) > 20
    assert not sorted(f"{page}: /{word}" for page, word in named if word not in {*words.BY_WORD, *served, *elsewhere})


def test_every_link_within_the_repository_leads_somewhere() -> None:
    named = [
        (page, target.partition("#")[0])
        for page, text in PAGES.items()
        for target in re.findall(r"\]\(([^)\s]+)\)", INLINE.sub("", FENCE.sub("", text)))
        if "://" not in target and not target.startswith("#")
    ]

    assert named
    assert not [f"{page}: {to}" for page, to in named if not (ROOT / page).parent.joinpath(to).exists()]


def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    lines = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def test_every_link_to_a_heading_finds_it() -> None:
    named = [
        (page, (ROOT / page).parent / file if file else ROOT / page, anchor)
        for page, text in PAGES.items()
        for file, anchor in re.findall(r"\]\(([\w./-]*)#([^)\s]+)\)", FENCE.sub("", text))
    ]

    assert len(named) > 40
    assert not [f"{page}: {to.name}#{anchor}" for page, to, anchor in named if anchor not in anchors(to)]


def test_no_page_names_a_package_index_or_a_place_of_one_machine() -> None:
    said = re.compile(r"https?://[^\s)]*(pypi|npmjs|simple/)|/home/\w+|/Users/\w+|/work/|(?<![\w.])/tmp/")

    assert len(PAGES) > 3
    assert not {page: said.findall(text) for page, text in PAGES.items() if said.search(text)}


def test_the_figures_of_the_readme_are_those_of_their_page() -> None:
    def rows(page: str) -> list[str]:
        return re.findall(r"^\| (?:Telegram|Slack|Discord) \w+, .* \|$", PAGES[page], re.MULTILINE)

    assert 6 <= len(rows("README.md")) <= 8
    assert set(rows("README.md")) <= set(rows("docs/figures.md"))
    line = summary("\n".join(rows("README.md")))
    assert line in PAGES["README.md"], f"its one line of figures is not that of its table: {line}"


def test_the_readme_is_short_and_shows_the_page_in_light_and_dark() -> None:
    shown = re.findall(r'(?:src|srcset)="([^"]+)"', PAGES["README.md"])

    assert len(PAGES["README.md"].splitlines()) <= 120
    assert shown == ["docs/picture-dark.png", "docs/picture-light.png"]
    for name in shown:
        picture = (ROOT / name).read_bytes()
        assert (picture[:4], len(picture) < 300_000) == (b"\x89PNG", True), name
        assert struct.unpack(">II", picture[16:24]) == (1440, 900), "tests/playground/test_picture.py --pictures"


RUN = re.compile(r"parley (?:--version|tools|chats|chat|run)$")
"""What ends by itself in a place where nothing is configured, or says there what is missing."""


def test_the_commands_that_need_nothing_run_as_they_are_written(nursery: Nursery, tmp_path: Path) -> None:
    written = sorted({form.strip() for _, one in COMMANDS for form in forms(one.strip()) if RUN.match(form.strip())})
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    told = {
        command: nursery.run("bot", *command.split()[1:], folder=tmp_path, environment=environment)
        for command in written
    }

    assert len(written) == 5, written
    assert told["parley run"].code == told["parley chat"].code == 2
    assert {told[command].code for command in ("parley --version", "parley chats", "parley tools")} == {0}
    assert not [command for command, one in told.items() if not one.out + one.err or "Traceback" in one.out + one.err]
