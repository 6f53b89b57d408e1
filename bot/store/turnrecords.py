"""A turn's row: open it, close it into history, find it again, replace its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bot.contract import ChatId, Entry, ToolEntry
from bot.store.branches import place_turn
from bot.store.former import give_back, mark_former
from bot.store.history import add_entries, rough_tokens
from bot.store.incoming import incoming_from_json
from bot.store.intake import end_row
from bot.store.records import TurnRecord
from bot.store.sql import Connection, Row
from bot.store.states import TURN_ENDS, ApprovalState, InboxState, TurnState
from bot.store.sums import count_turn
from bot.store.text import entry_json, usage_from_json
from bot.store.writer import Writer
from tools.contract.base import ToolStatus
from tools.contract.plaintext import to_plain

TURN = """
    SELECT t.id, c.chat, t.person, i.incoming, t.state, t.visible, t.reasoning, t.model, t.usage, t.dollars, t.error,
        t.started_at, t.ended_at, t.rating
    FROM turns t JOIN chats c ON c.id = t.chat JOIN inbox i ON i.id = t.question
"""
"""One row for `turn_record`."""
ANSWERS = "t.superseded_by IS NULL AND t.ended_at IS NOT NULL AND i.command NOT IN ('export', 'voice')"
"""The answer that a chat shows for a question: `/why` explains it, and `/retry` asks the question again."""


def open_turn(db: Connection, turn: int, chat: ChatId, person: str, now: float) -> None:
    """Create a turn's row and its chat's, unless they exist; what it continues is found then."""
    for (name,) in db.execute("SELECT name FROM inbox WHERE id = ?", (turn,)).fetchall():
        db.execute(
            "INSERT INTO chats (chat, title, last_at) VALUES (?, ?, ?) "
            "ON CONFLICT (chat) DO UPDATE SET title = excluded.title, last_at = excluded.last_at",
            (str(chat), name, now),
        )
    opened = db.execute(
        "INSERT INTO turns (id, chat, person, question, started_at) "
        "SELECT i.id, c.id, ?, i.id, ? FROM inbox i, chats c WHERE i.id = ? AND c.chat = ? ON CONFLICT DO NOTHING",
        (to_plain(person), now, turn, str(chat)),
    )
    if opened.rowcount:
        place_turn(db, turn)


async def close_turn(
    writer: Writer,
    turn: int,
    state: TurnState,
    entries: Sequence[Entry],
    tokens: Sequence[int],
    record: Mapping[str, Any],
    now: float,
    cuts: Sequence[int],
    withheld: bool,
    stays: bool,
) -> list[int]:
    """End a turn, and return the former answers to mark; see `Turns.close`. `record` holds the columns to write, by
    name."""
    if state not in TURN_ENDS:
        raise ValueError(f"{state!r} is no end of a turn; those are {', '.join(sorted(TURN_ENDS))}")
    sizes = tokens or [rough_tokens(entry) for entry in entries]
    bodies = [(entry_json(entry), size) for entry, size in zip(entries, sizes, strict=True)]
    results = [(turn, to_plain(entry.call_id)) for entry in entries if isinstance(entry, ToolEntry)]

    def work(db: Connection) -> list[int]:
        running = _find_running(db, turn, now)
        if running is None:
            return []
        chat, person = running
        first, last = add_entries(db, chat, turn, bodies, now)
        columns = ", ".join(f"{name} = :{name}" for name in record)
        db.execute(
            f"UPDATE turns SET state = :state, ended_at = :now, first_sequence = :first, last_sequence = :last, "
            f"checkpoint = '', {columns} WHERE id = :turn",
            {**record, "state": state, "now": now, "first": first, "last": last, "turn": turn},
        )
        db.execute(
            "UPDATE turns SET again_at = coalesce(again_at, ?) WHERE id = ? "
            f"AND EXISTS (SELECT 1 FROM approvals WHERE turn = turns.id AND state <> '{ApprovalState.WAITING}')",
            (now, turn),
        )
        fails = state == TurnState.FAILED or (state == TurnState.STOPPED and not record.get("goes_on"))
        if withheld or (fails and give_back(db, turn)):
            db.execute(
                "UPDATE history SET superseded = 1 WHERE chat = ? AND sequence BETWEEN ? AND ?", (chat, first, last)
            )
        if not stays:
            end_row(db, turn, InboxState(state), now)
        db.execute("DELETE FROM passes WHERE turn = ?", (turn,))
        db.execute("UPDATE pages SET body = '', ends = 0 WHERE turn = ?", (turn,))
        ends = [(end, turn, number) for number, end in enumerate(cuts)]
        db.executemany("UPDATE pages SET ends = ? WHERE turn = ? AND number = ?", ends)
        db.execute(
            "UPDATE calls SET status = ? WHERE turn = ? AND status IN (?, ?)",
            (ToolStatus.CANCELLED, turn, ToolStatus.PENDING, ToolStatus.RUNNING),
        )
        db.executemany("UPDATE calls SET text = NULL WHERE turn = ? AND call_id = ?", results)
        count_turn(db, turn, person, now)
        return mark_former(db, turn, now) if state == TurnState.DONE else []

    return await writer.run_last(work)


def _find_running(db: Connection, turn: int, now: float) -> tuple[int, str] | None:
    """Return the chat's key and the person of a turn that has not ended, opening one that was never opened."""
    query = "SELECT chat, person, ended_at FROM turns WHERE id = ?"
    rows = db.execute(query, (turn,)).fetchall()
    if not rows:
        for chat, incoming in db.execute("SELECT chat, incoming FROM inbox WHERE id = ?", (turn,)).fetchall():
            open_turn(db, turn, ChatId.parse(chat), json.loads(incoming)["sender"]["id"], now)
        rows = db.execute(query, (turn,)).fetchall()
    return None if not rows or rows[0][2] is not None else (int(rows[0][0]), str(rows[0][1]))


def turn_record(row: Row) -> TurnRecord:
    """Read one row of `TURN`."""
    id, chat, person, incoming, state, visible, reasoning, model, usage, dollars, error, began, ended, rating = row
    return TurnRecord(
        id=id,
        chat=ChatId.parse(chat),
        person=person,
        incoming=incoming_from_json(incoming),
        state=TurnState(state),
        visible=visible,
        reasoning=reasoning,
        model=model,
        usage=usage_from_json(usage),
        dollars=dollars,
        error=error,
        started_at=began,
        ended_at=ended or 0.0,
        rating=rating,
    )
