"""One interpreter for each chat: what it keeps, whom it keeps apart, and when it ends."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.patience import LATE, PATIENCE
from tools.sandbox import launch
from tools.sandbox.bwrap import Bubblewrap
from tools.sandbox.cell import SandboxFailed
from tools.sandbox.layout import Layout
from tools.sandbox.limits import Limits
from tools.sandbox.syscalls import program

Inside = Callable[[Bubblewrap, str], frozenset[str]]
Running = Callable[[frozenset[str]], list[str]]
ROOT = Path(__file__).resolve().parents[3]


async def test_variables_imports_and_files_are_kept_between_cells(backend: Bubblewrap) -> None:
    await backend.run("chat", "import math\nx = 20\nopen('/tmp/note', 'w').write('kept')", LATE)

    cell = await backend.run("chat", "math.floor(x * 2.1), open('/tmp/note').read(), _", LATE)

    assert cell.value == "(42, 'kept', 4)"


async def test_one_chat_sees_nothing_of_another(backend: Bubblewrap) -> None:
    await backend.run("one", "secret = 'of one'\nopen('/tmp/secret', 'w').write(secret)", LATE)

    names = await backend.run("two", "'secret' in globals()", LATE)
    files = await backend.run("two", "import os\nos.listdir('/tmp'), os.listdir('.')", LATE)

    assert (names.value, files.value) == ("False", "([], [])")


async def test_cells_of_one_chat_run_in_the_order_they_came(backend: Bubblewrap) -> None:
    await backend.run("chat", "order = []", LATE)

    await asyncio.gather(*(backend.run("chat", f"order.append({n})", LATE) for n in range(8)))

    assert (await backend.run("chat", "order", LATE)).value == "[0, 1, 2, 3, 4, 5, 6, 7]"


async def test_chats_do_not_wait_for_each_other(backend: Bubblewrap) -> None:
    """The second chat's cell ends while the first one's runs."""
    slow = asyncio.create_task(backend.run("one", "import time; time.sleep(0.4)", LATE))

    await backend.run("two", "1", LATE)

    assert not slow.done()
    assert (await slow).error == ""


@pytest.mark.parametrize(
    ("code", "output", "value"),
    [
        ("print('a')\n1 + 1", "a\n", "2"),
        ("1 + 1;", "", ""),
        ("x = 5", "", ""),
        ("None", "", ""),
        ("import asyncio\nawait asyncio.sleep(0, 'awaited')", "", "'awaited'"),
        ("import sys\nprint('to stderr', file=sys.stderr)", "to stderr\n", ""),
        ("import sys\nsys.stdout.buffer.write(b'bytes\\n');", "bytes\n", ""),
        ("import os\nos.write(1, b'raw\\n');", "raw\n", ""),
        ("print('\\ud800 and \\x00')", "? and \ufffd\n", ""),
        ("display('shown', 2)", "'shown'\n2\n", ""),
        ("from dataclasses import dataclass\n@dataclass\nclass A:\n    n: int\nA(1)", "", "A(n=1)"),
        ("import pickle\nclass A: pass\ntype(pickle.loads(pickle.dumps(A()))).__name__", "", "'A'"),
        (("exit" in dir(__builtins__) and "raise SystemExit") or "raise SystemExit", "", ""),
        ("", "", ""),
    ],
)
async def test_a_cell_shows_what_a_notebook_shows(backend: Bubblewrap, code: str, output: str, value: str) -> None:
    cell = await backend.run("chat", code, LATE)

    assert (cell.error, cell.output, cell.value) == ("", output, value)


async def test_an_error_shows_the_codes_own_lines_and_no_path_of_ours(backend: Bubblewrap) -> None:
    code = "import json\n\ndef read(text):\n    return json.loads(text)\n\nread('{')"

    cell = await backend.run("chat", code, LATE)

    assert "File \"<cell 1>\", line 6, in <module>\n    read('{')" in cell.error
    assert "return json.loads(text)" in cell.error
    assert cell.error.splitlines()[-1].startswith("json.decoder.JSONDecodeError: Expecting property name")
    assert "worker" not in cell.error
    assert str(ROOT) not in cell.error
    assert sys.base_prefix not in cell.error


async def test_a_syntax_error_shows_the_line_alone(backend: Bubblewrap) -> None:
    cell = await backend.run("chat", "x = 1\ndef f(:", LATE)

    assert cell.error.splitlines()[0] == '  File "<cell 1>", line 2'
    assert cell.error.splitlines()[-1].startswith("SyntaxError")


async def test_a_long_traceback_keeps_its_last_lines(backend: Bubblewrap) -> None:
    code = "def f(n): return g(n)\ndef g(n): return f(n + 1) if n < 60 else 1 / 0\nf(0)"

    cell = await backend.run("chat", code, LATE)

    assert cell.error.startswith("[…]")
    assert cell.error.endswith("ZeroDivisionError: division by zero")
    assert len(cell.error.splitlines()) < 40


async def test_an_error_that_cannot_be_printed_is_still_an_error(backend: Bubblewrap) -> None:
    code = "class E(Exception):\n    def __str__(self): raise ValueError\nraise E"

    cell = await backend.run("chat", code, LATE)

    assert "E" in cell.error


async def test_after_a_time_limit_the_variables_are_still_there(backend: Bubblewrap) -> None:
    stopped = await backend.run("chat", "x = 7\nwhile True: pass", 0.2)

    assert (stopped.lost, (await backend.run("chat", "x", LATE)).value) == (False, "7")


@pytest.mark.parametrize(
    "prints", ["print('tick'); time.sleep(0.0002)", "os.write(1, b'tick'); time.sleep(0.0002)", "print('tick')"]
)
async def test_a_thread_that_goes_on_printing_keeps_no_cell_from_ending(backend: Bubblewrap, prints: str) -> None:
    thread = f"import os, threading, time\ndef tick():\n    while True:\n        {prints}\n"
    first = await backend.run("chat", f"{thread}x = 7\nthreading.Thread(target=tick, daemon=True).start()", LATE)

    later = [await backend.run("chat", f"x + {number}", LATE) for number in range(3)]

    assert [(cell.lost, cell.error) for cell in (first, *later)] == [(False, "")] * 4
    assert [cell.value for cell in later] == ["7", "8", "9"]


async def test_what_a_thread_prints_to_is_not_freed_by_the_next_cell(backend: Bubblewrap) -> None:
    """The interpreter crashes where `print` has taken it without a reference of its own."""
    await backend.run("chat", "import sys, io\nfirst = sys.stdout\nsys.stdout = io.StringIO()", LATE)

    assert (await backend.run("chat", "sys.stdout is first, sys.stderr is first", LATE)).value == "(True, True)"


async def test_what_was_printed_before_a_kill_is_told(backend: Bubblewrap) -> None:
    cell = await backend.run("chat", "import os\nprint('half way')\nos._exit(1)", LATE)

    assert (cell.output, cell.lost) == ("half way\n", True)


async def test_an_idle_chats_interpreter_ends_and_the_next_cell_says_so(
    sandbox_possible: None, inside: Inside, running: Running
) -> None:
    clock = [0.0]
    backend = Bubblewrap((), now=lambda: clock[0], idle=600.0)
    try:
        await backend.run("chat", "x = 1", LATE)
        namespaces = inside(backend, "chat")
        clock[0] = 599.0
        await backend.sweep()
        assert backend.live == 1
        clock[0] = 601.0
        await backend.sweep()
        assert (backend.live, running(namespaces)) == (0, [])

        cell = await backend.run("chat", "'x' in globals()", LATE)

        assert cell.value == "False"
        assert "variables of earlier cells are gone: nothing was run for 10 minutes" in cell.notes[0]
        assert (await backend.run("chat", "1", LATE)).notes == ()
    finally:
        await backend.close()


async def test_the_interpreter_used_longest_ago_makes_room(sandbox_possible: None) -> None:
    clock = [0.0]
    backend = Bubblewrap((), sessions=2, now=lambda: clock[0])
    try:
        for scope in ("one", "two", "one", "three"):
            clock[0] += 1.0
            await backend.run(scope, "x = 1", LATE)

        assert backend.live == 2
        assert (await backend.run("one", "x", LATE)).value == "1"
        assert "too many other chats ran code" in (await backend.run("two", "1", LATE)).notes[0]
    finally:
        await backend.close()


async def test_an_interpreter_killed_from_outside_is_replaced(backend: Bubblewrap) -> None:
    await backend.run("chat", "x = 1", LATE)
    live = backend._places["chat"].session
    assert live is not None
    os.kill(live.pid, signal.SIGKILL)
    await live._process.wait()

    cell = await backend.run("chat", "1", LATE)

    assert cell.value == "1"
    assert "variables of earlier cells are gone" in cell.notes[0]


async def test_closing_leaves_no_process_and_no_descriptor(
    sandbox_possible: None, inside: Inside, running: Running
) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    backend = Bubblewrap(())
    for scope in ("one", "two"):
        await backend.run(scope, "1", LATE)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    namespaces = inside(backend, "one") | inside(backend, "two")
    held = len(list(Path("/proc/self/fd").iterdir())) - opened

    await backend.close()

    assert running(namespaces) == []
    assert opened > before
    assert len(list(Path("/proc/self/fd").iterdir())) == before + held


_BOT = """
import asyncio, os, sys
sys.path.insert(0, {root!r})
from tools.sandbox import processes
from tools.sandbox.bwrap import Bubblewrap

