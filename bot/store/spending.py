"""The usage of quotas, by time window: reserved before a paid call, settled after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeAlias

from bot.contract import AssistantEntry, Clock, entry_from_json
from bot.store.queries import Queries
from bot.store.readers import Readers
from bot.store.sql import Connection, Session
from bot.store.writer import Writer

_NEWEST_ANSWERS = 100
"""Turns among which a model's newest answers are searched."""

_NEWEST_PROMPTS = """
SELECT n.prompt FROM (SELECT id, prompt FROM turns ORDER BY id DESC LIMIT 100) n WHERE n.prompt > 0 ORDER BY n.prompt
"""

Window: TypeAlias = tuple[str, int, int]
"""A key, the seconds of its window, and the window's start."""


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
    """The spender: a person's id, a chat, or `*` for everybody."""
    seconds: int
    """The window: 60 for a minute, 86400 for a day (UTC)."""
    most: Amount


@dataclass(frozen=True, slots=True)
class Reserved:
    """A reservation: its amount, and its windows."""

    amount: Amount
    windows: tuple[Window, ...]
    call: str = ""
    """The call that holds it; empty if none of it is ever returned."""
    before: tuple[tuple[Limit, Amount], ...] = ()
    """Each real quota, and what was spent and reserved of it before this."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer to a reservation that one quota refused."""

    limit: Limit
    spent: Amount
    """Including reservations."""
    until: float
    """Wall-clock time at which its window ends."""
    held: Amount
    """The reservations of running calls, which are partly returned."""
    calls: int
    """The number of those calls."""
    elsewhere: int
    """How many of them are another process's."""


def rough_count(text: str) -> int:
    """Estimate the tokens of a text: one for three bytes, which is one Chinese character."""
    return len(text.encode(errors="replace")) // 3


