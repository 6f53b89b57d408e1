"""The data that platform adapters and the core exchange, in both directions.

Everything here is plain, frozen data without any platform's specifics: it can be stored, compared and printed. Incoming
data is one of the `Incoming` union; outgoing is a `Page`, shown by a `bot.contract.surface.Surface`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import quote, unquote

from bot.contract.enclosure import AUDIBLE as AUDIBLE
from bot.contract.enclosure import Enclosure as Enclosure
from bot.contract.enclosure import EnclosureKind as EnclosureKind
from bot.contract.origin import OUTSIDE
from bot.contract.target import ReplyTarget as ReplyTarget
from bot.contract.target import Scalar as Scalar
from tools.contract.base import ToolStatus

LONGEST_TEXT: Final = 200_000
"""Characters of one text that an adapter reads. No platform sends longer messages; the sender of a longer one may be a
stranger, so the text is cut before anything else happens."""


TOGETHER_SECONDS: Final = 1.5
"""The most seconds between the timestamps of messages that a client sends at once; some platforms count in whole
seconds."""
MOST_QUOTED = 4_000
"""Characters of a quoted or forwarded message that the model gets."""


@dataclass(frozen=True, slots=True)
class ChatId:
    """The place a conversation happens in, and the key its history is kept under.

    Two messages with the same `ChatId` share one history and are answered one after the other.
    """

    platform: str
    account: str
    """The bot account (Telegram, Discord) or the workspace (Slack)."""
    chat: str
    thread: str = ""
    """A Telegram topic, or a thread of Slack or Discord; empty if there is none."""

    @lru_cache(maxsize=4096)  # noqa: B019  # it is written twenty times a turn, and small
    def __str__(self) -> str:
        parts = [self.account, self.chat] + ([self.thread] if self.thread else [])
        return f"{self.platform}:{'/'.join(quote(part, safe='') for part in parts)}"

    @property
    def place(self) -> ChatId:
        """The chat without its thread: the unit that a process serves, an operator lists, and settings belong to."""
        return replace(self, thread="") if self.thread else self

    @classmethod
    def parse(cls, text: str) -> ChatId:
        """Read what `str` wrote.

        Raises:
            ValueError: `text` is not of the form `platform:account/chat[/thread]`.
        """
        platform, colon, rest = text.partition(":")
        parts = [unquote(part) for part in rest.split("/")]
        if not colon or not platform or len(parts) not in (2, 3):
            raise ValueError(
                f"{text!r} is no chat id: it is written platform:account/chat or platform:account/chat/thread"
            )
        return cls(platform, *parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The person who wrote, as the platform names them."""

    id: str
    """In the notation of settings: `telegram:123`, `slack:T1/U1`, `discord:456`. Never changes for a person."""
    name: str = ""
    """The shown name: untrusted text."""
    language: str = ""
    """An IETF tag if the platform gives one, otherwise empty."""
    groups: tuple[str, ...] = ()
    """The person's groups, in the notation of allow-lists: `slack:T1`, `discord:guild/1`, `discord:role/5`."""
    guest: bool = False
    """The person belongs to another organisation than the chat's account (Slack Connect), so the chat's own list does
    not apply to them."""


_MOST_TITLE: Final = 60  # characters
GROWS: Final = "stream"
"""The form of a message that accepts more text at its end, but no edits."""
NEXT: Final = "next"
"""The form of the message that a surface would post now: asks in advance what changing it will cost."""
PRESSED: Final = "pressed"
"""The form of the message whose button was pressed, as reached through the press's target."""


