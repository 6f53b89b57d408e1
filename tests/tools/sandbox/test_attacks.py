"""What hostile code tries, as a table: each is denied, or killed within a second of the deadline, and nothing stays."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.patience import LATE, PATIENCE, slowed
from tools.sandbox import processes
from tools.sandbox.bwrap import Bubblewrap
from tools.sandbox.cell import Cell

Inside = Callable[[Bubblewrap, str], frozenset[str]]
Running = Callable[[frozenset[str]], list[str]]

ROOT = Path(__file__).resolve().parents[3]
CANARY = "canary-8f2e61c09b7d"

_TRIED = """
import ctypes, os, signal, socket, stat
libc = ctypes.CDLL(None, use_errno=True)
done = []
def attempt(name, action):
    try:
        result = action()
    except (OSError, ValueError, LookupError):
        return
    if not (isinstance(result, int) and not isinstance(result, bool) and result == -1):
        done.append(name)
"""

DENIED = {
    "reads files of the machine": [
        f"attempt({path!r}, lambda: open({path!r}, 'rb').read(1))"
        for path in (
            "/etc/shadow",
            "/etc/passwd",
            "/proc/1/root/etc/shadow",
            "/proc/1/cwd/etc/passwd",
            "/proc/self/root/../../etc/shadow",
            "/proc/kcore",
            "/proc/kmsg",
            "/dev/mem",
            "/dev/kmsg",
            "/dev/vda",
            "/dev/sda",
            str(ROOT / "pyproject.toml"),
            str(ROOT / ".env"),
            str(Path.home() / ".ssh" / "id_ed25519"),
        )
    ],
    "lists folders of the machine": [
        f"attempt({path!r}, lambda: os.listdir({path!r}))" for path in (str(ROOT), str(Path.home()), "/root", "/home")
    ],
    "becomes somebody else": [
        "attempt('setuid', lambda: os.setuid(0))",
        "attempt('setgid', lambda: os.setgid(0))",
        "attempt('setresuid', lambda: os.setresuid(0, 0, 0))",
        "attempt('setgroups', lambda: os.setgroups([0]))",
        "attempt('uid_map', lambda: os.write(os.open('/proc/self/uid_map', os.O_WRONLY), b'0 0 1'))",
        "attempt('chroot', lambda: os.chroot('/tmp'))",
    ],
    "makes namespaces and mounts": [
        "attempt('unshare user', lambda: libc.unshare(0x10000000))",
        "attempt('unshare mount', lambda: libc.unshare(0x00020000))",
        "attempt('setns', lambda: libc.setns(os.open('/proc/1/ns/mnt', os.O_RDONLY), 0))",
        "attempt('mount', lambda: libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))",
        "attempt('remount', lambda: libc.mount(b'none', b'/usr/lib', None, 0x1020, None))",
        "attempt('umount', lambda: libc.umount2(b'/proc', 2))",
        "attempt('mknod', lambda: os.mknod('/tmp/disk', 0o600 | stat.S_IFBLK, os.makedev(254, 0)))",
    ],
    "reaches other processes": [
        "attempt('others', lambda: [int(name) for name in os.listdir('/proc') if name.isdigit() and int(name) > 2][0])",
        "attempt('ptrace', lambda: libc.ptrace(16, 1, 0, 0))",
        "attempt('memory of 1', lambda: open('/proc/1/mem', 'rb').seek(0) or -1)",
        "attempt('keys', lambda: libc.syscall(250, 0, -3, 0))",
        "attempt('perf', lambda: libc.syscall(298, 0, 0, -1, -1, 0))",
    ],
    "writes where it reads": [
        f"attempt({path!r}, lambda: open({path!r}, 'w'))"
        for path in (
            "/new",
            "/dev/new",
            "/usr/lib/new",
            "/python/lib/new",
            "/packages/new.py",
            "/worker.py",
            "/etc/new",
        )
    ]
    + [
        "attempt('sysctl', lambda: open('/proc/sys/kernel/core_pattern', 'w'))",
        "attempt('sysrq', lambda: os.write(os.open('/proc/sysrq-trigger', os.O_WRONLY), b'h'))",
        "attempt('max namespaces', lambda: os.write(os.open('/proc/sys/user/max_user_namespaces', os.O_WRONLY), b'9'))",
    ],
    "takes memory that no limit counts": [
        "attempt('shmget', lambda: libc.shmget(0, 4096, 0o1600))",
        "attempt('memfd', lambda: os.memfd_create('x'))",
        "attempt('raised limit', lambda: __import__('resource').setrlimit(8, (-1, -1)))",
    ],
    "opens strange sockets": [
        "attempt('vsock', lambda: socket.socket(40, socket.SOCK_STREAM))",
        "attempt('netlink', lambda: socket.socket(16, socket.SOCK_RAW))",
        "attempt('packet', lambda: socket.socket(17, socket.SOCK_RAW))",
        "attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))",
    ],
}


@pytest.mark.parametrize("attack", DENIED)
async def test_what_no_calculation_needs_is_denied(backend: Bubblewrap, attack: str) -> None:
    cell = await backend.run("chat", _TRIED + "\n".join(DENIED[attack]) + "\ndone", LATE)

    assert (cell.error, cell.value) == ("", "[]")
    assert (await backend.run("chat", "6 * 7", LATE)).value == "42"


async def test_the_attacks_above_can_tell_a_success(backend: Bubblewrap) -> None:
    cell = await backend.run("chat", _TRIED + "attempt('own file', lambda: open('/worker.py').read(1))\ndone", LATE)

    assert cell.value == "['own file']"


STOPPED = {
    "an endless loop": ("while True: pass", "ran longer"),
    "a sleep past the deadline": ("import time; time.sleep(60)", "ran longer"),
    "a loop that swallows the interruption": (
        "import time\nwhile True:\n    try:\n        while True: time.sleep(0.01)\n    except BaseException: pass",
        "not let itself be interrupted",
    ),
    "a loop in C": ("sum(range(10**12))", "ran longer"),
    "a loop that ignores the alarm": (
        "import signal\nfor n in (14, 24, 15): signal.signal(n, signal.SIG_IGN)\nwhile True: pass",
        "not let itself be interrupted",
    ),
    "a loop in many processes": (
        "import os\nfor _ in range(5): os.fork()\nwhile True: pass",
        "Stopped",
    ),
    "a fork bomb": ("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", "Stopped"),
    "a thread bomb": (
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()",
        "can't start new thread",
    ),
    "one large object": ("x = bytearray(10**10)", "MemoryError"),
    "many small objects": ("x = []\nwhile True: x.append(bytearray(10**6))", "MemoryError"),
    "memory in many processes": (
        "import os, time\nfor _ in range(9):\n    if os.fork() == 0:\n        x = bytearray(os.urandom(1000)) * 60000\n"
        "        time.sleep(60)\ntime.sleep(60)",
        "of memory",
    ),
    "a full disk": (
        "n = 0\nwhile True:\n    n += 1\n    open(f'/tmp/{n}', 'wb').write(bytes(10**6))",
        "No space left",
    ),
    "a full shared memory": (
        "n = 0\nwhile True:\n    n += 1\n    open(f'/dev/shm/{n}', 'wb').write(bytes(10**6))",
        "No space left",
    ),
    "a huge file": ("open('x', 'wb').truncate(10**9)", "File too large"),
    "countless files": ("n = 0\nwhile True:\n    n += 1\n    open(f'/tmp/{n}', 'w').close()", "files"),
    "a flood of lines": ("while True: print('x' * 100)", "printed more"),
    "one line of a megabyte": ("print('x' * 2**20)", "printed more"),
    "a flood beside Python": ("import os\nwhile True: os.write(1, b'x' * 4096)", "printed more"),
    "a flood of a child": (
        "import os, sys\nif os.fork() == 0:\n    while True: os.write(2, b'x' * 4096)\nimport time; time.sleep(60)",
        "printed more",
    ),
    "an exit": ("import os; os._exit(0)", "interpreter ended"),
    "a crash": ("import ctypes; ctypes.string_at(0)", "interpreter ended"),
    "a stack without end": (
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return [f() for _ in range(1)]\nf()",
        "",
    ),
    "closed descriptors": ("import os; os.closerange(0, 256)", "interpreter ended"),
    "too many descriptors": ("x = []\nwhile True: x.append(open('/dev/null'))", "Too many open files"),
    "noise on every descriptor": (
        "import os\nfor n in range(3, 256):\n    try: os.write(n, b'\\xff' * 64)\n    except OSError: pass",
        "no result of a cell",
    ),
    "an endless announcement": (
        "import os\nfor n in range(3, 256):\n    try: os.write(n, b'\\x00\\x01\\x00\\x00')\n    except OSError: pass",
        "",
    ),
    "a stop of itself": ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "ran longer"),
}


@pytest.mark.parametrize("attack", STOPPED)
async def test_whoever_goes_too_far_is_stopped_in_time(
    backend: Bubblewrap, attack: str, inside: Inside, running: Running
) -> None:
    """Stopped by the limit or killed soon after the deadline, though it keeps the machine busy; the chat goes on with
    the next cell."""
    code, said = STOPPED[attack]
    latest = backend.limits.wall + 1.0
    if attack == "memory in many processes":
        # On a busy machine the deadline would come first.
        backend.limits = replace(backend.limits, wall=latest)
    await backend.run("chat", "1", LATE)
    namespaces = inside(backend, "chat")
    began = time.monotonic()

    cell = await backend.run("chat", code, LATE)

    assert time.monotonic() - began < slowed(latest + 9.0)
    assert cell.error
    assert said in cell.error
    assert len(cell.output) <= backend.limits.output
    assert len(running(namespaces)) <= (0 if cell.lost else 5)
    assert (await backend.run("chat", "6 * 7", LATE)).value == "42"
    await backend.close()
    assert running(namespaces) == []


async def test_the_environment_of_the_bot_cannot_be_read(backend: Bubblewrap, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its own, nor a launcher's through procfs, nor anything else that names the machine's secrets."""
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", CANARY)
    code = """
import glob, os
found = [repr(dict(os.environ))]
for path in glob.glob("/proc/[0-9]*/*") + glob.glob("/proc/[0-9]*/task/*/*"):
    try:
        found.append(open(path, "rb").read(100000).decode("latin-1"))
    except OSError:
        pass
text = "".join(found)
(CANARY in text, "TELEGRAM" in text, len(found) > 20)
""".replace("CANARY", repr(CANARY))

    cell = await backend.run("chat", code, LATE)

    assert (cell.error, cell.value) == ("", "(False, False, True)")