async def main():
    backend = Bubblewrap(())
    await backend.run("chat", "1", 15.0)
    pids = processes.descendants(backend._places["chat"].session.pid)
    print(len(pids), flush=True)
    await backend.run("chat", "import os, time\\nos.fork()\\ntime.sleep(60)", 15.0)

asyncio.run(main())
"""


def test_when_the_bot_is_killed_its_sandboxes_end_with_it(
    sandbox_possible: None, namespaces_of: Callable[[int], frozenset[str]], running: Running
) -> None:
    bot = subprocess.Popen([sys.executable, "-c", _BOT.format(root=str(ROOT))], stdout=subprocess.PIPE, text=True)
    assert bot.stdout is not None
    assert int(bot.stdout.readline()) > 1
    namespaces = namespaces_of(bot.pid)
    assert running(namespaces)

    bot.kill()
    bot.wait()
    bot.stdout.close()

    until = time.monotonic() + PATIENCE
    while (left := running(namespaces)) and time.monotonic() < until:
        time.sleep(0.01)
    assert left == []


async def test_the_launcher_gets_no_environment_and_no_descriptor(
    backend: Bubblewrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads the launcher's environment, inside or outside, finds nothing."""
    monkeypatch.setenv("SLACK_BOT_TOKEN", "canary")
    held = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(held, True)
    try:
        await backend.run("chat", "1", LATE)
    finally:
        os.close(held)
    live = backend._places["chat"].session
    assert live is not None

    assert Path(f"/proc/{live.pid}/environ").read_text() == ""
    assert not any(str(Path(entry).readlink()) == "/dev/null" for entry in Path(f"/proc/{live.pid}/fd").iterdir())


