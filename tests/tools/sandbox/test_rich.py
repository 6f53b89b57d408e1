"""The Jupyter kernel inside the same sandbox: what it adds, and that it lets out no more."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
import socket
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from tests.patience import PATIENCE, slowed
from tools.contract.base import Unavailable
from tools.run_python import CodeRunner, open_tool
from tools.sandbox import processes
from tools.sandbox.bwrap import Bubblewrap
from tools.sandbox.cell import SandboxFailed
from tools.sandbox.limits import MIB, Limits
from tools.settings import CodeSettings

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("ipykernel") is None, reason="ipykernel is not installed (extra: code-rich)"
    ),
    # One kernel for all tests that leave it as it was.
    pytest.mark.asyncio(loop_scope="module"),
]
Inside = Callable[[Bubblewrap, str], frozenset[str]]
Running = Callable[[frozenset[str]], list[str]]

PATIENT = Limits(disk=16 * MIB, file=8 * MIB, entries=2000)
# Nothing here is stopped by a deadline but what a test gives one, so that a slow machine is told from an attack. The
# memory is little more than the kernel's own: filling it is the work of a moment.
STRICT = replace(PATIENT, memory=256 * MIB, grace=0.3)
PNG = b"\x89PNG\r\n\x1a\n"
_IMPORT = "%matplotlib inline\nimport matplotlib.pyplot as plt\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rich(sandbox_possible: None) -> AsyncIterator[Bubblewrap]:
    made = Bubblewrap(("numpy", "matplotlib"), PATIENT, rich=True)
    yield made
    await made.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def strict(sandbox_possible: None) -> AsyncIterator[Bubblewrap]:
    made = Bubblewrap((), STRICT, rich=True)
    yield made
    await made.close()


async def test_code_runs_in_a_kernel_whose_sockets_nobody_else_finds(rich: Bubblewrap) -> None:
    kernel = await rich.run("chat", "[kind.__module__ for kind in type(get_ipython().kernel).__mro__]", 15.0)
    way = await rich.run("chat", "import os, glob\nglob.glob('/tmp/.k*') + glob.glob('/out/*')", 15.0)

    assert "ipykernel.ipkernel" in kernel.value
    assert way.value == "[]"


async def test_between_two_cells_nothing_runs(rich: Bubblewrap) -> None:
    """Neither the kernel nor the program that speaks with it: a thread that was left takes no processor time."""
    await rich.run("chat", "import threading, time\nthreading.Thread(target=time.sleep, args=(0.5,)).start()", 15.0)
    session = rich._places["chat"].session
    assert session is not None
    programs = processes.after_leaders(processes.descendants(session.pid))

    def states() -> list[str]:
        return [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in programs]

    # The signals are sent; a processor that is busy takes its time to deliver them.
    until = time.monotonic() + PATIENCE
    while states() != ["T", "T"] and time.monotonic() < until:
        await asyncio.sleep(0.01)

    assert states() == ["T", "T"]


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed (extra: code)")
async def test_figures_arrive_as_png_one_for_each_time_they_are_shown(rich: Bubblewrap) -> None:
    cells = {
        "left open": ("plt.plot([1, 4, 9]);", ["figure.png"]),
        "shown twice": (
            "plt.plot([1]); plt.show()\nplt.bar([1], [2]); plt.show()",
            ["figure.png", "figure-2.png"],
        ),
        "saved by the code": ("plt.plot([1]); plt.savefig('squares.png')", ["squares.png"]),
        "a figure as the last value": (
            "from matplotlib.figure import Figure\nf = Figure()\nf.subplots().plot([1])\nf",
            ["figure.png"],
        ),
        "before an error": ("plt.plot([1])\n1 / 0", ["figure.png"]),
        "nothing more": ("1", []),
    }
    await rich.run("chat", _IMPORT, 15.0)
    for title, (code, names) in cells.items():
        cell = await rich.run("chat", code, 15.0)

        assert [file.name for file in cell.files] == names, title
        assert all(file.media_type == "image/png" and file.content.startswith(PNG) for file in cell.files), title
        assert ("ZeroDivisionError" in cell.error) == (title == "before an error"), (title, cell.error)


async def test_the_first_plot_needs_no_magic_and_a_broken_one_is_told(rich: Bubblewrap) -> None:
    first = await rich.run("new", "import matplotlib.pyplot as plt\nplt.plot([1, 2]);", 15.0)
    broken = await rich.run("new", "plt.plot([1]); plt.title('$\\\\broken{$');", 15.0)

    assert ([file.name for file in first.files], first.error) == (["figure.png"], "")
    assert broken.files == ()
    assert "A figure could not be drawn" in broken.notes[0]


DISPLAYED = {
    "html": ("from IPython.display import HTML\ndisplay(HTML('<b>bold</b>'))", "<b>bold</b>\n", ""),
    "markdown": ("from IPython.display import Markdown\ndisplay(Markdown('**bold**'))", "**bold**\n", ""),
    "markdown as the last value": ("Markdown('# Title')", "", "# Title"),
    "latex": ("from IPython.display import Latex\nLatex('$x^2$')", "", "$x^2$"),
    "json": ("from IPython.display import JSON\nJSON({'a': 'é'})", "", '{"a": "é"}'),
    "plain values": ("display('shown', 2)", "'shown'\n2\n", ""),
    "an object of the code with markup only": (
        "class A:\n    def _repr_html_(self): return '<i>a</i>'\nA()",
        "",
        "<i>a</i>",
    ),
    "a table with a text of its own": (
        "class T:\n    def _repr_html_(self): return '<table>'\n    def __repr__(self): return 'a b'\nT()",
        "",
        "a b",
    ),
    "an object without any form": ("type('B', (), {'__module__': 'm'})() and 0", "", "0"),
    "half a character": ("print('\\ud800 ok')\nMarkdown('\\ud800')", "? ok\n", "?"),
    "bytes": ("import sys\nprint('a')\nsys.stdout.buffer.write(b'b\\n')", "a\nb\n", "2"),
    "quiet by a semicolon": ("1 + 1;", "", ""),
    "awaited": ("import asyncio\nawait asyncio.sleep(0, 'done')", "", "'done'"),
    "the end of a cell": ("exit()", "", ""),
}


async def test_what_is_displayed_arrives_as_the_text_that_says_most(rich: Bubblewrap) -> None:
    for title, (code, output, value) in DISPLAYED.items():
        cell = await rich.run("chat", code, 15.0)

        assert (cell.error, cell.output, cell.value, cell.files) == ("", output, value, ()), title


async def test_displayed_pictures_arrive_as_files(rich: Bubblewrap) -> None:
    code = f"""
