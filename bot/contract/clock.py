"""The clock that is passed in: `monotonic` for every wait and limit, `wall` only for display and retention."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Collection
from typing import Protocol, TypeVar

_Result = TypeVar("_Result")


class Clock(Protocol):
    """The core's source of time; tests pass in one that they move themselves."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never jump."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch; may jump."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own time."""

    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@contextlib.asynccontextmanager
async def time_limit(clock: Clock, seconds: float) -> AsyncIterator[None]:
    """Cancel a block that takes longer than `seconds` of a clock, as `asyncio.timeout` does with the loop's own clock.

    Raises:
        TimeoutError: it took longer.
    """
    async with asyncio.timeout(None) as limit:

        async def expire() -> None:
            await clock.sleep(seconds)
            limit.reschedule(asyncio.get_running_loop().time())

        alarm = asyncio.create_task(expire(), name="time limit")
        try:
            yield
        finally:
            alarm.cancel()
            await asyncio.gather(alarm, return_exceptions=True)


async def done_within(clock: Clock, tasks: Collection[asyncio.Future[_Result]], seconds: float) -> bool:
    """Return True as soon as all tasks are done, or False after `seconds` of a clock; the tasks keep running."""
    waited = list(tasks)
    if waited:
        with contextlib.suppress(TimeoutError):
            async with time_limit(clock, seconds):
                await asyncio.wait(waited)
    return all(task.done() for task in waited)
