"""Calls that wait for a person's decision: one for each turn that asked, bound to the digest of its arguments.

A decision is made once, in the transaction that checks everything it depends on, and belongs to the press that made it:
only the turn of that press runs the call.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass
from typing import Final

from bot.contract import MARK_CHARS, ChatId, Clock
from bot.store.intake import Ensure
from bot.store.queries import Queries
from bot.store.readers import Readers
from bot.store.sql import Connection
from bot.store.states import ApprovalState
from bot.store.text import to_json
from bot.store.writer import Writer
from tools.contract.base import ToolCall
from tools.contract.plaintext import read_stored, to_plain

DECIDED: Final = "decided"
"""Prefix of the id of a decided call: under the model's own id the history says that it waits."""
_WAITS = f"state = '{ApprovalState.WAITING}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A call that a person is asked about, in its present state."""

    turn: int
    """The turn that asks."""
    chat: ChatId
    person: str
    """The person who asked the question."""
    call: ToolCall
    digest: str
    tool: str
    """The digest of the tool's declaration when the question is asked."""
    origin: str
    """The origin of the words that led to the call."""
    language: str
    line: str
    """The last line of the card while undecided."""
    expires_at: float
    """Wall-clock time."""
    state: ApprovalState = ApprovalState.WAITING
    press: int = 0
    """The inbox row of the press that decided; 0: none."""
    agent_state: str = ""
    """What an agent of another author needs to go on."""

    @property
    def mark(self) -> str:
        """The part of the digest in the buttons."""
        return self.digest[:MARK_CHARS]

    @property
    def intact(self) -> bool:
        """The call is the one that was shown."""
        return self.digest == digest_of(self.call)


