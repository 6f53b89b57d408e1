"""Streams that are read side by side: the more they are, the longer each gathers what arrives before it is looked at.

A token costs its way through the program, whatever its length; two that are read together cost little more than one.
With hundreds of streams the ways of single tokens would take all of a processor, and everybody would wait for it, while
no platform shows anybody more than a call a second. What ends is looked at at once: nobody waits for the end of an
answer that is there.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools

from bot.contract import Clock

_READS = 1_000
"""Reads in a second, of all streams together."""
_ALONE = 25
"""So many streams are read as soon as something arrives."""
_LONGEST = 0.5
"""Seconds; what is read is never older than this, and a tick."""
_TICK = 0.025
"""Seconds between two looks at who has gathered for long enough; one timer serves all streams."""


class Crowd:
    """All streams that are open; one for all clients of a process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open = 0
        self._due: list[tuple[float, int, Gathering]] = []
        self._number = itertools.count()
        self._ticker: asyncio.Task[None] | None = None

    def join(self) -> Gathering:
        """A stream opens; it has to `leave`."""
        self._open += 1
        return Gathering(self)

    async def close(self) -> None:
        """End the timer; who gathers then looks at what there is."""
        if self._ticker is not None:
            self._ticker.cancel()
            await asyncio.gather(self._ticker, return_exceptions=True)
        for _, _, gathering in self._due:
            gathering.hurry()
        self._due.clear()

    def leave(self) -> None:
        """A stream that joined was closed."""
        self._open -= 1

    def seconds(self) -> float:
        """How long a stream gathers now."""
        return max(0.0, min(_LONGEST, (self._open - _ALONE) / _READS))

    def wake(self, gathering: Gathering, seconds: float) -> None:
        """Wake `gathering` in so many seconds."""
        heapq.heappush(self._due, (self._clock.monotonic() + seconds, next(self._number), gathering))
        if self._ticker is None or self._ticker.done():
            self._ticker = asyncio.create_task(self._tick(), name="crowd of streams")

    async def _tick(self) -> None:
        while self._due:
            await self._clock.sleep(_TICK)
            now = self._clock.monotonic()
            while self._due and self._due[0][0] <= now:
                heapq.heappop(self._due)[2].hurry()


class Gathering:
    """One stream among the others."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd: Crowd | None = crowd
        self._woken: asyncio.Future[None] | None = None

    async def gather(self) -> None:
        """Let more arrive, for as long as the number of streams asks for, or until `hurry`."""
        if self._crowd is None or (seconds := self._crowd.seconds()) <= 0:
            return
        self._woken = asyncio.get_running_loop().create_future()
        self._crowd.wake(self, seconds)
        try:
            await self._woken
        finally:
            self._woken = None

    def hurry(self) -> None:
        """Look at what there is: it is time, or nothing more will come."""
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def leave(self) -> None:
        """The stream was closed, or is about to end: what still comes is read as it comes."""
        if self._crowd is not None:
            self._crowd.leave()
            self._crowd = None
