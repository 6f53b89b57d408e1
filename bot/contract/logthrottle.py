"""Log a recurring event at once, then only how often it recurred."""

from __future__ import annotations

import logging
from collections import deque
from typing import Final

from bot.contract.clock import Clock

WINDOW_SECONDS: Final = 600.0
"""The same line is logged at most once in this many seconds."""
_MOST: Final = 1_000
_MOST_TEXTS: Final = 50


class LogThrottle:
    """Logs a new line at once, and its repetitions together, once in ten minutes.

    Of many different lines it logs 50 in ten minutes, and then how many it left out.
    """

    def __init__(self, log: logging.Logger, clock: Clock, level: int = logging.WARNING) -> None:
        self._log = log
        self._clock = clock
        self._level = level
        self._left_out = 0
        self._times: deque[float] = deque(maxlen=_MOST)
        self._said: dict[str, tuple[float, int]] = {}
        """Text → when it was last logged, and how often it has come since."""

    @property
    def recent(self) -> int:
        """How many lines came in the last ten minutes, logged or not."""
        since = self._clock.monotonic() - WINDOW_SECONDS
        while self._times and self._times[0] <= since:
            self._times.popleft()
        return len(self._times)

    def warn(self, text: str) -> None:
        """Log `text`, unless it was logged recently."""
        now = self._clock.monotonic()
        self._times.append(now)
        at, again = self._said.get(text, (float("-inf"), 0))
        if now - at < WINDOW_SECONDS:
            self._said[text] = (at, again + 1)
            return
        if text not in self._said and len(self._said) >= _MOST_TEXTS:
            self._said = {one: said for one, said in self._said.items() if now - said[0] < WINDOW_SECONDS}
            if len(self._said) >= _MOST_TEXTS:
                self._left_out += 1
                return
        self._said[text] = (now, 0)
        if self._left_out:
            self._log.log(self._level, "%d different lines like the next one were left out", self._left_out)
            self._left_out = 0
        if again:
            self._log.log(self._level, "%s (%d times more since the last such line)", text, again)
        else:
            self._log.log(self._level, "%s", text)
