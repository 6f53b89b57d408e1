"""What was spent against quotas, by time window: reserved before a paid call, settled after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from bot.contract import Clock
from bot.store.queries import Queries
from bot.store.readers import Readers
from bot.store.sql import Connection, Session
from bot.store.writer import Writer


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount spent, or available."""

    tokens: int = 0
    messages: int = 0
    dollars: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.messages + other.messages, self.dollars + other.dollars)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.tokens - other.tokens, self.messages - other.messages, self.dollars - other.dollars)


@dataclass(frozen=True, slots=True)
class Limit:
    """A quota: at most `most` in a window of `seconds`, for one key; a zero in `most` is no limit."""

    key: str
    """Who spends: a person's id, a chat, or `*` for everybody."""
    seconds: int
    """The window: 60 for a minute, 86400 for a day (UTC)."""
    most: Amount


@dataclass(frozen=True, slots=True)
class Reserved:
    """A reservation: how much, and in which windows."""

    amount: Amount
    windows: tuple[tuple[str, int, int], ...]
    call: str = ""
    """The call that holds it; empty where nothing of it is ever given back."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer to a reservation that one quota did not allow."""

    limit: Limit
    spent: Amount
    """With what is held."""
    until: float
    """Wall-clock time at which its window ends."""
    held: Amount
    """What running calls hold of it, and give back in part."""
    calls: int
    """How many those are."""
    elsewhere: int
    """How many of them are another process's."""


