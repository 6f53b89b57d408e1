"""The pauses between tries of the same call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bot.contract.clock import Clock

PATIENT: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""For what is never given up: a store that does not work, a platform that cannot be reached."""
QUICK: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""For a call that a person waits for."""


def pause_after(tries: int, pauses: Sequence[float]) -> float:
    """The pause after so many failed tries, counted from 1; the last one repeats."""
    return pauses[min(tries, len(pauses)) - 1]


class Backoff(Iterator[float]):
    """Iterates over the pauses between tries of one call; make a new one, or `reset` it, for the next call."""

    def __init__(self, clock: Clock, pauses: Sequence[float] = PATIENT, *, endless: bool = True) -> None:
        """
        Args:
            endless: the last pause repeats; else the tries end with the pauses.
        """
        self._clock = clock
        self._pauses = pauses
        self._endless = endless
        self.tries = 0
        """Tries after which a pause was asked for."""

    def __next__(self) -> float:
        if self.tries >= len(self._pauses) and not self._endless:
            raise StopIteration
        self.tries += 1
        return pause_after(self.tries, self._pauses)

    def reset(self) -> None:
        """Begin with the shortest pause again: a try succeeded."""
        self.tries = 0

    async def wait(self) -> bool:
        """Wait out the next pause; False at once when nothing is to be tried any more."""
        pause = next(self, None)
        if pause is None:
            return False
        await self._clock.sleep(pause)
        return True
