"""The state of one rate budget: its calls, the calls expected soon, and its rate after refusals.

A call occupies a budget from the moment it is granted until its window has passed *after its answer*, because calls
bunch up on the way: counted from the send, a limit would be exceeded under load.
"""

from __future__ import annotations

import statistics
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice, pairwise

from bot.contract import RateBudget, Window
from bot.pacing.waiting import Purpose

LONG = 10.0
"""In windows of at least this many seconds a reader cannot wait for the next free call."""
ANSWER = 10.0
"""Seconds that an answer takes: edits that are not needed yet are spread over this time."""
ARRIVALS = 5
"""Whole seconds over which the rate of replies is measured: a burst is over by then, a stream is not."""
COUNTED_FOR = 0.25
"""Seconds for which that count is valid: all who wait ask for it repeatedly."""
_LULL = 0.25
"""Seconds without another reply after which no more are expected, if they came quickly."""
_LULLS = 10
"""How many times longer than the previous gaps the next one may take."""
_EDGE = 0.005
"""Seconds added to every window: some platforms still count a call that arrives exactly at its end."""


@dataclass(slots=True, eq=False, repr=False)
class BudgetState:
    """The state of one rate budget: calls in flight, calls that still count, and the rate after refusals."""

    budget: RateBudget
    _: KW_ONLY
    frozen: bool = False
    """No call may be made until this process knows its part."""
    newest: Callable[[], float] = lambda: float("-inf")
    """When the newest question came, even if a busy machine has not started its reply yet."""
    windows: tuple[Window, ...] = field(init=False)
    """Its windows, each with the calls that this process may make."""
    in_flight: int = 0
    live: int = 0
    """Replies in progress that use it."""
    calm: int = 0
    """Those that nobody waits for: they were complete."""
    beginning: int = 0
    """Those that nobody sees yet."""
    promised: int = 0
    """Those that are on screen, or may be: each needs one more call for its end."""
    closed_until: float = float("-inf")
    factor: float = 1.0
    """The used share of the budget: a refusal lowers it, time without refusals raises it."""
    refused_at: float = float("-inf")
    capacity: int = field(init=False)
    """How many calls it allows at once after a time without calls."""
    _long: bool = field(init=False)
    _answered: list[deque[float]] = field(init=False)
    _came: deque[float] = field(default_factory=deque)
    """When the questions of its replies came, as far as `expected` looks back."""
    _stream: tuple[float, int] = (float("-inf"), 0)
    """When `_a_second` was computed, and its value."""
    _comers: tuple[float, int] = (float("-inf"), 0)
    """The same for `expected`."""
    _full_at: float = float("-inf")
    """When the token bucket is full again."""

    def __post_init__(self) -> None:
        self.windows = self.budget.windows
        self.capacity = min((window.calls for window in self.windows), default=self.budget.burst)
        self._long = any(window.seconds >= LONG for window in self.windows)
        self._answered = [deque() for _ in self.windows]

    def ready_at(self, now: float, keep: int) -> float:
        """Return the earliest time for one more call if `keep` stay free; infinite: not before an answer."""
        at = max(now, self.closed_until)
        budget = self.budget
        if self.frozen:
            return float("inf")
        for window, answered in self._counted(now):
            room = max(1, int(window.calls * self.factor)) - min(keep, window.calls - 1) - self.in_flight
            if room <= 0:
                return float("inf")
            excess = len(answered) + 1 - room
            if excess > 0:
                at = max(at, answered[excess - 1] + window.seconds + _EDGE)
        if budget.burst:
            room = budget.burst - min(keep, budget.burst // 2) - self.in_flight - 1
            if room < 0:
                return float("inf")
            at = max(at, self._full_at - room / (budget.rate * self.factor))
        return at

    def gap(self, now: float, expected: int = 0) -> float:
        """Return how long the second call of one reply may wait: until every reply that uses it has had its turn; for
        ever if replies come in such a stream that not all can have three calls. A window of `LONG` and more has no
        stream: whoever comes while enough of its calls are left has a second one at once.

        Args:
            expected: replies that will use it soon, each with a call for its beginning and one for its end.
        """
        longest, live = 0.0, self.live + expected
        for window, answered in self._counted(now):
            if live + self.beginning + expected + self.in_flight + len(answered) > window.calls:
                longest = max(longest, window.seconds * max(1.0, live / window.calls))
            if window.seconds < LONG and 3 * self._a_second(now) * window.seconds > window.calls:
                return float("inf")
        return longest

    def spread(self, now: float) -> float:
        """Return the seconds between two edits of one reply that are not needed yet.

        The calls that are free for such edits, within the time of an answer or a window if that is shorter, are spread
        evenly over all replies in progress; those that are free now, until an earlier call is free again.
        """
        live, left = max(1, self.live), self.leaves(Purpose.PROGRESS, needed=False)
        slowest = live / (self.budget.rate * self.factor) if self.budget.burst else 0.0
        for window, answered in self._counted(now):
            reach = min(window.seconds, ANSWER)
            taken = sum(at + window.seconds > now + reach for at in answered)
            free = int(window.calls * self.factor) - left - taken
            slowest = max(slowest, reach * live / free if free > 0 else float("inf"))
            if self.budget.shared or not answered or window.seconds > reach:
                continue  # others' calls are free again at other times
            if (now_free := free - len(answered)) >= 0:
                slowest = max(slowest, (answered[0] + window.seconds - now) * live / (now_free + 1))
        return slowest

    def come(self, asked_at: float, now: float) -> None:
        """Record one more reply that uses it, whose question came at this time."""
        insort(self._came, asked_at)
        self._comers = float("-inf"), 0
        self._since(now)

    def expected(self, now: float) -> int:
        """Return how many calls must stay free for newcomers one after another: as many as came within its longest
        window, at the latest rate, minus the calls that are free again by then; 0 after a lull, and if a call is free
        again soon."""
        if not self._long or not self.budget.shared:
            return 0
        counted_at, known = self._comers
        if not counted_at <= now < counted_at + COUNTED_FOR:
            known = self._count_comers(now)
            self._comers = now, known
        return known

    def _count_comers(self, now: float) -> int:
        self._since(now)
        between, most = self._between(now), 0
        for window, answered in self._counted(now):
            back = [at + window.seconds for at in answered]
            free_again = 0
            for number in range(1, min(len(self._came), int(window.seconds / between)) + 1):
                while free_again < len(back) and back[free_again] <= now + number * between:
                    free_again += 1
                most = max(most, number - free_again)
        return most

    def crowd(self, now: float, seconds: float) -> int:
        """Return how many newcomers to expect within so many seconds at the latest rate; 0 as in `expected`."""
        return int(seconds / self._between(now, 0.0)) if self._long and self.budget.shared else 0

    def _between(self, now: float, lull: float = _LULL) -> float:
        """Return the seconds between two recent consecutive newcomers; infinite after a lull."""
        # Newcomers whose replies a busy machine has not started come at the same rate, so its lag is not a lull.
        lately = self._lately(self._came[-1]) if self._came else []
        if len(lately) < 2:
            return float("inf")
        between = max(statistics.median(b - a for a, b in pairwise(lately)), _EDGE)
        return float("inf") if now - max(lately[-1], self.newest()) > max(lull, _LULLS * between) else between

    def _lately(self, now: float) -> list[float]:
        """Return when the questions of the last seconds came."""
        return list(islice(self._came, bisect_right(self._came, now - ARRIVALS), None))

    def _a_second(self, now: float) -> int:
        """Return how many replies came in a second recently, if they come in a stream."""
        counted_at, known = self._stream
        if now < counted_at + COUNTED_FOR:
            return known
        seconds = [0] * ARRIVALS
        for at in self._lately(now):
            seconds[int(now - at)] += 1
        self._stream = now, int(statistics.median(seconds))
        return self._stream[1]

    def _since(self, now: float) -> None:
        longest = max((window.seconds for window in self.budget.windows if window.seconds >= LONG), default=ARRIVALS)
        while self._came and now - self._came[0] >= longest:
            self._came.popleft()

    def leaves(self, purpose: Purpose, *, needed: bool) -> int:
        """Return how many calls one for this purpose must leave free.

        The end of a reply leaves none. If the next free call is far away, all others leave one for every promised end;
        if it is near, progress leaves a third. A call that is not needed yet leaves half, so that newcomers find room;
        progress leaves a third if others use the budget or the next call is far away.
        """
        if purpose is Purpose.FINAL or not self.capacity:
            return 0
        if self._long:
            left = self.promised
        elif purpose in (Purpose.PROGRESS, Purpose.AGAIN) and not self.budget.shared:
            left = min(self.promised, self.capacity // 3)
        else:
            left = 0
        if needed or (purpose is Purpose.PROGRESS and not self._long and not self.budget.shared):
            return left
        return max(left, self.capacity // (3 if purpose is Purpose.PROGRESS else 2))

    def _counted(self, now: float) -> Iterator[tuple[Window, deque[float]]]:
        """Yield each window with the times of the answers that still count in it."""
        for window, answered in zip(self.windows, self._answered, strict=True):
            while answered and answered[0] + window.seconds + _EDGE <= now:
                answered.popleft()
            yield window, answered

    def count(self, now: float) -> list[int]:
        """Return for each window how many calls count in it, or are in flight."""
        return [len(answered) + self.in_flight for _, answered in self._counted(now)]

    def take_part(self, calls: list[int], free: list[int]) -> None:
        """Make at most so many calls at once in each window from now on.

        Without a part, no call is made; expectations are computed with what is `free`, since others soon give up what
        they do not use.
        """
        self.frozen = not all(calls)
        self.windows = tuple(
            Window(max(1, part), window.seconds)
            for part, window in zip(free if self.frozen else calls, self.budget.windows, strict=True)
        )
        self.capacity = min(window.calls for window in self.windows)

    def end_at(self, now: float) -> float:
        """Return when the last call of one more reply could be made, by the windows of `LONG` seconds and more."""
        at = now
        for window, answered in self._counted(now):
            if window.seconds < LONG:
                continue
            room = max(1, int(window.calls * self.factor)) - 1 - self.in_flight - len(answered)
            excess = self.promised + 1 - room
            if excess > len(answered):
                at = max(at, now + window.seconds)
            elif excess > 0:
                at = max(at, answered[excess - 1] + window.seconds + _EDGE)
        return at

    def grant(self, now: float) -> None:
        self.in_flight += 1
        if self.factor < 1.0 and now - self.refused_at > 30.0:
            self.factor = min(1.0, self.factor * 1.05)

    def answer(self, now: float) -> None:
        self.in_flight -= 1
        for answered in self._answered:
            answered.append(now)
        if self.budget.burst:
            self._full_at = max(self._full_at, now) + 1.0 / (self.budget.rate * self.factor)

    def assume_spent(self, now: float) -> None:
        """Assume that another process has just made all but one of the calls possible at once."""
        if self.budget.burst:
            self._full_at = max(self._full_at, now + (self.budget.burst - 1) / self.budget.rate)

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
            and (not self._came or now - self._came[-1] >= ARRIVALS)
            and self.closed_until <= now
            and self._full_at <= now
            and all(
                not answered or answered[-1] + window.seconds + _EDGE <= now
                for window, answered in zip(self.budget.windows, self._answered, strict=True)
            )
            and (self.factor == 1.0 or now - self.refused_at > 600.0)
        )