@dataclass(frozen=True, slots=True)
class MessageRef:
    """One of our messages on a platform, which shows a page."""

    id: str
    form: str = "message"
    """The message's form, in the adapter's own words (`message`, `draft`, `interaction`), or `GROWS`, or `NEXT`."""

    def to_json(self) -> str:
        return json.dumps([self.id, self.form])

    @classmethod
    def from_json(cls, text: str) -> MessageRef:
        return cls(*json.loads(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """Words beside the person's own: the message that theirs replies to, or a forwarded one."""

    text: str
    author: str = ""
    """The author's shown name: untrusted text."""
    from_bot: bool = False
    """The bot wrote it."""
    message_id: str = ""
    forwarded: bool = False
    """The person forwarded it; its words are not theirs."""
    sent_at: float = 0.0
    """When it was written, in seconds since the epoch, if known."""
    replies: bool = False
    """It is itself a reply, as far as the platform says."""
    enclosed: tuple[Enclosure, ...] = ()
    more: tuple[Quoted, ...] = ()
    """Messages that were forwarded together with it; the first one has all their attachments. Set by the core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Delivery:
    delivery: str
    """The platform's id of this delivery, which identifies a second copy."""
    also: tuple[str, ...] = ()
    """Other keys of the same delivery (Slack: channel and ts)."""
    chat: ChatId
    sender: Sender
    target: ReplyTarget
    sent_at: float = 0.0
    """When the person did it, in seconds since the epoch; 0 if the platform does not say. For a reminder: when it is
    due."""
    group: bool = False
    """Several people read and write here: the model learns who speaks, and a list of people may not apply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSent(_Delivery):
    """One message addressed to the bot, with everything platform-specific removed."""

    text: str
    """What the person wrote, without the mention or the slash command that addressed the bot."""
    command: str = ""
    """The command's word without its sign (`new`), if the message is one; `text` is then its argument."""
    message_id: str = ""
    """The platform's id of the person's message, if it has one."""
    quoted: Quoted | None = None
    replies_to: str = ""
    """The platform's id of the message that it replies to: if that is an answer, the question continues from it."""
    earlier: tuple[Quoted, ...] = ()
    """Earlier messages of its thread, oldest first, loaded when its turn begins; never stored with it."""
    left_out: int = 0
    """How many earlier messages did not fit."""
    enclosed: tuple[Enclosure, ...] = ()
    """Its attachments; those of a forwarded message are in `quoted`."""
    quote_question: bool = False
    """Others cannot see the question, so the reply begins with it."""
    follow_up: bool = False
    """Written in a thread without addressing the bot: a question only if the bot takes part there."""
    whole_channel: bool = False
    """Written outside any thread, so a command about an answer means the newest one of all threads."""
    awaited: bool = False
    """The platform already shows that an answer is coming, so there must be one."""
    alone: bool = False
    """It belongs to no conversation: the model is offered no tools for it."""
    abandons: bool = False
    """The person asks it instead of deciding about a call, which is not asked about any more."""
    scheduled: bool = False
    """A reminder asks it at its time; nobody writes it now. Made by the core, never by an adapter."""
    replaces: int = 0
    """The turn whose answer this one replaces, in the same messages, because its question was changed or is asked
    again; 0: none. Set by the core."""
    unfinished: bool = False
    """The person's client may send the rest at once in further messages: a comment on a forward, more forwards or
    pictures, the end of a paste that is too long for one message."""
    severed: bool = False
    """Cut off in the middle of a line, so its rest follows without a gap."""
    album: str = ""
    """The album that it belongs to; the parts of an album are one question."""
    faceless: bool = False
    """The writer is unknown but a person: an anonymous admin, or somebody who writes as a channel. It is refused with a
    sentence."""
    beside: bool = False
    """Addresses nobody: it counts only as a part of its person's question, and is otherwise not kept."""
    completes: str = ""
    """The id of the message that it completes, if known when it arrives. Set by the core."""
    joined: bool = False
    """It contains later messages of its person."""
    decides: int = 0
    """The turn that asked about a tool, decided with a button; 0: none. Set by the core."""
    waited: float = 0.0
    """Seconds between its writing and its arrival here, if it waited for the program to start. Set by the core."""
    before_change: str = ""
    """Its previous text, if the model has to know it; loaded when its turn begins, never stored with it."""

    @property
    def quotes(self) -> tuple[Quoted, ...]:
        """The quoted message and those forwarded with it."""
        return () if self.quoted is None else (self.quoted, *self.quoted.more)

    @property
    def titled(self) -> ReplyTarget:
        """The target of its answer, with a title made of its first words, for a platform that titles conversations."""
        title = " ".join(self.text[: 4 * _MOST_TITLE].split())
        if len(title) > _MOST_TITLE:
            title = f"{(title[:_MOST_TITLE].rpartition(' ')[0] or title[:_MOST_TITLE]).rstrip()}…"
        return replace(self.target, data={**self.target.data, "title": title}) if title else self.target

    def for_asker(self) -> MessageSent:
        """The same message with a private answer if others read along."""
        if not self.group:
            return self
        return replace(self, target=replace(self.target, data={**self.target.data, "private": True}))


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEdited(_Delivery):
    """A message was changed by its person, or only in ways that no reader sees."""

    message_id: str
    text: str
    """The whole new text."""
    command: str = ""
    """The command's word, if the message is one now: a change never runs a command."""
    enclosed: tuple[Enclosure, ...] | None = None
    """Its attachments now; None if the platform does not list them all, so that none counts as changed."""
    question: MessageSent | None = None
    """The message as a new question, if it addresses the bot now; it may not have done so before. Never stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMoved(_Delivery):
    """A chat has a new id: everything stored moves to it. Never stored."""

    former: ChatId


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDeleted(_Delivery):
    """A message was deleted, by its person or another; `sender` has no id if the platform does not say."""

    message_id: str


class Control(StrEnum):
    """What a button does: the first eight act on the turn of a reply, the others on a reminder of a list."""

    STOP = "stop"
    REGENERATE = "regenerate"
    CONTINUE = "continue"
    SPEAK = "speak"
    GOOD = "good"
    BAD = "bad"
    ALLOW = "allow"
    """Let a tool make the call that the reply shows."""
    DENY = "deny"
    PAUSE = "pause"
    RESUME = "resume"
    DELETE = "delete"


MOST_BUTTONS: Final = 24
"""Buttons under one message; Discord and a block of Slack can show 25."""


@dataclass(frozen=True, slots=True)
class Button:
    """A button under a reply: it names its action and object; everything else is looked up when it is pressed."""

    control: Control
    turn: int
    """The turn, or the number of a reminder."""
    label: str = ""
    mark: str = ""
    """The beginning of a digest: of the call to decide about, or of the owner of all reminders in the list; empty for
    every other control."""

    @property
    def data(self) -> str:
        """The string that the platform stores with the button and sends when it is pressed; at most 48 ASCII
        characters."""
        return f"{self.control}:{self.turn}" + (f":{self.mark}" if self.mark else "")


MARK_CHARS: Final = 16
"""Hexadecimal digits of a button's mark."""
_LISTED: Final = frozenset({Control.PAUSE, Control.RESUME, Control.DELETE})
_MARKED: Final = _LISTED | {Control.ALLOW, Control.DENY}
_MARK: Final = re.compile(rf"[0-9a-f]{{{MARK_CHARS}}}")


def parse_button(data: str) -> Button | None:
    """Read `Button.data`; return None if it is not a button of ours."""
    name, _, rest = data.partition(":")
    turn, _, mark = rest.partition(":")
    if name not in set(Control) or not (turn.isascii() and turn.isdecimal() and len(turn) < 20):
        return None
    control = Control(name)
    if not (rest == turn if control not in _MARKED else _MARK.fullmatch(mark) or (control in _LISTED and rest == turn)):
        return None
    return Button(control, int(turn), mark=mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPressed(_Delivery):
    """Somebody pressed a button under a reply. The target is the reply's place; made `private`, it
    reaches only the presser."""

    control: Control
    turn: int
    """As the platform sent it: not yet known to be a turn of this chat, or a reminder of this person; 0 is the running
    turn of the chat, for a Stop that is not below a reply."""
    mark: str = ""
    """As the platform sent it, see `Button`."""
    message_id: str = ""
    """The platform's id of the message with the button; empty: unknown."""
    awaited: bool = False
    """The platform shows that the press is in progress until it gets a response."""

    @property
    def command(self) -> str:
        """The command for this press, unless it is one about the newest answer."""
        return "voice" if self.control is Control.SPEAK else ""

    @property
    def replies_to(self) -> str:
        """The message whose answer the command is about."""
        return self.message_id if self.command else ""

    @property
    def there(self) -> MessageSent:
        """The press as a message that is answered at the button."""
        return MessageSent(
            delivery=self.delivery,
            chat=self.chat,
            sender=self.sender,
            target=self.target,
            text="",
            group=self.group,
            awaited=self.awaited,
        )

    @property
    def aside(self) -> MessageSent:
        """The press as a message that is answered privately to the presser."""
        return replace(self.there, target=replace(self.target, data={**self.target.data, "private": True}))


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerDue(_Delivery):
    """A reminder set earlier in this chat is due. Made by the core, never by an adapter."""

    text: str
    origin: str = OUTSIDE
    """The origin of the words that led to it, see `bot.contract.origin`."""
    zone: str = ""
    """The time zone in which it was set; empty: unknown."""
    several: bool = False
    """It is a repeated reminder that was due again before it came."""
    question: bool = False
    """It was a question for the model, and came too late for an answer."""

    @property
    def as_message(self) -> MessageSent:
        """The reminder as a message whose reply shows it."""
        return MessageSent(
            delivery=self.delivery,
            chat=self.chat,
            sender=self.sender,
            target=self.target,
            group=self.group,
            text=self.text,
            scheduled=True,
        )


Incoming: TypeAlias = MessageSent | MessageEdited | MessageDeleted | ControlPressed | TimerDue | ChatMoved


@dataclass(frozen=True, slots=True)
class Status:
    """One line about what a tool is doing: shown beside the body while the tool runs, never part of it. On a page that
    `grows` it stays, as the card of a call: `task` names the call, and `state` its progress."""

    text: str
    task: str = ""
    state: ToolStatus = ToolStatus.RUNNING


@dataclass(frozen=True, slots=True)
class Page:
    """One platform message of a reply, as it should look now."""

    body: str
    """Markdown as written so far; within a page it only grows until `final`. Open spans are not closed."""
    status: tuple[Status, ...] = ()
    final: bool = False
    """No later version of this page comes: leave the live form (draft, stream) and show it for good."""
    buttons: tuple[Button, ...] = ()
    """The buttons below it. They travel with posts and edits that are made anyway: a page that differs only in its
    buttons is not worth a call."""
    plain: bool = False
    """Show the body as plain text, as written: the platform refused our notation once."""
    grows: bool = False
    """No edit is left for its end: show it in a form that accepts more text without an edit, if there is one."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that a reply carries; a voice message if it is `spoken` for some seconds."""

    name: str
    media_type: str
    content: bytes
    spoken: float = 0.0


def is_within(chat: ChatId, within: str) -> bool:
    """Return True if the chat is on the platform, or in the place, of this name."""
    return within in (chat.platform, str(chat.place))


def as_written(question: MessageSent) -> str:
    """Return the message as the person wrote it, including a command that is a question."""
    return f"/{question.command} {question.text}".rstrip() if question.command else question.text
