"""An ended turn with everything stored of it that a repetition needs, as plain JSON: `parley replay`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bot.contract import BEFORE_FIRST_PASS, FOREIGN, AssistantEntry, Entry, MessageSent, UserEntry, entry_from_json
from bot.store.branches import Branch
from bot.store.callrecords import list_calls
from bot.store.incoming import incoming_from_json, incoming_to_json
from bot.store.queries import Queries
from bot.store.records import CallRecord
from bot.store.sql import Connection
from bot.store.states import TurnState
from bot.store.text import entry_json, result_from_json, result_json
from tools.contract.base import Json, ToolCall, ToolStatus

MOST_BEFORE: Final = 200
"""The newest entries of the history before a turn that a recording has."""
_TURN = """
    SELECT c.chat, t.chat, i.incoming, t.state, t.visible, t.first_sequence, t.last_sequence, t.continues,
        c.since_sequence, c.summary_upto, t.ended_at, t.goes_on,
        (SELECT count(*) FROM pages p WHERE p.turn = t.id AND p.message IS NOT NULL),
        (SELECT count(*) FROM attachments a WHERE a.turn = t.id),
        (SELECT count(*) FROM approvals a WHERE a.turn = t.id)
    FROM turns t JOIN chats c ON c.id = t.chat JOIN inbox i ON i.id = t.question WHERE t.id = ?
"""
_ENTRIES = """
    SELECT coalesce(h.body, b.body) FROM history h LEFT JOIN bodies b ON b.id = h.aside
    WHERE h.chat = ? AND h.sequence > ? AND h.sequence <= ? ORDER BY h.sequence
