"""When a gateway session may begin: Discord limits the beginnings in five seconds, and in a day.

https://docs.discord.com/developers/events/gateway#rate-limiting, #sharding-max-concurrency
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Final

from bot.contract import Clock

SECONDS: Final = 5.25
"""Seconds between two beginnings that are counted together; a little more than Discord requires, as they may bunch up
on the way."""


class Identifying:
    """Lets the sessions of one bot begin one after another, and in parallel those that Discord counts separately."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.concurrency = 1
        """How many are counted separately, by the remainder of a shard's number."""
        self._free: dict[int, float] = {}
        self._first: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def wait(self, shard: int) -> None:
        """Return when the session of a shard may begin."""
        rest = shard % self.concurrency
        async with self._first[rest]:
            await self._clock.sleep(self._free.get(rest, 0.0) - self._clock.monotonic())
            self._free[rest] = self._clock.monotonic() + SECONDS
