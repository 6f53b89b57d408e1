"""Export everything stored of a chat, for its person."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from bot.contract import ChatId
from bot.store.readers import Readers
from bot.store.sql import Connection, by_name
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
    found = db.execute(
        "SELECT t.id AS turn, t.person, i.incoming AS question, t.state, t.visible AS answer, t.reasoning, t.model, "
        "t.usage, t.dollars AS cost, t.error, t.started_at, t.ended_at, t.superseded_by AS replaced_by, t.rating, "
        "(SELECT h.turn FROM history h WHERE h.chat = t.chat AND h.sequence = t.continues) AS continues, "
        f"t.chat AS key, t.first_sequence AS first, t.last_sequence AS last {_TURNS} "
        f"ORDER BY t.id {'DESC' if extent.newest_first else 'ASC'} LIMIT {_AT_ONCE}",
        _bounds(extent, after, before),
    )
    turns = []
    for row in by_name(found):
        key, first, last = (row.pop(name) for name in ("key", "first", "last"))
        turn = {"chat": str(extent.chat), **_turn(row)}
        if extent.whole:
            bodies = db.execute(
                "SELECT coalesce(h.body, b.body) FROM history h LEFT JOIN bodies b ON b.id = h.aside "
                "WHERE h.chat = ? AND h.sequence BETWEEN ? AND ? ORDER BY h.sequence",
                (key, first, last),
            )
            turn["entries"] = [read_stored(body) for (body,) in bodies]
        calls = db.execute(
            "SELECT name, arguments, status, seconds FROM calls WHERE turn = ? ORDER BY pass, position", (turn["turn"],)
        )
        turn["calls"] = [
            {"name": name, "arguments": read_stored(arguments), "status": status, "seconds": seconds}
            for name, arguments, status, seconds in calls
        ]
        pages = db.execute(
            "SELECT message FROM pages WHERE turn = ? AND message IS NOT NULL ORDER BY number", (turn["turn"],)
        )
        turn["messages"] = [message for (message,) in pages]
        turns.append(turn)
    return turns


def _turn(turn: dict[str, Any]) -> dict[str, Any]:
    turn["question"] = read_stored(turn["question"])
    turn["usage"] = dict(zip(("prompt", "completion", "cached", "reasoning"), json.loads(turn["usage"]), strict=False))
    return turn