"""
_BEFORE = """
    SELECT coalesce(h.body, b.body) FROM history h LEFT JOIN bodies b ON b.id = h.aside
    WHERE h.chat = ? AND h.sequence > ? AND h.sequence <= ? AND h.superseded = 0 ORDER BY h.sequence DESC LIMIT ?
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What is stored of an ended turn."""

    turn: int
    question: MessageSent
    entries: tuple[Entry, ...]
    """The question as the model read it, the passes, and their results."""
    calls: tuple[CallRecord, ...]
    before: tuple[Entry, ...]
    """The newest entries of the history that it continued, oldest first."""
    state: TurnState
    visible: str
    """The whole text of the answer."""
    pages: int
    """How many messages showed it."""

    @property
    def passes(self) -> list[AssistantEntry]:
        """What a model wrote, pass by pass."""
        made = (one for one in self.entries if isinstance(one, AssistantEntry))
        return [one for one in made if one.provider != BEFORE_FIRST_PASS]

    def to_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "turn": self.turn,
            "question": json.loads(incoming_to_json(self.question)),
            "before": [json.loads(entry_json(one)) for one in self.before],
            "entries": [json.loads(entry_json(one)) for one in self.entries],
            "calls": [_call_to_json(one) for one in self.calls],
            "state": str(self.state),
            "visible": self.visible,
            "pages": self.pages,
        }

    @classmethod
    def from_json(cls, text: str) -> Recording:
        """Read what `to_json` returned, as text.

        Raises:
            ValueError, KeyError, TypeError: it is not such a text.
        """
        value = json.loads(text)
        question = incoming_from_json(json.dumps(value["question"]))
        if not isinstance(question, MessageSent):
            raise ValueError("its question is no message")
        return cls(
            turn=value["turn"],
            question=question,
            entries=_entries(json.dumps(one) for one in value["entries"]),
            calls=tuple(_call_from_json(one) for one in value["calls"]),
            before=_entries(json.dumps(one) for one in value["before"]),
            state=TurnState(value["state"]),
            visible=value["visible"],
            pages=value["pages"],
        )


class Recordings(Queries):
    """Reads recordings; writes nothing."""

    async def load(self, turn: int) -> Recording | str | None:
        """Return the recording of a turn; a sentence that says what is missing, if it cannot be repeated; None if there
        is no such turn, as after its chat was forgotten.

        Raises:
            StoreError: the database cannot be read.
        """
        return await self._readers.read(lambda db: _load(db, turn))


def _load(db: Connection, turn: int) -> Recording | str | None:
    row = db.execute(_TURN, (turn,)).fetchone()
    if row is None:
        return None
    _, chat, incoming, state, visible, first, last, continues, since, upto, ended, goes_on, pages, files, asked = row
    question = incoming_from_json(incoming)
    entries = () if first is None else _entries(body for (body,) in db.execute(_ENTRIES, (chat, first - 1, last)))
    calls = tuple(list_calls(db, turn))
    missing = _find_missing(question, entries, ended, TurnState(state), bool(goes_on), bool(files), bool(asked))
    if missing or not isinstance(question, MessageSent):
        return missing or "no person asked it"
    head = first - 1 if continues is None else continues
    if 0 < upto <= head:
        return "the summary that it read may have been replaced since"
    branch, bodies = Branch(chat, since if since <= head else 0, head), list[str]()
    for low, high in branch.list_spans(db):
        bodies += [body for (body,) in db.execute(_BEFORE, (chat, low, high, MOST_BEFORE - len(bodies)))]
        if len(bodies) >= MOST_BEFORE:
            break
    return Recording(
        turn=turn,
        question=question,
        entries=entries,
        calls=calls,
        before=_entries(reversed(bodies)),
        state=TurnState(state),
        visible=visible,
        pages=pages,
    )


def _find_missing(
    question: object,
    entries: Sequence[Entry],
    ended: float | None,
    state: TurnState,
    goes_on: bool,
    files: bool,
    asked: bool,
) -> str:
    """Return why a turn cannot be repeated from what is stored; empty if it can."""
    if not isinstance(question, MessageSent):
        return "no person asked it"
    if ended is None:
        return "it has not ended"
    if state != TurnState.DONE:
        return f"it {state}, and the moment at which that happened is not stored"
    reasons = {
        "its answer was cut off, and where the model's own text ended is not stored": goes_on,
        "a person was asked to allow a call, and the moment of the press is not stored": asked or question.decides > 0,
        "the files of its question or answer are not part of a recording": files or bool(question.enclosed),
        "the attachments that it quotes are not part of a recording": any(one.enclosed for one in question.quotes),
        "a call was made before the model was asked": any(
            isinstance(one, AssistantEntry) and one.provider == BEFORE_FIRST_PASS for one in entries
        ),
        "an agent of another author wrote it, and what it asked its model is not stored": any(
            isinstance(one, AssistantEntry) and one.provider == FOREIGN for one in entries
        ),
        "further messages joined it while it ran, and the moments are not stored": question.joined
        or sum(isinstance(one, UserEntry) for one in entries) > 1,
        "its entries are deleted": not entries,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _entries(bodies: Iterable[str]) -> tuple[Entry, ...]:
    return tuple(entry_from_json(body) for body in bodies)


def _call_to_json(record: CallRecord) -> Json:
    call, result = record.call, record.result
    return {
        "pass": record.passnumber,
        "position": record.position,
        "id": call.id,
        "name": call.name,
        "arguments": dict(call.arguments),
        "problem": call.problem,
        "effects": record.effects,
        "status": str(record.status),
        "text": None if result is None else result.text,
        "result": None if result is None else json.loads(result_json(result)),
    }


def _call_from_json(value: dict[str, object]) -> CallRecord:
    status, text = ToolStatus(str(value["status"])), value["text"]
    arguments = value["arguments"]
    assert isinstance(arguments, dict)
    return CallRecord(
        int(str(value["pass"])),
        int(str(value["position"])),
        ToolCall(str(value["id"]), str(value["name"]), arguments, str(value["problem"])),
        bool(value["effects"]),
        status,
        0.0,
        result=None if text is None else result_from_json(json.dumps(value["result"]), str(text), status, 0.0),
    )