async def test_no_network_leads_out(backend: Bubblewrap) -> None:
    """Not to this machine's ports, by any address of it, and not to names or the abstract sockets of programs here."""
    abstract = f"\0parley-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as canary, socket.socket(socket.AF_UNIX) as local:
        canary.setblocking(False)
        local.bind(abstract)
        local.listen()
        local.setblocking(False)
        code = f"""
import socket
reached = []
for host in ("127.0.0.1", "localhost", "0.0.0.0", "10.0.2.2", "169.254.169.254", "1.1.1.1"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            with socket.socket(socket.AF_INET, kind) as tried:
                tried.settimeout(0.05)
                tried.connect((host, {canary.getsockname()[1]}))
                tried.send(b"out")
                # A datagram to the sandbox's own loopback is accepted and read by nobody.
                if kind == socket.SOCK_STREAM or host not in ("127.0.0.1", "localhost", "0.0.0.0"):
                    reached.append(host)
        except OSError:
            pass
try:
    with socket.socket(socket.AF_UNIX) as tried:
        tried.connect({abstract!r})
        reached.append("abstract")
except OSError:
    pass
reached
"""
        cell = await backend.run("chat", code, LATE)

        assert (cell.error, cell.value) == ("", "[]")
        with pytest.raises(BlockingIOError):
            canary.accept()
        with pytest.raises(BlockingIOError):
            local.accept()


