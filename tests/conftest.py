"""What all tests share: a clock they move themselves."""

from __future__ import annotations

import asyncio
import heapq

import pytest
from hypothesis import settings

settings.register_profile("quick", max_examples=40)
settings.load_profile("quick")


class FakeClock:
    """Time that stands still until a test moves it."""

    def __init__(self) -> None:
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
        heapq.heappush(self._sleepers, (self.now + seconds, self._count, future))
        await future

    async def settle(self) -> None:
        """Let everything that can run now run."""
        for _ in range(30):
            await asyncio.sleep(0)

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


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()
