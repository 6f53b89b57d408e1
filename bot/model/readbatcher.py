"""Batch the reads of model streams: each collects for a moment before it is read.

The work a token causes does not depend on its length; two tokens read together cost little more than one. A stream is
read as it comes while its reader waits for first words, and collects longer the longer it has run: by then its reader
has much to read. The longest time depends on the number of open streams: with hundreds of them, reading each token by
itself would use up a processor, while no platform shows more than a call a second. A stream that ends is read at once,
so that a complete answer never waits.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools

from bot.contract import Clock
from tools.programs.cancelling import end_tasks

_READS = 1_000
"""Reads a second, over all streams."""
_LONGEST = 0.5
"""Seconds a stream collects at most where many are open, plus one tick."""
_CALM = 0.2
"""Seconds a stream collects at most where few are open: of the words of an edit, its reader reads one meanwhile."""
_SHARE = 0.2
"""Of the time that a stream has run, the part that it collects at most: first words come with the first tokens, and
what was shown since lasts its reader several times as long."""
_TICK = 0.025
"""Seconds between two checks for streams that are due: one timer serves all, and shorter times are not collected."""


class ReadBatcher:
    """Decides how long each open stream collects before it is read; one object for the process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.now = clock.monotonic
        self._open = 0
        self._due: list[tuple[float, int, BatchedRead]] = []
        self._number = itertools.count()
        self._ticker: asyncio.Task[None] | None = None

    def join(self) -> BatchedRead:
        """Count a stream that opened; call `leave` on the returned object when it closes."""
        self._open += 1
        return BatchedRead(self)

    async def close(self) -> None:
        """Stop the timer and have every waiting stream read at once."""
        if self._ticker is not None:
            await end_tasks(self._ticker)
        for _, _, read in self._due:
            read.hurry()
        self._due.clear()

    def leave(self) -> None:
        """Count a stream that closed."""
        self._open -= 1

    def seconds(self, age: float) -> float:
        """Return how long a stream that has run for `age` seconds collects now."""
        seconds = min(age * _SHARE, max(_CALM, min(_LONGEST, self._open / _READS)))
        return seconds if seconds > _TICK else 0.0

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
        self._begun_at: float | None = None
        self._woken: asyncio.Future[None] | None = None

    async def gather(self) -> None:
        """Wait while more arrives, or until `hurry`; before the first read it does not wait."""
        if self._batcher is None:
            return
        if self._begun_at is None:
            self._begun_at = self._batcher.now()
            return
        seconds = self._batcher.seconds(self._batcher.now() - self._begun_at)
        if not seconds:
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
