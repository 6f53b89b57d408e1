"""When a gateway session may begin: Discord allows so many beginnings in five seconds, and so many in a day.

https://docs.discord.com/developers/events/gateway#rate-limiting, #sharding-max-concurrency
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Final

from bot.contract import Clock

SECONDS: Final = 5.25
"""Between two that are counted together; a little more than Discord asks for, as they come closer on the way."""


class Identifying:
    """Lets the sessions of one bot begin one after the other, those side by side that Discord counts apart."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.concurrency = 1
        """How many are counted apart, by the rest that a shard's number leaves."""
        self._free: dict[int, float] = {}
        self._first: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def wait(self, shard: int) -> None:
        """Return when the session of a shard may begin."""
        rest = shard % self.concurrency
        async with self._first[rest]:
            await self._clock.sleep(self._free.get(rest, 0.0) - self._clock.monotonic())
            self._free[rest] = self._clock.monotonic() + SECONDS
