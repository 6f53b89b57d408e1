"""What turns used, by day: added as each ends, so that a year is summed without a look at its turns.

`days` and `tool_days` name nobody and are kept. `person_days` is about people: what a turn added leaves with the turn.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from bot.store.sql import Connection
from bot.store.states import TurnState
from tools.contract.base import ToolStatus

DAY: Final = 86_400.0
LATE: Final = 2.0
"""Seconds that the reader of an answer had nothing left to read, from which on it counts as slow."""

SUMS: Final = (
    *("turns", "failed", "prompt", "completion", "dollars", "timed", "first_words", "waited", "late", "edits"),
    "refusals",
)
_USED: Final = ("turns", "prompt", "completion", "dollars")
_DAY_OF: Final = "CAST(round(ended_at - 0.5) AS BIGINT) / 86400"
"""The half second is for databases that round a cast instead of cutting it, see `bot/store/used.py`."""
_FIRST_DAY: Final = datetime.date(1970, 1, 1).toordinal()
_MARKS: Final = 500
"""Values in one statement."""


def _raised(table: str, columns: Iterable[str]) -> str:
    return ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in columns)


_COUNT: Final = f"""
    INSERT INTO days (day, platform, model, {", ".join(SUMS)})
    SELECT :day, :platform, model, 1, CASE WHEN state = '{TurnState.FAILED}' THEN 1 ELSE 0 END, prompt, completion,
        dollars, CASE WHEN first_words IS NULL THEN 0 ELSE 1 END, coalesce(first_words, 0), coalesce(waited, 0),
        CASE WHEN waited > {LATE} THEN 1 ELSE 0 END, edits, refusals
    FROM turns WHERE id = :turn
    ON CONFLICT (day, platform, model) DO UPDATE SET {_raised("days", SUMS)}
"""
_COUNT_PERSON: Final = f"""
    INSERT INTO person_days (day, person, {", ".join(_USED)})
    SELECT :day, person, 1, prompt, completion, dollars FROM turns WHERE id = :turn
    ON CONFLICT (day, person) DO UPDATE SET {_raised("person_days", _USED)}
"""
_CALLS: Final = f"""
    count(*), sum(CASE WHEN c.status IN ('{ToolStatus.FAILED}', '{ToolStatus.TIMEOUT}') THEN 1 ELSE 0 END),
    sum(c.seconds), max(c.seconds)
"""
# In one order, so that two processes do not wait for each other's rows. What began before the turn is another answer's.
_COUNT_CALLS: Final = f"""
    INSERT INTO tool_days (day, name, calls, failed, seconds, longest)
    SELECT :day, c.name, {_CALLS} FROM turns t JOIN calls c ON c.turn = t.id AND c.started_at >= t.started_at
    WHERE t.id = :turn GROUP BY c.name ORDER BY c.name
    ON CONFLICT (day, name) DO UPDATE SET {_raised("tool_days", ("calls", "failed", "seconds"))},
        longest = CASE WHEN excluded.longest > tool_days.longest THEN excluded.longest ELSE tool_days.longest END
"""


def date_of(day: int) -> str:
    """Write a day, counted from 1970, as 2026-11-25."""
    return datetime.date.fromordinal(_FIRST_DAY + day).isoformat()


def platform_of(person: str) -> str:
    """Return the platform of a person's id."""
    return person.partition(":")[0]


def count_turn(db: Connection, turn: int, person: str, now: float) -> None:
    """Add a turn that ends now to the sums of its day."""
    day = int(now // DAY)
    db.execute(_COUNT, {"turn": turn, "day": day, "platform": platform_of(person)})
    for statement in (_COUNT_PERSON, _COUNT_CALLS):
        db.execute(statement, {"turn": turn, "day": day})


def uncount_turns(db: Connection, turns: Sequence[int]) -> None:
    """Take turns that are about to be removed out of their people's sums. The sums that name nobody stay."""
    lost: dict[tuple[int, str], Counter[str]] = {}
    for at in range(0, len(turns), _MARKS):
        some = turns[at : at + _MARKS]
        rows = db.execute(
            "SELECT ended_at, person, prompt, completion, dollars FROM turns WHERE ended_at IS NOT NULL "
            f"AND id IN ({', '.join('?' * len(some))})",
            some,
        ).fetchall()
        for ended, person, *used in rows:
            counted = lost.setdefault((int(ended // DAY), person), Counter())
            counted.update(dict(zip(_USED, (1, *used), strict=True)))
    for (day, person), counted in sorted(lost.items()):
        less = ", ".join(f"{name} = {name} - ?" for name in _USED)
        key = (day, person)
        db.execute(
            f"UPDATE person_days SET {less} WHERE day = ? AND person = ?", (*(counted[name] for name in _USED), *key)
        )
        db.execute("DELETE FROM person_days WHERE day = ? AND person = ? AND turns <= 0", key)


def count_earlier_turns(db: Connection) -> None:
    """Fill the sums from the turns that ended before there were any; a step of the schema."""
    used = "count(*), sum(prompt), sum(completion), sum(dollars)"
    rows = db.execute(
        f"SELECT {_DAY_OF} AS day, person, model, {used}, sum(CASE WHEN state = '{TurnState.FAILED}' THEN 1 ELSE 0 END)"
        " FROM turns WHERE ended_at IS NOT NULL GROUP BY 1, 2, 3"
    ).fetchall()
    if not rows:
        return
    days: dict[tuple[int, str, str], Counter[str]] = {}
    people: dict[tuple[int, str], Counter[str]] = {}
    for day, person, model, turns, prompt, completion, dollars, failed in rows:
        sums = {"turns": turns, "prompt": prompt, "completion": completion, "dollars": dollars}
        people.setdefault((day, person), Counter()).update(sums)
        days.setdefault((day, platform_of(person), model), Counter()).update({**sums, "failed": failed})
    db.executemany(
        f"INSERT INTO days (day, platform, model, {', '.join(SUMS)}) VALUES ({', '.join('?' * (3 + len(SUMS)))})",
        [(*key, *(sums[name] for name in SUMS)) for key, sums in days.items()],
    )
    db.executemany(
        "INSERT INTO person_days (day, person, turns, prompt, completion, dollars) VALUES (?, ?, ?, ?, ?, ?)",
        [(*key, *(sums[name] for name in _USED)) for key, sums in people.items()],
    )
    db.execute(
        "INSERT INTO tool_days (day, name, calls, failed, seconds, longest) "
        f"SELECT {_DAY_OF} AS day, c.name, {_CALLS} FROM calls c JOIN turns t ON t.id = c.turn "
        "WHERE t.ended_at IS NOT NULL AND c.started_at >= t.started_at GROUP BY 1, 2"
    )
