"""How several processes share a platform's rate limits: each holds a part of a window's calls, all together the whole.

A part is how many calls of one process may count in the window at once. So the sum holds at every moment, though no
process knows the others' calls: when a part shrinks, its used calls are given up as they stop counting.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bot.contract import Clock
from bot.store.queries import Queries
from bot.store.readers import Readers
from bot.store.sql import Session
from bot.store.writer import Writer

RENEWED_WITHIN = 3.0
"""Seconds after which a part that was not renewed is free: its process is dead, or sends nothing."""
_SPARE = 10
"""A process alone leaves a tenth for the next one, which would otherwise wait for it. As many calls of a dead process
are assumed beyond the known ones: parts are exchanged several times a second."""
_COUNTED = " counted"
"""Suffix of a process's name: its part of a long window that stays its own when it dies."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A process's demand for one window."""

    scope: str
    seconds: float
    calls: int
    """How many calls the window allows."""
    used: int
    """How many of this process's calls count in it, or are in flight."""
    demand: int
    """Replies that use it here."""
    closed_for: float = 0.0
    """Seconds for which the platform refuses it, as far as this process knows."""


@dataclass(frozen=True, slots=True)
class Part:
    """A process's part of a window."""

    scope: str
    seconds: float
    calls: int
    """How many calls may count at once; more may be counting already."""
    closed_for: float
    """Seconds for which the platform refuses it, as far as any other process knows."""
    free: int = 0
    """How many calls are not counting yet: those that others hold they give up soon."""


class Allowances(Queries):
    """The parts of all processes."""

    def __init__(self, writer: Writer, readers: Readers, clock: Clock, worker: str) -> None:
        super().__init__(writer, readers, clock)
        self._worker = worker

    async def exchange(self, wishes: Iterable[Wish]) -> list[Part]:
        """Renew this process's parts by its demand and the others'; parts that it no longer demands are given up.

        Returns:
            For each wish its part: all but a tenth for a process alone, else as the replies of each stand to those of
            all, as far as the others have given up theirs.

        Raises:
            StoreError: nothing was renewed.
        """
        wanted = list(wishes)

        def work(db: Session) -> list[Part]:
            now = self._clock.wall()
            mine = (self._worker, self._worker + _COUNTED)
            db.execute("DELETE FROM allowances WHERE worker IN (?, ?) OR until < ?", (*mine, now))
            return [self._take(db, wish, now) for wish in wanted]

        return await self._writer.run_last(work)

    async def list_workers(self) -> set[str]:
        """Return the names of the processes that have a part."""
        rows = await self._readers.fetch_rows("SELECT DISTINCT worker FROM allowances")
        return {str(name).removesuffix(_COUNTED) for (name,) in rows}

    async def bury(self, worker: str) -> None:
        """Free the parts of a process that is known to be dead; its calls count for one more window.

        Raises:
            StoreError: nothing was changed.
        """

        def work(db: Session) -> None:
            db.execute("DELETE FROM allowances WHERE worker = ?", (worker,))
            now = self._clock.wall()
            db.execute(
                "UPDATE allowances SET until = ? + seconds WHERE worker = ? AND until > ? + seconds",
                (now, worker + _COUNTED, now),
            )

        await self._writer.run_last(work)

    def _take(self, db: Session, wish: Wish, now: float) -> Part:
        # Counting calls have no demand: demand is in the row of replies.
        [(held, counted, demand, closed_until)] = db.execute(
            "SELECT coalesce(sum(calls), 0), coalesce(sum(CASE WHEN demand = 0 THEN calls ELSE 0 END), 0), "
            "coalesce(sum(demand), 0), coalesce(max(closed_until), 0.0) "
            "FROM allowances WHERE scope = ? AND seconds = ?",
            (wish.scope, wish.seconds),
        ).fetchall()
        others = int(demand)
        fair = wish.calls * wish.demand // (wish.demand + others) if others else wish.calls - wish.calls // _SPARE
        free = max(0, wish.calls - int(counted))
        part = max(0, min(max(1, fair), wish.calls - int(held))) if wish.demand else 0
        kept = max(part, wish.used)  # calls that still count are given up when they stop counting
        # If this process dies, its calls count for a whole window, with those that nobody knows of; its other calls,
        # and its replies, hold nobody up for that long.
        mine = min(kept, wish.used + wish.calls // _SPARE)
        self._hold(db, wish, self._worker + _COUNTED, mine, 0, now + max(RENEWED_WITHIN, wish.seconds))
        self._hold(db, wish, self._worker, kept - mine, wish.demand, now + RENEWED_WITHIN)
        return Part(wish.scope, wish.seconds, part, max(0.0, float(closed_until) - now), free)

    def _hold(self, db: Session, wish: Wish, holder: str, calls: int, demand: int, until: float) -> None:
        db.execute(
            "INSERT INTO allowances (scope, seconds, worker, calls, demand, until, closed_until) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (wish.scope, wish.seconds, holder, calls, demand, until, self._clock.wall() + wish.closed_for),
        )
