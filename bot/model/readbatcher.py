"""Batch the reads of concurrent model streams: the more streams are open, the longer each collects before a read.

The work a token causes does not depend on its length; two tokens read together cost little more than one. With hundreds
of streams, reading each token by itself would use up a processor, while no platform shows anybody more than a call a
second. A stream that ends is read at once: nobody waits for an answer that is complete.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools

from bot.contract import Clock

_READS = 1_000
"""Reads a second, over all streams."""
_ALONE = 25
"""Up to this many open streams, each is read as soon as something arrives."""
_LONGEST = 0.5
"""Seconds a stream collects at most, plus one tick."""
_TICK = 0.025
"""Seconds between two checks of which streams are due; one timer serves all of them."""


class ReadBatcher:
    """Decides how long each open stream collects before it is read; one object for the process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open = 0
        self._due: list[tuple[float, int, BatchedRead]] = []
        self._number = itertools.count()
        self._ticker: asyncio.Task[None] | None = None

    def join(self) -> BatchedRead:
        """Count a stream that opened; call `leave` on what is returned when it closes."""
        self._open += 1
        return BatchedRead(self)

    async def close(self) -> None:
        """Stop the timer and have every waiting stream read at once."""
        if self._ticker is not None:
            self._ticker.cancel()
            await asyncio.gather(self._ticker, return_exceptions=True)
        for _, _, read in self._due:
            read.hurry()
        self._due.clear()

    def leave(self) -> None:
        """Count a stream that closed."""
        self._open -= 1

    def seconds(self) -> float:
        """Return how long a stream collects now."""
        return max(0.0, min(_LONGEST, (self._open - _ALONE) / _READS))

    def wake(self, read: BatchedRead, seconds: float) -> None:
        """Wake `read` after so many seconds."""
        heapq.heappush(self._due, (self._clock.monotonic() + seconds, next(self._number), read))
        if self._ticker is None or self._ticker.done():
            self._ticker = asyncio.create_task(self._tick(), name="read batcher")

    async def _tick(self) -> None:
        while self._due:
            await self._clock.sleep(_TICK)
            now = self._clock.monotonic()
            while self._due and self._due[0][0] <= now:
                heapq.heappop(self._due)[2].hurry()


class BatchedRead:
    """The waiting of one stream before each of its reads."""

    def __init__(self, batcher: ReadBatcher) -> None:
        self._batcher: ReadBatcher | None = batcher
        self._woken: asyncio.Future[None] | None = None

    async def gather(self) -> None:
        """Wait while more arrives: as long as the number of open streams demands, or until `hurry`."""
        if self._batcher is None or (seconds := self._batcher.seconds()) <= 0:
            return
        self._woken = asyncio.get_running_loop().create_future()
        self._batcher.wake(self, seconds)
        try:
            await self._woken
        finally:
            self._woken = None

    def hurry(self) -> None:
        """End the wait now: it is over, or nothing more will arrive."""
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def leave(self) -> None:
        """Stop batching: the stream closed or is about to end, and its rest is read as it arrives."""
        if self._batcher is not None:
            self._batcher.leave()
            self._batcher = None
