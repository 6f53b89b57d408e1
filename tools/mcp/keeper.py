"""Supervise an MCP server program in a small process, so that none of its processes outlives the bot.

    python -I -S keeper.py LIFELINE PROGRAM [ARGUMENT ...]

It starts the program, which uses the inherited streams, and ends with its exit code. LIFELINE is the descriptor of a
pipe whose other end only the bot has: however the bot ends, even by `kill -9`, the system closes it. Then the program
is asked to end and a second later killed, with everything that it has started: its group, and on Linux also processes
that have left the group, as browsers do.

It imports little, and only the standard library: one such process runs beside each server.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

GRACE_SECONDS = 1.0
"""The time for the program to end by itself when the bot is gone."""
ASK, KILL = b"?", b"!"
"""Messages through the lifeline: end the program in order, or at once."""
NOT_STARTED = 127
_SIGNALLED = 128
"""The base of the exit code of a program that a signal ended."""
_SET_CHILD_SUBREAPER = 36
_SWEEPS = 200


def main(lifeline: int, command: list[str]) -> int:
    """Run `command` until it or the bot ends; return its exit code."""
    os.set_inheritable(lifeline, False)
    _adopt_orphans()
    ended, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # The group is asked to end, and this process with it, which must stay until the program has ended.
        signal.signal(number, lambda *_: None)
    try:
        # The program would ignore what Python ignores, too.
        program = os.posix_spawnp(
            command[0], command, os.environ, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD]
        )
    except OSError as error:
        os.write(2, f"{error.strerror}: {command[0]!r}\n".encode("utf-8", "replace"))
        return NOT_STARTED
    _let_go_of_streams()
    try:
        return _watch(program, ended, lifeline)
    finally:
        _sweep()


def _watch(program: int, ended: int, lifeline: int) -> int:
    """Wait until the program ends or must end; return its exit code."""
    watched = [ended, lifeline]
    until: float | None = None
    while True:
        left = None if until is None else max(0.0, until - time.monotonic())
        ready = select.select(watched, [], [], left)[0]
        if ended in ready:
            os.read(ended, 4096)
            if (code := _collect(program)) is not None:
                return code
        if lifeline in ready:
            said = os.read(lifeline, 1)
            if not said:
                watched.remove(lifeline)
            if said == KILL:
                until = time.monotonic()
            elif until is None:
                until = time.monotonic() + GRACE_SECONDS
                os.killpg(0, signal.SIGTERM)
        if until is not None and time.monotonic() >= until:
            return _SIGNALLED + signal.SIGKILL


def _collect(program: int) -> int | None:
    """Reap ended processes; return the program's exit code if it is among them."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if not pid:
            return code
        if pid == program:
            code = os.waitstatus_to_exitcode(status)
            code = code if code >= 0 else _SIGNALLED - code


def _adopt_orphans() -> None:
    """Become the parent of orphaned descendants, where the system supports it."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _let_go_of_streams() -> None:
    """Close the inherited streams, so that they end with the program and not with this process."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _sweep() -> None:
    """Kill every remaining process of the program."""
    if sys.platform != "linux":
        # Nothing reports who left the group; and this process ends with the group. If the bot lives, it does this.
        if os.getppid() == 1:
            os.killpg(0, signal.SIGKILL)
        return
    for _ in range(_SWEEPS):
        found = _descendants()
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.002)
        _collect(0)


def _descendants() -> list[int]:
    """Return the running descendants of this process."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - to import `pathlib` takes longer than all the rest
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:  # noqa: PTH123
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if state not in b"ZX":
            children.setdefault(int(parent), []).append(int(entry))
    found: list[int] = []
    ahead = [os.getpid()]
    while ahead:
        below = children.get(ahead.pop(), [])
        found += below
        ahead += below
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