from IPython.display import Image, SVG
display(Image(data={PNG!r} + b"rest"), SVG("<svg xmlns='http://www.w3.org/2000/svg'></svg>"))
class Drawn:
    def _repr_png_(self): return {PNG!r}
Drawn()
"""
    cell = await rich.run("chat", code, 15.0)

    assert [(file.name, file.media_type) for file in cell.files] == [
        ("figure.png", "image/png"),
        ("figure.svg", "image/svg+xml"),
        ("figure-2.png", "image/png"),
    ]
    assert cell.files[0].content == PNG + b"rest"
    assert (cell.output, cell.value, cell.error) == ("", "", "")


async def test_a_picture_that_is_shown_again_replaces_the_first(rich: Bubblewrap) -> None:
    code = f"""
from IPython.display import Image, clear_output
shown = display(Image(data={PNG!r} + b"one"), display_id=True)
display(Image(data={PNG!r} + b"kept"))
shown.update(Image(data={PNG!r} + b"two"))
"""
    updated = await rich.run("chat", code, 15.0)
    cleared = await rich.run("chat", f"{code}clear_output()\nprint(1)\ndisplay(Image(data={PNG!r}))", 15.0)
    waited = await rich.run("chat", f"{code}clear_output(wait=True)", 15.0)

    assert [file.content for file in updated.files] == [PNG + b"two", PNG + b"kept"]
    assert ([file.content for file in cleared.files], cleared.output) == ([PNG], "1\n")
    assert len(waited.files) == 2


async def test_a_question_to_the_person_is_refused_with_a_sentence(rich: Bubblewrap) -> None:
    for code in ("input('Name? ')", "import getpass\ngetpass.getpass()"):
        cell = await rich.run("chat", code, 15.0)

        assert cell.error.endswith("EOFError: nobody can type here; put the value into the code")


async def test_code_that_waits_runs_as_in_a_notebook_and_as_in_a_program(rich: Bubblewrap) -> None:
    begun = await rich.run(
        "chat",
        "import asyncio\nasync def later():\n    await asyncio.sleep(0)\n    return 'done'\n"
        "begun = asyncio.create_task(later())",
        15.0,
    )
    ended = await rich.run("chat", "await begun", 15.0)
    program = await rich.run("chat", "asyncio.run(later())", 15.0)
    asleep = await rich.run("chat", "await asyncio.sleep(60)", 0.1)
    nested = await rich.run("chat", "asyncio.run(asyncio.sleep(60))", 0.1)
    busy = await rich.run("chat", "await asyncio.sleep(0)\nwhile True: pass", 0.1)
    after = await rich.run("chat", "await later()", 15.0)

    assert (begun.error, ended.value, program.value, after.value) == ("", "'done'", "'done'", "'done'")
    for cell in (asleep, nested, busy):
        assert (cell.error, cell.lost) == ("Stopped: it ran longer than is allowed. Variables are kept.", False)


async def test_what_children_print_arrives_and_what_they_leave_is_ended(rich: Bubblewrap) -> None:
    code = """
