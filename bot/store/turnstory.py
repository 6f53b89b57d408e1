"""One turn's whole story, for the operator's page: question, passes, calls, answer, messages, and their times."""

from __future__ import annotations

import json

from bot.contract import AssistantEntry, MessageSent, Quoted, entry_from_json, reference_of
from bot.store.approvals import load_approval
from bot.store.callrecords import list_calls
from bot.store.files import attachments_of
from bot.store.history import entries_of
from bot.store.incoming import incoming_from_json
from bot.store.records import CallRecord
from bot.store.sql import Connection, by_name
from bot.store.text import usage_from_json
from bot.store.turnlists import question_of
from tools.contract.base import Json

_TURN = """
    SELECT t.id, c.chat, t.person, i.name, t.state, t.model, t.started_at, t.ended_at, t.first_words, t.waited, t.edits,
        t.refusals, t.usage, t.dollars, t.rating, t.error, t.visible AS answer, t.reasoning, t.question AS question_of,
        t.superseded_by AS replaced_by, t.goes_on, t.course, i.received_at, i.attempts, i.incoming
    FROM turns t JOIN chats c ON c.id = t.chat JOIN inbox i ON i.id = t.question WHERE t.id = ?
"""


def tell_turn(db: Connection, turn: int) -> dict[str, Json] | None:
    """Return everything stored of a turn; None if there is none, as after its chat was forgotten."""
    found = by_name(db.execute(_TURN, (turn,)))
    if not found:
        return None
    told = found[0]
    usage = usage_from_json(told.pop("usage"))
    asked = incoming_from_json(told.pop("incoming"))
    sent = asked if isinstance(asked, MessageSent) else None
    pages = db.execute("SELECT number, message, form, state FROM pages WHERE turn = ? ORDER BY number", (turn,))
    replaced = db.execute("SELECT id FROM turns WHERE superseded_by = ? ORDER BY id", (turn,)).fetchall()
    approval = load_approval(db, turn)
    return {
        **told,
        "course": json.loads(course)["points"] if (course := told["course"]) else [],
        "reference": reference_of(turn),
        "usage": {name: getattr(usage, name) for name in ("prompt", "cached", "completion", "reasoning")},
        "question": question_of(asked),
        "quoted": _quoted(sent.quoted) if sent and sent.quoted else None,
        "enclosed": [one.name or str(one.kind) for one in sent.enclosed] if sent else [],
        "passes": _passes(db, turn),
        "calls": [_call(record) for record in list_calls(db, turn)],
        "pages": by_name(pages),
        "files": [{"name": one.name, "kind": one.media_type, "state": one.state} for one in attachments_of(db, turn)],
        "approval": {"call": approval.call.name, "state": approval.state} if approval else None,
        "replaces": [{"id": id, "reference": reference_of(id)} for (id,) in replaced],
    }


def _quoted(quoted: Quoted) -> dict[str, Json]:
    return {"author": quoted.author, "text": quoted.text}


def _passes(db: Connection, turn: int) -> list[Json]:
    """Return what each pass came to: stored while the turn runs, in the history afterwards."""
    rows = db.execute("SELECT entry FROM passes WHERE turn = ? ORDER BY number", (turn,)).fetchall()
    entries = [entry_from_json(body) for (body,) in rows] or entries_of(db, turn)
    return [
        {"text": entry.text, "calls": [call.name for call in entry.calls], "provider": entry.provider}
        for entry in entries
        if isinstance(entry, AssistantEntry)
    ]


def _call(record: CallRecord) -> dict[str, Json]:
    result = record.result
    return {
        "pass": record.passnumber,
        "position": record.position,
        "tool": record.call.name,
        "arguments": dict(record.call.arguments),
        "problem": record.call.problem,
        "effects": record.effects,
        "status": record.status,
        "started_at": record.started_at,
        "seconds": record.seconds,
        "result": None if result is None else result.text,
        "sources": [] if result is None else [{"title": one.title, "url": one.url} for one in result.sources],
        "dollars": 0.0 if result is None else result.dollars,
    }