def test_as_root_the_code_is_given_to_nobody_before_its_sandbox_begins() -> None:
    """The limit of processes does not bind root, so root is given up outside the inner sandbox."""
    found = launch.Programs("/usr/bin/bwrap", "/usr/bin/setpriv")
    seen = Layout((), (), (), "/python/bin/python3", (), ("/worker.py",))

    line = launch.command(found, seen, Limits(), 9, root=True)

    assert line.index("/usr/bin/setpriv", 20) < line.index("--disable-userns")
    assert line[line.index("--reuid") + 1] == "65534"
    assert "--share-net" not in line


async def test_the_self_test_passes_here(backend: Bubblewrap) -> None:
    await backend.check()

    assert "numpy" in backend.summary


@pytest.mark.parametrize(
    ("weaker", "said"),
    [
        (("--share-net",), "ports can be reached"),
        (("--dir", "/root"), "/root is visible"),
        (("--unshare-all", "--uid", "1000"), "does not run as nobody"),
    ],
)
async def test_a_sandbox_that_does_not_hold_fails_its_self_test(
    backend: Bubblewrap, monkeypatch: pytest.MonkeyPatch, weaker: tuple[str, ...], said: str
) -> None:
    real = launch.command
    monkeypatch.setattr("tools.sandbox.launcher.command", lambda *given, **more: _with(real(*given, **more), weaker))

    with pytest.raises(SandboxFailed, match=said):
        await backend.check()


def _with(line: list[str], more: tuple[str, ...]) -> list[str]:
    """The command line with options added to the inner sandbox."""
    place = len(line) - line[::-1].index("--seccomp") - 1
    return line[:place] + list(more) + line[place:]


async def test_without_its_filter_the_self_test_fails(backend: Bubblewrap, monkeypatch: pytest.MonkeyPatch) -> None:
    allow = bytes.fromhex("0600000000 00ff7f".replace(" ", ""))
    monkeypatch.setattr(backend._launcher, "_filter", allow)

    with pytest.raises(SandboxFailed, match=r"does not confine: .*(filtered|traced)"):
        await backend.check()


async def test_without_a_limit_of_processes_the_self_test_fails(
    sandbox_possible: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far as it looks: the worker is told 200, the test expects 64."""
    backend = Bubblewrap((), Limits(processes=200))
    expected = dataclasses.replace(backend.limits, processes=64)
    monkeypatch.setattr(Bubblewrap, "limits", property(lambda _: expected))
    try:
        with pytest.raises(SandboxFailed, match="number of processes is not limited"):
            await backend.check()
    finally:
        await backend.close()


async def test_a_launcher_that_cannot_start_says_why(backend: Bubblewrap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.sandbox.launcher.command", lambda *given, **more: ["/usr/bin/bwrap", "--no-such-option"])

    with pytest.raises(SandboxFailed, match="no-such-option"):
        await backend.run("chat", "1", LATE)


def test_without_the_programs_the_reason_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(SandboxFailed, match="package bubblewrap"):
        Bubblewrap(())


def test_the_filter_is_known_for_both_common_processors_and_no_other() -> None:
    assert program("x86_64") != program("aarch64")
    assert program("riscv64") is None
    assert json.dumps([len(program(name) or b"") % 8 for name in ("x86_64", "aarch64")]) == "[0, 0]"


async def test_a_sandbox_whose_end_is_cancelled_has_ended_all_the_same(backend: Bubblewrap) -> None:
    session = await backend.open()
    ending = asyncio.create_task(session.end())
    await asyncio.sleep(0)

    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending

    assert session._process.returncode is not None
