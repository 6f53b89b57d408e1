"""Streams that are read side by side: the more they are, the longer each gathers what arrives before it is looked at.

A token costs its way through the program, whatever its length; two that are read together cost little more than one.
With hundreds of streams the ways of single tokens would take all of a processor, and everybody would wait for it, while
no platform shows anybody more than a call a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bot.clock import Clock

_READS = 1_500
"""Reads in a second, of all streams together."""
_ALONE = 25
"""So many streams are read as soon as something arrives."""
_LONGEST = 0.25
"""Seconds; what is read is never older than this."""


class Crowd:
    """How many streams are open; one for all clients of a process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open = 0

    @contextmanager
    def joined(self) -> Iterator[None]:
        """While a stream is open."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    async def gather(self) -> None:
        """Let more arrive, for as long as the number of streams asks for."""
        if self._open > _ALONE:
            await self._clock.sleep(min(_LONGEST, (self._open - _ALONE) / _READS))