def digest_of(call: ToolCall) -> str:
    """Return the SHA-256 of a call's name and arguments; the same for equal calls, in whatever form they were
    written."""
    text = json.dumps([call.name, call.arguments], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Approvals(Queries):
    """Stores the questions and the decisions."""

    def __init__(self, writer: Writer, readers: Readers, clock: Clock, changed: asyncio.Event) -> None:
        """`changed` is set when a question is stored: it may expire before others."""
        super().__init__(writer, readers, clock)
        self._changed = changed

    async def open(self, asked: Approval) -> tuple[Approval, list[int]]:
        """Store a turn's question, unless it is stored, and return its state; with the turns whose own question to this
        person in this chat is withdrawn for it."""
        now = self._clock.wall()
        call, line = to_json([asked.call.id, asked.call.name, dict(asked.call.arguments)]), to_plain(asked.line)

        def work(db: Connection) -> tuple[Approval, list[int]]:
            db.execute(
                "INSERT INTO approvals (turn, call, digest, tool, origin, language, line, expires_at, agent_state) "
                "SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM turns WHERE id = ? ON CONFLICT DO NOTHING",
                (
                    call,
                    asked.digest,
                    asked.tool,
                    asked.origin,
                    asked.language,
                    line,
                    asked.expires_at,
                    to_plain(asked.agent_state),
                    asked.turn,
                ),
            )
            stored = load_approval(db, asked.turn)
            if stored is None:  # its chat was deleted
                return asked, []
            others = _waiting(db, stored.chat, stored.person, asked.turn)
            return stored, [turn for turn in others if _end(db, turn, ApprovalState.WITHDRAWN, now)]

        opened = await self._writer.run(work)
        self._changed.set()
        return opened

    async def load(self, turn: int) -> Approval | None:
        """Return a turn's question; None if it asked nothing."""
        return await self._readers.read(lambda db: load_approval(db, turn))

    async def decide(self, turn: int, mark: str, press: int, *, allowed: bool) -> Approval | None:
        """Record a press's decision, if there was none before and it is not too late; return the state.

        Args:
            mark: the part of the digest in the button; nothing is decided for another one.
            press: the inbox row of the press.
        """
        now = self._clock.wall()
        state = ApprovalState.ALLOWED if allowed else ApprovalState.DENIED

        def work(db: Connection) -> Approval | None:
            before = load_approval(db, turn)
            if before is None or before.mark != mark:
                return None
            if before.expires_at <= now:
                _end(db, turn, ApprovalState.EXPIRED, now)
            else:
                _end(db, turn, state, now, press)
            return load_approval(db, turn)

        return await self._writer.run(work)

    async def expire(self, turn: int, ensure: Ensure) -> bool:
        """End a turn's expired question; return whether it was waiting.

        Args:
            ensure: requests the turn's place to be served in the same transaction, so that its reply is shown again
                there.
        """
        now = self._clock.wall()

        def work(db: Connection) -> bool:
            ended = _end(db, turn, ApprovalState.EXPIRED, now)
            if ended and (stored := load_approval(db, turn)) is not None:
                ensure(db, str(stored.chat.place), turn)
            return ended

        return await self._writer.run(work)

    async def withdraw(self, chat: ChatId | None, person: str = "") -> list[int]:
        """Withdraw all questions in a chat, or of one person there or everywhere; return the turns that asked."""
        now = self._clock.wall()

        def work(db: Connection) -> list[int]:
            turns = _waiting(db, chat, person, 0)
            return [turn for turn in turns if _end(db, turn, ApprovalState.WITHDRAWN, now)]

        return await self._writer.run(work)

    async def list_waiting(self) -> list[tuple[int, ChatId, float]]:
        """Return the turns that wait for a decision, each with its chat and the wall-clock time of its expiry."""
        rows = await self._readers.fetch_rows(
            f"SELECT a.turn, c.chat, a.expires_at FROM approvals a JOIN turns t ON t.id = a.turn "
            f"JOIN chats c ON c.id = t.chat WHERE a.{_WAITS} ORDER BY a.turn"
        )
        return [(int(turn), ChatId.parse(chat), float(at)) for turn, chat, at in rows]


def withdraw_replaced(db: Connection, turn: int, now: float) -> None:
    """Withdraw the question of a replaced turn."""
    _end(db, turn, ApprovalState.WITHDRAWN, now)


def _end(db: Connection, turn: int, state: ApprovalState, now: float, press: int = 0) -> bool:
    """Store a decision, if there is none, and that the reply must be shown again with it."""
    changed = db.execute(
        f"UPDATE approvals SET state = ?, press = ?, ended_at = ? WHERE turn = ? AND {_WAITS}",
        (state, press, now, turn),
    )
    if not changed.rowcount:
        return False
    db.execute("UPDATE turns SET again_at = ? WHERE id = ? AND ended_at IS NOT NULL", (now, turn))
    return True


def _waiting(db: Connection, chat: ChatId | None, person: str, but: int) -> list[int]:
    rows = db.execute(
        f"SELECT a.turn FROM approvals a JOIN turns t ON t.id = a.turn JOIN chats c ON c.id = t.chat "
        f"WHERE a.{_WAITS} AND (? = '' OR c.chat = ?) AND (? = '' OR t.person = ?) AND t.id <> ? ORDER BY t.id",
        (key := str(chat or ""), key, person, person, but),
    )
    return [int(turn) for (turn,) in rows.fetchall()]


def load_approval(db: Connection, turn: int) -> Approval | None:
    """See `Approvals.load`."""
    row = db.execute(
        "SELECT a.turn, c.chat, t.person, a.call, a.digest, a.tool, a.origin, a.language, a.line, a.expires_at, "
        "a.state, a.press, a.agent_state FROM approvals a JOIN turns t ON t.id = a.turn JOIN chats c ON c.id = t.chat "
        "WHERE a.turn = ?",
        (turn,),
    ).fetchone()
    if row is None:
        return None
    id, chat, person, call, digest, tool, origin, language, line, expires_at, state, press, agent_state = row
    return Approval(
        turn=id,
        chat=ChatId.parse(chat),
        person=person,
        call=ToolCall(*read_stored(call)),
        digest=digest,
        tool=tool,
        origin=origin,
        language=language,
        line=line,
        expires_at=expires_at,
        state=ApprovalState(state),
        press=press,
        agent_state=agent_state,
    )
