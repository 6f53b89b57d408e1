"""What the operator's page shows, as JSON: sums by day, lists of chats and turns, one turn's story, search.

Nothing here reads more of a table than it shows: sums are read from `bot/store/sums.py`, lists by indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from bot.contract import ChatId
from bot.store.finding import find
from bot.store.queries import Queries
from bot.store.sql import Connection, by_name
from bot.store.sums import DAY, LATE, SUMS, date_of
from bot.store.turnlists import MOST, Period, list_names, list_turns, newest_turns_of, read_turns, whole
from bot.store.turnstory import tell_turn
from bot.store.used import first_since
from tools.contract.base import Json

MOST_DAYS: Final = 3660
PERSON_DAYS: Final = 90
"""The longest period in which people are listed: they are summed by day, so a longer one would read too much."""
_TOP: Final = 10
_NEVER: Final = 1e15
_SUMMED: Final = ", ".join(f"sum({name})" for name in SUMS)
_RATED: Final = "SELECT count(*) FROM turns t WHERE t.chat = c.id AND t.rating = ? AND t.rating <> ''"

Asked: TypeAlias = Mapping[str, str]
Told: TypeAlias = dict[str, Json]


class Insights(Queries):
    """Answers the operator's page."""

    async def read(self, view: str, asked: Asked) -> Told | None:
        """Return what a view shows; None if there is no such view, chat, person or turn.

        Args:
            asked: the view's parameters, as text: `days`, and what is named in `VIEWS`.

        Raises:
            ValueError: a parameter is malformed.
            StoreError: the database cannot be read.
        """
        if view not in VIEWS:
            return None
        return await self._readers.read(partial(VIEWS[view], _period(asked, self._clock.wall()), asked))


