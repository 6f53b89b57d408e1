"""The last turn of a platform, from the bot's own store and from what the scripted model was asked."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, TypeAlias

from playground.model.server import ModelRequest

Json: TypeAlias = dict[str, Any]
_SHOWN: Final = 2_000
"""Characters of a message or result that the page is told."""


def mark(title: str) -> str:
    """What the model is told of a platform's chats, and by which its requests are known from others'."""
    return f"This chat is on {title}."


def of_platform(request: ModelRequest, title: str) -> bool:
    """Whether a request to the model came from a chat of a platform."""
    return any(one.get("role") == "system" and mark(title) in str(one.get("content")) for one in request.messages)


def last_turn(database: Path, platform: str, title: str, requests: Sequence[ModelRequest], wall: float) -> Json:
    """The newest turn of a platform: its sums, passes, calls and the messages the model was sent; empty without one.

    Args:
        title: the platform's name in `mark`.
        wall: what has to be added to the model's clock to get seconds since the epoch.
    """
    if not database.exists():
        return {}
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as store:
        store.row_factory = sqlite3.Row
        found = store.execute("SELECT * FROM turns WHERE person LIKE ? ORDER BY id DESC LIMIT 1", (f"{platform}:%",))
        turn = found.fetchone()
        if turn is None:
            return {}
        calls = store.execute("SELECT * FROM calls WHERE turn = ? ORDER BY pass, position", (turn["id"],)).fetchall()
    start, end = turn["started_at"], turn["ended_at"]
    meanwhile = (one for one in requests if start - 0.5 <= one.at + wall and (not end or one.at + wall <= end))
    asked = [one for one in meanwhile if of_platform(one, title)]
    # Until it ends nothing is counted.
    used = json.loads(turn["usage"] or "null") or [0, 0, 0, 0]
    return {
        "id": turn["id"],
        "model": turn["model"],
        "state": turn["state"],
        "seconds": round(end - start, 2) if end else None,
        "tokens": used,
        "dollars": turn["dollars"] or 0.0,
        "reasoning": (turn["reasoning"] or "")[:_SHOWN],
        "passes": [_pass(one, start - wall) for one in asked],
        "calls": [_call(one, start) for one in calls],
        "sent": [_message(one) for one in asked[-1].messages] if asked else [],
    }


def _pass(request: ModelRequest, start: float) -> Json:
    """When a request was made, when its first words came and when its last; None: not yet."""
    first, end = request.first_at, request.ended_at or (request.last_at if request.closed_early else 0.0)
    return {
        "at": round(request.at - start, 2),
        "first": round(first - start, 2) if first else None,
        "end": round(end - start, 2) if end else None,
        "refused": request.status >= 400,
    }


def _call(row: sqlite3.Row, start: float) -> Json:
    return {
        "pass": row["pass"],
        "name": row["name"],
        "arguments": row["arguments"][:_SHOWN],
        "status": row["status"],
        "result": (row["text"] or row["result"] or "")[:_SHOWN],
        "at": round(row["started_at"] - start, 2) if row["started_at"] else None,
        "seconds": row["seconds"],
    }


def _message(body: Json) -> Json:
    content = body.get("content")
    said = content if isinstance(content, str) else json.dumps(content or "", ensure_ascii=False)
    names = [one.get("function", {}).get("name", "") for one in body.get("tool_calls") or ()]
    return {"role": body.get("role", ""), "words": (f"calls {', '.join(names)} " if names else "") + said[:_SHOWN]}
