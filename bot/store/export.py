"""Export everything stored of a chat, for its person."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from bot.contract import ChatId
from bot.store.readers import Readers

_AT_ONCE = 50
"""Turns read in one go: no connection is held while whoever exports writes them down."""


async def export_chat(readers: Readers, chat: ChatId) -> AsyncIterator[dict[str, Any]]:
    """Yield the chat's settings, if any, then one JSON object a turn, oldest first; see `History.export`."""
    done = 0
    settings = await readers.fetch_rows("SELECT name, value FROM settings WHERE chat = ? ORDER BY name", (str(chat),))
    if settings:
        yield {"chat": str(chat), "settings": dict(settings)}
    while True:
        turns = await readers.fetch_rows(
            "SELECT t.id, t.person, i.incoming, t.state, t.visible, t.reasoning, t.model, t.usage, t.dollars, t.error, "
            "t.started_at, t.ended_at, t.superseded_by, t.rating, (SELECT h.turn FROM history h WHERE h.chat = t.chat "
            "AND h.sequence = t.continues), t.chat, t.first_sequence, t.last_sequence "
            "FROM turns t JOIN chats c ON c.id = t.chat JOIN inbox i ON i.id = t.question "
            "WHERE c.chat = ? AND t.id > ? ORDER BY t.id LIMIT ?",
            (str(chat), done, _AT_ONCE),
        )
        if not turns:
            return
        for row in turns:
            *columns, key, first, last = row
            yield {
                "chat": str(chat),
                **_turn(columns),
                "entries": [
                    json.loads(body)
                    for (body,) in await readers.fetch_rows(
                        "SELECT coalesce(h.body, b.body) FROM history h LEFT JOIN bodies b ON b.id = h.aside "
                        "WHERE h.chat = ? AND h.sequence BETWEEN ? AND ? ORDER BY h.sequence",
                        (key, first, last),
                    )
                ],
                "calls": [
                    {"name": name, "arguments": json.loads(arguments), "status": status, "seconds": seconds}
                    for name, arguments, status, seconds in await readers.fetch_rows(
                        "SELECT name, arguments, status, seconds FROM calls WHERE turn = ? ORDER BY pass, position",
                        (row[0],),
                    )
                ],
                "messages": [
                    message
                    for (message,) in await readers.fetch_rows(
                        "SELECT message FROM pages WHERE turn = ? AND message IS NOT NULL ORDER BY number", (row[0],)
                    )
                ],
            }
        done = turns[-1][0]


def _turn(columns: list[Any]) -> dict[str, Any]:
    names = (
        "turn",
        "person",
        "question",
        "state",
        "answer",
        "reasoning",
        "model",
        "usage",
        "cost",
        "error",
        "started_at",
        "ended_at",
        "replaced_by",
        "rating",
        "continues",
    )
    turn = dict(zip(names, columns, strict=True))
    turn["question"] = json.loads(turn["question"])
    turn["usage"] = dict(zip(("prompt", "completion", "cached", "reasoning"), json.loads(turn["usage"]), strict=False))
    return turn