async def test_killing_everything_inside_kills_nothing(backend: Bubblewrap) -> None:
    cell = await backend.run("chat", "import os\nos.kill(1, 9)\nos.kill(1, 15)\nos.getppid()", LATE)

    assert (cell.error, cell.value) == ("", "1")


async def test_a_process_sent_to_the_background_ends_with_its_cell(
    backend: Bubblewrap, inside: Inside, running: Running
) -> None:
    await backend.run("chat", "1", LATE)
    before = len(running(inside(backend, "chat")))

    cell = await backend.run(
        "chat",
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(60)\n"
        "    os._exit(0)\nos.wait()\ntime.sleep(0.1)\nopen('/tmp/x', 'w').write('x')",
        1.0,
    )

    assert (cell.error, cell.lost) == ("", False)
    assert len(running(inside(backend, "chat"))) == before


async def test_a_child_that_leaves_the_cell_as_its_parent_answers_for_nobody(backend: Bubblewrap) -> None:
    cell = await backend.run("chat", "import os\nx = os.fork()\n1", LATE)

    assert (cell.error, cell.value) == ("", "1")
    assert (await backend.run("chat", "x > 0", LATE)).value == "True"


async def test_a_thread_left_behind_stands_still_between_cells(backend: Bubblewrap) -> None:
    await backend.run(
        "chat",
        "import threading\nstop = False\ndef spin():\n    while not stop: pass\n"
        "threading.Thread(target=spin, daemon=True).start()",
        1.0,
    )
    session = backend._places["chat"].session
    assert session is not None
    worker = processes.descendants(session.pid)[-1]
    state = ""
    until = time.monotonic() + PATIENCE
    while state != "T" and time.monotonic() < until:
        state = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0]
        await asyncio.sleep(0)

    assert state == "T"
    assert (await backend.run("chat", "stop = True\n5", LATE)).value == "5"


