"""When the next call to a platform may go out: budgets, priorities, and what a refusal teaches.

One `Pacer` serves the whole process. A reply asks it for a grant before every call and gives the grant back
when the answer came. A call occupies a budget from the moment it is granted until its window has passed *after
its answer*, because calls bunch up on the way; counted from the send, a limit is broken under load.

Nobody waits for anybody except through a budget they truly share.
"""

from __future__ import annotations

import asyncio
import enum
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from bot.clock import Clock, SystemClock
from bot.metrics import Metrics
from bot.surface import Budget, Cost, Window

ENDS_AFTER = 2.5
"""Seconds after its first words from which a reply is expected to end any moment: its last call is kept free."""
COMING = 1.0
"""Seconds after its start within which a reply's first words are expected: their call is kept free."""
ENDS_WITHIN = 5.0
"""Seconds that the end of a reply may have to wait as things stand: about what most take to be written."""
_LONG = 5.0
"""Seconds of a window from which progress is spread over it: a reply may begin and end within one."""
_SHORT = 10.0
"""Seconds of a window below which its calls come back before a person who reads has lost patience."""
_EDGE = 0.005
"""Seconds added at the end of a window: a call that arrives exactly on the border is still counted by some."""


class Priority(enum.IntEnum):
    """Who goes first when a budget is short."""

    FINAL = 0
    FIRST = 1
    PROGRESS = 2
    TYPING = 3


class _Scope:
    """What is known of one budget: the calls under way, those still counted, and what refusals taught."""

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

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.in_flight = 0
        self.admitted = 0
        """Replies that have begun on screen, or may begin: each wants one more call at its end."""
        self.coming: list[float] = []
        """When those began that nothing is seen of, in order."""
        self.begun: list[float] = []
        """When the first words of the others stood, in order."""
        self.closed_until = float("-inf")
        self.factor = 1.0
        """Share of the budget that is used: lowered by a refusal, raised by calm."""
        self.refused_at = float("-inf")
        self.last_grant = float("-inf")
        self._answered: list[deque[float]] = [deque() for _ in budget.windows]
        self._full_at = float("-inf")
        """When the bucket will be full again."""

    @property
    def live(self) -> int:
        """Replies under way that draw on this scope."""
        return len(self.coming) + len(self.begun)

    def ready_at(self, now: float, keep: int) -> float:
        """The earliest time at which one more call fits while `keep` calls stay free; infinite: after an answer."""
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
        """The time before which a progress call would eat the window too early for what comes after it."""
        at = now
        for window, answered in zip(self.budget.windows, self._answered, strict=True):
            if window.seconds < _LONG or self.live == 0:
                continue
            used = (len(answered) + self.in_flight + keep) / window.calls
            share = 0.5 + 0.4 * used if window.seconds < _SHORT else min(1.3, 0.35 + 1.3 * used)
            gap = window.seconds / max(1, window.calls - keep) * share
            at = max(at, self.last_grant + gap)
        return at

    def _counted(self, now: float) -> Iterator[tuple[Window, deque[float]]]:
        """Each window with the answers that count in it still."""
        for window, answered in zip(self.budget.windows, self._answered, strict=True):
            while answered and answered[0] + window.seconds + _EDGE <= now:
                answered.popleft()
            yield window, answered

    def end_at(self, now: float) -> float:
        """When the last call could go of one reply more than were admitted, in a window of many seconds."""
        at = now
        for window, answered in self._counted(now):
            if window.seconds < _SHORT:
                continue
            room = max(1, int(window.calls * self.factor)) - 1 - self.in_flight - len(answered)
            excess = self.admitted + 1 - room
            if excess > len(answered):
                at = max(at, now + window.seconds)
            elif excess > 0:
                at = max(at, answered[excess - 1] + window.seconds + _EDGE)
        return at

    def expected(self, now: float) -> tuple[int, int]:
        """How many replies may want their first words shown within a moment, and how many their last."""
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
        """A refusal closes the scope for exactly `seconds` and lowers its rate."""
        self.closed_until = max(self.closed_until, now + seconds)
        if now - self.refused_at > 1.0:
            self.factor = max(0.25, self.factor * 0.8)
        self.refused_at = now

    def idle(self, now: float) -> bool:
        """Nothing of it is remembered that a new scope would not know."""
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


