"""Log a recurring problem at once, and then only how often it recurred."""

from __future__ import annotations

import logging
from collections import deque
from typing import Final

from bot.contract.clock import Clock

WINDOW_SECONDS: Final = 600.0
"""The same line is logged at most once in so many seconds."""
_MOST: Final = 1_000
_MOST_TEXTS: Final = 50


class LogThrottle:
    """Logs a warning when it is new, and its repetitions together, once in ten minutes."""

    def __init__(self, log: logging.Logger, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._times: deque[float] = deque(maxlen=_MOST)
        self._said: dict[str, tuple[float, int]] = {}
        """Text → when it was logged last, and how often it has come since."""

    @property
    def recent(self) -> int:
        """How many warnings came in the last ten minutes, logged or not."""
        since = self._clock.monotonic() - WINDOW_SECONDS
        while self._times and self._times[0] <= since:
            self._times.popleft()
        return len(self._times)

    def warn(self, text: str) -> None:
        """Log `text`, unless it was logged a moment ago."""
        now = self._clock.monotonic()
        self._times.append(now)
        at, again = self._said.get(text, (float("-inf"), 0))
        if now - at < WINDOW_SECONDS:
            self._said[text] = (at, again + 1)
            return
        if len(self._said) >= _MOST_TEXTS:
            self._said.clear()
        self._said[text] = (now, 0)
        if again:
            self._log.warning("%s (%d times more since the last such line)", text, again)
        else:
            self._log.warning("%s", text)
