"""Limits on unrequested data from a server: a connection that floods is cut."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

MOST_UNASKED: Final = 2_000
"""Messages that answer nothing (progress, log lines, questions to us) in a short time."""
UNASKED_PER_SECOND: Final = 100.0
MOST_NOISE: Final = 16_000_000
"""Bytes outside messages in a short time: comments, malformed lines, lines beyond the limit."""
NOISE_PER_SECOND: Final = 1_000_000.0
FLOODS: Final = "it was cut off, as it sent far more than was asked for"


class Flooded(Exception):
    """A server sent far more than was requested."""


class Allowance:
    """An amount that can be used up at once, and grows again with time."""

    __slots__ = ("_at", "_left", "_most", "_now", "_per_second")

    def __init__(self, most: float, per_second: float, now: Callable[[], float] = time.monotonic) -> None:
        self._most = self._left = most
        self._per_second = per_second
        self._now = now
        self._at = now()

    def take(self, amount: float = 1) -> None:
        """Use some of it.

        Raises:
            Flooded: not enough is left.
        """
        self._left -= amount
        if self._left < 0:
            now = self._now()
            self._left = min(self._most, self._left + (now - self._at) * self._per_second)
            self._at = now
            if self._left < 0:
                raise Flooded(FLOODS)


def unasked() -> Allowance:
    """Return the allowance of one connection for messages that answer nothing."""
    return Allowance(MOST_UNASKED, UNASKED_PER_SECOND)


def noise() -> Allowance:
    """Return the allowance of one connection for bytes outside messages."""
    return Allowance(MOST_NOISE, NOISE_PER_SECOND)
