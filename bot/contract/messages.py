"""What crosses the border between a platform adapter and the core, in both directions.

Everything here is plain, frozen data: it can be stored, compared and printed, and it knows no platform.
In comes one of the `Incoming` union; out goes a `Page`, shown by a `bot.contract.surface.Surface`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
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
"""Characters that an adapter reads of one text from its platform. No platform sends longer messages; whoever does send
more is not yet known to be allowed anything, so the cut comes before everything else."""


TOGETHER_SECONDS: Final = 1.5
"""Seconds between two messages that a client sends at once, as the platform tells when they were sent: one, where some
tell only whole ones."""
MOST_QUOTED = 4_000
"""Characters of a quoted or forwarded message that the model is told."""


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
    """A Telegram topic, a thread of Slack or Discord; empty where the chat has none."""

    def __str__(self) -> str:
        parts = [self.account, self.chat] + ([self.thread] if self.thread else [])
        return f"{self.platform}:{'/'.join(quote(part, safe='') for part in parts)}"

    @property
    def place(self) -> ChatId:
        """The chat without its thread: what one process serves, an operator lists, and settings are kept under."""
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
    """As settings write it: `telegram:123`, `slack:T1/U1`, `discord:456`. Never changes for a person."""
    name: str = ""
    """The shown name: untrusted text."""
    language: str = ""
    """An IETF tag where the platform tells one, else empty."""
    groups: tuple[str, ...] = ()
    """What the person belongs to, as allow-lists name it: `slack:T1`, `discord:guild/1`, `discord:role/5`."""
    guest: bool = False
    """Belongs to another organisation than the chat's account (Slack Connect), so that the chat's own list is not for
    this person."""


_MOST_TITLE: Final = 60  # characters
GROWS: Final = "stream"
"""Form of a message that takes more text at its end, and no edit."""
NEXT: Final = "next"
"""Form of the message that a surface would post now: what changing it will cost is known before."""
PRESSED: Final = "pressed"
"""Form of the message below which a button was pressed, as the target of the press reaches it."""


@dataclass(frozen=True, slots=True)
class MessageRef:
    """One message of ours on a platform: what a page is shown in."""

    id: str
    form: str = "message"
    """How it is shown, in the adapter's own words (`message`, `draft`, `interaction`), or `GROWS`, or `NEXT`."""

    def to_json(self) -> str:
        return json.dumps([self.id, self.form])

    @classmethod
    def from_json(cls, text: str) -> MessageRef:
        return cls(*json.loads(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """Other words than the person's own that came with the message: what it replies to, or what was forwarded."""

    text: str
    author: str = ""
    """The shown name of its author: untrusted text."""
    from_bot: bool = False
    """The bot wrote it."""
    message_id: str = ""
    forwarded: bool = False
    """The person forwarded it; whatever it says, the person did not say it."""
    sent_at: float = 0.0
    """When it was written, in seconds since the epoch, where that is known."""
    replies: bool = False
    """It replies to another message itself, as far as the platform tells."""
    enclosed: tuple[Enclosure, ...] = ()
    more: tuple[Quoted, ...] = ()
    """What was forwarded together with it; its attachments stand with the first. Set by the core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Delivery:
    delivery: str
    """The platform's own id of this delivery; a second delivery is recognised by it."""
    also: tuple[str, ...] = ()
    """Other keys under which the same thing may be delivered (Slack: channel and ts)."""
    chat: ChatId
    sender: Sender
    target: ReplyTarget
    sent_at: float = 0.0
    """When the person did it, in seconds since the epoch, as the platform tells; 0 when it does not. Of a reminder:
    when it is due."""
    group: bool = False
    """Several people read and write here: the model is told who speaks, and a list of people may not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSent(_Delivery):
    """One message addressed to the bot, with everything platform-specific already removed."""

    text: str
    """What the person wrote, without the mention or the slash command that addressed the bot."""
    command: str = ""
    """The command's word without its sign (`new`), when the message is one; `text` is then its argument."""
    message_id: str = ""
    """The platform's id of the person's message, when it has one."""
    quoted: Quoted | None = None
    replies_to: str = ""
    """The platform's id of the message that it replies to: where that is an answer, the question continues from it."""
    earlier: tuple[Quoted, ...] = ()
    """What others wrote before it in its thread, oldest first, looked up when its turn begins; never stored with it."""
    left_out: int = 0
    """How many of those did not fit."""
    enclosed: tuple[Enclosure, ...] = ()
    """What came with it beside the text; of a forward, `quoted` has it."""
    quote_question: bool = False
    """Others cannot see the question, so the reply begins with it."""
    follow_up: bool = False
    """Written in a thread without addressing the bot: meant for it only where the bot takes part."""
    whole_channel: bool = False
    """Written where no thread can be named, so that a command about an answer means the newest one of all threads."""
    awaited: bool = False
    """The platform already shows that an answer is on its way, so that saying nothing would leave it hanging."""
    scheduled: bool = False
    """A reminder asks it at its time; nobody writes it now. Made by the core, never by an adapter."""
    replaces: int = 0
    """The turn whose answer this one takes the place of, in the same messages, because its question was changed or is
    asked again; 0: none. Set by the core."""
    unfinished: bool = False
    """Its person's client may send the rest of it in further messages, at once: a comment on a forward, more forwards
    or pictures, the end of a paste that is too long for one message."""
    severed: bool = False
    """Cut off in the middle of a line, so that its rest follows without a gap."""
    album: str = ""
    """The album that it is a part of; its parts are one question."""
    faceless: bool = False
    """Nothing tells who wrote it, but somebody did: an anonymous admin, or who writes as a channel. It is refused with
    a sentence."""
    beside: bool = False
    """Addresses nobody: only as a part of a question of its person is it for the bot, else nothing is kept of it."""
    completes: str = ""
    """The id of the message that it is a part of, where it is known when it comes in. Set by the core."""
    joined: bool = False
    """Later messages of its person stand in it."""
    decides: int = 0
    """The turn that asked whether a tool may be used, which was decided with a button; 0: none. Set by the core."""
    waited: float = 0.0
    """Seconds between its writing and its arrival here, where it waited for a start of the program. Set by the core."""
    before_change: str = ""
    """What it said then, where the model has to know; looked up when its turn begins, never stored with it."""

    @property
    def quotes(self) -> tuple[Quoted, ...]:
        """The quoted message and what was forwarded with it."""
        return () if self.quoted is None else (self.quoted, *self.quoted.more)

    @property
    def titled(self) -> ReplyTarget:
        """Where its answer goes, for a platform that gives conversations titles with one made of its first words."""
        title = " ".join(self.text[: 4 * _MOST_TITLE].split())
        if len(title) > _MOST_TITLE:
            title = f"{(title[:_MOST_TITLE].rpartition(' ')[0] or title[:_MOST_TITLE]).rstrip()}…"
        return replace(self.target, data={**self.target.data, "title": title}) if title else self.target

    def for_asker(self) -> MessageSent:
        """The same message, to be answered for nobody's eyes but its sender's where others read along."""
        if not self.group:
            return self
        return replace(self, target=replace(self.target, data={**self.target.data, "private": True}))


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEdited(_Delivery):
    """The person changed a message, or the platform says so where nothing of it changed that a reader sees."""

    message_id: str
    text: str
    """The whole new text."""
    command: str = ""
    """The command's word, where the message is one now: no command is run from a change."""
    enclosed: tuple[Enclosure, ...] | None = None
    """What is enclosed now; None where the platform does not tell all of it, and nothing is taken for changed."""
    question: MessageSent | None = None
    """The message as a new question, where it addresses the bot now: by this edit, if it was none before. Never
    stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMoved(_Delivery):
    """A chat has another id from now on: everything that is kept of it goes along. Never stored."""

    former: ChatId


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDeleted(_Delivery):
    """A message was deleted, by its person or by whoever may; `sender` has no id where the platform does not tell."""

    message_id: str


class Control(StrEnum):
    """What a button does: the first eight with the turn of a reply, the others with a reminder of a list."""

    STOP = "stop"
    REGENERATE = "regenerate"
    CONTINUE = "continue"
    SPEAK = "speak"
    GOOD = "good"
    BAD = "bad"
    ALLOW = "allow"
    """Let a tool do what the reply shows."""
    DENY = "deny"
    PAUSE = "pause"
    RESUME = "resume"
    DELETE = "delete"


MOST_BUTTONS: Final = 24
"""Buttons under one message; Discord shows 25, and so does a block of Slack."""


@dataclass(frozen=True, slots=True)
class Button:
    """A button under a reply: it says what it is about, and nothing else that is believed when it is pressed."""

    control: Control
    turn: int
    """The turn, or for what is done with reminders the number of one."""
    label: str = ""
    mark: str = ""
    """The beginning of a digest: of what is allowed or refused, or of whose reminders its message lists, all of them;
    empty for every other control."""

    @property
    def data(self) -> str:
        """What the platform keeps with the button and sends when it is pressed; at most 48 ASCII characters."""
        return f"{self.control}:{self.turn}" + (f":{self.mark}" if self.mark else "")


MARK_CHARS: Final = 16
"""Hexadecimal digits of a button's mark."""
_LISTED: Final = frozenset({Control.PAUSE, Control.RESUME, Control.DELETE})
_MARKED: Final = _LISTED | {Control.ALLOW, Control.DENY}
_MARK: Final = re.compile(rf"[0-9a-f]{{{MARK_CHARS}}}")


def parse_button(data: str) -> Button | None:
    """Read `Button.data`; None for what is no button of ours."""
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
    """Somebody pressed a button under a reply. The target leads to the place of the reply; made `private`, to who
    pressed alone."""

    control: Control
    turn: int
    """As the platform sent it: not known yet to be a turn of this chat, or a reminder of this person; 0 is whichever
    turn runs in the chat, for a Stop that is not below a reply."""
    mark: str = ""
    """As the platform sent it, see `Button`."""
    message_id: str = ""
    """The platform's id of the message that the button stands below; empty: not told."""
    awaited: bool = False
    """The platform shows that the press is under way until something is said."""

    @property
    def command(self) -> str:
        """The command that it stands for, where that is none about the newest answer."""
        return "voice" if self.control is Control.SPEAK else ""

    @property
    def replies_to(self) -> str:
        """The message whose answer that command is about."""
        return self.message_id if self.command else ""

    @property
    def there(self) -> MessageSent:
        """The press as a message that is answered where the button stands."""
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
        """The press as a message that is answered for nobody's eyes but who pressed."""
        return replace(self.there, target=replace(self.target, data={**self.target.data, "private": True}))


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerDue(_Delivery):
    """A reminder set earlier in this chat is due. Made by the core, never by an adapter."""

    text: str
    origin: str = OUTSIDE
    """Whose words led to it, see `bot.contract.origin`."""
    zone: str = ""
    """The time zone in which it was set; empty: unknown."""
    several: bool = False
    """It is a repeated one, and was due again before it came."""
    question: bool = False
    """The model was to answer it; it came too late for that."""


Incoming: TypeAlias = MessageSent | MessageEdited | MessageDeleted | ControlPressed | TimerDue | ChatMoved


@dataclass(frozen=True, slots=True)
class Status:
    """One line about what a tool is doing: shown beside the body while the tool runs, never part of it. On a page that
    `grows` it stays, as the card of a call: `task` names the call, and `state` says how far it is."""

    text: str
    task: str = ""
    state: ToolStatus = ToolStatus.RUNNING


@dataclass(frozen=True, slots=True)
class Page:
    """One platform message of a reply, as it should look now."""

    body: str
    """Markdown as written so far; within a page it only grows until `final`. Nothing is closed for show."""
    status: tuple[Status, ...] = ()
    final: bool = False
    """No later version of this page comes: leave the live form (draft, stream) and show it for good."""
    buttons: tuple[Button, ...] = ()
    """What a person may press below it. They go with posts and edits that are made anyway: a page whose buttons alone
    differ from what stands is worth no call."""
    plain: bool = False
    """Show the body as plain text, as written: the platform refused our notation once."""
    grows: bool = False
    """No edit is left for its end: show it where text can be added without one, if that can be."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that a reply carries; a voice message, where it is `spoken` for so many seconds."""

    name: str
    media_type: str
    content: bytes
    spoken: float = 0.0


def is_within(chat: ChatId, within: str) -> bool:
    """Return True if the chat is on a platform, or in a place, that is given by its name."""
    return within in (chat.platform, str(chat.place))
