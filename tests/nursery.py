"""A program that has loaded everything once and forks a `python -m MODULE …` whenever it is asked to.

Loading the libraries costs a second of processor time and is the same each time; what the tests are after is what the
process does then, and how it dies. Only `tests/conftest.py` talks to this: whoever comes to the listening socket whose
number is the argument sends orders as a length and JSON, with four descriptors: the three of every program, and one for
the exit code.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import sys
import time
from typing import Any

LOADED = (
    *("adapters.console.adapter", "adapters.discord.adapter", "adapters.slack.adapter", "adapters.telegram.adapter"),
    *("anyio._backends._asyncio", "httpcore", "httpcore2", "openai", "tavily"),
    *(
        "bot.app",
        "bot.cli.main",
        "bot.agent.condensing",
        "bot.intake.dispatcher",
        "bot.cli.doctor",
        "bot.model.chain",
        "bot.intake.platforms",
    ),
    *("bot.toolchoice.presearch", "bot.context.summary", "bot.store.upkeep", "bot.operations.watchdog"),
    *("bot.cli.chat", "bot.cli.installation", "bot.cli.run", "tools.fetch.service", "tools.calling.registry"),
    *("tools.databases", "tools.fetch.readers", "tools.mcp.server", "tools.mcp.session", "tools.mcp.source"),
    *("tools.sandbox.launcher", "tools.shell.run"),
)


def main() -> None:
    """Fork until the standard input ends, then end whatever is left."""
    # What is registered first runs last.
    atexit.register(_leave)
    listening = socket.socket(fileno=int(sys.argv[1]))
    ended, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    workers: list[socket.socket] = []
    told: dict[int, int] = {}
    while True:
        heard: list[Any] = [0, ended, listening, *workers]
        ready = select.select(heard, [], [])[0]
        if 0 in ready:
            break
        if ended in ready:
            os.read(ended, 4096)
            _tell(told)
        if listening in ready:
            if not workers:
                _load()
            workers.append(listening.accept()[0])
        for worker in [one for one in workers if one in ready]:
            header, descriptors, _, _ = socket.recv_fds(worker, 4, 4)
            if not header:
                worker.close()
                workers.remove(worker)
                continue
            order = json.loads(_read(worker, struct.unpack("!I", header)[0]))
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                for ours in (listening, *workers):
                    ours.close()
                for number in (ended, woken, *told.values(), descriptors[3]):
                    os.close(number)
                _run(order, descriptors[:3])
                return
            told[pid] = descriptors[3]
            for descriptor in descriptors[:3]:
                os.close(descriptor)
            worker.sendall(struct.pack("!I", pid))
    for pid in told:
        os.kill(pid, signal.SIGKILL)


def _load() -> None:
    for name in (*LOADED, *importlib.import_module("tools").TOOLS.values()):
        importlib.import_module(name)
    # The certificates of this machine, 20 ms for each client library, are read by nobody who names no others.
    network = importlib.import_module("bot.network")
    network.trusted(network.httpx2_context)
    importlib.import_module("tests.databases").quicken()
    # What is loaded is left out of every collection of the forked, which would only copy its pages.
    gc.collect()
    gc.freeze()


def _tell(told: dict[int, int]) -> None:
    """Write the exit code of everybody who has ended where it is waited for."""
    for pid in list(told):
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            os.write(told[pid], f"{code}\n".encode())
            os.close(told.pop(pid))


_codes: list[int] = []
"""What this program ends with; empty in the one that forks, and where a signal decides."""


def _run(order: dict[str, Any], descriptors: list[int]) -> None:
    """Be the program that was asked for, and end as it ends."""
    try:
        _become(order, descriptors)
    except SystemExit as end:
        _codes.append(end.code if isinstance(end.code, int) else int(end.code is not None))
        raise
    except Exception:
        _codes.append(1)
        raise
    _codes.append(0)


def _leave() -> None:
    """Leave the memory of a forked program to the system: to take its modules apart would copy all of it first."""
    if _codes:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_codes[0])


def _become(order: dict[str, Any], descriptors: list[int]) -> None:
    """Be the program that was asked for, as if just started."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    os.chdir(order["folder"])
    sys.argv[1:] = order["arguments"]
    for name, value in order["values"].items():
        owner, _, constant = name.rpartition(".")
        if (module := sys.modules.get(owner)) is not None:
            setattr(module, constant, value)
        else:
            object.__setattr__(pkgutil.resolve_name(owner), constant, value)  # the owner is a frozen object
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


def _read(orders: socket.socket, count: int) -> bytes:
    content = b""
    while len(content) < count:
        content += orders.recv(count - len(content))
    return content


if __name__ == "__main__":
    main()
