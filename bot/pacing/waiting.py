"""The queue of calls that wait for a rate budget, and its order."""

from __future__ import annotations

import asyncio
import enum
from bisect import bisect_left, insort
from collections.abc import Collection, Iterator
from operator import attrgetter
from typing import Protocol

from bot.contract import CallCost, Closed


class Priority(enum.IntEnum):
    """Which call is made first when a budget is nearly used up."""

    FINAL = 0
    FIRST = 1
    PROGRESS = 2
    TYPING = 3


class Gate(Protocol):
    """The part of `Pacer` that a `Grant` calls."""

    def wait(self, grant: Grant) -> None: ...
    def hurry(self, grant: Grant) -> None: ...
    def forget(self, grant: Grant) -> None: ...
    def answered(self, cost: CallCost) -> None: ...
    def returned(self, cost: CallCost) -> None: ...


class Grant:
    """One call that waits for its turn, or has it: `async with` waits on entering and gives back on leaving.

    Entering raises `Closed` where a platform lets nothing through for longer than `PATIENCE`.
    """

    __slots__ = ("_gate", "_granted", "cost", "insist_at", "keep", "made", "not_before", "number", "priority", "since")

    def __init__(
        self,
        gate: Gate,
        number: int,
        cost: CallCost,
        priority: Priority,
        since: float,
        keep: int,
        not_before: float,
        insist_at: float,
    ) -> None:
        self._gate = gate
        self._granted: asyncio.Future[None] | None = None
        self.number = number
        self.cost = cost
        self.priority = priority
        self.since = since
        self.keep = keep
        self.not_before = not_before
        self.insist_at = insist_at
        self.made = True
        """Set to False before leaving: the call was not needed after all, and another may have it."""

    async def __aenter__(self) -> None:
        self._granted = asyncio.get_running_loop().create_future()
        self._gate.wait(self)
        try:
            await self._granted
        except asyncio.CancelledError:
            if self._granted.done() and not self._granted.cancelled():
                self._gate.returned(self.cost)
            else:
                self._gate.forget(self)
            raise

    async def __aexit__(self, *exc: object) -> None:
        if self.made:
            self._gate.answered(self.cost)
        else:
            self._gate.returned(self.cost)

    def hurry(self) -> None:
        """Raise it to `Priority.FINAL`: its page became the end of a reply."""
        if self._granted is None:
            self.priority, self.not_before = Priority.FINAL, 0.0
        elif not self._granted.done():
            self._gate.hurry(self)

    @property
    def order(self) -> tuple[Priority, float, int]:
        """Its sort key in the queue."""
        return self.priority, self.since, self.number

    @property
    def gone(self) -> bool:
        """True if its caller was cancelled."""
        return self._granted is None or self._granted.done()

    def grant(self) -> None:
        """Let its caller make the call."""
        if self._granted is not None:
            self._granted.set_result(None)

    def end(self, error: Closed) -> None:
        """Raise `error` where its caller waits: the call will not be made."""
        if self._granted is not None and not self._granted.done():
            self._granted.set_exception(error)


class _Queues:
    """The waiting grants, the most urgent first, in one queue for each shared budget.

    When that is full, nobody else in its queue need be looked at: with hundreds who wait, most of what waiting costs.
    """

    def __init__(self) -> None:
        self._queues: dict[str, list[Grant]] = {}

    def add(self, grant: Grant) -> None:
        insort(self._queues.setdefault(_shared(grant.cost), []), grant, key=_ORDER)

    def remove(self, grant: Grant) -> None:
        """Remove it, if it is queued."""
        name = _shared(grant.cost)
        queue = self._queues.get(name, [])
        at = bisect_left(queue, grant.order, key=_ORDER)
        if at < len(queue) and queue[at] is grant:
            del queue[at]
            if not queue:
                del self._queues[name]

    def in_order(self, full: Collection[str]) -> Iterator[Grant]:
        """Yield all of them, the most urgent first, leaving out queues whose budget is in `full` by then."""
        queues = {name: iter(list(queue)) for name, queue in self._queues.items()}
        heads = {name: head for name, queue in queues.items() if (head := next(queue, None)) is not None}
        while heads:
            name = min(heads, key=lambda one: heads[one].order)
            yield heads[name]
            following = None if name in full else next(queues[name], None)
            if following is None:
                del heads[name]
            else:
                heads[name] = following


_ORDER = attrgetter("order")


def _shared(cost: CallCost) -> str:
    """Return the scope of the shared budget this call draws on; empty if there is none."""
    return next((budget.scope for budget in cost.budgets if budget.shared), "")
