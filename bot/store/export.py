"""Export everything stored of a chat, for its person."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from bot.contract import ChatId
from bot.store.readers import Readers
from bot.store.sql import Connection
from tools.contract.plaintext import read_stored, to_plain

_AT_ONCE = 50
"""Turns read at a time: no connection is held while the caller writes them."""
_TURNS = """
    FROM turns t JOIN chats c ON c.id = t.chat JOIN inbox i ON i.id = t.question
    WHERE c.chat = :chat AND t.id > :after AND t.id < :before AND (:person = '' OR t.person = :person)
    AND (:whole = 1 OR i.command NOT IN ('export', 'voice'))
"""
_LAST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Extent:
    """Which turns of a chat are exported."""

    chat: ChatId
    person: str = ""
    """Only this person's questions; empty: everybody's."""
    before: int = _LAST
    """Only turns before this one."""
    newest_first: bool = False
    whole: bool = True
    """Include what the model got, and the turns of earlier exports."""


async def export_chat(readers: Readers, extent: Extent) -> AsyncIterator[dict[str, Any]]:
    """Yield the chat's settings, if any, then one JSON object a turn; see `History.export`."""
    chat = str(extent.chat)
    settings = await readers.fetch_rows("SELECT name, value FROM settings WHERE chat = ? ORDER BY name", (chat,))
    if settings and not extent.person:
        yield {"chat": chat, "settings": dict(settings)}
    after, before = 0, extent.before
    while True:
        low, high = after, before
        turns = await readers.read(lambda db: _read(db, extent, low, high))  # noqa: B023 - it is awaited here
        for turn in turns:
            yield turn
        if len(turns) < _AT_ONCE:
            return
        if extent.newest_first:
            before = turns[-1]["turn"]
        else:
            after = turns[-1]["turn"]


async def count_exported(readers: Readers, extent: Extent) -> int:
    """Return how many turns an export yields."""
    row = await readers.fetch_row(f"SELECT count(*) {_TURNS}", _bounds(extent, 0, extent.before))
    return 0 if row is None else int(row[0])


def _bounds(extent: Extent, after: int, before: int) -> dict[str, Any]:
    return {
        "chat": str(extent.chat),
        "after": after,
        "before": before,
        "person": to_plain(extent.person),
        "whole": extent.whole,
    }


def _read(db: Connection, extent: Extent, after: int, before: int) -> list[dict[str, Any]]:
    rows = db.execute(
        "SELECT t.id, t.person, i.incoming, t.state, t.visible, t.reasoning, t.model, t.usage, t.dollars, t.error, "
        "t.started_at, t.ended_at, t.superseded_by, t.rating, (SELECT h.turn FROM history h WHERE h.chat = t.chat "
        f"AND h.sequence = t.continues), t.chat, t.first_sequence, t.last_sequence {_TURNS} "
        f"ORDER BY t.id {'DESC' if extent.newest_first else 'ASC'} LIMIT {_AT_ONCE}",
        _bounds(extent, after, before),
    ).fetchall()
    turns = []
    for *columns, key, first, last in rows:
        turn = {"chat": str(extent.chat), **_turn(columns)}
        if extent.whole:
            bodies = db.execute(
                "SELECT coalesce(h.body, b.body) FROM history h LEFT JOIN bodies b ON b.id = h.aside "
                "WHERE h.chat = ? AND h.sequence BETWEEN ? AND ? ORDER BY h.sequence",
                (key, first, last),
            )
            turn["entries"] = [read_stored(body) for (body,) in bodies]
        calls = db.execute(
            "SELECT name, arguments, status, seconds FROM calls WHERE turn = ? ORDER BY pass, position", (columns[0],)
        )
        turn["calls"] = [
            {"name": name, "arguments": read_stored(arguments), "status": status, "seconds": seconds}
            for name, arguments, status, seconds in calls
        ]
        pages = db.execute(
            "SELECT message FROM pages WHERE turn = ? AND message IS NOT NULL ORDER BY number", (columns[0],)
        )
        turn["messages"] = [message for (message,) in pages]
        turns.append(turn)
    return turns


def _turn(columns: list[Any]) -> dict[str, Any]:
    names = (
        *("turn", "person", "question", "state", "answer", "reasoning", "model", "usage", "cost", "error"),
        *("started_at", "ended_at", "replaced_by", "rating", "continues"),
    )
    turn = dict(zip(names, columns, strict=True))
    turn["question"] = read_stored(turn["question"])
    turn["usage"] = dict(zip(("prompt", "completion", "cached", "reasoning"), json.loads(turn["usage"]), strict=False))
    return turn
