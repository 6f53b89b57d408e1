"""The store's knowledge of a turn, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contract import OUTSIDE, AssistantEntry, ChatId, Entry, Incoming, MessageRef, ReplyTarget, Usage
from bot.store.approvals import Approval
from bot.store.states import PageState, TurnState
from tools.contract.base import ToolCall, ToolResult, ToolStatus


@dataclass(frozen=True, slots=True)
class PassRecord:
    """One model call of a turn that has not ended."""

    number: int
    entry: AssistantEntry
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One tool call, also after its turn has ended."""

    passnumber: int
    position: int
    call: ToolCall
    effects: bool
    """The tool changes something: without a result, nobody knows whether it did."""
    status: ToolStatus
    started_at: float
    """Wall-clock time."""
    seconds: float = 0.0
    result: ToolResult | None = None
    """None until it has ended. Its files are included only in a `StoredTurn`."""


@dataclass(frozen=True, slots=True)
class PageRecord:
    """One page of a reply: the part of the text that it shows, and its message."""

    number: int
    end: int
    """Where the text of an ended turn was cut after this page; 0 for the last page, and while the turn runs."""
    body: str
    """Empty once the turn has ended."""
    ref: MessageRef | None
    state: PageState
    nonce: str


@dataclass(frozen=True, slots=True)
class AttachmentRecord:
    """One file of a reply, delivered like a page."""

    number: int
    file: int
    """Its id in `store.files`."""
    name: str
    media_type: str
    ref: MessageRef | None
    state: PageState
    nonce: str


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """Everything needed to continue a turn in another process."""

    turn: int
    passes: tuple[PassRecord, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    """In the order of passes, then of positions."""
    pages: tuple[PageRecord, ...] = ()
    attachments: tuple[AttachmentRecord, ...] = ()
    began: float = 0.0
    """Wall-clock time at which it began, if a page of it was shown; else 0."""
    checkpoint: str = ""
    """The state of an agent of another author."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """One turn, at its end or in its present state."""

    id: int
    chat: ChatId
    person: str
    incoming: Incoming
    """The question that it answers: another turn's, if this one answered it again."""
    state: TurnState
    visible: str
    reasoning: str
    model: str
    usage: Usage
    dollars: float
    error: str
    started_at: float
    ended_at: float
    """0 while it runs."""
    rating: str = ""
    """The person's rating of the answer: `good`, `bad`, or empty."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """How an answer reached its reader."""

    first_words: float | None = None
    """Seconds from the question to the first words; None: unknown, as after a restart."""
    waited: float | None = None
    """Seconds, since words existed, in which the reader had nothing left to read; None: unknown."""
    edits: int = 0
    """Posts and edits that the platform accepted."""
    refusals: int = 0
    """Calls that it refused as too many."""
    course: str = ""
    """What stood on the screen over time, and at the end, as JSON; see `bot.reply.course`."""


@dataclass(frozen=True, slots=True)
class ReplyRecord:
    """What an ended turn showed: enough to show it again."""

    chat: ChatId
    question: Incoming
    """The question; if it was answered again, another delivery than the one that asked."""
    target: ReplyTarget
    """Where it is shown."""
    visible: str
    """All text of it, without the preamble."""
    stored: StoredTurn
    newest: bool = True
    """No later turn of its chat has begun."""
    goes_on: bool = False
    """It was cut off, and can be continued."""
    approval: Approval | None = None
    """Its question to a person."""
    is_former: bool = False
    """A newer answer to its question is complete."""


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One entry of a chat's history."""

    sequence: int
    turn: int
    entry: Entry
    tokens: int
    at: float
    """Wall-clock time."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of older history, in place of the rows up to `upto`."""

    text: str
    upto: int
    origin: str = OUTSIDE
    """The origin of its words."""


@dataclass(frozen=True, slots=True)
class ChatRow:
    """One chat, for a list."""

    chat: ChatId
    title: str
    """The name of the person who last asked: untrusted text."""
    turns: int
    bytes: int
    """Size of its history."""
    good: int = 0
    """Answers that were rated as good."""
    bad: int = 0


def message_ref(message: str | None, form: str | None) -> MessageRef | None:
    """Join the two columns in which a ref is kept."""
    return None if message is None else MessageRef(message, form or "message")