async def test_an_answer_forged_in_advance_is_not_taken_for_the_next_cells(backend: Bubblewrap) -> None:
    body = json.dumps({"id": "0" * 32, "value": "forged", "error": "", "notes": [], "files": []}).encode()
    frame = struct.pack("!I", len(body)) + body
    code = f"""
import os, threading, time
def forge():
    for n in range(100, 128):
        try: os.write(n, {frame!r})
        except OSError: pass
forge()
"""

    forged = await backend.run("chat", code, LATE)
    after = await backend.run("chat", "'honest'", LATE)

    assert forged.lost
    assert "no result of a cell" in forged.error
    assert after.value == "'honest'"


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{",
        b"[" * 100_000,
        b'{"id": 1}',
        b'{"id": "ID", "value": 1, "error": "", "notes": [], "files": []}',
        b'{"id": "ID", "value": "", "error": "", "notes": [], "files": [["x", -1]]}',
        b'{"id": "ID", "value": "", "error": "", "notes": [], "files": [["x", 99999999999]]}',
        b'{"id": "ID", "value": "", "error": "", "notes": [], "files": {"a": 1}}',
        b'{"id": "ID", "value": "", "error": "", "notes": [], "files": [["x", true]]}',
    ],
)
async def test_an_answer_in_another_form_ends_the_sandbox(backend: Bubblewrap, body: bytes) -> None:
    """Code can read the number of its own request, and so speak for the worker; the format is still kept to."""
    code = f"""
import os, struct, sys
frame = sys._getframe()
while "request" not in frame.f_locals:
    frame = frame.f_back
body = {body!r}.replace(b"ID", frame.f_locals["request"]["id"].encode())
os.write(1, frame.f_locals["request"]["end"].encode())
os.write(frame.f_locals["answers"], struct.pack("!I", len(body)) + body)
"""

    cell = await backend.run("chat", code, LATE)

    assert cell.lost
    assert cell.files == ()


FILES = {
    "links": (
        "import os\nfor n, t in enumerate(('/etc/passwd', '/proc/1/environ', '/worker.py')): os.symlink(t, f'{n}.txt')",
        [],
    ),
    "hard links": ("import os\ntry: os.link('/worker.py', 'a.txt')\nexcept OSError: pass", []),
    "pipes": ("import os; os.mkfifo('pipe.txt')", []),
    "sockets": ("import socket; s = socket.socket(socket.AF_UNIX); s.bind('socket.txt')", []),
    "folders": ("import os; os.makedirs('a/b'); _ = open('a/b/c.txt', 'w').write('x')", []),
    "hidden files": ("_ = open('.profile', 'w').write('x')", []),
    "names that lead elsewhere": ("_ = open('a\\\\..\\\\x:y|z.txt', 'w').write('x')", ["a_.._x_y_z.txt"]),
    "names with line ends and arrows": ("_ = open('a\\nb\\u202egnp.txt', 'w').write('x')", ["a_b_gnp.txt"]),
    "names that are no text": ("_ = open(b'\\xff\\xfe.txt', 'w').write('x')", ["__.txt"]),
    "long names": ("_ = open('x' * 251 + '.txt', 'w').write('x')", ["x" * 76 + ".txt"]),
}


@pytest.mark.parametrize("trick", FILES)
async def test_only_plain_files_leave_under_plain_names(backend: Bubblewrap, trick: str) -> None:
    code, names = FILES[trick]

    cell = await backend.run("chat", code, LATE)

    assert cell.error == ""
    assert [file.name.replace("?", "_") for file in cell.files] == names


async def test_files_beyond_the_caps_stay_and_it_is_said(backend: Bubblewrap) -> None:
    cell = await backend.run("chat", "for n in range(12): open(f'{n:02}.txt', 'w').write('x')", LATE)
    large = Bubblewrap((), _with_small_files(backend))
    try:
        huge = await large.run("chat", "open('zeros.bin', 'wb').write(bytes(5000))", LATE)
    finally:
        await large.close()

    assert len(cell.files) == backend.limits.files
    assert any("too many" in note for note in cell.notes)
    assert huge.files == ()
    assert "zeros.bin was not sent: 5000 bytes" in huge.notes[0]


def _with_small_files(backend: Bubblewrap):  # type: ignore[no-untyped-def]  # Limits
    from dataclasses import replace

    return replace(backend.limits, file_sent=4096)


async def test_cancelling_a_cell_leaves_nothing(backend: Bubblewrap, inside: Inside, running: Running) -> None:
    await backend.run("chat", "1", LATE)
    namespaces = inside(backend, "chat")
    task = asyncio.create_task(backend.run("chat", "import time; time.sleep(60)", LATE))
    await asyncio.sleep(0)

    task.cancel()
    result = (await asyncio.gather(task, return_exceptions=True))[0]
    after: Cell = await backend.run("chat", "1", LATE)

    assert isinstance(result, asyncio.CancelledError)
    assert running(namespaces) == []
    assert "an earlier cell was stopped" in after.notes[0]
