"""The built package, installed as a user installs it, beside and among modules that have the names of our folders."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType

import pytest

from bench.house import code_lines
from parley_chat.contract.suites import until
from playground.model import ModelServer, Reply
from tests.patience import PATIENCE
from tests.released import release

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("bot", "adapters", "tools", "playground")
FOREIGN = "raise SystemExit('somebody else was started')\n"
CONFINED = """
import asyncio, sys
from pathlib import Path
from parley_chat.tools.documents.reading import DocumentReader
from parley_chat.tools.pictures.making import PictureMaker

async def main():
    reader = DocumentReader()
    for name in ("table.csv", "page.html"):
        print((await reader.read(Path(name), name)).markdown)
    print((await PictureMaker().make(Path("dot.png").read_bytes(), 100_000))[0])

asyncio.run(main())
"""
DOT = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment in which somebody else's package `tools` was, and then the wheel of this tree came.

    It is made as a release is: the source distribution gave the same wheel. The libraries are those of the environment
    that runs the tests.
    """
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for package in ("parley_chat", *PACKAGES):
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "CHANGELOG.md", "requirements.lock"):
        shutil.copy(ROOT / file, source)
    (source / release.LICENCES).parent.mkdir()
    shutil.copy(ROOT / release.LICENCES, source / release.LICENCES)
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "all", "--no-verify")):
        _ran(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *command], source)
    wheel, *_ = release.build(source, folder / "dist", folder / "place")
    made = folder / "environment"
    _ran([sys.executable, "-m", "venv", "--without-pip", str(made)], folder)
    site = _site(made)
    for package in ("tools", "adapters"):
        (site / package).mkdir()
        (site / package / "__init__.py").write_text("OWNER = 'somebody else'\n")
    install = ("install", "-q", "--no-index", "--no-deps", "--no-compile", str(wheel))
    _ran([sys.executable, "-m", "pip", "--python", str(made / "bin/python"), *install], folder)
    (site / "libraries.pth").write_text("".join(f"{path}\n" for path in sys.path if path.endswith("site-packages")))
    return made


@pytest.fixture
def misleading(tmp_path: Path) -> Path:
    """A folder in which somebody keeps modules of their own that have the names of our folders."""
    for package in PACKAGES:
        (tmp_path / f"{package}.py").write_text(FOREIGN)
    return tmp_path


def _site(environment: Path) -> Path:
    (site,) = environment.glob("lib/python*/site-packages")
    return site