class Spending(Queries):
    """Usage per key and window, and the reservations of running calls, of any process."""

    def __init__(self, writer: Writer, readers: Readers, clock: Clock, worker: str) -> None:
        """
        Args:
            worker: the holder of reservations made here: a name that no other process has at the same time.
        """
        super().__init__(writer, readers, clock)
        self._worker = worker
        self._calls = count()

    async def count(self, limits: Sequence[Limit], amount: Amount) -> Reserved | Refused:
        """Count an amount as spent, if every quota allows it."""
        windows = self._windows(limits)

        def work(db: Session) -> Reserved | Refused:
            for limit, window, spent in zip(limits, windows, _spent(db, windows), strict=True):
                if _exceeds(spent, amount, limit.most):
                    return self._refuse(db, limit, window, spent)
            _add(db, windows, amount)
            return Reserved(amount, tuple(windows))

        return await self._writer.run_last(work)

    async def reserve(
        self,
        limits: Sequence[Limit],
        least: Amount,
        most: Amount | None = None,
        others: Sequence[int] = (),
        *,
        sure: Amount | None = None,
        turn: int = 0,
    ) -> Reserved | Refused:
        """Reserve as much as every quota allows, between `least` and `most`; nothing if one has less left.

        Args:
            most: the wish beyond `least`; None: only `least`.
            others: for each limit, how many other calls of this process hold or want a part of it now.
            sure: the part that counts as spent if the process is killed; None: `least`. See `settle_killed`.
            turn: the turn that it pays for; 0: none.
        """
        windows = self._windows(limits)
        counted = least if sure is None else sure
        call = f"{self._worker} {self._clock.wall()} {next(self._calls)}"

        def work(db: Session) -> Reserved | Refused:
            fit = self._fit(db, limits, windows, least, most or least, others)
            if isinstance(fit, Refused):
                return fit
            amount, before = fit
            _add(db, windows, amount)
            held = (amount.tokens, amount.dollars, counted.tokens, counted.dollars, turn)
            if windows:
                db.execute(
                    "INSERT INTO holdings (call, worker, key, seconds, start, tokens, dollars, sure_tokens, "
                    f"sure_dollars, turn) VALUES {_rows(10, len(windows))}",
                    [value for window in windows for value in (call, self._worker, *window, *held)],
                )
            return Reserved(amount, tuple(windows), call, before)

        return await self._writer.run_last(work)

    async def extend(
        self,
        reserved: Reserved,
        limits: Sequence[Limit],
        least: Amount,
        most: Amount,
        others: Sequence[int] = (),
    ) -> Reserved | Refused:
        """Raise a call's reservation, between `least` and `most`; return all that it then holds.

        Args:
            limits: those of its reservation; the addition counts in the same windows, also after midnight.
        """

        def work(db: Session) -> Reserved | Refused:
            fit = self._fit(db, limits, reserved.windows, least, most, others)
            if isinstance(fit, Refused):
                return fit
            more, _ = fit
            changed = db.execute(
                "UPDATE holdings SET tokens = tokens + ?, dollars = dollars + ? WHERE call = ?",
                (more.tokens, more.dollars, reserved.call),
            )
            if changed.rowcount:
                _add(db, reserved.windows, more)
            return replace(reserved, amount=reserved.amount + more)

        return await self._writer.run_last(work)

    def _fit(
        self,
        db: Session,
        limits: Sequence[Limit],
        windows: Sequence[Window],
        least: Amount,
        most: Amount,
        others: Sequence[int],
    ) -> tuple[Amount, tuple[tuple[Limit, Amount], ...]] | Refused:
        """Return how much every quota allows, between `least` and `most`, and what was spent of each."""
        limited = [
            (limit, window, beside)
            for limit, window, beside in zip(limits, windows, others or [0] * len(limits), strict=True)
            if limit.most != Amount()
        ]
        wish, part = most - least, 1.0
        all_spent = _spent(db, [window for _, window, _ in limited])
        calls = self._count_elsewhere(db, [limit.key for limit, _, _ in limited])
        for (limit, window, beside), spent in zip(limited, all_spent, strict=True):
            if _exceeds(spent, least, limit.most):
                return self._refuse(db, limit, window, spent)
            part = min(part, _part(limit.most, spent + least, wish, beside + calls.get(limit.key, 0)))
        amount = least + Amount(int(wish.tokens * part), wish.messages, wish.dollars * part)
        return amount, tuple((limit, spent) for (limit, _, _), spent in zip(limited, all_spent, strict=True))

    def _count_elsewhere(self, db: Connection, keys: Sequence[str]) -> dict[str, int]:
        """Return how many calls of other processes hold a part of these keys, if there are any."""
        if not keys:
            return {}
        rows = db.execute(
            f"SELECT key, count(*) FROM holdings WHERE key IN {_rows(len(keys), 1)} AND worker <> ? GROUP BY key",
            (*keys, self._worker),
        ).fetchall()
        return {str(key): int(calls) for key, calls in rows}

    def _windows(self, limits: Sequence[Limit]) -> list[Window]:
        now = self._clock.wall()
        return [(limit.key, limit.seconds, int(now // limit.seconds) * limit.seconds) for limit in limits]

    def _refuse(self, db: Connection, limit: Limit, window: Window, spent: Amount) -> Refused:
        [(held, calls, elsewhere)] = _held(db, [window], self._worker)
        return Refused(limit, spent, float(window[2] + limit.seconds), held, calls, elsewhere)

    async def settle(self, *settled: tuple[Reserved, Amount]) -> None:
        """Replace each reservation by the real usage; `Amount()` returns it."""

        def work(db: Connection) -> None:
            for reserved, spent in settled:
                held = reserved.amount if not reserved.call else _take_held(db, reserved)
                if held is not None:
                    _add(db, reserved.windows, spent - held)

        await self._writer.run_last(work)

    async def settle_killed(self, worker: str = "", weigh: Callable[[str], int] = rough_count) -> int:
        """Settle the reservations of a killed process; return how many calls those were.

        The sure part of each counts as spent, and of an answer the part on its pages.

        Args:
            worker: its name; empty: this process's own, which a former one had.
            weigh: estimates the tokens of a text.
        """

        def work(db: Connection) -> int:
            rows = db.execute(
                "SELECT key, seconds, start, tokens, dollars, sure_tokens, sure_dollars, turn, call FROM holdings "
                "WHERE worker = ? AND call IN (SELECT call FROM holdings WHERE worker = ? LIMIT 500)",
                (name, name),
            ).fetchall()
            turns = {call: int(turn) for *_, turn, call in rows if turn}
            written = count_written(db, set(turns.values()), weigh)
            # Of several calls of one turn only one wrote the visible text.
            first = {turn: call for call, turn in reversed(turns.items())}
            for key, seconds, start, tokens, dollars, sure_tokens, sure_dollars, turn, call in rows:
                held, sure = Amount(tokens, dollars=dollars), Amount(sure_tokens, dollars=sure_dollars)
                said = written.get(turn, 0) if first.get(turn) == call else 0
                _add(db, [(key, seconds, start)], _used(held, sure, said) - held)
            calls = {row[-1] for row in rows}
            db.executemany("DELETE FROM holdings WHERE call = ?", [(call,) for call in calls])
            return len(calls)

        name, total = worker or self._worker, 0
        while calls := await self._writer.run_last(work):
            total += calls
        return total

    async def list_answers(self, model: str) -> list[tuple[int, str]]:
        """Return the token counts of a model's newest answers, by its server, each with its visible text; the oldest
        first."""
        rows = await self._readers.fetch_rows(
            "SELECT t.completion, t.visible, t.reasoning FROM (SELECT id, model, completion, visible, reasoning "
            "FROM turns ORDER BY id DESC LIMIT ?) t WHERE t.model = ? AND t.completion > 0 ORDER BY t.id",
            (_NEWEST_ANSWERS, model),
        )
        return [(int(tokens), str(visible) + str(reasoning)) for tokens, visible, reasoning in rows]

    async def list_workers(self) -> set[str]:
        """Return the names of the processes that hold reservations."""
        return {str(name) for (name,) in await self._readers.fetch_rows("SELECT DISTINCT worker FROM holdings")}

    async def list_spent(self, keys: Sequence[str], seconds: int) -> list[Amount]:
        """Return the usage of each of `keys` in its present window."""
        start = int(self._clock.wall() // seconds) * seconds

        def read(db: Connection) -> list[Amount]:
            return _spent(db, [(key, seconds, start) for key in keys])

        return await self._readers.read(read)

    async def list_used(self, keys: Sequence[str], seconds: int) -> list[Amount]:
        """Return the same without what running calls hold."""
        start = int(self._clock.wall() // seconds) * seconds

        def read(db: Connection) -> list[Amount]:
            windows = [(key, seconds, start) for key in keys]
            held = _held(db, windows, self._worker)
            return [spent - part for spent, (part, _, _) in zip(_spent(db, windows), held, strict=True)]

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
        ended = (self._clock.wall() - 172_800,)
        await self._writer.run_last(lambda db: db.execute("DELETE FROM spending WHERE start + seconds < ?", ended))


def usual_prompt(db: Connection) -> int:
    """Return the median of the tokens that the newest answers read, as servers counted them; 0 where there are none."""
    prompts = [int(prompt) for (prompt,) in db.execute(_NEWEST_PROMPTS).fetchall()]
    return prompts[len(prompts) // 2] if prompts else 0


def _spent(db: Connection, windows: Sequence[Window]) -> list[Amount]:
    """Return what was spent in each of these windows, in one statement: each would be a round trip."""
    if not windows:
        return []
    rows = db.execute(
        f"SELECT key, seconds, start, tokens, messages, dollars FROM spending WHERE {_is_one_of(windows)}",
        _values(windows),
    ).fetchall()
    found = {(key, seconds, start): Amount(*spent) for key, seconds, start, *spent in rows}
    return [found.get(window, Amount()) for window in windows]


def _take_held(db: Connection, reserved: Reserved) -> Amount | None:
    """Return what a call holds, which it does no more; None: that was settled already."""
    rows = db.execute("DELETE FROM holdings WHERE call = ? RETURNING tokens, dollars", (reserved.call,)).fetchall()
    return Amount(int(rows[0][0]), reserved.amount.messages, float(rows[0][1])) if rows else None


def _used(held: Amount, sure: Amount, written: int) -> Amount:
    """Return what a call used of what it held that wrote so many tokens beyond what is sure."""
    beyond = held - sure
    if beyond.tokens <= 0:
        return sure
    share = min(1.0, written / beyond.tokens)
    return sure + Amount(int(beyond.tokens * share), dollars=beyond.dollars * share)


def _held(db: Connection, windows: Sequence[Window], worker: str) -> list[tuple[Amount, int, int]]:
    """Return what running calls hold of each quota, how many those are, and how many of them another process's."""
    if not windows:
        return []
    rows = db.execute(
        "SELECT key, seconds, start, sum(tokens), sum(dollars), count(*), "
        "sum(CASE WHEN worker = ? THEN 0 ELSE 1 END) "
        f"FROM holdings WHERE {_is_one_of(windows)} GROUP BY key, seconds, start",
        (worker, *_values(windows)),
    ).fetchall()
    found = {
        (key, seconds, start): (Amount(int(tokens), dollars=float(dollars)), int(calls), int(elsewhere))
        for key, seconds, start, tokens, dollars, calls, elsewhere in rows
    }
    return [found.get(window, (Amount(), 0, 0)) for window in windows]


def _is_one_of(windows: Sequence[Window]) -> str:
    """Return the condition that a row is of one of these windows; its values are `_values`."""
    each = " OR ".join(["key = ? AND seconds = ? AND start = ?"] * len(windows))
    return f"({each})"


def _values(windows: Sequence[Window]) -> list[str | int]:
    return [value for window in windows for value in window]


def _add(db: Connection, windows: Sequence[Window], amount: Amount) -> None:
    if not windows:
        return
    db.execute(
        f"INSERT INTO spending (key, seconds, start, tokens, messages, dollars) VALUES {_rows(6, len(windows))} "
        "ON CONFLICT (key, seconds, start) DO UPDATE SET tokens = spending.tokens + excluded.tokens, "
        "messages = spending.messages + excluded.messages, dollars = spending.dollars + excluded.dollars",
        [value for window in windows for value in (*window, amount.tokens, amount.messages, amount.dollars)],
    )


def _rows(columns: int, many: int) -> str:
    """Return the marks of so many rows of values."""
    return ", ".join([f"({', '.join('?' * columns)})"] * many)


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


def count_written(db: Connection, turns: Collection[int], weigh: Callable[[str], int]) -> Mapping[int, int]:
    """Return the tokens that each of these turns shows of the pass that is under way.

    Args:
        weigh: estimates the tokens of a text.
    """
    if not turns:
        return {}
    marks, wanted = ", ".join("?" * len(turns)), tuple(turns)
    shown: Counter[int] = Counter()
    for turn, body in db.execute(f"SELECT turn, body FROM pages WHERE turn IN ({marks})", wanted).fetchall():
        shown[turn] += weigh(body)
    for turn, kept in db.execute(f"SELECT turn, entry FROM passes WHERE turn IN ({marks})", wanted).fetchall():
        entry = entry_from_json(kept)
        # Passes that have ended were settled when they did.
        shown[turn] -= weigh(entry.text) if isinstance(entry, AssistantEntry) else 0
    return {turn: max(0, tokens) for turn, tokens in shown.items()}
