"""What was spent against quotas, by time window: reserved before a paid call, settled after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.store.queries import Queries
from bot.store.sql import Connection


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


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer to a reservation that one quota did not allow."""

    limit: Limit
    spent: Amount
    until: float
    """Wall-clock time at which its window ends."""


class Spending(Queries):
    """Amounts spent per key and window."""

    async def reserve(
        self, limits: Sequence[Limit], least: Amount, most: Amount | None = None, sharing: Sequence[int] = ()
    ) -> Reserved | Refused:
        """Reserve as much as every quota allows, between `least` and `most`; nothing if one has less left.

        What a killed process reserved stays counted until its windows end.

        Args:
            most: what is wished for beyond `least`; None: `least` is all.
            sharing: for each limit, how many others may come for what is left of it just now.
        """
        now = self._clock.wall()
        windows = [(limit.key, limit.seconds, int(now // limit.seconds) * limit.seconds) for limit in limits]
        wish = (most or least) - least
        others = sharing or [0] * len(limits)

        def work(db: Connection) -> Reserved | Refused:
            part = 1.0
            for limit, window, count in zip(limits, windows, others, strict=True):
                row = db.execute(_SPENT, window).fetchone()
                spent = Amount(*row) if row else Amount()
                if _exceeds(spent, least, limit.most):
                    return Refused(limit, spent, float(window[2] + limit.seconds))
                part = min(part, _part(limit.most, spent + least, wish, count))
            amount = least + Amount(int(wish.tokens * part), wish.messages, wish.dollars * part)
            _add(db, windows, amount)
            return Reserved(amount, tuple(windows))

        return await self._writer.run(work)

    async def settle(self, reserved: Reserved, spent: Amount) -> None:
        """Replace a reservation by what was actually spent; `Amount()` returns it."""
        difference = spent - reserved.amount
        await self._writer.run(lambda db: _add(db, reserved.windows, difference))

    async def list_spent(self, keys: Sequence[str], seconds: int) -> list[Amount]:
        """Return what each of `keys` has spent in its present window."""
        start = int(self._clock.wall() // seconds) * seconds

        def read(db: Connection) -> list[Amount]:
            rows = [db.execute(_SPENT, (key, seconds, start)).fetchone() for key in keys]
            return [Amount(*row) if row else Amount() for row in rows]

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


_SPENT = "SELECT tokens, messages, dollars FROM spending WHERE key = ? AND seconds = ? AND start = ?"


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