def _ran(command: list[str], folder: Path, code: int = 0, **settings: str) -> str:
    told = subprocess.run(
        command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == code, told.stdout + told.stderr
    return told.stdout + told.stderr


def test_it_brings_one_name_and_its_types_and_leaves_another_package_as_it_was(environment: Path) -> None:
    site = _site(environment)
    (information,) = site.glob("parley_chat-*.dist-info")
    brought = {line.split("/")[0] for line in (information / "RECORD").read_text().splitlines()}

    assert brought == {"parley_chat", information.name, ".."}  # `../../../bin/parley`
    assert {path.name for path in (site / "parley_chat").iterdir()} >= {*PACKAGES, "py.typed", "__main__.py"}
    assert (information / "top_level.txt").read_text().split() == ["parley_chat"]
    assert (site / "tools/__init__.py").read_text() == (site / "adapters/__init__.py").read_text()
    assert list((site / "tools").iterdir()) == [site / "tools/__init__.py"]


def test_the_release_beside_it_is_whole_and_says_what_it_is(environment: Path) -> None:
    dist = environment.parent / "dist"
    metadata = next(_site(environment).glob("parley_chat-*.dist-info/METADATA")).read_text(encoding="utf-8")
    about, _, text = metadata.partition("\n\n")

    assert len(list(dist.glob("*"))) == 5
    for line in (dist / "SHA256SUMS").read_text().splitlines():
        assert release.digest(dist / line.split("  ")[1]) == line.split("  ")[0]
    assert "Author: The Parley authors" in about and "Typing :: Typed" in about and "Project-URL" not in about
    assert "# Parley" in text and not re.search(r"\]\((?![a-z]+:|#)", text), "no link leads nowhere"


def test_only_names_of_modules_differ_from_the_repository_and_no_line_moves(environment: Path) -> None:
    names = re.compile(rf"\bparley_chat\.(?=(?:{'|'.join(PACKAGES)})\b)")
    built = _site(environment) / "parley_chat"
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            theirs = (built / file.relative_to(ROOT)).read_text(encoding="utf-8", errors="surrogateescape")
            assert names.sub("", theirs) == file.read_text(encoding="utf-8", errors="surrogateescape"), file


def test_every_way_to_start_it_is_ours_where_modules_mislead(environment: Path, misleading: Path) -> None:
    parley, chat = (environment / "bin" / name for name in ("parley", "parley-chat"))
    python = str(environment / "bin/python")

    assert _ran([str(parley), "--version"], misleading).startswith("parley 0.")
    assert chat.read_text() == parley.read_text(), "what is true of one is true of the other"
    told = _ran([python, "-m", "parley_chat", "tools", "calculator", '{"expression": "17 * 23"}'], misleading)
    assert "391" in told
    first = f"sys.path.insert(0, {str(misleading)!r})"
    told = _ran([python, "-c", f"import sys; {first}; import parley_chat.bot.app; print('well')"], misleading)
    assert told == "well\n"
    assert "somebody else was started" in _ran([python, "-c", "import tools"], misleading, code=1), (
        "their own is theirs"
    )


@pytest.mark.skipif(not shutil.which("bwrap"), reason="no bubblewrap")
def test_code_runs_in_its_sandbox_and_sees_nothing_of_the_program(environment: Path, misleading: Path) -> None:
    code = "import importlib.util as u\nprint(6 * 7, [n for n in ('parley_chat', 'tools', 'bot') if u.find_spec(n)])"
    told = _ran(
        [str(environment / "bin/parley"), "tools", "run_python", json.dumps({"code": code})],
        misleading,
        CODE_BACKEND="bwrap",
    )

    assert "42 []" in told


def test_documents_pages_and_pictures_are_read_by_programs_of_the_wheel(environment: Path, misleading: Path) -> None:
    (misleading / "table.csv").write_text("tea,price\nsencha,12\n")
    (misleading / "page.html").write_text("<html><body><h1>Kyoto</h1><p>Green tea grows there.</p></body></html>")
    (misleading / "dot.png").write_bytes(DOT)

    told = _ran([str(environment / "bin/python"), "-c", CONFINED], misleading)

    assert "sencha" in told and "Green tea grows there." in told and "image/png" in told
    assert "sandbox" not in told, "a fault of it would be said"


def test_the_doctor_and_a_start_without_settings_say_what_is_missing(environment: Path, misleading: Path) -> None:
    parley = str(environment / "bin/parley")

    told = _ran([parley, "doctor", "--offline"], misleading, code=1)
    assert "MODEL" in told and "Traceback" not in told
    told = _ran([parley, "run"], misleading, code=2)
    assert "no platform is configured" in told and told.count("\n") == 1


def test_the_playground_and_the_bot_behind_it_are_those_of_the_wheel(environment: Path, misleading: Path) -> None:
    data = misleading / "data"
    data.mkdir()
    shutil.copy(misleading / "bot.py", data)
    playing = subprocess.Popen(
        [str(environment / "bin/parley"), "playground", "--no-browser", "--port", "0", "--data", str(data)],
        cwd=misleading,
        env={"PATH": os.environ["PATH"], "HOME": str(misleading)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert playing.stdout is not None
    try:
        first = playing.stdout.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+/?", first)
        assert url, first
        page = urllib.request.urlopen(url[0], timeout=PATIENCE).read().decode()
        with urllib.request.urlopen(f"{url[0].rstrip('/')}/events", timeout=PATIENCE) as events:
            ready = next(line for line in events if b'"phase": "ready"' in line or b'"phase":"ready"' in line)
    finally:
        playing.terminate()
        rest = playing.stdout.read()
        playing.stdout.close()
        playing.wait(20)

    assert "</html>" in page and b"telegram" in ready
    assert "somebody else" not in first + rest + (data / "bot.log").read_text()


def test_a_package_from_the_examples_brings_its_tool(environment: Path, misleading: Path, tmp_path: Path) -> None:
    """Installed beside the wheel, as its author would; what it needs for that is in this environment."""
    source = shutil.copytree(ROOT / "examples/tool-dice", tmp_path / "source")
    install = ("install", "-q", "--no-index", "--no-deps", "--no-build-isolation", "--no-compile")
    target = tmp_path / "installed"
    _ran([sys.executable, "-m", "pip", *install, "--target", str(target), str(source)], tmp_path)
    run = ["env", f"PYTHONPATH={target}", str(environment / "bin/parley"), "tools"]

    assert "🎲 roll_dice: Roll one die." in _ran(run, misleading)
    assert "shows" in _ran([*run, "roll_dice", '{"sides": 7}'], misleading)
    told = _ran([*run, "roll_dice", '{"sides": 7}'], misleading, code=1, DICE_MOST_SIDES="6")
    assert "sides must be from 2 to 6, not 7." in told
    assert "DICE_MOST_SIDES" in _ran(run, misleading, code=2, DICE_MOST_SIDES="one")


def test_a_package_from_the_examples_brings_its_agent(environment: Path, misleading: Path, tmp_path: Path) -> None:
    """The name of its entry point is the value of AGENT."""
    source = shutil.copytree(ROOT / "examples/agent-echo", tmp_path / "source")
    install = ("install", "-q", "--no-index", "--no-deps", "--no-build-isolation", "--no-compile")
    target = tmp_path / "installed"
    _ran([sys.executable, "-m", "pip", *install, "--target", str(target), str(source)], tmp_path)
    doctor = ["env", f"PYTHONPATH={target}", str(environment / "bin/parley"), "doctor", "--offline"]
    key = "sk-loopback-1234567890"

    assert "echo can be loaded (AGENT)" in _ran(doctor, misleading, AGENT="echo", OPENAI_API_KEY=key)
    told = _ran(doctor, misleading, code=1, AGENT="ecko", OPENAI_API_KEY=key)
    assert "the name of an agent that an installed package brings" in told


def _installed(example: str, folder: Path) -> Path:
    """A copy of the example's folder without its package, and beside it what its installation brought."""
    source = shutil.copytree(
        ROOT / "examples" / f"adapter-{example}", folder / "source", ignore=shutil.ignore_patterns("__pycache__")
    )
    install = ("install", "-q", "--no-index", "--no-deps", "--no-build-isolation", "--no-compile")
    _ran([sys.executable, "-m", "pip", *install, "--target", str(folder / "installed"), str(source)], folder)
    shutil.rmtree(source / f"parley_{example}")
    return source


@pytest.fixture(scope="module")
def mattermost(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _installed("mattermost", tmp_path_factory.mktemp("mattermost"))


@pytest.fixture(scope="module")
def matrix(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _installed("matrix", tmp_path_factory.mktemp("matrix"))


def _suite(environment: Path, mattermost: Path, code: int, *alone: str) -> str:
    """Run the example's tests, as its author does."""
    command = [str(environment / "bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *alone]
    return _ran(command, mattermost, code, PYTHONPATH=str(mattermost.parent / "installed"))


@pytest.mark.parametrize("example", ["mattermost", "matrix"])
def test_a_platform_from_the_examples_passes_the_contract_of_the_wheel(
    environment: Path, example: str, request: pytest.FixtureRequest
) -> None:
    told = _suite(environment, request.getfixturevalue(example), 0)

    assert re.search(r"\b\d{2,} passed, \d skipped", told) and "warning" not in told


def test_a_platform_that_breaks_a_promise_fails_the_contract_with_what_it_did(
    environment: Path, mattermost: Path
) -> None:
    markup = mattermost.parent / "installed/parley_mattermost/markup.py"
    before = markup.read_text(encoding="utf-8")
    markup.write_text(before.replace('GAP: Final = "\\u200b"', 'GAP: Final = ""'), encoding="utf-8")
    try:
        told = _suite(environment, mattermost, 1, "-k", "hostile_text")
    finally:
        markup.write_text(before, encoding="utf-8")

    assert re.search(r"FAILED .*test_hostile_text_wakes_nobody_and_fetches_nothing\[channel-drawn\]", told)
    assert "E       AssertionError: assert (['here'" in told, "pytest explains it"


@pytest.mark.parametrize("example", ["mattermost", "matrix"])
def test_the_adapter_of_the_examples_is_as_short_as_the_guide_says(example: str) -> None:
    files = (ROOT / f"examples/adapter-{example}/parley_{example}").glob("*.py")

    assert 200 < sum(code_lines(file) for file in files) < 400


def _emulator(example: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{name}_of_an_example", example / f"tests/{name}.py")
    assert spec is not None and spec.loader is not None
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def _running(environment: Path, mattermost: Path, **settings: str) -> AsyncIterator[None]:
    """`parley run`, and its end in order."""
    process = await _begun(environment, mattermost, **settings)
    try:
        yield
    finally:
        process.terminate()
        assert await process.wait() == 0, (mattermost.parent / "log").read_text()


async def _begun(environment: Path, example: Path, **settings: str) -> asyncio.subprocess.Process:
    """`parley run`, whose end is for the caller."""
    command = ["env", f"PYTHONPATH={example.parent / 'installed'}", str(environment / "bin/parley"), "run"]
    folder = example.parent
    with (folder / "log").open("wb") as log:
        return await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), **settings},
            stdout=log,
            stderr=log,
        )


async def test_parley_answers_on_a_platform_of_a_package(environment: Path, mattermost: Path) -> None:
    """Written in place, in the thread of the question, with buttons; to many at once within the server's limit."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = " ".join(f"word{number}" for number in range(60))
    async with ModelServer() as model, _emulator(mattermost, "emulator").MattermostServer() as server:
        model.script = lambda body: Reply(f"{words}.", words_per_second=40)
        ada, channel = server.person("ada"), server.channel()
        settings = {
            "MODEL": "openai:scripted",
            "OPENAI_API_KEY": "sk-loopback-key-1234",
            "OPENAI_BASE_URL": model.base_url,
            "ALLOWED_USERS": f"mattermost:{ada}",
            "MATTERMOST_URL": server.base_url,
            "MATTERMOST_TOKEN": server.token,
            "MATTERMOST_ACTIONS_URL": f"http://127.0.0.1:{port}/mattermost",
            "WEB_PORT": str(port),
        }
        async with _running(environment, mattermost, **settings):
            await until(lambda: server._connections)
            asked = server.say(channel, "@parley count", ada)
            await until(lambda: [one for one in server.shown(channel) if len(one.buttons) > 1])
            [answer] = server.shown(channel)
            server.press(answer.id, "👎", ada)
            await until(lambda: any("Noted" in one.text for one in server.shown(channel)))
            server.say(channel, "@parley whoami", ada)
            await until(lambda: any(f"mattermost:{ada}" in one.text for one in server.shown(channel)))
        parley = ["env", f"PYTHONPATH={mattermost.parent / 'installed'}", str(environment / "bin/parley")]
        told = await asyncio.to_thread(_ran, [*parley, "doctor"], mattermost.parent, 0, **settings)

        crowd = [(server.person(f"p{number}"), server.channel("D")) for number in range(30)]
        async with _running(environment, mattermost, **settings, ALLOW_ALL="true"):
            await until(lambda: server.greeted == 2)
            for person, place in crowd:
                server.say(place, "count", person)
            await until(lambda: all([one.text for one in server.shown(place)] == [answer.text] for _, place in crowd))

    assert "mattermost: the token works; the bot is @parley" in told
    assert answer.text == f"{words}." and answer.root == asked
    assert len(answer.versions) >= 4 and all(words.startswith(one.text.rstrip(".")) for one in answer.versions)
    assert not server.failed and not server.pings and not server.previews and not server.refusals


async def test_parley_keeps_its_promises_on_a_platform_that_has_no_buttons_and_no_place_of_its_own_in_the_stream(
    environment: Path, matrix: Path
) -> None:
    """Written in place, pressed by a reaction; after a kill whole and once, with what was asked meanwhile."""
    homeserver = _emulator(matrix, "homeserver")
    bot, ada, room = "@parley:example.org", "@ada:example.org", "!room:example.org"
    words = " ".join(f"word{number}" for number in range(60))
    async with ModelServer() as model, homeserver.Homeserver() as server:
        model.script = lambda body: Reply(f"{words}.", words_per_second=40)
        server.tokens["loopback-token-1234"] = bot
        server.add_room(room, ada, bot)
        settings = {
            "MODEL": "openai:scripted",
            "OPENAI_API_KEY": "sk-loopback-key-1234",
            "OPENAI_BASE_URL": model.base_url,
            "ALLOWED_USERS": f"matrix:{ada}",
            "MATRIX_URL": server.url,
            "MATRIX_TOKEN": "loopback-token-1234",
            "MATRIX_RATE": "5",
        }

        def shown() -> list[str]:
            return [server.read(event) for event in server.shown(room, bot)]

        async with _running(environment, matrix, **settings):
            await until(lambda: any(call[1] == "PUT" and call[2].endswith(".position") for call in server.calls))
            server.say(room, ada, "count")
            await until(lambda: any(text.startswith(f"{words}.\n") for text in shown()))
            [answer] = server.shown(room, bot)
            server.react(room, ada, answer["event_id"], "👎")
            await until(lambda: any("Noted" in text for text in shown()))
            grown = [homeserver.read(content).partition("\n")[0] for content in server.versions(answer)]
        killed = await _begun(environment, matrix, **settings)
        server.say(room, ada, "count again")
        await until(lambda: any(text.startswith("word0 word1") and "word59" not in text for text in shown()))
        killed.kill()
        await killed.wait()
        server.say(room, ada, "whoami")
        async with _running(environment, matrix, **settings):
            await until(lambda: any(f"matrix:{ada}" in text for text in shown()))
            await until(lambda: sum(text.startswith(f"{words}.\n") for text in shown()) == 2)
        parley = ["env", f"PYTHONPATH={matrix.parent / 'installed'}", str(environment / "bin/parley")]
        told = await asyncio.to_thread(_ran, [*parley, "doctor"], matrix.parent, 0, **settings)

    assert f"matrix: the token works; the bot is {bot}, in 1 rooms" in told
    assert len(grown) >= 4 and all(words.startswith(text.rstrip(".")) for text in grown)
    assert sum(text.startswith("word0") for text in shown()) == 2
    assert not [call for call in server.calls if call[3] == 429] and not server.pings(bot)