def _period(asked: Asked, now: float) -> Period:
    days = whole(asked, "days", 30)
    if not 1 <= days <= MOST_DAYS:
        raise ValueError(f"days must be from 1 to {MOST_DAYS}")
    today = int(now // DAY)
    return Period(days, today - days + 1, today)


def _read_overview(period: Period, asked: Asked, db: Connection) -> Told:
    by_day = db.execute(
        f"SELECT day, platform, model, {', '.join(SUMS)} FROM days WHERE day >= ? ORDER BY day, platform, model",
        (period.first,),
    ).fetchall()
    before = db.execute(
        f"SELECT {_SUMMED} FROM days WHERE day >= ? AND day < ?", (period.first - period.days, period.first)
    ).fetchone()
    since = first_since(db, period.since)
    [(chats,)] = db.execute("SELECT count(*) FROM chats WHERE last_at >= ?", (period.since,)).fetchall()
    [(bad,)] = db.execute("SELECT count(*) FROM turns WHERE rating = 'bad' AND id >= ?", (since,)).fetchall()
    totals = [sum(row[at] for row in by_day) for at in range(3, 3 + len(SUMS))]
    return {
        **_told_of(period),
        "totals": {**dict(zip(SUMS, totals, strict=True)), "chats": chats, "bad": bad},
        "before": dict(zip(SUMS, (value or 0 for value in before), strict=True)),
        "by_day": [
            {"day": date_of(day), "platform": platform, "model": model, **dict(zip(SUMS, sums, strict=True))}
            for day, platform, model, *sums in by_day
        ],
        "people": _people(db, period, _TOP),
        "tools": _tools(db, period)[:_TOP],
        "slow": list_turns(db, "slow", period, {}, _TOP),
    }


def _read_people(period: Period, asked: Asked, db: Connection) -> Told:
    shorter = Period(min(period.days, PERSON_DAYS), max(period.first, period.last - PERSON_DAYS + 1), period.last)
    return {**_told_of(shorter), "people": _people(db, shorter, MOST)}


def _people(db: Connection, period: Period, most: int) -> list[Json]:
    """Return who used most; for a period that is too long, nobody."""
    if period.days > PERSON_DAYS:
        return []
    rows = db.execute(
        "SELECT person, sum(turns), sum(prompt), sum(completion), sum(dollars) FROM person_days WHERE day >= ? "
        "GROUP BY person ORDER BY 5 DESC, 2 DESC, 1 LIMIT ?",
        (period.first, most),
    ).fetchall()
    names = list_names(db, [row[0] for row in rows])
    columns = ("turns", "prompt", "completion", "dollars")
    return [
        {"person": person, "name": names.get(person, ""), **dict(zip(columns, used, strict=True))}
        for person, *used in rows
    ]


def _read_tools(period: Period, asked: Asked, db: Connection) -> Told:
    by_day = db.execute(
        "SELECT day, sum(calls), sum(failed) FROM tool_days WHERE day >= ? GROUP BY day ORDER BY day", (period.first,)
    ).fetchall()
    told: Told = {
        **_told_of(period),
        "tools": _tools(db, period),
        "by_day": [{"day": date_of(day), "calls": calls, "failed": failed} for day, calls, failed in by_day],
    }
    if name := asked.get("tool", ""):
        told |= {"tool": name, "failed": _failed_calls(db, name)}
    return told


def _tools(db: Connection, period: Period) -> list[Json]:
    found = db.execute(
        "SELECT name AS tool, sum(calls) AS calls, sum(failed) AS failed, sum(seconds) AS seconds, "
        "max(longest) AS longest FROM tool_days WHERE day >= ? GROUP BY name ORDER BY 2 DESC, 1",
        (period.first,),
    )
    return list[Json](by_name(found))


def _failed_calls(db: Connection, name: str) -> list[Json]:
    """Return the newest calls of a tool that failed, each with its turn."""
    rows = db.execute(
        "SELECT turn, status, started_at, seconds, problem FROM calls WHERE name = ? "
        "AND status IN ('failed', 'timeout') ORDER BY turn DESC LIMIT ?",
        (name, MOST),
    ).fetchall()
    turns = {turn["id"]: turn for turn in read_turns(db, list(dict.fromkeys(row[0] for row in rows)))}
    return [
        {**turns[turn], "status": status, "at": at, "seconds": seconds, "problem": problem}
        for turn, status, at, seconds, problem in rows
        if turn in turns
    ]


def _read_turns(period: Period, asked: Asked, db: Connection) -> Told:
    kind = asked.get("kind") or "all"
    turns = list_turns(db, kind, period, asked, MOST)
    return {**_told_of(period), "kind": kind, "turns": turns, "late": LATE}


def _read_chats(period: Period, asked: Asked, db: Connection) -> Told:
    before = float(asked.get("before") or _NEVER)
    found = db.execute(
        f"SELECT c.chat, c.title AS name, c.turns, c.bytes, c.last_at, ({_RATED}) AS good, ({_RATED}) AS bad "
        "FROM chats c WHERE c.last_at >= ? AND c.last_at < ? ORDER BY c.last_at DESC, c.id DESC LIMIT ?",
        ("good", "bad", period.since, before, MOST),
    )
    return {**_told_of(period), "chats": list[Json](by_name(found))}


def _read_chat(period: Period, asked: Asked, db: Connection) -> Told | None:
    chat = str(ChatId.parse(asked.get("chat", "")))
    row = db.execute(
        f"SELECT c.id, c.title, c.turns, c.bytes, c.last_at, ({_RATED}), ({_RATED}) FROM chats c WHERE c.chat = ?",
        ("good", "bad", chat),
    ).fetchone()
    if row is None:
        return None
    key, title, turns, size, last_at, good, bad = row
    listed = newest_turns_of(db, "chat", key, asked)
    about = {"name": title, "turns_stored": turns, "bytes": size, "last_at": last_at, "good": good, "bad": bad}
    return {"chat": chat, **about, "turns": listed}


def _read_person(period: Period, asked: Asked, db: Connection) -> Told | None:
    person = asked.get("person", "")
    turns = newest_turns_of(db, "person", person, asked)
    if not turns and not asked.get("before"):
        return None
    return {"person": person, "name": list_names(db, [person]).get(person, ""), "turns": turns}


def _read_turn(period: Period, asked: Asked, db: Connection) -> Told | None:
    return tell_turn(db, whole(asked, "turn"))


def _read_find(period: Period, asked: Asked, db: Connection) -> Told:
    return find(db, asked.get("q", ""), whole(asked, "before"))


VIEWS: Final[Mapping[str, Callable[[Period, Asked, Connection], Told | None]]] = {
    "overview": _read_overview,
    "people": _read_people,
    "tools": _read_tools,
    "turns": _read_turns,
    "chats": _read_chats,
    "chat": _read_chat,
    "person": _read_person,
    "turn": _read_turn,
    "find": _read_find,
}
"""View → what reads it. Parameters: `tool`; `kind` and `before` (a turn) of turns; `before` (a time) of chats; `chat`,
`person`, `turn`; `q` and `before` (a turn) of a search."""


def _told_of(period: Period) -> Told:
    return {"days": period.days, "since": date_of(period.first), "today": date_of(period.last)}