import multiprocessing, os, subprocess, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on: a kernel has threads, and forks
print("first")
one = multiprocessing.get_context("fork").Process(target=print, args=("forked",))
one.start()
one.join()
subprocess.run([sys.executable, "-c", "print('started')"], stdout=sys.stdout)
left = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
if os.fork() == 0:
    while True: pass
"""
    cell = await rich.run("chat", code, 15.0)
    after = await rich.run("chat", "[left.poll() is None, [p for p in os.listdir('/proc') if p.isdigit()]]", 15.0)

    assert (cell.output, cell.error) == ("first\nforked\nstarted\n", "")
    assert after.value == "[False, ['1', '2', '3']]"


async def test_what_no_kernel_says_is_passed_over(rich: Bubblewrap) -> None:
    """Code shares the kernel's process and can speak for it."""
    code = """
kernel = get_ipython().kernel
for kind, content in (
    ("stream", []), ("stream", {}), ("display_data", {"data": {"image/png": "a"}}), ("status", {"execution_state": {}}),
    ("display_data", {"data": 1, "transient": 1}), ("nothing", None), ("execute_reply", [[]]),
):
    kernel.session.send(kernel.iopub_socket, kind, content, parent=kernel.get_parent())
kernel.iopub_socket.send_multipart([b"<IDS|MSG>", b"forged", b"{}", b"{}", b"{}", b"{}"])
kernel.iopub_socket.send_multipart([b"nothing"])
7
"""
    cell = await rich.run("chat", code, 15.0)
    after = await rich.run("chat", "6 * 7", 15.0)

    assert not cell.lost
    assert after.value == "42"


async def test_variables_and_the_last_value_are_kept(rich: Bubblewrap) -> None:
    await rich.run("chat", "x = 20\nx + 1", 15.0)
    again = await rich.run("chat", "(x, _)", 15.0)
    other = await rich.run("other", "'x' in globals()", 15.0)

    assert (again.value, other.value) == ("(20, 21)", "False")


async def test_magics_work(rich: Bubblewrap) -> None:
    timed = await rich.run("chat", "%timeit -n 1 -r 1 sum(range(10))", 15.0)
    cell = await rich.run("chat", "%%time\ny = 7", 15.0)
    who = await rich.run("chat", "%who_ls int", 15.0)
    helped = await rich.run("chat", "len?", 15.0)

    assert "per loop" in timed.output
    assert "Wall time" in cell.output
    assert "'y'" in who.value
    assert "number of items" in helped.output
    assert "\x1b" not in helped.output