class Grant:
    """One call that waits for its turn, or has it: `async with` waits on entering and gives back on leaving."""

    __slots__ = ("_granted", "_pacer", "cost", "insist_at", "keep", "not_before", "number", "priority", "since")

    def __init__(
        self,
        pacer: Pacer,
        number: int,
        cost: Cost,
        priority: Priority,
        since: float,
        keep: int,
        not_before: float,
        insist_at: float,
    ) -> None:
        self._pacer = pacer
        self._granted: asyncio.Future[None] | None = None
        self.number = number
        self.cost = cost
        self.priority = priority
        self.since = since
        self.keep = keep
        self.not_before = not_before
        self.insist_at = insist_at

    async def __aenter__(self) -> None:
        self._granted = asyncio.get_running_loop().create_future()
        self._pacer.wait(self)
        try:
            await self._granted
        except asyncio.CancelledError:
            if self._granted.done() and not self._granted.cancelled():
                self._pacer.answered(self.cost)
            else:
                self._pacer.forget(self)
            raise

    async def __aexit__(self, *exc: object) -> None:
        self._pacer.answered(self.cost)

    def hurry(self) -> None:
        """It became the end of a reply: go before everything else."""
        self.priority, self.not_before = Priority.FINAL, 0.0
        if self._granted is not None and not self._granted.done():
            self._pacer.pump()

    @property
    def gone(self) -> bool:
        """Whoever waited was cancelled."""
        return self._granted is None or self._granted.done()

    def grant(self) -> None:
        """Let it go."""
        if self._granted is not None:
            self._granted.set_result(None)


@dataclass(slots=True, eq=False)
class Presence:
    """A reply under way, as the budgets know it."""

    budgets: tuple[Budget, ...]
    since: float
    seen: float | None = None
    """When its first words stood."""
    admitted: bool = False
    """It may begin on screen."""


