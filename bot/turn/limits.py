"""When a turn is given up: after attempts whose processes died, or when its time is over.

An attempt is the work of one process on a turn, however often the process tries. The store counts it before the work
begins. `kill -9` leaves the count as it is; a process that ends in good order takes its attempt back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from bot.contract import StoreError

MOST_ATTEMPTS = 2
"""Processes that may die over one question: a message that kills the process must not start again for ever. Tries
within a process are limited only by the turn's time."""
MOST_REMINDER_ATTEMPTS = 5
"""Processes that may die over one reminder."""


@dataclass(slots=True)
class TurnLimits:
    """The deadline of a turn in this process, and the count of its attempts."""

    deadline: float
    """Monotonic time at which the time of the turn (`turn_seconds`) is over; pauses between tries move it."""
    attempts: int = 0
    """Attempts in the store, this process's included; 0 before it is counted, and for a turn that has ended."""
    _counting: asyncio.Task[int] | None = None
    _taken_back: bool = False

    @property
    def exceeded(self) -> bool:
        """True if too many processes died over the turn."""
        return self.attempts > MOST_ATTEMPTS

    async def count(self, count: Callable[[], Coroutine[Any, Any, int]]) -> None:
        """Count this process's attempt once, however often this is called; a cancelled call counts, too.

        Args:
            count: counts in the store and returns the new count, or 0 if nothing is left to do.

        Raises:
            StoreError: the attempt was not counted.
        """
        if self._counting is None:
            self._counting = asyncio.create_task(count(), name="count attempt")
        try:
            self.attempts = await asyncio.shield(self._counting)
        except StoreError:
            self._counting = None
            raise

    async def take_back(self, pause: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Take back this process's attempt, once, if it was counted; waits for a count in progress.

        Raises:
            StoreError: the attempt could not be taken back.
        """
        if self._counting is None or self._taken_back:
            return
        try:
            counted = await asyncio.shield(self._counting)
        except StoreError:
            return
        if counted:
            self._taken_back = True
            await pause()
