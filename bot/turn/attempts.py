"""A turn in this process, over all its attempts: they are counted in the store before their work, and once.

`kill -9` leaves the count as it is, so that a message which kills the process is not begun for ever; what is
interrupted in good order takes its attempt back.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from bot.contract import MessageSent, StoreError
from bot.reply import ShownBefore

MOST_ATTEMPTS = 2
"""How often a turn is begun; one that fails so often is not begun again."""


class Ending(enum.Enum):
    """Why a running turn is ended from outside."""

    STOPPED = "stopped"
    SHUTDOWN = "shutdown"


@dataclass(slots=True)
class Run:
    """One turn, for as long as this process tries."""

    turn: int
    """The inbox row's id."""
    question: MessageSent
    language: str
    ending: Callable[[], Ending | None]
    """Why the task is being cancelled, asked when it is."""
    deadline: float
    """Monotonic time at which the turn's time in this process is over; the pauses between its tries cost none of it."""
    attempts: int = 0
    """As the store counts them, former processes' included; 0 until this one's is counted, or where there is none."""
    shown: dict[int, ShownBefore] = field(default_factory=dict)
    """The pages that an attempt in this process showed: maybe more than could be stored."""
    _counting: asyncio.Task[int] | None = None
    _taken_back: bool = False

    async def count(self, count: Callable[[], Coroutine[Any, Any, int]]) -> None:
        """Count this process's attempt, unless it is counted or on its way there; given up midway, it arrives.

        Args:
            count: counts in the store and returns the new count, 0 where there is nothing to be done.

        Raises:
            StoreError: it was not counted.
        """
        if self._counting is None:
            self._counting = asyncio.create_task(count(), name=f"count {self.turn}")
        try:
            self.attempts = await asyncio.shield(self._counting)
        except StoreError:
            self._counting = None
            raise

    async def take_back(self, pause: Callable[[int], Coroutine[Any, Any, None]]) -> None:
        """Take this process's attempt back, once, where it was counted; waits for a count that is on its way.

        Raises:
            StoreError: it could not be taken back.
        """
        if self._counting is None or self._taken_back:
            return
        try:
            counted = await asyncio.shield(self._counting)
        except StoreError:
            return
        if counted:
            self._taken_back = True
            await pause(self.turn)
