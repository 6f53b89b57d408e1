"""Read the tool calls of a turn."""

from __future__ import annotations

from bot.contract import ToolEntry
from bot.store.history import entries_of
from bot.store.records import CallRecord
from bot.store.sql import Connection, Row
from bot.store.text import result_from_json, to_json
from tools.contract.base import ToolCall, ToolStatus
from tools.contract.plaintext import read_stored, to_plain


def call_columns(call: ToolCall) -> tuple[str, str, str, str]:
    """Return `call_id`, `name`, `arguments` and `problem` of a call's row."""
    return to_plain(call.id), to_plain(call.name), to_json(dict(call.arguments)), to_plain(call.problem)


def list_calls(db: Connection, turn: int) -> list[CallRecord]:
    """Return the tool calls of a turn, running or ended, in order; without their files."""
    rows = db.execute(
        "SELECT pass, position, call_id, name, arguments, problem, effects, status, result, text, started_at, "
        "seconds FROM calls WHERE turn = ? ORDER BY pass, position",
        (turn,),
    ).fetchall()
    texts = _texts_in_history(db, turn) if any(row[8] and row[9] is None for row in rows) else {}
    return [_call(row, texts) for row in rows]


def _texts_in_history(db: Connection, turn: int) -> dict[str, list[str]]:
    """Return the result texts of an ended turn by call id, in order: only the history has them."""
    texts: dict[str, list[str]] = {}
    for entry in entries_of(db, turn):
        if isinstance(entry, ToolEntry):
            texts.setdefault(entry.call_id, []).append(entry.text)
    return texts


def _call(row: Row, texts: dict[str, list[str]]) -> CallRecord:
    passnumber, position, call_id, name, arguments, problem, effects, status, result, text, started_at, seconds = row
    call, status = ToolCall(call_id, name, read_stored(arguments), problem), ToolStatus(status)
    if result is None:
        return CallRecord(passnumber, position, call, bool(effects), status, started_at)
    if text is None:
        text = kept.pop(0) if (kept := texts.get(call_id)) else ""
    outcome = result_from_json(result, text, status, seconds)
    return CallRecord(passnumber, position, call, bool(effects), status, started_at, seconds, outcome)
