"""Where pages are read: what a reader that its page has taken over finds in its sandbox, and what it is without one."""

from __future__ import annotations

import ast
import asyncio
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from tests.tools.fetch.conftest import Canary
from tools.contract.base import ToolError
from tools.documents import reading
from tools.fetch import readers
from tools.fetch.client import Fetched
from tools.fetch.extraction import extract
from tools.fetch.readers import Readers
from tools.pictures import making
from tools.read_page import ReadPage
from tools.sandbox.launcher import Launcher
from tools.sandbox.layout import PROGRAM

ROOT = Path(__file__).parents[3]
POSSESSED = """
def read(about, body, until):
    said = []
    try:
        exec(body, {"say": lambda *words: said.append(" ".join(map(str, words)))})
    except BaseException as error:
        said.append(f"{type(error).__name__}: {error}")
    return {"text": "\\n".join(said)}


if __name__"""
"""A reader whose page is a program that it runs."""

Obey = Callable[..., Any]


@pytest.fixture
async def sandboxed(sandbox_possible: None) -> Readers:
    made = Readers()
    await made.prove("text")
    assert made.confined, made.summary
    made._tried.add("html")
    return made


@pytest.fixture
def obey(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sandboxed: Readers) -> Obey:
    """`await obey("say(1)")`: what a reader says, in its sandbox, that a page has taken over."""
    program = tmp_path / f"{tmp_path.name}.py"
    program.write_text(readers.READER.read_text().replace("\nif __name__", POSSESSED, 1))
    monkeypatch.setattr(readers, "READER", program)
    possessed = Readers()
    possessed._tried = {"text", "html"}

    async def obey(code: str, seconds: float = PATIENCE) -> str:
        page = Fetched("https://e.example/", "text/plain", "utf-8", code.encode(), False)
        return (await extract(page, seconds=seconds, start=possessed.start)).text

    return obey


def alive(name: str, program: str = "") -> list[str]:
    """The processes of this machine whose command names `name`, and begins with `program`."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if name.encode() in command and Path(os.fsdecode(command.split(b"\0")[0])).name.startswith(program):
                found.append(folder.name)
    return found


@pytest.mark.parametrize("start", ["sandboxed", "plain"])
async def test_pages_are_read_alike_with_and_without_a_sandbox(sandboxed: Readers, start: str) -> None:
    html = "<title>Bridges</title><article><p>They hang from <a href='/cables'>cables</a>, high above the water.</p>"
    page = Fetched("https://e.example/a", "text/html", "utf-8", html.encode(), False)

    found = await extract(page, start=sandboxed.start if start == "sandboxed" else readers.start_plain)

    assert (found.title, found.text) == (
        "Bridges",
        "They hang from [cables](https://e.example/cables), high above the water.",
    )


@pytest.mark.skipif(find_spec("pypdfium2") is None, reason="pypdfium2 is not installed")
async def test_a_pdf_is_read_in_the_sandbox(sandboxed: Readers) -> None:
    font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    content = "BT /F1 12 Tf 20 200 Td (Bridges hang.) Tj ET"
    body = (
        "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n"
        "2 0 obj << /Type /Pages /Count 1 /Kids [3 0 R] >> endobj\n"
        f"3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources {font} >> endobj\n"
        f"4 0 obj << /Length {len(content)} >> stream\n{content}\nendstream endobj\ntrailer << /Root 1 0 R >>\n"
    )

    found = await extract(
        Fetched("https://e.example/", "application/pdf", "", body.encode(), False), start=sandboxed.start
    )

    assert found.text == "[page 1]\n\nBridges hang."


async def test_a_reader_that_is_taken_over_finds_nothing_to_take(
    obey: Obey, canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789")

    said = await obey(
        "import os, socket\n"
        "say('environment', sorted(os.environ))\n"
        "say('first', open('/proc/1/environ').read())\n"
        "say('processes', [name for name in os.listdir('/proc') if name.isdigit()])\n"
        f"for path in ('/etc/passwd', '/root', '/home', {str(Path.home())!r}, {str(PROGRAM)!r}):\n"
        "    say(path, os.path.lexists(path))\n"
        "say('user', os.getuid(), os.getgroups())\n"
        "try:\n"
        f"    socket.create_connection(('127.0.0.1', {canary.port}), 1)\n"
        "    say('connected')\n"
        "except OSError:\n"
        "    say('no network')\n"
    )

    lines = dict(line.split(" ", 1) for line in said.splitlines())
    assert "OPENAI_API_KEY" not in said and "canary" not in said
    assert lines["first"].strip("\0") in ("PWD=/tmp", "PWD=/")
    assert len(lines["processes"].split(",")) <= 3
    assert {lines[path] for path in ("/etc/passwd", "/root", "/home", str(PROGRAM))} == {"False"}
    assert lines["user"] == "65534 []"
    assert lines["no"] == "network"
    assert canary.connections == 0


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import os\nos.fork()", "BlockingIOError"),
        ("import threading\nthreading.Thread(target=print).start()", "RuntimeError"),
        ("import subprocess\nsubprocess.run(['true'])", "BlockingIOError|FileNotFoundError|PermissionError"),
        ("bytearray(2 << 30)", "MemoryError"),
        ("open('/tmp/x', 'w').write('x' * 100_000)", "OSError"),
        ("open('/x', 'w')", "OSError"),
        ("import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "ValueError|PermissionError|OSError"),
        ("import os\nos.unshare(0x10000000) if hasattr(os, 'unshare') else os.setuid(0)", "OSError|PermissionError"),
        ("import socket\nsocket.socket(40, socket.SOCK_STREAM)", "OSError"),
    ],
    ids=["fork", "thread", "program", "memory", "file", "root", "limits", "rights", "hypervisor"],
)
async def test_a_reader_that_is_taken_over_has_no_means(obey: Obey, code: str, says: str) -> None:
    said = await obey(code)

    assert any(word in said for word in says.split("|")), said


@pytest.mark.parametrize("code", ["while True:\n    pass", "import time\ntime.sleep(60)"], ids=["computes", "sleeps"])
async def test_a_reader_in_a_sandbox_is_killed_with_all_that_is_around_it(
    obey: Obey, code: str, tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match="within 1 s"):
        await obey(code, seconds=1)

    assert alive(tmp_path.name) == []


@pytest.mark.parametrize("program", ["", "python"], ids=["being set up", "reading"])
async def test_a_reader_in_a_sandbox_dies_with_its_call(obey: Obey, tmp_path: Path, program: str) -> None:
    reading = asyncio.create_task(obey("import time\ntime.sleep(60)"))
    async with asyncio.timeout(PATIENCE):
        while not alive(f"/{tmp_path.name}.py", program):
            await asyncio.sleep(0.01)

    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)

    assert alive(tmp_path.name) == []


async def test_a_page_cannot_have_the_next_one_read_without_a_sandbox(obey: Obey, sandboxed: Readers) -> None:
    """Whatever becomes of a reader, only our own page tells of the sandbox."""
    for code in ("import os\nos._exit(1)", "import os\nos.kill(os.getpid(), 11)", "import os\nos.write(1, b'{')"):
        with pytest.raises(ToolError):
            await obey(code + "\nos._exit(3)")

    assert await obey("import os\nsay(os.getuid())") == "65534"


async def test_where_the_kernel_forbids_sandboxes_pages_are_read_without_one_and_it_is_said(
    refusing_bwrap: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PATH", refusing_bwrap)
    tool = ReadPage()

    said = await tool.prove()
    page = await extract(Fetched("https://e.example/", "text/plain", "", b"bridges", False), start=tool._started)

    assert "not in a sandbox: bwrap: No permissions to create new namespace" in said
    assert page.text == "bridges"
    checked = await tool.check()
    assert checked.verdict == "note" and "not in a sandbox" in checked.text
    assert not caplog.records, "the registry says it"


async def test_without_bubblewrap_pages_are_read_without_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    made = Readers()

    assert "bwrap is not installed" in made.summary


async def test_libraries_that_are_not_found_inside_are_noticed_before_the_first_page(
    sandboxed: Readers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As where they belong to the system or to conda."""
    monkeypatch.setattr(readers, "PACKAGES", ())
    made = Readers()

    await made.prove("text")
    before = made.summary
    page = await extract(
        Fetched("https://e.example/", "text/html", "", b"<p>Bridges hang.</p>", False), start=made.start
    )

    assert before == "pages are read in a bubblewrap sandbox"
    assert page.text == "Bridges hang."
    assert [record.getMessage() for record in caplog.records] == [made.summary]
    assert "libraries are not found" in made.summary