async def test_an_error_is_a_plain_traceback_of_the_codes_own_lines(rich: Bubblewrap) -> None:
    failed = await rich.run("chat", "def f():\n    return 1 / 0\nf()", 15.0)
    wrong = await rich.run("chat", "x = = 1", 15.0)
    unknown = await rich.run("chat", "%nosuch", 15.0)

    assert failed.error.splitlines()[0] == "Traceback (most recent call last):"
    assert [re.sub(r"\d+>", "n>", line) for line in failed.error.splitlines() if "File" in line] == [
        '  File "<cell n>", line 3, in <module>',
        '  File "<cell n>", line 2, in f',
    ]
    assert failed.error.endswith("ZeroDivisionError: division by zero")
    assert wrong.error.endswith("SyntaxError: invalid syntax")
    assert "`%nosuch` not found" in unknown.error
    mute = await rich.run("chat", "class A:\n    def __repr__(self): return 1 / 0\nA()", 15.0)
    assert mute.output == "ZeroDivisionError: division by zero\n"
    for cell in (failed, wrong, unknown):
        assert "\x1b" not in cell.error + cell.output
        assert cell.output == ""


async def test_a_shell_escape_finds_no_shell(rich: Bubblewrap) -> None:
    """Neither the machine's network nor one of the sandbox's own: there is no network."""
    for code in ("!ls /", "files = !ls /", "%pip install x", "%sx ls /", "%%bash\nls /", "%%sh\nls /"):
        cell = await rich.run("chat", code, 15.0)

        assert "no system shell in the sandbox" in cell.error or "Couldn't find program" in cell.output, code
        assert "usr" not in cell.output
        assert (await rich.run("chat", "6 * 7", 15.0)).value == "42"


async def test_a_program_started_by_a_magic_lives_in_the_sandbox(rich: Bubblewrap) -> None:
    code = "%%script /python/bin/PYTHON\nimport os\nprint(os.getuid(), os.path.exists('/etc/passwd'))"
    named = await rich.run("chat", "import sys\nsys.executable", 15.0)

    cell = await rich.run("chat", code.replace("/python/bin/PYTHON", named.value.strip("'")), 15.0)

    assert cell.output == "65534 False\n"


async def test_the_self_test_of_the_sandbox_passes_with_the_kernel(rich: Bubblewrap) -> None:
    """The same proofs as for the plain interpreter: user, capabilities, files, network, memory, processes."""
    await rich.check()

    assert "Jupyter kernel on Python" in rich.summary


_SOON, _LATE = 0.3, 15.0
STOPPED = {
    "an endless loop": ("while True: pass", "ran longer", _SOON),
    "a loop that swallows the interruption": (
        "import time\nwhile True:\n    try:\n        while True: time.sleep(0.01)\n    except BaseException: pass",
        "not let itself be interrupted",
        _SOON,
    ),
    "an endless magic": ("%timeit -n 1 -r 1 exec('while True: pass')", "ran longer", _SOON),
    "an endless form": (
        "class A:\n    def _repr_html_(self):\n        while True: pass\nA()",
        "ran longer",
        _SOON,
    ),
    "a fork bomb": ("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", "Stopped", _SOON),
    "an endless display": ("while True: display('x' * 100)", "printed more", _LATE),
    "many small objects": ("x = []\nwhile True: x.append(bytearray(10**6))", "MemoryError", _LATE),
    "an exit": ("import os; os._exit(0)", "interpreter ended", _LATE),
    "a kill": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "interpreter ended", _LATE),
    "a kill of its worker": ("import os, signal; os.kill(os.getppid(), signal.SIGKILL)", "interpreter ended", _LATE),
}


async def _starve(starved: list[float]) -> None:
    """Count how long this process waited for a processor: what others took of this machine is no delay of a sandbox."""
    while True:
        began = time.monotonic()
        await asyncio.sleep(0.02)
        starved[0] += max(0.0, time.monotonic() - began - 0.025)


