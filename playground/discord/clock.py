"""One clock for deadlines, dates and ids, so that a test that moves it moves all three."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

EPOCH_MS = 1_420_070_400_000
"""The first millisecond a snowflake can name: 2015-01-01."""


class Clock:
    """Turns the monotonic seconds handed in into dates, and into snowflakes of now."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self._offset = time.time() - now()
        self._last = 0

    def wall(self) -> float:
        """Seconds since 1970, running as `now` runs."""
        return self._offset + self.now()

    def date(self, at: float | None = None) -> str:
        """The ISO date of a moment of `now`."""
        return datetime.fromtimestamp(self._offset + (self.now() if at is None else at), UTC).isoformat()

    def snowflake(self) -> str:
        """A new id; clients read the moment of its making from it."""
        value = (int(self.wall() * 1000) - EPOCH_MS) << 22
        self._last = max(value, self._last + 1)
        return str(self._last)
