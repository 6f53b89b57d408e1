"""Decide when the next call to a platform may go out: readers, rate budgets, and the effect of refusals.

The reader is the clock: the first call goes to the reply whose reader runs out of text first (`bot.pacing.reader`).

One `Pacer` serves the whole process and makes every counted call: `call` as soon as possible, `ask` when its reader
needs it, `take` at once or not at all. The state of each rate budget is in `bot.pacing.scope`. Two calls wait for each
other only if they use the same budget.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import count, groupby
from typing import TypeVar

from bot.contract import CallCost, Clock, Closed, Metrics, Pace, RateBudget, SystemClock, Timer
from bot.pacing.asked import Asked, platform_of
from bot.pacing.reader import CALM, COLLECT, Reader, is_readable, seconds_to_read
from bot.pacing.scope import ARRIVALS, COUNTED_FOR, BudgetState
from bot.pacing.waiting import Grant, Purpose, _Queues
from bot.store import Part, Wish

log = logging.getLogger(__name__)
_Made = TypeVar("_Made")

PATIENCE = 300.0
"""Seconds a call may wait for a budget that its platform closed; a longer wait raises `Closed` at once."""
ENDS_WITHIN = 5.0
"""Seconds the end of a reply may wait for its call, otherwise it does not start: about the time of writing one."""
_UNHEARD_PAUSE = 0.1
"""Seconds until the next check whether calls may be made."""


class Pacer:
    """Grants calls within every platform's rate budgets, the longest awaited first."""

    def __init__(
        self,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        may_call: Callable[[], bool] = lambda: True,
        *,
        shares: bool = False,
    ) -> None:
        """
        Args:
            may_call: False: another process may have replaced this one. Nothing is granted then.
            shares: other processes use the shared budgets, too: this one has a part of each, set by `share`.
        """
        self.may_call = may_call
        self._shares = shares
        self.short = asyncio.Event()
        """A call waits for a part of a shared budget."""
        self._clock = clock or SystemClock()
        self.metrics = metrics or Metrics()
        self.live = 0
        """Replies in progress."""
        self._asked = Asked(self._clock)
        self._scopes: dict[str, BudgetState] = {}
        self._waiting = _Queues()
        self._numbers = count()
        self._timer: Timer | None = None
        self._timer_at = float("inf")
        self._sweep_at = 0.0

    async def call(self, cost: CallCost, purpose: Purpose, work: Callable[[], Awaitable[_Made]]) -> _Made:
        """Make a call that is needed now. Returns and raises as `Grant.call`."""
        return await self.ask(cost, purpose).call(work)

    def ask(
        self,
        cost: CallCost,
        purpose: Purpose,
        reader: Reader | None = None,
        *,
        at_once: bool = True,
        begins_page: bool = False,
    ) -> Grant:
        """Return a grant for a call of this `cost`, which its `call` makes.

        Args:
            reader: the reader of what the call shows; without one, the call is needed now.
            at_once: it is needed as soon as possible: a full page, or first words that last until the next call.
                Otherwise first words are collected for a moment, and more is needed when the reader runs out.
            begins_page: it posts a further page. Since posts can be scarce, it takes one early if half of them are
                free.
        """
        grant = Grant(self, next(self._numbers), cost)
        self._time(grant, purpose, reader, at_once=at_once)
        if begins_page:
            grant.not_before = min(grant.not_before, self._clock.monotonic() + COLLECT)
        return grant

    def change(self, grant: Grant, purpose: Purpose, reader: Reader) -> None:
        """Request a grant's call for this purpose from now on; no effect once it may be made."""
        if grant.granted:
            return
        queued = self._waiting.remove(grant)
        self._time(grant, purpose, reader, at_once=True)
        if queued:
            self.wait(grant)

    def _time(self, grant: Grant, purpose: Purpose, reader: Reader | None, *, at_once: bool) -> None:
        """Set when a grant's call is due, needed, and useful."""
        now = self._clock.monotonic()
        grant.purpose, grant.due, grant.needed_at, grant.not_before = purpose, now, now, now
        grant.spare = purpose is Purpose.AGAIN or (purpose is Purpose.PROGRESS and reader is not None and reader.grew)
        if reader is None or purpose is Purpose.FINAL:
            grant.due = now if reader is None else min(now, reader.out_at)
            return
        if purpose is Purpose.AGAIN:
            grant.due = grant.needed_at = now + CALM
            return
        grant.due = reader.wait(now) if purpose is Purpose.FIRST else reader.out_at
        if not at_once and purpose is Purpose.FIRST:
            grant.needed_at = grant.not_before = grant.due + COLLECT
        elif not at_once:
            spread = max((scope.spread(now) for scope in self._scopes_of(grant.cost.budgets)), default=0.0)
            grant.needed_at, grant.not_before = reader.needs_at, reader.fresh_at(spread)
        if reader.in_pieces:
            grant.needed_at = float("inf")

    def lasts(self, reader: Reader, text: str) -> bool:
        """Return True if `text`, as first words, lasts until the next call."""
        return is_readable(text) and seconds_to_read(text) >= max(self._gap(reader), reader.pace.ahead)

    def _gap(self, reader: Reader) -> float:
        """Return the approximate time between this call of a reply and its next."""
        now = self._clock.monotonic()
        scopes = [(scope, self._asked.coming_to(scope.budget)) for scope in self._scopes_of(reader.budgets)]
        # After about a second the reader of short first words needs more.
        return max((scope.gap(now, coming + scope.crowd(now, 1.0)) for scope, coming in scopes), default=0.0)

    def take(
        self, cost: CallCost, purpose: Purpose = Purpose.TYPING, *, closes: CallCost | None = None
    ) -> Grant | None:
        """Return a grant for a call that can be made at once; None if the budgets do not allow it.

        Args:
            closes: the budgets that a refusal closes, if more than those that the call uses.
        """
        if not self.may_call():
            return None
        now = self._clock.monotonic()
        for scope in self._scopes_of(cost.budgets):
            leaves = scope.leaves(purpose, needed=purpose is not Purpose.TYPING)
            if purpose is Purpose.TYPING:
                # Words matter more than a sign that words will come.
                leaves = max(leaves, scope.beginning + self._asked.coming_to(scope.budget))
            if scope.ready_at(now, leaves) > now:
                return None
        self._occupy(cost, now, purpose)
        grant = Grant(self, next(self._numbers), cost, closes)
        grant.grant()
        return grant

    def answered(self, cost: CallCost) -> None:
        """Record the answer to a call: its windows start now."""
        now = self._clock.monotonic()
        for scope in self._scopes_of(cost.budgets):
            scope.answer(now)
        self.pump()

    def returned(self, cost: CallCost) -> None:
        """Record that a granted call was not made."""
        for scope in self._scopes_of(cost.budgets):
            scope.in_flight -= 1
        self.pump()

    def refused(self, cost: CallCost, scope: str, retry_after: float) -> None:
        """Record that the platform refused a call for `retry_after` seconds; empty `scope`: in its narrowest budget."""
        now = self._clock.monotonic()
        if chosen := [budget for budget in cost.budgets if budget.scope == scope] or cost.budgets:
            [known] = self._scopes_of(chosen[:1])
            told = known.closed_until > now + PATIENCE
            known.refuse(now, retry_after)
            self.metrics.refusals.add(platform_of(cost.budgets[0]))
            if retry_after > PATIENCE:
                self._turn_away(known, told)
        self.pump()

    def _turn_away(self, scope: BudgetState, told: bool) -> None:
        """End every wait for a budget that is closed for longer than `PATIENCE`, and warn the operator once."""
        until = scope.closed_until
        if not told:
            end = datetime.datetime.fromtimestamp(self._clock.wall() + until - self._clock.monotonic(), datetime.UTC)
            log.warning(
                "%s is refused until %s; answers that cannot be shown in another way wait until then",
                scope.budget.scope,
                f"{end:%Y-%m-%d %H:%M:%S} UTC",
            )
        for grant in list(self._waiting.in_order(())):
            if any(budget.scope == scope.budget.scope for budget in grant.cost.budgets):
                self._waiting.remove(grant)
                grant.end(Closed(f"{scope.budget.scope} is refused for a long time", until=until))

    def opens_at(self, cost: CallCost) -> float:
        """Return the monotonic time until which a refusal blocks this call; not in the future if none does."""
        return max((scope.closed_until for scope in self._scopes_of(cost.budgets)), default=float("-inf"))

    def enter(
        self, budgets: tuple[RateBudget, ...], pace: Pace | None = None, *, calm: bool = False, resumed: bool = False
    ) -> Reader:
        """Register a reply that uses `budgets`, and return its reader.

        Args:
            pace: how often its platform shows more of it.
            calm: nobody waits for it.
            resumed: another process may just have shown some of it.
        """
        self.live += 1
        reader = Reader(budgets, calm, pace or Pace())
        new = [budget for budget in budgets if resumed and budget.scope not in self._scopes]
        self._count(reader, 1)
        now = self._clock.monotonic()
        for scope in self._scopes_of(budgets):
            # However slowly a busy machine starts them, a hundred at once are not a stream.
            scope.come(self._asked.asked_at, now)
        for scope in self._scopes_of(new):
            scope.assume_spent(now)
        return reader

    def expecting(self, platform: str, *, anew: bool = False) -> AbstractContextManager[None]:
        """Count a reply from the arrival of its question: of a hundred at once the first ones then get enough to read
        until the beginnings of all others are shown.

        Args:
            anew: the question has just come; otherwise it came when this was last called in the same context.
        """
        return self._asked.expect(platform, anew=anew)

    def _count(self, reader: Reader, by: int) -> None:
        """Count a reply in its budgets (1), or no longer (-1)."""
        for platform in {platform_of(budget) for budget in reader.budgets}:
            self._asked.count(platform, -by)
        for scope in self._scopes_of(reader.budgets):
            scope.live += by
            scope.calm += by * reader.calm
            scope.beginning += by * (reader.seen_at is None)
            scope.promised += by * reader.promised

    def seen(self, reader: Reader, text: str) -> None:
        """Record that more of a reply, or its first part, is shown."""
        if reader.seen_at is None:
            for scope in self._scopes_of(reader.budgets):
                scope.beginning -= 1
        reader.see(text, self._clock.monotonic())
        if not reader.in_pieces:
            self._promise(reader)

    def admits(self, reader: Reader) -> bool:
        """Return True if a reply can be shown while it is written: a call for its end will be free soon enough.

        If many replies share a minute's calls, one that starts without a call for its end would stay unfinished on
        screen for up to a minute; posted once, when it is written, it is complete at once.
        """
        if reader.promised:
            return True
        now = self._clock.monotonic()
        scopes = self._scopes_of(reader.budgets)
        if any(scope.closed_until > now + PATIENCE for scope in scopes):
            return False
        if any(scope.budget.shared and scope.end_at(now) > now + ENDS_WITHIN for scope in scopes):
            return False
        self._promise(reader)
        return True

    def show_in_pieces(self, reader: Reader, budgets: tuple[RateBudget, ...]) -> None:
        """Show a reply in messages that are never edited: it uses only these `budgets`."""
        self._count(reader, -1)
        reader.in_pieces, reader.budgets = True, budgets
        self._count(reader, 1)

    def _promise(self, reader: Reader) -> None:
        """Reserve a call for the end of a reply that is on screen."""
        if not reader.promised:
            reader.promised = True
            for scope in self._scopes_of(reader.budgets):
                scope.promised += 1

    def leave(self, reader: Reader) -> None:
        """Unregister a reply that has ended."""
        self.live -= 1
        self._count(reader, -1)
        self.pump()

    def wait(self, grant: Grant) -> None:
        """Queue `grant`.

        Raises:
            Closed: it would wait for longer than `PATIENCE`.
        """
        until = self.opens_at(grant.cost)
        if until > self._clock.monotonic() + PATIENCE:
            scopes = ", ".join(budget.scope for budget in grant.cost.budgets)
            raise Closed(f"{scopes} is refused for a long time", until=until)
        self._waiting.add(grant)
        self.pump()

    def forget(self, grant: Grant) -> None:
        """Remove `grant` from the queue: its caller was cancelled."""
        self._waiting.remove(grant)
        self.pump()

    async def close(self) -> None:
        """Stop the timer; nothing is granted any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def known_scopes(self) -> int:
        """The number of rate budgets in memory."""
        return len(self._scopes)

    def _scopes_of(self, budgets: Sequence[RateBudget]) -> list[BudgetState]:
        try:
            scopes = [self._scopes[budget.scope] for budget in budgets]
        except KeyError:
            self._sweep()
            scopes = [self._scopes.get(budget.scope) or self._begin_scope(budget) for budget in budgets]
        for scope in scopes:
            if scope.frozen:
                self.short.set()
        return scopes

    def _begin_scope(self, budget: RateBudget) -> BudgetState:
        frozen = self._shares and budget.shared
        scope = BudgetState(budget, frozen=frozen, newest=lambda: self._asked.newest(budget))
        self._scopes[budget.scope] = scope
        return scope

    def freeze_shared(self) -> list[Wish]:
        """Return this process's demand for its shared budgets, and grant no call of theirs until `share`."""
        now, wishes = self._clock.monotonic(), list[Wish]()
        for name, scope in self._scopes.items():
            if not scope.budget.shared:
                continue
            demand = scope.live + self._asked.coming_to(scope.budget) + scope.in_flight + scope.frozen
            used = scope.count(now)
            if not demand and not any(used):
                scope.frozen = True  # until it is requested again
                continue
            scope.frozen = True
            closed_for = max(0.0, scope.closed_until - now)
            wishes += [
                Wish(name, window.seconds, window.calls, part, demand, closed_for)
                for window, part in zip(scope.budget.windows, used, strict=True)
            ]
        self.short.clear()
        return wishes

    def share(self, parts: Iterable[Part]) -> None:
        """Make no more calls than these parts of the shared budgets allow."""
        now = self._clock.monotonic()
        for name, found in groupby(parts, key=lambda part: part.scope):
            windows = list(found)
            if (scope := self._scopes.get(name)) is None:
                continue  # no reply uses it any more
            scope.take_part([part.calls for part in windows], [part.free for part in windows])
            closed_until = now + max(part.closed_for for part in windows)
            if closed_until > max(now, scope.closed_until) + _UNHEARD_PAUSE:
                scope.refuse(now, closed_until - now)  # another process was notified
        self.pump()

    def _sweep(self) -> None:
        """Drop idle budgets, so that memory grows with replies in progress and not with known chats."""
        now = self._clock.monotonic()
        if len(self._scopes) < 256 or now < self._sweep_at:
            return
        self._sweep_at = now + 10.0
        for name in [name for name, scope in self._scopes.items() if scope.idle(now)]:
            del self._scopes[name]

    def _ready_at(self, grant: Grant, now: float) -> tuple[float, str]:
        """Return when to check this call again, now if it can be made; and the rate scope that blocks it.

        Until it is needed, it is made if enough of every budget is free: `BudgetState.leaves`.
        """
        needed, at, full = now >= grant.needed_at, now, ""
        for scope in self._scopes_of(grant.cost.budgets):
            budget = scope.budget
            if grant.purpose is Purpose.AGAIN and not needed and not budget.shared and scope.live > scope.calm:
                return grant.needed_at, ""  # a chat allows few calls, and somebody waits there
            leaves, expected = scope.leaves(grant.purpose, needed=needed), scope.expected(now)
            if grant.needed_at == float("inf"):
                # It is needed only to start a reply, and each newcomer must find a call for its end.
                least = min if grant.purpose is Purpose.FIRST else max
                leaves = least(scope.live, scope.capacity // 2) + 2 * expected
            elif expected and grant.spare:
                leaves = max(leaves, scope.promised + max(expected, scope.crowd(now, ARRIVALS)))
            if (ready := scope.ready_at(now, leaves)) > now:
                at = max(at, min(ready, now + COUNTED_FOR) if expected else ready)
                if not leaves or scope.ready_at(now, 0) > now:
                    full = budget.scope
        if at > now and grant.needed_at == float("inf"):
            at = min(at, now + 1.0)  # the number of newcomers may have changed by then
        return at if needed else min(at, grant.needed_at), full

    def _occupy(self, cost: CallCost, now: float, purpose: Purpose) -> None:
        for scope in self._scopes_of(cost.budgets):
            scope.grant(now)
        if cost.budgets:
            self.metrics.platform_calls.add(platform_of(cost.budgets[0]), purpose.value)

    def pump(self) -> None:
        """Grant every call that can be made now, the longest awaited first, and set the timer for the next one."""
        now = self._clock.monotonic()
        if not self.may_call():
            self._wake_at(now + _UNHEARD_PAUSE)
            return
        wake = float("inf")
        full: set[str] = set()
        for grant in self._waiting.in_order(full):
            if full and any(budget.scope in full for budget in grant.cost.budgets):
                continue
            if now < (of_use_at := min(grant.needed_at, grant.not_before)):
                wake = min(wake, of_use_at)
                continue
            if grant.granted:
                self._waiting.remove(grant)
                continue
            at, holder = self._ready_at(grant, now)
            if at <= now:
                self._waiting.remove(grant)
                self._occupy(grant.cost, now, grant.purpose)
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
            self._timer = self._clock.after(max(0.0, at - self._clock.monotonic()), self._wake)

    def _wake(self) -> None:
        self._timer, self._timer_at = None, float("inf")
        self.pump()
