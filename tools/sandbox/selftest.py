"""Test before the first cell that a sandbox confines code, by running code that tries to escape."""

from __future__ import annotations

import ast
import json
import os
import socket
from collections.abc import Awaitable, Callable

from tools.sandbox.cell import SandboxFailed
from tools.sandbox.layout import private
from tools.sandbox.limits import Limits
from tools.sandbox.session import Session

_SECONDS = 5.0

_PROBE = """
import ctypes, json, os, signal, socket, resource
PORT, PATHS, PROCESSES, MEMORY, FILE = json.loads({arguments!r})
broken = []
def must(holds, otherwise):
    if not holds:
        broken.append(otherwise)
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
must(set(os.getresuid() + os.getresgid()) == {{65534}} and not os.getgroups(), "code does not run as nobody")
must(all(int(status[name], 16) == 0 for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")), "code has capabilities")
must(status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2", "system calls are not filtered")
own = [str(pid) for pid in range(1, os.getpid() + 1)]
must(len(own) <= 3 and [name for name in os.listdir("/proc") if name.isdigit()] == own, "other processes are visible")
must(set(open("/proc/1/environ").read().split("\\0")) <= {{"", "PWD=/tmp", "PWD=/"}}, "an environment can be read")
for path in PATHS:
    must(not os.path.lexists(path), path + " is visible")
must([line.split(":")[0].strip() for line in open("/proc/net/dev")][2:] == ["lo"], "a network is visible")
try:
    socket.create_connection(("127.0.0.1", PORT), 0.2).close()
    broken.append("this machine's ports can be reached")
except OSError:
    pass
for path in ("/", "/dev", "/proc", "/usr/lib", "/python", "/packages"):
    try:
        os.close(os.open(path + "/written", os.O_CREAT | os.O_WRONLY))
        broken.append(path + " can be written")
    except OSError:
        pass
library = ctypes.CDLL(None, use_errno=True)
must(library.unshare(0x10000000) != 0, "user namespaces can be made")
must(library.mount(b"none", b"/tmp", b"tmpfs", 0, None) != 0, "file systems can be mounted")
must(library.shmget(0, 4096, 0o1600) == -1, "shared memory escapes the memory limit")
pid = os.fork()
if pid == 0:
    flags = 0x10000000 | signal.SIGCHLD
    cloned = library.syscall({clone}, flags, 0, 0, 0, 0)
    os._exit(1 if cloned != -1 else 2 if library.ptrace(0, 0, 0, 0) != -1 else 7)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
must(code == 7, {{1: "clone makes user namespaces", 2: "processes can be traced"}}.get(code, "a probe crashed"))
forked = []
try:
    while len(forked) <= PROCESSES:
        pid = os.fork()
        if pid == 0:
            while True:
                signal.pause()
        forked.append(pid)
    broken.append("the number of processes is not limited")
except OSError:
    pass
for pid in forked:
    os.kill(pid, signal.SIGKILL)
for pid in forked:
    os.waitpid(pid, 0)
try:
    bytearray(MEMORY)
    broken.append("memory is not limited")
except MemoryError:
    pass
with open("/tmp/large", "wb") as file:
    try:
        file.truncate(FILE + 1)
        broken.append("file sizes are not limited")
    except OSError:
        pass
must(resource.getrlimit(resource.RLIMIT_CORE) == (0, 0), "core files are written")
json.dumps(broken)
"""
_REFUSED = (
    "user namespaces seem to be forbidden here: on Ubuntu allow them to bwrap in AppArmor, in a container run as an "
    "ordinary user with a seccomp profile that allows them"
)
_CLONE = {"x86_64": 56, "aarch64": 220}


async def examine(start: Callable[[], Awaitable[Session]], limits: Limits) -> None:
    """Start a sandbox with `limits` and try to escape from it.

    Raises:
        SandboxFailed: it cannot be started, or something escaped; the text says what.
    """
    hidden = [*map(str, private()), "/etc/passwd", "/etc/shadow", "/root", "/home"]
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.setblocking(False)
        arguments = [canary.getsockname()[1], hidden, limits.processes, limits.memory, limits.file]
        code = _PROBE.format(arguments=json.dumps(arguments), clone=_CLONE[os.uname().machine])
        try:
            session = await start()
        except SandboxFailed as failure:
            # bubblewrap's words if the kernel, a container or AppArmor refuses.
            if any(word in str(failure) for word in ("namespace", "uid map", "not permitted", "Permission denied")):
                raise SandboxFailed(f"{failure}; {_REFUSED}") from failure
            raise
        try:
            cell = await session.run(code, _SECONDS)
        finally:
            await session.end()
        try:
            canary.accept()[0].close()
            raise SandboxFailed("the sandbox does not confine: this machine's ports can be reached")
        except BlockingIOError:
            pass
    if cell.error:
        raise SandboxFailed(f"the self-test did not finish: {cell.error.splitlines()[-1]}")
    try:
        broken = json.loads(ast.literal_eval(cell.value))
    except (ValueError, SyntaxError, TypeError) as error:
        raise SandboxFailed("the self-test gave no result") from error
    if broken:
        raise SandboxFailed(f"the sandbox does not confine: {', '.join(map(str, broken))}")
