"""The whole contract between the core and a platform: `Adapter`, `Surface`, and the cost of a call.

A message is data, a surface is a capability: a `MessageSent` can be stored, a `Surface` can only be written to.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO, Literal, Protocol, TypeAlias, runtime_checkable

from bot.contract.entrance import Entrance
from bot.contract.messages import Enclosure, File, Incoming, MessageRef, MessageSent, Page, Quoted, ReplyTarget

Deliver: TypeAlias = Callable[[Incoming], Awaitable[None]]
"""Returns when the delivery is safely stored; only then is it acknowledged to the platform.

Raises:
    StoreError: it could not be stored; do not acknowledge it, so that the platform delivers it again.
"""
Suggest: TypeAlias = Callable[[MessageSent], Awaitable[Sequence[str]]]
"""Suggests values for the argument of a command that a person is still typing, the likeliest first; stores nothing.

Raises:
    StoreError: the database cannot be read now.
"""

SoundForm: TypeAlias = Literal["opus", "mp3"]
"""The formats that platforms play: Opus in an Ogg file, and MP3."""


@dataclass(frozen=True, slots=True)
class Window:
    """At most `calls` in any `seconds`."""

    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RateBudget:
    """A rate budget: how often a scope can be called. Every call that names the same scope uses the same budget."""

    scope: str
    """One key for each limited thing: `telegram:42/chat/7`, `slack:T1/chat.update`, `telegram:42`."""
    windows: tuple[Window, ...] = ()
    rate: float = 0.0
    """Calls a second that the bucket regains; 0 without a bucket."""
    burst: int = 0
    """Calls that a full bucket allows at once."""
    shared: bool = False
    """Many replies use it (a whole bot, a workspace), so progress leaves room for their ends."""


@dataclass(frozen=True, slots=True)
class CallCost:
    """The rate budgets that the next `show` of a page uses."""

    budgets: tuple[RateBudget, ...] = ()
    repeats_safely: bool = True
    """The call may be made again after an unclear outcome (an edit, or a send the platform deduplicates)."""
    passes: bool = False
    """It shows something that is not a message and disappears by itself, so nothing of it is recorded."""
    found_again: bool = False
    """After an unclear outcome `find` reliably says whether the message exists, also for a later process."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a growing reply is shown, within the rate budgets. Its end never waits for this."""

    apart: float = 0.35
    """The least seconds between two edits: nobody can read more often."""
    fresh: float = 0.35
    """The least seconds before an edit that its reader does not need yet, but which shows that the answer grows."""
    ahead: float = 0.3
    """How many seconds before its reader runs out of text the next edit should come: about as long as a call takes."""


@dataclass(frozen=True, slots=True)
class SurfaceLimits:
    """How long a page can be, and how this platform measures it."""

    page_length: int
    """The length at which a page is cut, below the platform's limit, in units of `measure`."""
    hard_length: int
    """The platform's own limit after rendering, in units of `measure`."""
    measure: Callable[[str], int]
    """Length of a text in the platform's units: UTF-16 units, characters or UTF-8 bytes."""
    attachment_bytes: int = 10 * 1024 * 1024
    """The longest file that a reply can carry; 0: none."""
    typing_seconds: float = 4.5
    """How long one `typing` lasts; 0 if the platform has no such sign."""
    typing_stays: bool = False
    """It lasts until `typing` is called without words, whatever any process shows meanwhile."""
    pieces: bool = False
    """Edits are scarcer than posts, so an answer can be several messages that are never edited."""
    passing_seconds: float = 0.0
    """Seconds after which a page that is not final must be shown again because it disappears; 0: it stays."""
    unread: bool = False
    """A new message marks the channel as unread, which an edit does not, and can be deleted."""
    grows: bool = False
    """A message that accepts more text without an edit can be started now."""
    pace: Pace = Pace()
    collapses: bool = False
    """It can show a collapsed quote, which a reader opens to read."""
    sound: SoundForm = "mp3"
    """The format of voice messages."""
    command_form: str = "/{word}"
    """The notation of a command here."""


class Drawn:
    """A page in the platform's own form: a frozen value, made by `Surface.draw` and read only by that platform.

    Each platform has its own subclass. Two equal drawings show the same text and buttons, so replacing one by the other
    needs no call.
    """

    __slots__ = ()

    @property
    def said(self) -> str:
        """Everything in it that people see, as one text: the same for drawings that look the same."""
        return repr(self)


