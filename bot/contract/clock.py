"""The clock that is passed in: `monotonic` for every wait and limit, `wall` only for display and retention."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from typing import Final, Protocol, TypeVar

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

    def after(self, seconds: float, action: Callable[[], object]) -> Timer:
        """Call `action` after so many seconds, unless what is returned is cancelled before."""
        ...


class Timer(Protocol):
    """What will be done at its time."""

    def cancel(self) -> None:
        """Do not do it; without effect once it is done."""
        ...


class SystemClock:
    """The machine's own time."""

    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def after(self, seconds: float, action: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, action)


@contextlib.asynccontextmanager
async def time_limit(clock: Clock, seconds: float) -> AsyncIterator[None]:
    """Cancel a block that takes longer than `seconds` of a clock, as `asyncio.timeout` does with the loop's own clock.

    Raises:
        TimeoutError: it took longer.
    """
    async with asyncio.timeout(None) as limit:
        alarm = clock.after(seconds, lambda: limit.reschedule(0.0))
        try:
            yield
        finally:
            alarm.cancel()


async def done_within(clock: Clock, tasks: Collection[asyncio.Future[_Result]], seconds: float) -> bool:
    """Return True as soon as all tasks are done, or False after `seconds` of a clock; the tasks keep running."""
    waited = list(tasks)
    if waited:
        with contextlib.suppress(TimeoutError):
            async with time_limit(clock, seconds):
                await asyncio.wait(waited)
    return all(task.done() for task in waited)


PATIENT: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""For calls that are retried for ever: a failing store, an unreachable platform."""
QUICK: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""For a call that a person waits for."""


def pause_after(tries: int, pauses: Sequence[float]) -> float:
    """Return the pause after this many failures, counted from 1; the last one repeats."""
    return pauses[min(tries, len(pauses)) - 1]


class Backoff(Iterator[float]):
    """Iterates over the pauses between retries of one call; make a new one, or `reset` it, for the next call."""

    def __init__(self, clock: Clock, pauses: Sequence[float] = PATIENT, *, endless: bool = True) -> None:
        """
        Args:
            endless: repeat the last pause for ever; otherwise the retries end with the pauses.
        """
        self._clock = clock
        self._pauses = pauses
        self._endless = endless
        self.tries = 0
        """Failures after which a pause was requested."""

    def __next__(self) -> float:
        if self.tries >= len(self._pauses) and not self._endless:
            raise StopIteration
        self.tries += 1
        return pause_after(self.tries, self._pauses)

    def reset(self) -> None:
        """Start again with the shortest pause: a try succeeded."""
        self.tries = 0

    async def wait(self) -> bool:
        """Wait for the next pause; return False at once if no retries are left."""
        pause = next(self, None)
        if pause is None:
            return False
        await self._clock.sleep(pause)
        return True
