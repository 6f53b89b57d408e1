"""What questions used, by day, person, chat and model, from the turns that are stored."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from sqlite3 import Connection

from bot.contract import ChatId
from bot.store.queries import Queries

_LATE = 86_400.0
"""Seconds that a turn may begin after those with higher ids: it waited in its chat, or for a decision."""


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
        rows = await self._readers.fetch_rows(
            "SELECT id, json_extract(incoming, '$.sender.name') FROM inbox "
            "WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(turns)),),
        )
        return {int(id): str(name) for id, name in rows if name}


def first_since(db: Connection, wall: float) -> int:
    """Return the id from which on turns began then or later; ids grow with time, so that 20 look-ups find it among a
    million."""
    low, high = db.execute("SELECT coalesce(min(id), 0), coalesce(max(id), -1) + 1 FROM turns").fetchone()
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
    return [Used(day, person, str(ChatId.parse(chat).place), *rest) for day, person, chat, *rest in rows]


_SUMS = """
    SELECT s.day, s.person, c.chat, s.model, s.questions, s.prompt, s.completion, s.dollars, s.newest FROM (
        SELECT date(started_at, 'unixepoch') AS day, person, chat, model, count(*) AS questions,
            coalesce(sum(json_extract(usage, '$[0]')), 0) AS prompt,
            coalesce(sum(json_extract(usage, '$[1]')), 0) AS completion,
            sum(dollars) AS dollars, max(id) AS newest
        FROM turns WHERE id >= ? AND started_at >= ? GROUP BY 1, 2, 3, 4
    ) s JOIN chats c ON c.id = s.chat ORDER BY s.day
"""
