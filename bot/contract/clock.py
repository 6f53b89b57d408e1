"""Time, handed in: `monotonic` for every wait and limit, `wall` only for display and retention."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Where a part of the core gets its time from; tests hand in one they move themselves."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never jump."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch; may jump."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own time."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