class Pacer:
    """Grants calls under every platform's budgets, the most urgent first."""

    def __init__(self, clock: Clock | None = None, metrics: Metrics | None = None) -> None:
        self._clock = clock or SystemClock()
        self._metrics = metrics or Metrics()
        self.live = 0
        """Replies under way."""
        self._scopes: dict[str, _Scope] = {}
        self._waiting: list[Grant] = []
        self._number = 0
        self._timer: asyncio.Task[None] | None = None
        self._timer_at = float("inf")
        self._sweep_at = 0.0

    def ask(
        self,
        cost: Cost,
        priority: Priority,
        *,
        since: float | None = None,
        keep: int = 0,
        not_before: float = 0.0,
        insist_at: float = float("inf"),
    ) -> Grant:
        """A call of this `cost` that wants to go out.

        Args:
            since: when the text that waits was written (monotonic); among progress the stalest goes first.
            keep: calls that must stay free in budgets of this reply alone: what finishing it now would need.
            not_before: monotonic time before which the call is not wanted.
            insist_at: monotonic time from which a person has waited too long: a chat's bucket keeps nothing free.
        """
        self._number += 1
        at = self._clock.monotonic() if since is None else since
        return Grant(self, self._number, cost, priority, at, keep, not_before, insist_at)

    def take(self, cost: Cost) -> bool:
        """Take a call that nobody waits for, now or not at all; tell `answered` when its answer came."""
        now = self._clock.monotonic()
        probe = Grant(self, 0, cost, Priority.TYPING, now, 1, 0.0, float("inf"))
        if self._ready_at(probe, now)[0] > now:
            return False
        self._occupy(cost, now, Priority.TYPING)
        return True

    def answered(self, cost: Cost) -> None:
        """The answer to a call came: from now on its windows run."""
        now = self._clock.monotonic()
        for budget in cost.budgets:
            self._scope_of(budget).answer(now)
        self.pump()

    def refused(self, cost: Cost, scope: str, retry_after: float) -> None:
        """The platform refused a call for `retry_after` seconds; `scope` empty: the narrowest budget is meant."""
        now = self._clock.monotonic()
        chosen = next((budget for budget in cost.budgets if budget.scope == scope), None)
        if chosen is None and cost.budgets:
            chosen = cost.budgets[0]
        if chosen is not None:
            self._scope_of(chosen).refuse(now, retry_after)
            self._metrics.refusals.add(_platform(cost))
        self.pump()

    def enter(self, budgets: tuple[Budget, ...]) -> Presence:
        """A reply that draws on `budgets` begins; progress of others leaves room for its beginning and its end."""
        presence = Presence(budgets, self._clock.monotonic())
        self.live += 1
        for budget in budgets:
            insort(self._scope_of(budget).coming, presence.since)
        return presence

    def admits(self, presence: Presence) -> bool:
        """Whether a reply may begin on screen while it is written: its end will not have to wait for long.

        Where a minute's calls are shared by many, one that begins without a call left for its end stands there
        unfinished for up to a minute; posted once, when it is written, it is whole at once.
        """
        if presence.admitted:
            return True
        now = self._clock.monotonic()
        scopes = [self._scope_of(budget) for budget in presence.budgets]
        if any(scope.budget.shared and scope.end_at(now) > now + ENDS_WITHIN for scope in scopes):
            return False
        self._admit(presence)
        return True

    def _admit(self, presence: Presence) -> None:
        if not presence.admitted:
            presence.admitted = True
            for budget in presence.budgets:
                self._scope_of(budget).admitted += 1

    def seen(self, presence: Presence) -> None:
        """Its first words stand."""
        if presence.seen is not None:
            return
        self._admit(presence)
        presence.seen = self._clock.monotonic()
        for budget in presence.budgets:
            scope = self._scope_of(budget)
            scope.coming.remove(presence.since)
            insort(scope.begun, presence.seen)

    def leave(self, presence: Presence) -> None:
        """It ended."""
        self.live -= 1
        for budget in presence.budgets:
            scope = self._scope_of(budget)
            scope.admitted -= presence.admitted
            if presence.seen is None:
                scope.coming.remove(presence.since)
            else:
                scope.begun.remove(presence.seen)
        self.pump()

    def wait(self, grant: Grant) -> None:
        """Put `grant` among those that wait."""
        self._waiting.append(grant)
        self.pump()

    def forget(self, grant: Grant) -> None:
        """`grant` is not wanted any more."""
        if grant in self._waiting:
            self._waiting.remove(grant)
        self.pump()

    async def close(self) -> None:
        """End the timer; nothing is granted any more."""
        if self._timer is not None:
            self._timer.cancel()
            await asyncio.gather(self._timer, return_exceptions=True)
            self._timer = None

    @property
    def known_scopes(self) -> int:
        """How many budgets are remembered now."""
        return len(self._scopes)

    def _scope_of(self, budget: Budget) -> _Scope:
        scope = self._scopes.get(budget.scope)
        if scope is None:
            self._sweep()
            scope = self._scopes[budget.scope] = _Scope(budget)
        return scope

    def _sweep(self) -> None:
        """Forget scopes that nothing is remembered of: memory follows live replies, not known chats."""
        now = self._clock.monotonic()
        if len(self._scopes) < 256 or now < self._sweep_at:
            return
        self._sweep_at = now + 10.0
        for name in [name for name, scope in self._scopes.items() if scope.idle(now)]:
            del self._scopes[name]

    def _ready_at(self, grant: Grant, now: float) -> tuple[float, str]:
        """When this call could go, and the scope that holds it longest."""
        at, holder = max(now, grant.not_before), ""
        progress = grant.priority >= Priority.PROGRESS
        for budget in grant.cost.budgets:
            scope = self._scope_of(budget)
            keep = self._keep(scope, grant, now) if progress else 0
            ready = scope.ready_at(now, keep)
            if (
                keep
                and ready > grant.insist_at
                and not budget.shared
                and all(window.seconds < _SHORT for window in budget.windows)
            ):
                ready = min(ready, max(grant.insist_at, scope.ready_at(now, 0)))
            if progress and ready <= now:
                ready = max(ready, scope.spread(now, keep))
            if ready > at:
                at, holder = ready, budget.scope
        return at, holder

    @staticmethod
    def _keep(scope: _Scope, grant: Grant, now: float) -> int:
        """Calls that progress leaves free.

        In a reply's own budget: what finishing it now would need, at most a third, or progress would starve. In a
        shared one of many seconds: one for each reply that was admitted. In a shared one of a moment: one per reply
        that may end, at most half, because the next call is never far; only those may that have been read for a
        while, and what has just begun will soon have first words. Typing, which is no text, leaves what first words
        need.
        """
        capacity = min((window.calls for window in scope.budget.windows), default=scope.budget.burst)
        if not scope.budget.shared:
            return min(grant.keep, max(1, capacity // 3))
        if grant.priority is Priority.TYPING:
            return min(capacity - 1, max(scope.live, capacity // 2))
        if any(window.seconds >= _SHORT for window in scope.budget.windows):
            return scope.admitted
        beginning, ending = scope.expected(now)
        return min(beginning, capacity // 2) + min(ending, capacity // 2)

    def _occupy(self, cost: Cost, now: float, priority: Priority) -> None:
        for budget in cost.budgets:
            self._scope_of(budget).grant(now)
        if cost.budgets:
            self._metrics.platform_calls.add(_platform(cost), priority.name.lower())

    def pump(self) -> None:
        """Grant everything that may go now, in order of urgency; wake again when the next one may."""
        now = self._clock.monotonic()
        wake = float("inf")
        kept: list[Grant] = []
        full: set[str] = set()
        self._waiting.sort(key=lambda grant: (grant.priority, grant.since, grant.number))
        for grant in self._waiting:
            if grant.gone:
                continue
            if full and any(budget.scope in full for budget in grant.cost.budgets):
                kept.append(grant)
                continue
            at, holder = self._ready_at(grant, now)
            if at <= now:
                self._occupy(grant.cost, now, grant.priority)
                grant.grant()
                continue
            kept.append(grant)
            wake = min(wake, at)
            if holder:
                full.add(holder)
        self._waiting = kept
        if wake < self._timer_at or self._timer is None:
            self._wake_at(wake)

    def _wake_at(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = at
        if at != float("inf"):
            self._timer = asyncio.get_running_loop().create_task(self._sleep_until(at))

    async def _sleep_until(self, at: float) -> None:
        await self._clock.sleep(max(0.0, at - self._clock.monotonic()))
        self._timer, self._timer_at = None, float("inf")
        self.pump()


def _platform(cost: Cost) -> str:
    """Whose call it is: scopes begin with it."""
    return cost.budgets[0].scope.partition(":")[0]
