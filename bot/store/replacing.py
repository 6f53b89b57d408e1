"""A changed or deleted question: its new turn replaces the old one, or the old one is deleted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.contract import BEFORE_FIRST_PASS, OUTSIDE, AssistantEntry, ChatId, Entry, MessageSent, Usage, join_origins
from bot.store.approvals import DECIDED, withdraw_replaced
from bot.store.branches import find_newest_answer, list_answers
from bot.store.callrecords import call_columns
from bot.store.incoming import incoming_from_json
from bot.store.records import CallRecord
from bot.store.retention import BYTES_OF_TURN, remove_turn
from bot.store.sql import Connection
from bot.store.states import PageState, TurnState
from bot.store.sums import count_turn
from bot.store.text import entry_json, result_json, usage_json
from tools.contract.base import ToolCall, ToolResult, ToolStatus

_TAKEN_BACK = (
    "The person allowed this call and it ran once; the files that it made belong to the answer that the person wants "
    "anew. Call it again if they are wanted again: the person is asked again."
)
BEFORE = "before"
"""Prefix of the id of a call that a turn has from the one that it replaces."""
_FILES = 1000
"""Added to the number of a file's message of the old reply, and of the pages of further replies: like a page that the
new reply does not need, they are deleted."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """The question that a turn replaces, in its former words."""

    question: MessageSent
    later: bool
    """The turn continues later answers."""


def find_standing_answer(db: Connection, turn: int) -> int:
    """Return the turn whose reply is shown under the question of `turn`: a former one, if that was never opened."""
    while True:
        turn = find_newest_answer(db, turn)
        row = db.execute(
            "SELECT replaces FROM inbox WHERE id = ? AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.id = inbox.id)",
            (turn,),
        ).fetchone()
        if row is None or not row[0]:
            return turn
        turn = int(row[0])


def supersede(db: Connection, old: int, new: int, now: float, *, messages: bool = True) -> None:
    """Remove a turn from the history that the model reads, in favour of the open turn `new`.

    Args:
        messages: `new` continues in its messages.
    """
    found = db.execute(
        "SELECT o.chat, o.first_sequence, o.last_sequence, o.ended_at IS NOT NULL, o.person FROM turns o "
        "JOIN turns n ON n.id = ? AND n.chat = o.chat WHERE o.id = ? AND o.id < n.id "
        "AND coalesce(o.superseded_by, 0) <> n.id",
        (new, old),
    ).fetchall()
    for chat, first, last, ended, person in found:
        withdraw_replaced(db, old, now)
        db.execute("UPDATE turns SET superseded_by = ?, again_at = NULL WHERE id = ?", (new, old))
        db.execute("UPDATE history SET superseded = 1 WHERE chat = ? AND sequence BETWEEN ? AND ?", (chat, first, last))
        if first is not None:  # a summary may mention it
            db.execute(
                "UPDATE chats SET summary = NULL, summary_upto = 0 WHERE id = ? AND summary_upto >= ?", (chat, first)
            )
        if not ended:
            stopped = (TurnState.STOPPED, now, old)
            db.execute("UPDATE turns SET state = ?, ended_at = ? WHERE id = ?", stopped)
            db.execute("DELETE FROM passes WHERE turn = ?", (old,))
            count_turn(db, old, person, now)
        if messages:
            _pass_messages(db, chat, old, new)


def _pass_messages(db: Connection, chat: int, old: int, new: int) -> None:
    gone = (old, PageState.GONE, PageState.DELETED, PageState.LOST)
    db.execute("DELETE FROM pages WHERE turn = ? AND state IN (?, ?, ?)", gone)
    [(held,)] = db.execute("SELECT count(*) FROM pages WHERE turn = ?", (new,)).fetchall()
    db.execute(
        "UPDATE pages SET turn = ?, body = '', ends = 0, number = number + "
        f"CASE WHEN ? > 0 THEN (SELECT max(number) + {_FILES} FROM pages WHERE turn = ?) ELSE 0 END WHERE turn = ?",
        (new, held, new, old),
    )
    db.execute(
        "INSERT INTO pages (turn, number, chat, ends, body, message, form, state, nonce) "
        "SELECT ?, a.number + behind.first, ?, 0, '', a.message, a.form, ?, a.nonce FROM attachments a, "
        "(SELECT max(free) AS first FROM "
        "(SELECT ? AS free UNION ALL SELECT max(number) + 1 FROM pages WHERE turn = ?) AS each) AS behind "
        "WHERE a.turn = ? AND a.message IS NOT NULL",
        (new, chat, PageState.SHOWN, _FILES, new, old),
    )
    db.execute("DELETE FROM attachments WHERE turn = ?", (old,))


def keep_effects(db: Connection, new: int, calls: list[CallRecord], told: list[Entry]) -> None:
    """Give the open turn `new` another turn's calls with effects, and the one that a person decided about, as its first
    pass, so that none is repeated. The outcome of a call that did not end stays unknown.

    Args:
        told: the other turn's history entries, which give the origin of the words that led to the calls.
    """
    kept = [one for one in map(_keep, calls) if one is not None]
    if not kept:
        return
    made = [entry.origin for entry in told if isinstance(entry, AssistantEntry) and entry.calls]
    origin = join_origins(made) if made else OUTSIDE
    # Ids of several passes may be the same.
    named = [CallRecord(1, at, _renamed(one, at), True, one.status, one.started_at) for at, one in enumerate(kept)]
    entry = AssistantEntry(text="", calls=tuple(one.call for one in named), provider=BEFORE_FIRST_PASS, origin=origin)
    db.execute(
        "INSERT INTO passes (turn, number, entry, model, usage) VALUES (?, 1, ?, '', ?)",
        (new, entry_json(entry), usage_json(Usage())),
    )
    for record, one in zip(named, kept, strict=True):
        facts, text, status = None, None, ToolStatus.RUNNING
        if one.result is not None:
            # The other turn paid for it, and has its sources' numbers.
            facts = result_json(replace(one.result, dollars=0.0, sources=()))
            text, status = one.result.text, one.status
        *columns, _ = call_columns(record.call)
        db.execute(
            "INSERT INTO calls (turn, pass, position, call_id, name, arguments, problem, effects, status, result, "
            "text, started_at, seconds) VALUES (?, 1, ?, ?, ?, ?, '', 1, ?, ?, ?, ?, ?)",
            (new, record.position, *columns, status, facts, text, one.started_at, one.seconds),
        )


def _keep(record: CallRecord) -> CallRecord | None:
    """Return a call as another answer to its question reads it; None if that may make it again."""
    result = record.result
    if record.call.id.startswith(DECIDED):
        if result is None:
            return record if record.effects else None  # otherwise it was asked about again, and never began
        if not result.files:
            return record
        taken_back = ToolResult(text=_TAKEN_BACK, ok=False, status=ToolStatus.FAILED, own_words=True)
        return replace(record, result=taken_back, status=taken_back.status)
    return record if record.effects and (result is None or (result.ok and not result.files)) else None


def load_replaced(db: Connection, turn: int) -> Replaced | None:
    """Return the former question of a turn; None if none of it was answered."""
    row = db.execute(
        "SELECT i.incoming, EXISTS (SELECT 1 FROM turns l WHERE l.chat = o.chat AND l.id > o.id AND l.id <> n.id "
        "AND l.superseded_by IS NULL AND l.ended_at IS NOT NULL "
        "AND (n.continues IS NULL OR l.last_sequence <= n.continues)) "
        "FROM turns o JOIN turns n ON n.id = o.superseded_by JOIN inbox i ON i.id = o.question "
        "WHERE n.id = ? ORDER BY o.id LIMIT 1",
        (turn,),
    ).fetchone()
    if row is None:
        return None
    question = incoming_from_json(row[0])
    return Replaced(question, bool(row[1])) if isinstance(question, MessageSent) else None


def list_rows(db: Connection, chat: ChatId, message_id: str) -> list[int]:
    """Return the inbox rows of a person's message in every version, and of all that answered it, in order."""
    rows = db.execute("SELECT id FROM inbox WHERE chat = ? AND message = ?", (str(chat), message_id)).fetchall()
    return sorted({one for (row,) in rows for one in list_answers(db, row)})


def forget_question(db: Connection, chat: ChatId, message_id: str) -> None:
    """Delete a person's message in every version, and the turns that answered it, with everything that they left."""
    for row in list_rows(db, chat, message_id):
        found = db.execute(
            "SELECT t.chat, t.first_sequence, t.last_sequence, t.ended_at IS NOT NULL, "
            f"({BYTES_OF_TURN}) FROM turns t WHERE t.id = ?",
            (row,),
        ).fetchall()
        for key, first, last, ended, size in found:
            remove_turn(db, row, key, (first, last), bool(ended), size)
        db.execute("DELETE FROM inbox WHERE id = ?", (row,))


def _renamed(record: CallRecord, at: int) -> ToolCall:
    return replace(record.call, id=f"{DECIDED if record.call.id.startswith(DECIDED) else BEFORE}{at:03d}")
