"""The queue of calls that wait for a rate budget, and its order."""

from __future__ import annotations

import asyncio
import enum
from bisect import bisect_left, insort
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Protocol, TypeVar

from bot.contract import CallCost, Closed, RateLimited

_Made = TypeVar("_Made")


class Purpose(enum.Enum):
    """The purpose of a call, which decides how many calls it must leave to others."""

    FINAL = "final"
    """The end of a reply, or another necessary message."""
    FIRST = "first"
    """The first words of a reply."""
    PROGRESS = "progress"
    """More of a reply that is being read."""
    AGAIN = "again"
    """A complete reply, shown once more: nobody waits for it."""
    TYPING = "typing"
    """A sign without words."""


class Gate(Protocol):
    """The part of `Pacer` that a `Grant` calls."""

    @property
    def may_call(self) -> Callable[[], bool]: ...
    def wait(self, grant: Grant) -> None: ...
    def forget(self, grant: Grant) -> None: ...
    def answered(self, cost: CallCost) -> None: ...
    def returned(self, cost: CallCost) -> None: ...
    def refused(self, cost: CallCost, scope: str, retry_after: float) -> None: ...


@dataclass(slots=True, eq=False, repr=False)
class Grant:
    """One call that waits for its turn, or has it: `call` makes it. Times are monotonic."""

    gate: Gate
    number: int
    cost: CallCost
    closes: CallCost | None = None
    """What a refusal closes; None: the same."""
    purpose: Purpose = field(default=Purpose.FINAL, init=False)
    due: float = field(default=0.0, init=False)
    """When its reader runs out of text: the earliest goes first."""
    order: tuple[float, int] = field(init=False)
    """Its sort key in the queue, set when it is queued."""
    needed_at: float = field(default=0.0, init=False)
    """From then on it is made as soon as its budgets allow; before that, only if enough of them is free."""
    not_before: float = field(default=0.0, init=False)
    """Before this time it is useless."""
    spare: bool = field(default=False, init=False)
    """It is more than a first and a last call and one in between."""
    made: bool = field(default=True, init=False)
    """Set to False by `work` if it made no call after all, so that another call can have its place."""
    _future: asyncio.Future[None] = field(init=False)

    def __post_init__(self) -> None:
        self._future = asyncio.get_running_loop().create_future()
        self.order = self.due, self.number

    async def call(self, work: Callable[[], Awaitable[_Made]]) -> _Made:
        """Wait for its turn, make the call, and return its result; a refusal closes its rate budgets.

        Raises:
            Closed: the platform accepts nothing for longer than `PATIENCE`; it was not made.
            Exception: what `work` raises, including refusals.
        """
        if not self.granted:
            await self._wait()
            while not self.gate.may_call():
                # The process stood still in between: another one may have made the call.
                self.gate.returned(self.cost)
                self._future = asyncio.get_running_loop().create_future()
                await self._wait()
        try:
            return await work()
        except RateLimited as error:
            self.gate.refused(self.closes or self.cost, error.scope, error.retry_after)
            raise
        finally:
            if self.made:
                self.gate.answered(self.cost)
            else:
                self.gate.returned(self.cost)

    async def _wait(self) -> None:
        self.gate.wait(self)
        try:
            await self._future
        except asyncio.CancelledError:
            if self._future.cancelled() or self._future.exception() is not None:
                self.gate.forget(self)
            else:
                self.gate.returned(self.cost)
            raise

    @property
    def granted(self) -> bool:
        """True if its call may be made, or was cancelled."""
        return self._future.done()

    def grant(self) -> None:
        """Let its caller make the call."""
        self._future.set_result(None)

    def end(self, error: Closed) -> None:
        """Raise `error` where its caller waits: the call is not made."""
        if not self._future.done():
            self._future.set_exception(error)


class _Queues:
    """The waiting grants, the most urgent first, in one queue for each shared budget.

    If that budget is full, nobody else in its queue is checked: with hundreds waiting, this saves most of the work.
    """

    def __init__(self) -> None:
        self._queues: dict[str, list[Grant]] = {}

    def add(self, grant: Grant) -> None:
        grant.order = grant.due, grant.number
        insort(self._queues.setdefault(_shared(grant.cost), []), grant, key=_ORDER)

    def remove(self, grant: Grant) -> bool:
        """Remove it; return False if it was not queued."""
        name = _shared(grant.cost)
        queue = self._queues.get(name, [])
        at = bisect_left(queue, grant.order, key=_ORDER)
        if at == len(queue) or queue[at] is not grant:
            return False
        del queue[at]
        if not queue:
            del self._queues[name]
        return True

    def in_order(self, full: Collection[str]) -> Iterator[Grant]:
        """Yield all of them, the most urgent first, skipping queues whose budget is then in `full`."""
        queues = {name: iter(list(queue)) for name, queue in self._queues.items()}
        heads = {name: head for name, queue in queues.items() if (head := next(queue, None)) is not None}
        while heads:
            name = min(heads, key=lambda one: heads[one].order) if len(heads) > 1 else next(iter(heads))
            yield heads[name]
            following = None if name in full else next(queues[name], None)
            if following is None:
                del heads[name]
            else:
                heads[name] = following


_ORDER = attrgetter("order")


def _shared(cost: CallCost) -> str:
    """Return the scope of the shared budget that this call uses; empty if there is none."""
    return next((budget.scope for budget in cost.budgets if budget.shared), "")