async def test_a_sandbox_that_worked_is_not_tried_again_in_this_process(
    sandboxed: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    real = Launcher.start

    async def start(launcher: Launcher) -> asyncio.subprocess.Process:
        started.append(launcher)
        return await real(launcher)

    monkeypatch.setattr(Launcher, "start", start)
    monkeypatch.setattr(readers, "_WORKED", set())

    for kind in ("text", "text", "html"):
        await Readers().prove(kind)

    assert len(started) == 2, "one for each kind of page"
    monkeypatch.setattr(readers, "PACKAGES", ("trafilatura",))
    await Readers().prove("text")
    assert len(started) == 3, "another sandbox"


async def test_the_operator_is_told_where_pages_are_read(sandboxed: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = ReadPage()

    assert await tool.prove() == "pages are read in a bubblewrap sandbox"
    checked = await tool.check()
    assert checked.verdict == "not asked", "no page was opened"
    assert checked.text.endswith("; pages are read in a bubblewrap sandbox")


def imported_at_once(path: Path) -> set[str]:
    """The modules of ours that a file imports when it is imported itself."""
    names = set[str]()
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.Import(aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), names=aliases):
                names |= {module, *(f"{module}.{alias.name}" for alias in aliases)}
    found = {name for name in names if name == "tools" or name.startswith("tools.")}
    return {name for name in found if name_of_file(name) is not None}


def name_of_file(module: str) -> str | None:
    """Where a module stands below the folder of our packages; None: it is no module."""
    path = module.replace(".", "/")
    return next((name for name in (f"{path}.py", f"{path}/__init__.py") if (ROOT / name).is_file()), None)


@pytest.mark.parametrize(
    "program",
    [readers.Program(readers.READER, readers.PACKAGES, readers.MODULES), reading.program(), making.program()],
    ids=["pages", "documents", "pictures"],
)
def test_a_program_has_all_modules_in_its_sandbox_that_it_imports(program: readers.Program) -> None:
    """Else it fails there, and what comes from outside would be read without a sandbox."""
    for file in (program.file, *program.modules.values()):
        needed = {name_of_file(module) for module in imported_at_once(file)}
        assert needed <= {*program.modules}, f"{file.name} lacks {needed - {*program.modules}}"
