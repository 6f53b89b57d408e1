"""Lists of turns for the operator's page: which turns, by indexes, and then what is told of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.contract import Incoming, MessageSent, TimerDue, reference_of
from bot.store.incoming import incoming_from_json
from bot.store.sql import Connection, by_name
from bot.store.states import TurnState
from bot.store.sums import DAY, LATE
from bot.store.used import first_since
from tools.contract.base import Json

MOST: Final = 50
"""Rows of a list."""
_BEGINNING: Final = 160
"""Characters of a question in a list."""
_AFTER_ALL: Final = 1 << 62
_KINDS: Final[Mapping[str, str]] = {
    "all": "id > 0",
    "refused": "refusals > 0",
    "failed": f"state = '{TurnState.FAILED}'",
    "bad": "rating = 'bad'",
}
"""Conditions as in the indexes that serve them."""
_ROWS: Final = """
    SELECT t.id, c.chat, t.person, i.name, t.state, t.model, t.started_at, t.ended_at, t.first_words, t.waited, t.edits,
        t.refusals, t.prompt, t.completion, t.dollars, t.rating, i.incoming
    FROM turns t JOIN chats c ON c.id = t.chat JOIN inbox i ON i.id = t.question
"""


@dataclass(frozen=True, slots=True)
class Period:
    """Whole days (UTC), up to today."""

    days: int
    first: int
    """The first day, counted from 1970."""
    last: int

    @property
    def since(self) -> float:
        return self.first * DAY


def whole(asked: Mapping[str, str], name: str, default: int = 0) -> int:
    """Return a parameter that is a whole number.

    Raises:
        ValueError: it is not, or no database holds so large a number.
    """
    if not (text := asked.get(name, "")):
        return default
    if not re.fullmatch("[0-9]{1,18}", text):
        raise ValueError(f"{name} must be a whole number")
    return int(text)


def list_turns(db: Connection, kind: str, period: Period, asked: Mapping[str, str], most: int) -> list[Json]:
    """Return the turns of one kind in a period: the newest first, of `slow` those whose readers waited longest.

    Args:
        asked: `before`: only turns before this one.

    Raises:
        ValueError: there is no such kind.
    """
    since = first_since(db, period.since)
    if kind == "slow":
        found = db.execute(
            f"SELECT id FROM turns WHERE waited > {LATE} AND id >= ? ORDER BY waited DESC, id DESC LIMIT ?",
            (since, most),
        ).fetchall()
    elif kind in _KINDS:
        before = whole(asked, "before", _AFTER_ALL)
        found = db.execute(
            f"SELECT id FROM turns WHERE {_KINDS[kind]} AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?",
            (since, before, most),
        ).fetchall()
    else:
        raise ValueError(f"kind must be slow, {', '.join(_KINDS)}")
    return read_turns(db, [id for (id,) in found])


def newest_turns_of(db: Connection, column: str, key: int | str, asked: Mapping[str, str]) -> list[Json]:
    """Return the newest turns of a chat (its key) or of a person.

    Args:
        column: `chat` or `person`.
        asked: `before`: only turns before this one.
    """
    before = whole(asked, "before", _AFTER_ALL)
    found = db.execute(
        f"SELECT id FROM turns WHERE {column} = ? AND id < ? ORDER BY id DESC LIMIT ?", (key, before, MOST)
    ).fetchall()
    return read_turns(db, [id for (id,) in found])


def read_turns(db: Connection, ids: Sequence[int]) -> list[Any]:
    """Return the list entries of these turns, in their order."""
    if not ids:
        return []
    found = db.execute(f"{_ROWS} WHERE t.id IN ({', '.join('?' * len(ids))})", ids)
    told = {turn["id"]: turn for turn in by_name(found)}
    for id, turn in told.items():
        asked = " ".join(question_of(incoming_from_json(turn.pop("incoming"))).split())
        cut = asked if len(asked) <= _BEGINNING else f"{asked[: _BEGINNING - 1]}…"
        turn |= {"reference": reference_of(id), "question": cut}
    return [told[id] for id in ids if id in told]


def question_of(incoming: Incoming) -> str:
    """Return the words of what a turn answers."""
    return incoming.text if isinstance(incoming, MessageSent | TimerDue) else ""


def list_names(db: Connection, people: Iterable[str]) -> dict[str, str]:
    """Return the name under which each person last asked, where there is one: a look-up for each."""
    names = {}
    for person in people:
        row = db.execute(
            "SELECT i.name FROM turns t JOIN inbox i ON i.id = t.id WHERE t.person = ? ORDER BY t.id DESC LIMIT 1",
            (person,),
        ).fetchone()
        if row is not None and row[0] and not person.endswith(f"/{row[0]}"):
            names[person] = str(row[0])
    return names
