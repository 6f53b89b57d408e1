"""The state of one rate budget: its calls, the calls expected soon, and how refusals changed its rate.

A call occupies a budget from the moment it is granted until its window has passed *after its answer*, because calls
bunch up on the way; counted from the send, a limit is broken under load.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator

from bot.contract import RateBudget, Window

ENDS_AFTER = 2.5
"""Seconds after its first words from which a reply may end at any moment, so that its last call is kept free."""
COMING = 1.0
"""Seconds after its start during which a reply's first words are expected, so that their call is kept free."""
_LONG = 5.0
"""In windows of at least this many seconds progress calls are spread evenly: a reply may begin and end in one."""
SHORT = 10.0
"""In windows shorter than this many seconds a reader can wait for the next free call."""
_EDGE = 0.005
"""Seconds added to every window: some platforms still count a call that arrives exactly at its end."""


class BudgetState:
    """The state of one rate budget: calls under way, calls that still count, and the rate after refusals."""

    __slots__ = (
        "_answered",
        "_full_at",
        "admitted",
        "begun",
        "budget",
        "closed_until",
        "coming",
        "factor",
        "in_flight",
        "last_grant",
        "refused_at",
    )

    def __init__(self, budget: RateBudget) -> None:
        self.budget = budget
        self.in_flight = 0
        self.admitted = 0
        """Replies that have begun on screen, or may begin: each wants one more call at its end."""
        self.coming: list[float] = []
        """When the replies began that have shown nothing yet, in order."""
        self.begun: list[float] = []
        """When the other replies showed their first words, in order."""
        self.closed_until = float("-inf")
        self.factor = 1.0
        """The share of the budget that is used: a refusal lowers it, time without refusals raises it."""
        self.refused_at = float("-inf")
        self.last_grant = float("-inf")
        self._answered: list[deque[float]] = [deque() for _ in budget.windows]
        self._full_at = float("-inf")
        """When the token bucket is full again."""

    @property
    def live(self) -> int:
        """The number of replies under way that draw on this budget."""
        return len(self.coming) + len(self.begun)

    def ready_at(self, now: float, keep: int) -> float:
        """Return the earliest time for one more call while `keep` stay free; infinite: not before an answer."""
        at = max(now, self.closed_until)
        budget = self.budget
        for window, answered in self._counted(now):
            room = max(1, int(window.calls * self.factor)) - min(keep, window.calls - 1) - self.in_flight
            if room <= 0:
                return float("inf")
            excess = len(answered) + 1 - room
            if excess > 0:
                at = max(at, answered[excess - 1] + window.seconds + _EDGE)
        if budget.burst:
            room = budget.burst - min(keep, budget.burst - 1) - self.in_flight - 1
            if room < 0:
                return float("inf")
            at = max(at, self._full_at - room / (budget.rate * self.factor))
        return at

    def spread(self, now: float, keep: int) -> float:
        """Return the earliest time for a progress call that keeps progress evenly spread over the window."""
        at = now
        for window, answered in zip(self.budget.windows, self._answered, strict=True):
            if window.seconds < _LONG or self.live == 0:
                continue
            used = (len(answered) + self.in_flight + keep) / window.calls
            share = 0.5 + 0.4 * used if window.seconds < SHORT else min(1.3, 0.35 + 1.3 * used)
            gap = window.seconds / max(1, window.calls - keep) * share
            at = max(at, self.last_grant + gap)
        return at

    def _counted(self, now: float) -> Iterator[tuple[Window, deque[float]]]:
        """Yield each window with the times of the answers that still count in it."""
        for window, answered in zip(self.budget.windows, self._answered, strict=True):
            while answered and answered[0] + window.seconds + _EDGE <= now:
                answered.popleft()
            yield window, answered

    def end_at(self, now: float) -> float:
        """Return when the last call of one more reply could be made, by the windows of `SHORT` seconds and more."""
        at = now
        for window, answered in self._counted(now):
            if window.seconds < SHORT:
                continue
            room = max(1, int(window.calls * self.factor)) - 1 - self.in_flight - len(answered)
            excess = self.admitted + 1 - room
            if excess > len(answered):
                at = max(at, now + window.seconds)
            elif excess > 0:
                at = max(at, answered[excess - 1] + window.seconds + _EDGE)
        return at

    def expected(self, now: float) -> tuple[int, int]:
        """Return how many replies may soon want to show their first words, and how many their last."""
        return (
            len(self.coming) - bisect_left(self.coming, now - COMING),
            bisect_right(self.begun, now - ENDS_AFTER),
        )

    def grant(self, now: float) -> None:
        self.in_flight += 1
        self.last_grant = now
        if self.factor < 1.0 and now - self.refused_at > 30.0:
            self.factor = min(1.0, self.factor * 1.05)

    def answer(self, now: float) -> None:
        self.in_flight -= 1
        for answered in self._answered:
            answered.append(now)
        if self.budget.burst:
            self._full_at = max(self._full_at, now) + 1.0 / (self.budget.rate * self.factor)

    def refuse(self, now: float, seconds: float) -> None:
        """Close the budget for exactly `seconds` after a refusal, and lower its rate."""
        self.closed_until = max(self.closed_until, now + seconds)
        if now - self.refused_at > 1.0:
            self.factor = max(0.25, self.factor * 0.8)
        self.refused_at = now

    def idle(self, now: float) -> bool:
        """Return True if a new `BudgetState` would behave the same, so that this one can be dropped."""
        return (
            not self.in_flight
            and not self.live
            and self.closed_until <= now
            and self._full_at <= now
            and all(
                not answered or answered[-1] + window.seconds + _EDGE <= now
                for window, answered in zip(self.budget.windows, self._answered, strict=True)
            )
            and (self.factor == 1.0 or now - self.refused_at > 600.0)
        )
