"""An event loop whose waits cost no time: while nobody in this process has anything to do, its clock runs faster.

The whole bot and the emulators share one process in most journeys: when their loop waits for a timer and for nothing
else, nothing can happen before that timer. What other threads and other processes do takes its own time: while one of
them works for a task of this loop, the clock runs as it always does. While this process works, the clock counts its
processor time, so that no deadline depends on what else runs on the machine.
"""

from __future__ import annotations

import asyncio
import selectors
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar, TypeVarTuple, Unpack

import pytest

from bot.contract import SystemClock
from bot.store.database import Database

_Given = TypeVarTuple("_Given")
_Told = TypeVar("_Told")

_TURN = 0.00005
"""Seconds that each turn of the loop takes by its clock: about what it takes in truth."""
_LOOK = 0.0002
"""Seconds for which it waits for what is on its way through the machine, before the clock moves on."""
_STEP = 0.01
"""Seconds by which the clock moves on then: what was longer on its way comes a little late, not after every limit."""


class _Selector(selectors.DefaultSelector):
    """Waits as long as its loop says."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: SwiftLoop | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.loop is None or not self.loop.swift:
            return super().select(timeout)
        self.loop.now += _TURN
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is None or not self.loop.alone:
            since = time.monotonic()
            ready = super().select(timeout)
            self.loop.now += time.monotonic() - since
            return ready
        time.sleep(_LOOK)
        if not (ready := super().select(0)):
            self.loop.now += min(timeout, _STEP)
        return ready


def _goes_on(program: asyncio.SubprocessTransport) -> bool:
    """Whether a program runs, or what it wrote is still read; its end may come before that of what it has started."""
    pipes = [pipe for number in range(3) if (pipe := program.get_pipe_transport(number)) is not None]
    return program.get_returncode() is None or not all(pipe.is_closing() for pipe in pipes)


class SwiftLoop(asyncio.SelectorEventLoop):
    """Runs as any loop does, but for the time within `swift`."""

    def __init__(self) -> None:
        selector = _Selector()
        super().__init__(selector)
        selector.loop = self
        self.now = 0.0
        """What its clock says within `swift`."""
        self.ahead = 0.0
        """Seconds by which its clock is ahead of the machine's, outside of it."""
        self.swift = False
        self.outside: set[object] = set()
        """What other threads do for tasks of this loop."""
        self._programs: list[asyncio.SubprocessTransport] = []

    def time(self) -> float:
        return self.now if self.swift else super().time() + self.ahead

    def turn_swift(self, swift: bool) -> None:
        """Go on from the same moment by the other clock."""
        self.now = self.time()
        self.ahead = self.now - super().time()
        self.swift = swift

    @property
    def alone(self) -> bool:
        """Whether nothing outside of this thread works for it, so that only its own timers can be next."""
        self._programs = [one for one in self._programs if _goes_on(one)]
        return self.swift and not self.outside and not self._programs

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[_Given]], _Told], *args: *_Given
    ) -> asyncio.Future[_Told]:
        work = super().run_in_executor(executor, func, *args)
        self.outside.add(work)
        work.add_done_callback(self.outside.discard)
        return work

    async def _make_subprocess_transport(self, *args: Any, **kwargs: Any) -> Any:
        transport = await super()._make_subprocess_transport(*args, **kwargs)  # type: ignore[misc]  # without a type
        self._programs.append(transport)
        return transport


@contextmanager
def swift(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Within it, waits on the running loop, its emulators and the bot's own clock cost no time."""
    loop, together = asyncio.get_running_loop(), Database.run_together
    assert isinstance(loop, SwiftLoop)

    async def noticed(database: Database, work: Callable[[sqlite3.Connection], _Told]) -> _Told:
        done = object()
        loop.outside.add(done)
        try:
            return await together(database, work)
        finally:
            loop.outside.discard(done)

    with monkeypatch.context() as patched:
        loop.turn_swift(True)
        wall = time.time() - loop.time()
        patched.setattr(Database, "run_together", noticed)
        patched.setattr(SystemClock, "monotonic", lambda _: loop.time())
        patched.setattr(SystemClock, "wall", lambda _: wall + loop.time())
        try:
            yield
        finally:
            loop.turn_swift(False)