class Surface(Protocol):
    """The place of one reply. A page is drawn first and then shown; the caller keeps the drawing.

    A `private` target shows pages only to the person who asked, if the platform can; then a page is shown once, when it
    is final, since such a message can be neither edited nor found again. If the platform cannot, the reply is public; a
    reply that began privately never continues in public.

    A subclass inherits that the platform has no signs and finds no posts.
    """

    @property
    def limits(self) -> SurfaceLimits: ...

    def draw(self, page: Page) -> Drawn:
        """Return the platform's form of `page`. Pure: equal pages give equal drawings, and nothing is sent.

        Raises:
            TooLong: the page exceeds the limit by `by` units; cut it again, shorter.
            Unrenderable: nothing in it is visible.
        """
        ...

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        """Return the rate budgets that the next `show` of `drawn` will use; without a drawing, those of `typing`.

        For a message of the form `NEXT`: the budgets for changing the message that it would post now.
        """
        ...

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        """Show `drawn`, in the message `at` or in a new one, and return its message.

        The ref replaces `at`, and is stored before the next call. Showing the same content again is not an error.
        `nonce` names the page for good: the surface sends it if the platform recognises repeated sends by it.

        Raises:
            RateLimited: try again after `retry_after` seconds, with the newest text by then.
            TooLong: the platform finds it too long, by about `by` units; cut its page again, shorter.
            Full: a message of the form `GROWS` cannot show it, and keeps its text for good.
            MessageGone: somebody deleted the message.
            Unrenderable: the platform refused our notation; show the same page with `plain=True`.
            Unreachable: blocked, kicked or expired: nothing more can be shown here.
            Unclear: the request may have arrived; repeat it only if its cost says that this is safe.
            DeliveryError: it did not arrive; it may be tried again.
        """
        ...

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        """Post a file after the text. Raises like `show`, with `TooLong` in bytes."""
        ...

    async def remove(self, at: MessageRef) -> None:
        """Delete one of our messages; it may already be gone."""
        ...

    async def typing(self, words: str) -> None:
        """Show once that an answer is being written. It is only a sign: other errors than those below are ignored.

        Args:
            words: the sign's text after the bot's name, if the platform has one; empty: remove the sign, if it stays.

        Raises:
            RateLimited: nothing can be shown here for that long, not even a page.
        """
        return

    def receipt_cost(self, waits: bool) -> CallCost | None:
        """The rate budgets of the next `receipt`; None if the platform has no such sign."""
        return None

    async def receipt(self, message_id: str, waits: bool) -> None:
        """Add or remove the sign on a person's message that says it waits; it may already be so.

        Raises:
            RateLimited: try again after `retry_after` seconds.
            DeliveryError: it cannot be shown.
        """
        return

    async def find(self, nonce: str) -> MessageRef | None:
        """Look up the message that an unclear `show` may have made; None if there is none or none can be found.

        Raises:
            DeliveryError: it cannot be looked up now.
        """
        return None


def post_cost(surface: Surface) -> CallCost:
    """Return the rate budgets for posting a whole page, whatever its text."""
    return surface.cost(surface.draw(Page("x", final=True)), None)


class Earlier(Protocol):
    """Earlier messages of a question's thread, or those it replies to, ready to be loaded."""

    @property
    def cost(self) -> CallCost:
        """The rate budgets for loading one page."""
        ...

    async def page(self, since: float, cursor: str) -> tuple[Sequence[Quoted], str]:
        """Return one page of messages that are not in the history yet, in any order, and the cursor of the next page;
        empty on the last.

        Args:
            since: when the last question of the chat was written, in seconds since the epoch; 0: there was none.

        Raises:
            DeliveryError: it cannot be loaded; the adapter has logged what is missing.
        """
        ...


class Adapter(Protocol):
    """One platform. Entering logs in (identity, HTTP client), leaving closes."""

    @property
    def platform(self) -> str: ...

    @property
    def listening(self) -> bool:
        """It is receiving messages at this moment."""
        ...

    @property
    def entrance(self) -> Entrance | None:
        """The entrance for requests to the public address; None if the platform posts nothing, or not now."""
        ...

    @property
    def conflicts(self) -> int:
        """The number of signs, in the last ten minutes, that another program receives with the same token; the adapter
        logs them."""
        ...

    async def __aenter__(self) -> Adapter: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def listen(self, deliver: Deliver) -> None:
        """Receive messages until cancelled; surfaces keep working meanwhile and afterwards.

        Raises:
            SettingsError: the platform refuses the token or something that the bot needs.
            Unreachable: the platform cannot be reached now; the caller waits and listens again, as after any other
                exception.
        """
        ...

    def surface(self, target: ReplyTarget) -> Surface:
        """Open a place to write to, from stored data alone: works at any time between entering and leaving."""
        ...

    async def fetch(self, source: str, into: BinaryIO, most: int) -> Enclosure | None:
        """Write an attached file, named by its `Enclosure.source`, into `into`; return a description of it, if the
        platform gives one only now.

        Raises:
            FileWithheld: it cannot be fetched, for a reason that the person can remove.
            TooLong: it has more than `most` bytes.
            DeliveryError: it cannot be fetched: it is gone, the bot may not read it, or the server does not answer.
        """
        ...

    def earlier(self, message: MessageSent) -> Earlier | None:
        """Return the messages before `message` in its place; None if there are none, or the platform cannot list
        them."""
        ...


@runtime_checkable
class Sharded(Protocol):
    """An adapter with several connections, each for a part of its chats."""

    @property
    def shards(self) -> Mapping[str, str]:
        """Shard → `listening`, `connecting` or `unreachable: …`; empty while it does not listen."""
        ...


@runtime_checkable
class Sole(Protocol):
    """An adapter whose platform lets one program at a time receive with the same account."""

    @property
    def account(self) -> str:
        """The account, once it is logged in; empty if any number of programs can receive, as by web."""
        ...

    def take_over(self) -> None:
        """Receive in place of another of our processes, whose connection the platform may still consider open."""
        ...


@runtime_checkable
class Identified(Protocol):
    """An adapter whose token does not reveal which bot it is."""

    @property
    def identity(self) -> str:
        """The bot's identity, once it is logged in: the same for a renewed token."""
        ...


@runtime_checkable
class Resuming(Protocol):
    """An adapter whose platform keeps undelivered messages only for the session of one connection."""

    @property
    def session(self) -> str:
        """What another process needs to receive the messages that this one missed; empty if nothing."""
        ...

    former: str
    """Set before the adapter listens: the `session` of the process that listened before; the messages since then are
    received."""


@runtime_checkable
class Companion(Protocol):
    """An adapter whose platform distributes messages among several connections."""

    shared: bool
    """Set before the adapter is entered if other processes of ours run: their connections are not conflicts."""


@runtime_checkable
class Suggesting(Protocol):
    """An adapter whose platform asks for suggestions while somebody types a command."""

    suggest: Suggest | None
    """Set before the adapter listens; None: nothing is suggested."""


def utf16_length(text: str) -> int:
    """Count UTF-16 units, as Telegram does: one for most characters, two for an emoji."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
