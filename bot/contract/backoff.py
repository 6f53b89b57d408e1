"""The pauses between retries of a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bot.contract.clock import Clock

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
