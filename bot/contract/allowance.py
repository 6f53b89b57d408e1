"""Limit the calls that an adapter makes by itself, beside those that the core paces."""

from __future__ import annotations

from collections import deque

from bot.contract.clock import Clock
from bot.contract.surface import Window


class Allowance:
    """Limits optional calls of one kind to a `Window`: a call too many is skipped.

    As in the core's rate budgets, a call counts from the moment it is taken until the window has passed after its
    answer.
    """

    def __init__(self, window: Window, clock: Clock) -> None:
        self._window = window
        self._clock = clock
        self._under_way = 0
        self._answered: deque[float] = deque()
        self._closed_until = float("-inf")

    def take(self) -> bool:
        """Return True if a call may be made now; call `answered` when its answer came."""
        now = self._clock.monotonic()
        while self._answered and self._answered[0] + self._window.seconds <= now:
            self._answered.popleft()
        if now < self._closed_until or self._under_way + len(self._answered) >= self._window.calls:
            return False
        self._under_way += 1
        return True

    def answered(self) -> None:
        """Record the answer to a call, or its failure: its window starts now."""
        self._under_way -= 1
        self._answered.append(self._clock.monotonic())

    def refused(self, retry_after: float) -> None:
        """Record that the platform refused a call: no call is made for `retry_after` seconds."""
        self._closed_until = max(self._closed_until, self._clock.monotonic() + retry_after)