class Spending(Queries):
    """Amounts spent per key and window, and what calls under way hold of them, whichever process makes them."""

    def __init__(self, writer: Writer, readers: Readers, clock: Clock, worker: str) -> None:
        """
        Args:
            worker: who holds what is reserved here: a name that no other process has at the same time.
        """
        super().__init__(writer, readers, clock)
        self._worker = worker
        self._calls = count()

    async def count(self, limits: Sequence[Limit], amount: Amount) -> Reserved | Refused:
        """Count an amount as spent, if every quota allows it."""
        windows = self._windows(limits)

        def work(db: Session) -> Reserved | Refused:
            db.one_by_one()
            for limit, window in zip(limits, windows, strict=True):
                spent = _spent(db, window)
                if _exceeds(spent, amount, limit.most):
                    return self._refuse(db, limit, window, spent)
            _add(db, windows, amount)
            return Reserved(amount, tuple(windows))

        return await self._writer.run(work)

    async def reserve(
        self,
        limits: Sequence[Limit],
        least: Amount,
        most: Amount | None = None,
        others: Sequence[int] = (),
    ) -> Reserved | Refused:
        """Reserve as much as every quota allows, between `least` and `most`; nothing if one has less left.

        Of what a killed process reserved, `least` counts as spent; see `settle_killed`.

        Args:
            most: what is wished for beyond `least`; None: `least` is all.
            others: for each limit, how many others of this process have or want a part of it just now.
        """
        windows = self._windows(limits)
        wish = (most or least) - least
        call = f"{self._worker} {self._clock.wall()} {next(self._calls)}"

        def work(db: Session) -> Reserved | Refused:
            db.one_by_one()
            part = 1.0
            for limit, window, beside in zip(limits, windows, others or [0] * len(limits), strict=True):
                if limit.most == Amount():
                    continue
                spent = _spent(db, window)
                if _exceeds(spent, least, limit.most):
                    return self._refuse(db, limit, window, spent)
                [(calls,)] = db.execute(
                    "SELECT count(*) FROM holdings WHERE key = ? AND worker <> ?", (limit.key, self._worker)
                ).fetchall()
                part = min(part, _part(limit.most, spent + least, wish, beside + int(calls)))
            amount = least + Amount(int(wish.tokens * part), wish.messages, wish.dollars * part)
            _add(db, windows, amount)
            db.executemany(
                "INSERT INTO holdings (call, worker, key, seconds, start, tokens, dollars, sure_tokens, sure_dollars) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (call, self._worker, *window, amount.tokens, amount.dollars, least.tokens, least.dollars)
                    for window in windows
                ],
            )
            return Reserved(amount, tuple(windows), call)

        return await self._writer.run(work)

    def _windows(self, limits: Sequence[Limit]) -> list[tuple[str, int, int]]:
        now = self._clock.wall()
        return [(limit.key, limit.seconds, int(now // limit.seconds) * limit.seconds) for limit in limits]

    def _refuse(self, db: Connection, limit: Limit, window: tuple[str, int, int], spent: Amount) -> Refused:
        held, calls, elsewhere = _held(db, window, self._worker)
        return Refused(limit, spent, float(window[2] + limit.seconds), held, calls, elsewhere)

    async def settle(self, *settled: tuple[Reserved, Amount]) -> None:
        """Replace each reservation by what was actually spent; `Amount()` returns it."""

        def work(db: Connection) -> None:
            for reserved, spent in settled:
                if not reserved.call or db.execute("DELETE FROM holdings WHERE call = ?", (reserved.call,)).rowcount:
                    _add(db, reserved.windows, spent - reserved.amount)

        await self._writer.run(work)

    async def settle_killed(self, worker: str = "") -> int:
        """Settle what a process held that was killed, by the least of each; return how many calls those were.

        Args:
            worker: its name; empty: that of this process, which a former one had.
        """

        def work(db: Connection) -> int:
            rows = db.execute(
                "SELECT key, seconds, start, sure_tokens - tokens, sure_dollars - dollars, call FROM holdings "
                "WHERE worker = ? AND call IN (SELECT call FROM holdings WHERE worker = ? LIMIT 500)",
                (name, name),
            ).fetchall()
            for key, seconds, start, tokens, dollars, _ in rows:
                _add(db, [(key, seconds, start)], Amount(tokens, dollars=dollars))
            calls = {row[-1] for row in rows}
            db.executemany("DELETE FROM holdings WHERE call = ?", [(call,) for call in calls])
            return len(calls)

        name, total = worker or self._worker, 0
        while calls := await self._writer.run(work):
            total += calls
        return total

    async def list_workers(self) -> set[str]:
        """Return the names of the processes that hold something."""
        return {str(name) for (name,) in await self._readers.fetch_rows("SELECT DISTINCT worker FROM holdings")}

    async def list_spent(self, keys: Sequence[str], seconds: int) -> list[Amount]:
        """Return what each of `keys` has spent in its present window."""
        start = int(self._clock.wall() // seconds) * seconds

        def read(db: Connection) -> list[Amount]:
            return [_spent(db, (key, seconds, start)) for key in keys]

        return await self._readers.read(read)

    async def list_used(self, keys: Sequence[str], seconds: int) -> list[Amount]:
        """Return the same without what running calls hold."""
        start = int(self._clock.wall() // seconds) * seconds

        def read(db: Connection) -> list[Amount]:
            windows = [(key, seconds, start) for key in keys]
            return [_spent(db, window) - _held(db, window, self._worker)[0] for window in windows]

        return await self._readers.read(read)

    async def list_top(self, prefix: str, seconds: int, most: int) -> list[tuple[str, Amount]]:
        """Return the keys with `prefix` that spent most tokens in the present window, the largest first."""
        start = int(self._clock.wall() // seconds) * seconds
        rows = await self._readers.fetch_rows(
            "SELECT key, tokens, messages, dollars FROM spending WHERE seconds = ? AND start = ? "
            "AND key >= ? AND key < ? ORDER BY tokens DESC, messages DESC, key LIMIT ?",
            (seconds, start, prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1), most),
        )
        return [(key, Amount(*counts)) for key, *counts in rows]

    async def prune(self) -> None:
        """Remove windows that ended more than two days ago."""
        await self._writer.execute("DELETE FROM spending WHERE start + seconds < ?", (self._clock.wall() - 172_800,))


def _spent(db: Connection, window: tuple[str, int, int]) -> Amount:
    row = db.execute(
        "SELECT tokens, messages, dollars FROM spending WHERE key = ? AND seconds = ? AND start = ?", window
    ).fetchone()
    return Amount(*row) if row else Amount()


def _held(db: Connection, window: tuple[str, int, int], worker: str) -> tuple[Amount, int, int]:
    """Return what running calls hold of a quota, how many those are, and how many of them another process's."""
    row = db.execute(
        "SELECT coalesce(sum(tokens), 0), coalesce(sum(dollars), 0.0), count(*), "
        "coalesce(sum(CASE WHEN worker = ? THEN 0 ELSE 1 END), 0) "
        "FROM holdings WHERE key = ? AND seconds = ? AND start = ?",
        (worker, *window),
    ).fetchone()
    tokens, dollars, calls, elsewhere = row
    return Amount(int(tokens), dollars=float(dollars)), int(calls), int(elsewhere)


def _add(db: Connection, windows: Sequence[tuple[str, int, int]], amount: Amount) -> None:
    db.executemany(
        "INSERT INTO spending (key, seconds, start, tokens, messages, dollars) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (key, seconds, start) DO UPDATE SET tokens = spending.tokens + excluded.tokens, "
        "messages = spending.messages + excluded.messages, dollars = spending.dollars + excluded.dollars",
        [(*window, amount.tokens, amount.messages, amount.dollars) for window in windows],
    )


def _part(most: Amount, spent: Amount, wish: Amount, others: int) -> float:
    """Return the share of a wish that one quota allows: all of it, or an equal share of what is left."""
    part = 1.0
    for limit, used, wished in ((most.tokens, spent.tokens, wish.tokens), (most.dollars, spent.dollars, wish.dollars)):
        if limit and wished > 0:
            part = min(part, (limit - used) / (others + 1) / wished)
    return max(0.0, part)


def _exceeds(spent: Amount, more: Amount, most: Amount) -> bool:
    return (
        0 < most.tokens < spent.tokens + more.tokens
        or 0 < most.messages < spent.messages + more.messages
        or 0 < most.dollars < spent.dollars + more.dollars
    )
