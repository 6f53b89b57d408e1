"""What questions used, by day, person, chat and model, from the turns that are stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bot.contract import ChatId
from bot.store.queries import Queries
from bot.store.sql import Connection
from bot.store.sums import date_of

_LATE = 86_400.0
"""Seconds that a turn may begin after those with higher ids: it waited in its chat, or for a decision."""

_MARKS = 500
"""Values in one statement."""


@dataclass(frozen=True, slots=True)
class Used:
    """What the questions of one person used in one day, in one place, answered by one model."""

    day: str
    """As 2026-11-25 (UTC)."""
    person: str
    place: str
    """The chat without its thread, as quotas count."""
    model: str
    """Empty: none was asked."""
    questions: int
    prompt: int
    completion: int
    dollars: float
    newest: int
    """The last of these turns."""


class UsedByTurns(Queries):
    """Sums over turns."""

    async def list_since(self, wall: float) -> list[Used]:
        """Return what was used since a point in time. Reads the turns since then, however many came before."""
        return await self._readers.read(lambda db: _list_since(db, wall))

    async def names_at(self, turns: Iterable[int]) -> dict[int, str]:
        """Return the name under which each of these turns was asked, where there is one."""
        wanted = list(turns)
        return await self._readers.read(lambda db: _names_at(db, wanted))


def first_since(db: Connection, wall: float) -> int:
    """Return the id from which on turns began then or later; ids grow with time, so that 20 look-ups find it among a
    million."""
    # Both in one aggregate would read every turn.
    low, high = db.execute(
        "SELECT coalesce((SELECT min(id) FROM turns), 0), coalesce((SELECT max(id) FROM turns), -1) + 1"
    ).fetchone()
    while low < high:
        middle = (low + high) // 2
        found = db.execute("SELECT id, started_at FROM turns WHERE id >= ? ORDER BY id LIMIT 1", (middle,)).fetchone()
        if found[1] < wall:
            low = found[0] + 1
        else:
            high = middle
    return int(low)


def _list_since(db: Connection, wall: float) -> list[Used]:
    rows = db.execute(_SUMS, (first_since(db, wall - _LATE), wall)).fetchall()
    return [Used(date_of(day), person, str(ChatId.parse(chat).place), *rest) for day, person, chat, *rest in rows]


def _names_at(db: Connection, turns: list[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for at in range(0, len(turns), _MARKS):
        some = turns[at : at + _MARKS]
        rows = db.execute(f"SELECT id, name FROM inbox WHERE id IN ({', '.join('?' * len(some))})", some)
        found |= {int(id): str(name) for id, name in rows if name}
    return found


# The half second is for databases that round a cast instead of cutting it; midnight is an even number of seconds, so it
# does not matter which way they round a half.
_SUMS = """
    SELECT s.day, s.person, c.chat, s.model, s.questions, s.prompt, s.completion, s.dollars, s.newest FROM (
        SELECT CAST(round(started_at - 0.5) AS BIGINT) / 86400 AS day, person, chat, model, count(*) AS questions,
            sum(prompt) AS prompt, sum(completion) AS completion, sum(dollars) AS dollars, max(id) AS newest
        FROM turns WHERE id >= ? AND started_at >= ? GROUP BY 1, 2, 3, 4
    ) s JOIN chats c ON c.id = s.chat ORDER BY s.day
"""
