"""Decide when the next call to a platform may go out: rate budgets, priorities, and the effect of refusals.

One `Pacer` serves the whole process. A reply asks it for a grant before every call and gives the grant back
when the answer came. The state of each rate budget is in `bot.pacing.scope`.

Two calls wait for each other only if they draw on the same budget.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from bisect import insort
from dataclasses import dataclass

from bot.contract import CallCost, Clock, Closed, RateBudget, SystemClock
from bot.operations import Metrics
from bot.pacing.scope import SHORT, BudgetState
from bot.pacing.waiting import Grant, Priority, _Queues

log = logging.getLogger(__name__)

PATIENCE = 300.0
"""Seconds a call may wait for a budget that its platform closed; a longer wait raises `Closed` at once."""
ENDS_WITHIN = 5.0
"""Seconds the end of a reply may wait for its call, else it is not begun: about as long as writing one takes."""


@dataclass(slots=True, eq=False)
class Presence:
    """One reply under way, with the budgets it draws on."""

    budgets: tuple[RateBudget, ...]
    since: float
    seen: float | None = None
    """When its first words were shown."""
    admitted: bool = False
    """It may be shown while it is written."""


class Pacer:
    """Grants calls within every platform's rate budgets, the most urgent first."""

    def __init__(self, clock: Clock | None = None, metrics: Metrics | None = None) -> None:
        self._clock = clock or SystemClock()
        self._metrics = metrics or Metrics()
        self.live = 0
        """Replies under way."""
        self._scopes: dict[str, BudgetState] = {}
        self._waiting = _Queues()
        self._number = 0
        self._timer: asyncio.Task[None] | None = None
        self._timer_at = float("inf")
        self._sweep_at = 0.0

    def ask(
        self,
        cost: CallCost,
        priority: Priority,
        *,
        since: float | None = None,
        keep: int = 0,
        not_before: float = 0.0,
        insist_at: float = float("inf"),
    ) -> Grant:
        """Return a grant to enter before a call of this `cost`, and to leave once it is answered.

        Args:
            since: when the text that waits was written (monotonic); among progress the stalest goes first.
            keep: calls that must stay free in budgets of this reply alone: what finishing it now would need.
            not_before: monotonic time before which the call is not wanted.
            insist_at: monotonic time from which a person has waited too long: a chat's bucket keeps nothing free.
        """
        self._number += 1
        at = self._clock.monotonic() if since is None else since
        return Grant(self, self._number, cost, priority, at, keep, not_before, insist_at)

    def take(self, cost: CallCost, *, keep: int = 1) -> bool:
        """Take a call at once if the budgets allow it, else return False; call `answered` when its answer came.

        Args:
            keep: calls that stay free in budgets that are not shared.
        """
        now = self._clock.monotonic()
        probe = Grant(self, 0, cost, Priority.TYPING, now, keep, 0.0, float("inf"))
        if self._ready_at(probe, now)[0] > now:
            return False
        self._occupy(cost, now, Priority.TYPING)
        return True

    def answered(self, cost: CallCost) -> None:
        """Record that a call was answered: its windows run from now on."""
        now = self._clock.monotonic()
        for budget in cost.budgets:
            self._scope_of(budget).answer(now)
        self.pump()

    def returned(self, cost: CallCost) -> None:
        """Record that a granted call was not made."""
        for budget in cost.budgets:
            self._scope_of(budget).in_flight -= 1
        self.pump()

    def refused(self, cost: CallCost, scope: str, retry_after: float) -> None:
        """Record that the platform refused a call for `retry_after` seconds; empty `scope`: in its narrowest budget."""
        now = self._clock.monotonic()
        chosen = next((budget for budget in cost.budgets if budget.scope == scope), None)
        if chosen is None and cost.budgets:
            chosen = cost.budgets[0]
        if chosen is not None:
            known = self._scope_of(chosen)
            told = known.closed_until > now + PATIENCE
            known.refuse(now, retry_after)
            self._metrics.refusals.add(_platform(cost))
            if retry_after > PATIENCE:
                self._turn_away(known, told)
        self.pump()

    def _turn_away(self, scope: BudgetState, told: bool) -> None:
        """End every wait for a budget that is closed for longer than `PATIENCE`, and warn the operator once."""
        until = scope.closed_until
        if not told:
            end = datetime.datetime.fromtimestamp(self._clock.wall() + until - self._clock.monotonic(), datetime.UTC)
            log.warning(
                "%s is refused until %s: answers that can be shown in no other way are shown then",
                scope.budget.scope,
                f"{end:%Y-%m-%d %H:%M:%S} UTC",
            )
        for grant in list(self._waiting.in_order(())):
            if any(budget.scope == scope.budget.scope for budget in grant.cost.budgets):
                self._waiting.remove(grant)
                grant.end(_closed(scope.budget.scope, until))

    def opens_at(self, cost: CallCost) -> float:
        """Return the monotonic time until which a refusal blocks this call; not in the future if none does."""
        return max((self._scope_of(budget).closed_until for budget in cost.budgets), default=float("-inf"))

    def enter(self, budgets: tuple[RateBudget, ...]) -> Presence:
        """Register a reply that draws on `budgets`; others' progress leaves calls for its first and its last words."""
        presence = Presence(budgets, self._clock.monotonic())
        self.live += 1
        for budget in budgets:
            insort(self._scope_of(budget).coming, presence.since)
        return presence

    def admits(self, presence: Presence) -> bool:
        """Return True if a reply may be shown while it is written: a call for its end will be free soon enough.

        Where a minute's calls are shared by many, one that begins without a call left for its end stands there
        unfinished for up to a minute; posted once, when it is written, it is whole at once.
        """
        if presence.admitted:
            return True
        now = self._clock.monotonic()
        scopes = [self._scope_of(budget) for budget in presence.budgets]
        if any(scope.closed_until > now + PATIENCE for scope in scopes):
            return False
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
        """Record that the first words of a reply are shown."""
        if presence.seen is not None:
            return
        self._admit(presence)
        presence.seen = self._clock.monotonic()
        for budget in presence.budgets:
            scope = self._scope_of(budget)
            scope.coming.remove(presence.since)
            insort(scope.begun, presence.seen)

    def leave(self, presence: Presence) -> None:
        """Unregister a reply that ended."""
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
        """Queue `grant`.

        Raises:
            Closed: it would wait for longer than `PATIENCE`.
        """
        until = self.opens_at(grant.cost)
        if until > self._clock.monotonic() + PATIENCE:
            raise _closed(", ".join(budget.scope for budget in grant.cost.budgets), until)
        self._waiting.add(grant)
        self.pump()

    def forget(self, grant: Grant) -> None:
        """Remove `grant` from the queue: its caller was cancelled."""
        self._waiting.remove(grant)
        self.pump()

    def hurry(self, grant: Grant) -> None:
        """Raise a queued grant to `Priority.FINAL`: its page became the end of a reply."""
        self._waiting.remove(grant)
        grant.priority, grant.not_before = Priority.FINAL, 0.0
        self.wait(grant)

    async def close(self) -> None:
        """Stop the timer; nothing is granted any more."""
        if self._timer is not None:
            self._timer.cancel()
            await asyncio.gather(self._timer, return_exceptions=True)
            self._timer = None

    @property
    def known_scopes(self) -> int:
        """The number of rate budgets in memory."""
        return len(self._scopes)

    def _scope_of(self, budget: RateBudget) -> BudgetState:
        scope = self._scopes.get(budget.scope)
        if scope is None:
            self._sweep()
            scope = self._scopes[budget.scope] = BudgetState(budget)
        return scope

    def _sweep(self) -> None:
        """Drop idle budgets, so that memory grows with replies under way and not with known chats."""
        now = self._clock.monotonic()
        if len(self._scopes) < 256 or now < self._sweep_at:
            return
        self._sweep_at = now + 10.0
        for name in [name for name, scope in self._scopes.items() if scope.idle(now)]:
            del self._scopes[name]

    def _ready_at(self, grant: Grant, now: float) -> tuple[float, str]:
        """Return when this call can be made, and the rate scope that delays it most."""
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
                and all(window.seconds < SHORT for window in budget.windows)
            ):
                ready = min(ready, max(grant.insist_at, scope.ready_at(now, 0)))
            if progress and ready <= now:
                ready = max(ready, scope.spread(now, keep))
            if ready > at:
                at, holder = ready, budget.scope
        return at, holder

    @staticmethod
    def _keep(scope: BudgetState, grant: Grant, now: float) -> int:
        """Return how many calls a progress edit must leave free.

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
        if any(window.seconds >= SHORT for window in scope.budget.windows):
            return scope.admitted
        beginning, ending = scope.expected(now)
        return min(beginning, capacity // 2) + min(ending, capacity // 2)

    def _occupy(self, cost: CallCost, now: float, priority: Priority) -> None:
        for budget in cost.budgets:
            self._scope_of(budget).grant(now)
        if cost.budgets:
            self._metrics.platform_calls.add(_platform(cost), priority.name.lower())

    def pump(self) -> None:
        """Grant every call that may be made now, the most urgent first, and set the timer for the next one."""
        now = self._clock.monotonic()
        wake = float("inf")
        full: set[str] = set()
        for grant in self._waiting.in_order(full):
            if full and any(budget.scope in full for budget in grant.cost.budgets):
                continue
            if grant.gone:
                self._waiting.remove(grant)
                continue
            at, holder = self._ready_at(grant, now)
            if at <= now:
                self._waiting.remove(grant)
                self._occupy(grant.cost, now, grant.priority)
                grant.grant()
                continue
            wake = min(wake, at)
            if holder:
                full.add(holder)
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


def _closed(scope: str, until: float) -> Closed:
    return Closed(f"{scope} is refused for a long time", until=until)


def _platform(cost: CallCost) -> str:
    """Return the platform of a call: rate scopes begin with it."""
    return cost.budgets[0].scope.partition(":")[0]
