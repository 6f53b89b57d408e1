"""An ended turn with everything stored of it that a repetition needs, as plain JSON: `parley replay`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, TypeAlias

from bot.contract import (
    BEFORE_FIRST_PASS,
    FOREIGN,
    AssistantEntry,
    Control,
    ControlPressed,
    Entry,
    Incoming,
    MessageSent,
    TimerDue,
    entry_from_json,
)
from bot.store.approvals import DECIDED, load_approval
from bot.store.branches import Branch
from bot.store.callrecords import list_calls
from bot.store.incoming import incoming_from_json, incoming_to_json
from bot.store.queries import Queries
from bot.store.records import CallRecord
from bot.store.replacing import BEFORE
from bot.store.sql import Connection
from bot.store.states import ApprovalState, TurnState
from bot.store.text import entry_json, made_from_json, result_from_json, result_json
from bot.store.timers import LATE_AFTER
from tools.contract.base import Json, ProducedFile, ToolCall, ToolStatus

MOST_BEFORE: Final = 200
"""The newest entries of the history before a turn that a recording has."""
MOST_DECISIONS: Final = 20
"""The most decisions, one after another, that a recording follows."""
PICTURE_BYTES: Final = 64
"""The size of a model's picture in a recording, if it is deleted."""
_DECISIONS: Final = (Control.ALLOW, Control.DENY)
_PRESSES: Final = (*_DECISIONS, Control.CONTINUE)
_TURN = """
    SELECT t.chat, i.incoming, t.question <> t.id, t.state, t.visible, t.first_sequence, t.last_sequence, t.continues,
        c.since_sequence, c.summary_upto, c.summary, c.summary_origin, t.ended_at,
        (SELECT own.ended_at FROM inbox own WHERE own.id = t.id),
        (SELECT CASE WHEN count(*) = 0 AND t.superseded_by IS NOT NULL THEN -1 ELSE count(*) END
            FROM pages p WHERE p.turn = t.id AND p.message IS NOT NULL), t.course, t.started_at
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
# A voice message of the answer is made beside it, and has a number from a thousand on.
_ATTACHMENTS = """
    SELECT a.file, f.name, f.media_type, f.size, a.state FROM attachments a LEFT JOIN files f ON f.id = a.file
    WHERE a.turn = ? AND a.number < 1000 ORDER BY a.number