@pytest.mark.parametrize("attack", STOPPED)
async def test_whoever_goes_too_far_is_stopped_in_time(
    strict: Bubblewrap, attack: str, inside: Inside, running: Running
) -> None:
    code, said, seconds = STOPPED[attack]
    await strict.run("chat", "kept = 1", _LATE)
    namespaces = inside(strict, "chat")
    before = running(namespaces)
    starved = [0.0]
    watch = asyncio.create_task(_starve(starved))
    began = time.monotonic()

    cell = await strict.run("chat", code, seconds)

    took = time.monotonic() - began
    watch.cancel()
    assert took - starved[0] < seconds + slowed(1.0)
    assert said in cell.error
    assert len(cell.output) <= STRICT.output
    assert running(namespaces) == ([] if cell.lost else before)
    after = await strict.run("chat", "'kept' in globals(), 6 * 7", _LATE)
    assert after.value == f"({not cell.lost}, 42)"
    await strict.run("chat", "x = []", _LATE)


async def test_a_cell_that_takes_too_much_processor_time_is_interrupted(sandbox_possible: None) -> None:
    backend = Bubblewrap((), replace(PATIENT, cpu=0.2), rich=True)
    try:
        await backend.run("chat", "kept = 1", _LATE)
        stopped = await backend.run("chat", "while True: pass", _LATE)
        idle = await backend.run("chat", "import time\ntime.sleep(0.3)\nkept", _LATE)
    finally:
        await backend.close()

    assert stopped.error == "Stopped: it used more processor time than is allowed. Variables are kept."
    assert (idle.value, idle.error) == ("1", "")


async def test_the_environment_of_the_bot_cannot_be_read(rich: Bubblewrap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "canary-51c7")
    code = """
import glob
found = [repr(get_ipython().run_line_magic("env", ""))]
for path in glob.glob("/proc/[0-9]*/*") + glob.glob("/proc/[0-9]*/task/*/*"):
    try:
        found.append(open(path, "rb").read(100000).decode("latin-1"))
    except OSError:
        pass
("canary" + "-51c7" in "".join(found), "TELE" + "GRAM" in "".join(found), len(found) > 20)
"""
    cell = await rich.run("started with the canary set", code, 15.0)

    assert (cell.error, cell.value) == ("", "(False, False, True)")


async def test_no_network_leads_out(rich: Bubblewrap) -> None:
    abstract = f"\0parley-rich-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as canary, socket.socket(socket.AF_UNIX) as local:
        canary.setblocking(False)
        local.bind(abstract)
        local.listen()
        code = f"""
import socket
reached = []
for kind, address in ((socket.AF_INET, ("127.0.0.1", {canary.getsockname()[1]})), (socket.AF_UNIX, {abstract!r})):
    try:
        with socket.socket(kind) as tried:
            tried.settimeout(0.1)
            tried.connect(address)
            reached.append(address)
    except OSError:
        pass
reached
"""
        cell = await rich.run("chat", code, 15.0)

        assert (cell.error, cell.value) == ("", "[]")
        with pytest.raises(BlockingIOError):
            canary.accept()


def _tool(rich: bool) -> CodeRunner:
    return open_tool(CodeSettings.model_construct(code_backend="jupyter" if rich else "bwrap", code_packages=""))


async def test_the_setting_chooses_the_kernel_and_the_plain_interpreter_knows_no_magics(sandbox_possible: None) -> None:
    for wanted in (True, False):
        tool = _tool(wanted)
        try:
            assert ("Jupyter" in (await tool.check()).text) == wanted
        finally:
            await tool.close()


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
async def test_where_the_operator_wants_the_kernel_and_ipykernel_is_missing_it_is_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(
        Unavailable, match="CODE_BACKEND=jupyter needs ipykernel: pip install ipykernel ipython"
    ) as lack:
        _tool(True)

    assert lack.value.wanted


async def test_asking_for_the_kernel_without_ipykernel_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(SandboxFailed, match="pip install ipykernel"):
        Bubblewrap(rich=True)
