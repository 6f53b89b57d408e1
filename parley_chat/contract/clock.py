"""Time that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from typing import Any

from parley_chat.contract import waiting

_IDLE_TURNS = 3
"""Turns in which nobody runs, after which nothing was written that has yet to arrive."""
_HELD_TURNS = 30
"""Turns of the loop in which what was written to a local socket arrives."""
_TURNS = 300
"""Turns after which the rest of a longer way is not waited for: an emulator may stream without end."""


class Alarm:
    """What `FakeClock.after` returns."""

    def __init__(self, action: Callable[[], object], sleepers: list[tuple[float, int, asyncio.Future[None]]]) -> None:
        self._action = action
        self._sleepers = sleepers
        self._off = False
        self.due: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.due.add_done_callback(self._ring)
        self.sleeper = (0.0, 0, self.due)

    def _ring(self, _: asyncio.Future[None]) -> None:
        if not self._off:
            self._action()

    def cancel(self) -> None:
        self._off = True
        if not self.due.done():
            self.due.cancel()
            self._sleepers.remove(self.sleeper)
            heapq.heapify(self._sleepers)


class FakeClock:
    """Time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.outside: set[asyncio.Future[None]] = set()
        """What other threads do for tasks of this loop: time stands still until it is done."""
        self.now = 1_000.0
        self.started = 1_790_000_000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.started + self.now - 1_000.0

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        sleeper = (self.now + seconds, self._count, future)
        heapq.heappush(self._sleepers, sleeper)
        try:
            await future
        finally:
            if future.cancelled():
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)

    def after(self, seconds: float, action: Callable[[], object]) -> Alarm:
        alarm = Alarm(action, self._sleepers)
        self._count += 1
        alarm.sleeper = (self.now + max(0.0, seconds), self._count, alarm.due)
        heapq.heappush(self._sleepers, alarm.sleeper)
        return alarm

    async def settle(self) -> None:
        """Let every task run until it waits for this clock, or for something outside of this process."""
        loop: Any = asyncio.get_running_loop()
        least = _IDLE_TURNS
        for turn in range(_TURNS):
            await asyncio.sleep(0)
            if self.outside:
                least = _HELD_TURNS
                await asyncio.wait(self.outside)
            elif loop._ready:
                least = _HELD_TURNS
            elif turn >= least:
                break

    async def sleeper(self) -> None:
        """Wait until somebody waits for this clock."""
        async with asyncio.timeout(waiting.seconds):
            while not self._sleepers:
                await asyncio.sleep(0.001)

    async def advance(self, seconds: float) -> None:
        """Move on, waking every sleeper at its time."""
        until = self.now + seconds
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= until:
            at, _, future = heapq.heappop(self._sleepers)
            self.now = max(self.now, at)
            if not future.done():
                future.set_result(None)
            await self.settle()
        self.now = until
        await self.settle()