"""


Asker: TypeAlias = MessageSent | ControlPressed | TimerDue


class _Missing(Exception):
    """Something that a repetition needs is not stored; the text says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What is stored of an ended turn."""

    turn: int
    question: Asker
    """What asked: a message, a person's decision about a call of the turn before, *Continue*, or a reminder, which is
    `sent_at` its time if it was late, and else at 0."""
    about: MessageSent | None = None
    """The question whose answer a button is under, if a button asked."""
    again: bool = False
    """It asks once more what a former turn asked."""
    entries: tuple[Entry, ...]
    """The question as the model read it, the passes, their results, and what joined it meanwhile."""
    calls: tuple[CallRecord, ...]
    """With files of the same names, kinds and sizes as those that they produced: the content is not part of it."""
    before: tuple[Entry, ...]
    """The newest entries of the history that it continued, oldest first."""
    summary: tuple[str, str] = ("", "")
    """The chat's summary of the entries before these, and its origin: the present one, which may have replaced the one
    that the model read."""
    state: TurnState
    visible: str
    """The whole text of the answer."""
    pages: int
    """How many messages showed it; -1: they, and its files, went to the answer that replaced it."""
    files: tuple[tuple[str, str, int, str], ...] = ()
    """The files under the answer: name, media type, size, state of delivery."""
    stands: tuple[str, ...] = ()
    """Digests of the messages at the end, in order: text and buttons as the platform shows them, or a file; empty if an
    earlier version stored it."""
    failed: Mapping[str, Json] | None = None
    """Why there is no answer, or only an incomplete one, if it failed."""
    asked: str = ""
    """The id of the call that a person was asked about, if it ended with that question."""
    then: Recording | None = None
    """The turn that the decision about that call began."""

    @property
    def passes(self) -> list[AssistantEntry]:
        """What a model wrote, pass by pass."""
        made = (one for one in self.entries if isinstance(one, AssistantEntry))
        return [one for one in made if one.provider != BEFORE_FIRST_PASS]

    @property
    def kept(self) -> tuple[CallRecord, ...]:
        """The calls that it did not repeat, as a former turn with the same question had made them."""
        first = self.entries[1:2] if self.again else ()
        taken = any(isinstance(one, AssistantEntry) and one.provider == BEFORE_FIRST_PASS for one in first)
        ids = (BEFORE, DECIDED)
        return tuple(one for one in self.calls if taken and one.passnumber == 1 and one.call.id.startswith(ids))

    @property
    def ends_early(self) -> bool:
        """True if it was stopped, or failed: calls that had not ended by then have no result."""
        return self.state in (TurnState.STOPPED, TurnState.FAILED)

    @property
    def all(self) -> Iterator[Recording]:
        """Yield this turn, and those that decisions about its calls began."""
        one: Recording | None = self
        while one is not None:
            yield one
            one = one.then

    def to_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "turn": self.turn,
            "question": json.loads(incoming_to_json(self.question)),
            "again": self.again,
            "about": None if self.about is None else json.loads(incoming_to_json(self.about)),
            "summary": list(self.summary),
            "before": [json.loads(entry_json(one)) for one in self.before],
            "entries": [json.loads(entry_json(one)) for one in self.entries],
            "calls": [_call_to_json(one) for one in self.calls],
            "state": str(self.state),
            "visible": self.visible,
            "pages": self.pages,
            "files": [list(one) for one in self.files],
            "stands": list(self.stands),
            "failed": None if self.failed is None else dict(self.failed),
            "asked": self.asked,
            "then": None if self.then is None else self.then.to_json(),
        }

    @classmethod
    def from_json(cls, text: str) -> Recording:
        """Read what `to_json` returned, as text, in this version or an earlier one.

        Raises:
            ValueError, KeyError, TypeError: it is not such a text.
        """
        return cls._from_value(json.loads(text))

    @classmethod
    def _from_value(cls, value: dict[str, Any]) -> Recording:
        question, then, about = incoming_from_json(json.dumps(value["question"])), value.get("then"), value.get("about")
        if not isinstance(question, Asker):
            raise ValueError("its question is neither a message nor a decision nor a reminder")
        asked = None if about is None else incoming_from_json(json.dumps(about))
        return cls(
            turn=value["turn"],
            question=question,
            again=value.get("again", False),
            about=asked if isinstance(asked, MessageSent) else None,
            entries=_entries(json.dumps(one) for one in value["entries"]),
            calls=tuple(_call_from_json(one) for one in value["calls"]),
            before=_entries(json.dumps(one) for one in value["before"]),
            summary=tuple(value.get("summary", ("", ""))),
            state=TurnState(value["state"]),
            visible=value["visible"],
            pages=value["pages"],
            files=tuple((name, kind, size, state) for name, kind, size, state in value.get("files", ())),
            stands=tuple(value.get("stands", ())),
            failed=value.get("failed"),
            asked=value.get("asked", ""),
            then=None if then is None else cls._from_value(then),
        )


class Recordings(Queries):
    """Reads recordings."""

    async def load(self, turn: int) -> Recording | str | None:
        """Return the recording of a turn, or of the question whose decision began it, with all turns in between; a
        sentence that says what is missing, if it cannot be repeated; None if there is no such turn, as after its chat
        was forgotten.

        Raises:
            StoreError: the database cannot be read.
        """
        return await self._readers.read(lambda db: _load_from_first(db, turn))

    async def load_alone(self, turn: int) -> Recording | str | None:
        """Return the same for one turn, without those before and after it."""
        return await self._readers.read(lambda db: _load(db, turn))

    async def number_next(self, turn: int) -> None:
        """Give the next delivery the number `turn`, unless that is taken: in a temporary database."""

        def work(db: Connection) -> None:
            [(newest,)] = db.execute("SELECT coalesce(max(id), 0) FROM inbox").fetchall()
            if turn > newest + 1:
                db.execute("DELETE FROM sqlite_sequence WHERE name = 'inbox'")
                db.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('inbox', ?)", (turn - 1,))

        await self._writer.run(work)


def _load_from_first(db: Connection, turn: int) -> Recording | str | None:
    first = turn
    for _ in range(MOST_DECISIONS):
        rows = db.execute("SELECT incoming FROM inbox WHERE id = ?", (first,)).fetchall()
        pressed = incoming_from_json(rows[0][0]) if rows else None
        if not isinstance(pressed, ControlPressed) or pressed.control not in _DECISIONS:
            break
        first = pressed.turn
    one = found = _load(db, first)
    turns = list[Recording]()
    while isinstance(one, Recording):
        turns.append(one)
        asked = load_approval(db, one.turn) if one.asked else None
        decided = asked is not None and asked.state in (ApprovalState.ALLOWED, ApprovalState.DENIED)
        if asked is None or not decided or len(turns) > MOST_DECISIONS:
            break
        one = _load(db, asked.press)
    if not turns or (not isinstance(one, Recording) and turn not in [each.turn for each in turns]):
        return found if not turns else one
    whole = turns.pop()
    while turns:
        whole = replace(turns.pop(), then=whole)
    return whole


def _load(db: Connection, turn: int) -> Recording | str | None:
    row = db.execute(_TURN, (turn,)).fetchone()
    if row is None:
        return None
    chat, incoming, again, state, visible, first, end, continues, *others = row
    since, upto, summary, origin, *ends, pages, course, began = others
    question, noted = incoming_from_json(incoming), json.loads(course or '{"stands": []}')
    entries = () if first is None else _entries(body for (body,) in db.execute(_ENTRIES, (chat, first - 1, end)))
    try:
        asker = _check(question, entries, ends, TurnState(state), "failed" in noted)
        if isinstance(asker, TimerDue) and began - asker.sent_at <= LATE_AFTER:
            asker = replace(asker, sent_at=0.0)  # when it is repeated, it is late
        about = _find_continued(db, asker, again=bool(again))
        made = [one for one in entries if isinstance(one, AssistantEntry)]
        # A turn that was stopped while its last pass was being stored has only the calls of that pass.
        kept = [
            one
            for one in list_calls(db, turn)
            if state != TurnState.STOPPED or one.passnumber <= sum(bool(each.provider) for each in made)
        ]
        produced = [list(_list_made(db, one, turn)) for one in kept]
        calls = tuple(_with_files(one, files) for one, files in zip(kept, produced, strict=True))
        drawn = {one.stored: (one.name, one.media_type, PICTURE_BYTES) for each in made for one in each.pictures}
        files = _files_of(db, turn, drawn | dict(chain.from_iterable(produced)))
    except _Missing as missing:
        return str(missing)
    head = first - 1 if continues is None else continues
    summarised = upto if upto <= head else 0
    branch, bodies = Branch(chat, since if since <= head else 0, head), list[str]()
    for low, high in branch.list_spans(db, summarised):
        bodies += [body for (body,) in db.execute(_BEFORE, (chat, low, high, MOST_BEFORE - len(bodies)))]
        if len(bodies) >= MOST_BEFORE:
            break
    approval = load_approval(db, turn)
    return Recording(
        turn=turn,
        question=asker,
        about=about,
        again=bool(again),
        entries=entries,
        calls=calls,
        before=_entries(reversed(bodies)),
        summary=(summary, origin) if summarised and summary else ("", ""),
        state=TurnState(state),
        visible=visible,
        pages=pages,
        files=files,
        asked=approval.call.id if approval is not None else "",
        stands=tuple(noted["stands"]),
        failed=noted.get("failed"),
    )


def _check(
    question: Incoming, entries: Sequence[Entry], ends: Sequence[float | None], state: TurnState, is_told: bool
) -> Asker:
    """Return what asked.

    Args:
        ends: when the turn and its inbox row ended.
        is_told: it is stored why it failed.

    Raises:
        _Missing: the turn cannot be repeated from what is stored.
    """
    if isinstance(question, ControlPressed) and question.control in _PRESSES:
        asker: Asker = question
    elif isinstance(question, MessageSent | TimerDue):
        asker = question
    else:
        raise _Missing("no person asked it in words")
    made = [one for one in entries if isinstance(one, AssistantEntry)]
    reasons = {
        "its process died over it, twice": ends[0] is None and ends[1] is not None,
        "it has not ended": ends[0] is None,
        "it failed, and an earlier version did not store why": (state is TurnState.FAILED and not is_told),
        "its entries are deleted, or it was stopped before a model was asked": not entries,
        "agents of other authors and ours both answered": len(
            {one.provider == FOREIGN for one in made if one.provider not in ("", BEFORE_FIRST_PASS)}
        )
        > 1,
    }
    for reason, holds in reasons.items():
        if holds:
            raise _Missing(reason)
    return asker


def _find_continued(db: Connection, asker: Asker, *, again: bool) -> MessageSent | None:
    """Return the question whose answer a press of *Continue*, or of several in a row, continues; None for a message,
    and a decision, which is repeated with its question.

    Args:
        again: what followed the press was asked for anew: the same goes for a decision.

    Raises:
        _Missing: it is deleted.
    """
    if not isinstance(asker, ControlPressed) or (asker.control in _DECISIONS and not again):
        return None
    pressed: Incoming = asker
    while isinstance(pressed, ControlPressed):
        sql = "SELECT i.incoming FROM turns t JOIN inbox i ON i.id = t.question WHERE t.id = ?"
        row = db.execute(sql, (pressed.turn,)).fetchone()
        if row is None:
            raise _Missing("the question whose answer it continues is deleted")
        pressed = incoming_from_json(row[0])
    assert isinstance(pressed, MessageSent)
    return pressed


def _list_made(db: Connection, record: CallRecord, turn: int) -> Iterator[tuple[int, tuple[str, str, int]]]:
    """Yield the files that a call produced: the id, name, kind and size of each.

    Raises:
        _Missing: one is deleted, and an earlier version stored it.
    """
    key = (turn, record.passnumber, record.position)
    [(stored,)] = db.execute("SELECT result FROM calls WHERE turn = ? AND pass = ? AND position = ?", key).fetchall()
    for id, made in made_from_json(stored) if stored is not None else ():
        rows = db.execute("SELECT name, media_type, size FROM files WHERE id = ?", (id,)).fetchall()
        if not rows and made is None:
            raise _Missing("a file of its answer is deleted, and an earlier version did not store its name")
        yield id, made if made is not None else rows[0]


def _with_files(record: CallRecord, made: Iterable[tuple[int, tuple[str, str, int]]]) -> CallRecord:
    """Return a call with stand-ins for the files that it produced."""
    if record.result is None:
        return record
    return replace(record, result=replace(record.result, files=tuple(_stand_in(*one) for _, one in made)))


def _files_of(
    db: Connection, turn: int, made: Mapping[int, tuple[str, str, int]]
) -> tuple[tuple[str, str, int, str], ...]:
    """Return the files under an answer.

    Args:
        made: what is known of files by their ids, also of deleted ones.

    Raises:
        _Missing: one is deleted, and nothing is known of it.
    """
    files = []
    for id, name, kind, size, state in db.execute(_ATTACHMENTS, (turn,)).fetchall():
        known = made.get(id) if name is None else (str(name), str(kind), int(size))
        if known is None:
            raise _Missing("a file of its answer is deleted, and an earlier version did not store its name")
        files.append((*known, str(state)))
    return tuple(files)


def _stand_in(name: str, media_type: str, size: int) -> ProducedFile:
    """Return a file of this size whose content says nothing, and is not that of another name."""
    return ProducedFile(name, media_type, name.encode()[:size].ljust(size, b"\0"))


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
        "files": [[one.name, one.media_type, len(one.content)] for one in result.files] if result is not None else [],
    }


def _call_from_json(value: dict[str, Any]) -> CallRecord:
    status, text = ToolStatus(str(value["status"])), value["text"]
    result = None if text is None else result_from_json(json.dumps(value["result"]), str(text), status, 0.0)
    if result is not None:
        files = tuple(_stand_in(name, kind, size) for name, kind, size in value.get("files", ()))
        result = replace(result, files=files)
    return CallRecord(
        int(value["pass"]),
        int(value["position"]),
        ToolCall(str(value["id"]), str(value["name"]), dict(value["arguments"]), str(value["problem"])),
        bool(value["effects"]),
        status,
        0.0,
        result=result,
    )
