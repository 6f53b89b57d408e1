"""The whole contract between the core and a platform: `Adapter`, `Surface`, and what a call to one costs.

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
"""Returns when the delivery is safely stored; only then is the platform told "received".

Raises:
    StoreError: it could not be stored; tell the platform nothing, so that it delivers again.
"""
Suggest: TypeAlias = Callable[[MessageSent], Awaitable[Sequence[str]]]
"""What may be meant by the argument of a command that a person is still writing, likeliest first; stores nothing.

Raises:
    StoreError: it cannot be told now.
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
    """How often a scope may be called. Every call that names the same scope draws on the same budget."""

    scope: str
    """One key per thing that is limited: `telegram:42/chat/7`, `slack:T1/chat.update`, `telegram:42`."""
    windows: tuple[Window, ...] = ()
    rate: float = 0.0
    """Calls a second that a bucket regains; 0 without a bucket."""
    burst: int = 0
    """Calls that a full bucket allows at once."""
    shared: bool = False
    """Many replies draw on it (a whole bot, a workspace), so progress leaves room for their ends."""


@dataclass(frozen=True, slots=True)
class CallCost:
    """What the next `show` of a page draws on."""

    budgets: tuple[RateBudget, ...] = ()
    repeats_safely: bool = True
    """The call may be made again after an unclear outcome (an edit, or a send the platform deduplicates)."""
    passes: bool = False
    """It shows something that is no message and goes away by itself, so that nothing of it is recorded."""
    found_again: bool = False
    """After an unclear outcome `find` says for certain whether the message is there, to a later process too."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a reply is shown while it grows, where the rate budgets allow it. Its end never waits for this."""

    apart: float = 0.35
    """Least seconds between two edits: more often nobody can read."""
    fresh: float = 0.35
    """Least seconds before an edit that its reader does not need yet: who looks up sees that the answer grows."""
    ahead: float = 0.3
    """Seconds before its reader has read everything in which the next edit is wanted: about as long as a call takes."""


@dataclass(frozen=True, slots=True)
class SurfaceLimits:
    """How long a page may be, and how this platform counts."""

    page_length: int
    """The length a page is cut at, below the platform's limit, in units of `measure`."""
    hard_length: int
    """The platform's own limit after rendering, in units of `measure`."""
    measure: Callable[[str], int]
    """Length of a text as the platform counts it: UTF-16 units, characters or UTF-8 bytes."""
    attachment_bytes: int = 10 * 1024 * 1024
    typing_seconds: float = 4.5
    """How long one `typing` lasts; 0 when the platform has no such sign."""
    typing_stays: bool = False
    """It lasts until `typing` is called without words, whatever is shown meanwhile and whichever process calls."""
    pieces: bool = False
    """Edits are scarcer than posts, so an answer may stand in several messages that are never edited."""
    passing_seconds: float = 0.0
    """After how long a page that is not final has to be shown again, because it passes; 0: it stays."""
    unread: bool = False
    """A new message shows its readers that there is something to read, which an edit does not, and can be removed."""
    grows: bool = False
    """A message could be begun now that takes more text without an edit."""
    pace: Pace = Pace()
    collapses: bool = False
    """It can show a quote collapsed, so that only who opens it reads it."""
    sound: SoundForm = "mp3"
    """The format of voice messages."""
    command_form: str = "/{word}"
    """How a person writes a command here."""


class Drawn:
    """A page as one platform will show it: a frozen value, made by `Surface.draw`, read by that platform alone.

    Each platform has its own subclass. Two that are equal show the same text: showing one in place of the other is
    worth no call. Their buttons are not compared.
    """

    __slots__ = ()


class Surface(Protocol):
    """Where one reply is shown. A page is drawn first, and then shown: whoever shows it keeps what was drawn.

    One whose target is `private` shows pages to the person who asked alone, if the platform can; then a page is shown
    when it is final, for good: such a message can be neither edited nor found again. Where it cannot, it is shown as
    any other, and never the other way round: what has begun in private does not go on in public.
    """

    @property
    def limits(self) -> SurfaceLimits: ...

    def draw(self, page: Page) -> Drawn:
        """Return what the platform will show of `page`. Pure: equal pages give equal drawings, and nothing is sent.

        Raises:
            TooLong: the page exceeds the limit by `by` units; cut it again, shorter.
            Unrenderable: nothing of it can be seen.
        """
        ...

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        """Say which budgets the next `show` of `drawn` draws on, before it is made; without a drawing, `typing`.

        At a message of the form `NEXT`: what it draws on to change what it would post now.
        """
        ...

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        """Make the platform show `drawn`, in the message `at` or in a new one, and return where it is now.

        The ref replaces `at`, and is stored before the next call. Showing what is already shown is not an error.
        `nonce` names the page for good: where a platform can recognise a repeated send by it, the surface sends it.

        Raises:
            RateLimited: try again after `retry_after` seconds, with whatever is newest by then.
            TooLong: the platform finds it too long, by about `by` units; cut its page again, shorter.
            Full: a message of the form `GROWS` cannot show it, and keeps what it shows for good.
            MessageGone: somebody deleted the message.
            Unrenderable: the platform refused our notation; show the same page with `plain=True`.
            Unreachable: blocked, kicked or expired: nothing more can be shown here.
            Unclear: the request may have arrived; repeat only if its cost says it repeats safely.
            DeliveryError: it did not arrive; it may be tried again.
        """
        ...

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        """Post a file after the text. Raises as `show`, and `TooLong` in bytes."""
        ...

    async def remove(self, at: MessageRef) -> None:
        """Take one message of ours back; one that is gone already is not an error."""
        ...

    async def typing(self, words: str) -> None:
        """Show once that an answer is being made. It is only a sign: whatever else goes wrong is nobody's error.

        Args:
            words: what the sign says after the bot's name, where the platform has words there; empty: take the sign
                away, where it stays.

        Raises:
            RateLimited: nothing can be shown here for so long, no page either.
        """
        ...

    def receipt_cost(self, waits: bool) -> CallCost | None:
        """What the next `receipt` draws on; None where the platform has no such sign."""
        ...

    async def receipt(self, message_id: str, waits: bool) -> None:
        """Put a sign on a person's message that it waits, or take it away; what is done already is no error.

        Raises:
            RateLimited: try again after `retry_after` seconds.
            DeliveryError: it cannot be shown.
        """
        ...

    async def find(self, nonce: str) -> MessageRef | None:
        """Look up the message that an unclear `show` may have made; None where none is found or none can be known.

        Raises:
            DeliveryError: it cannot be looked up now.
        """
        ...


def post_cost(surface: Surface) -> CallCost:
    """Return what posting a whole page draws on, whatever the page says."""
    return surface.cost(surface.draw(Page("x", final=True)), None)


class Earlier(Protocol):
    """What people wrote before a question, in its thread or the messages it replies to, ready to be looked up."""

    @property
    def cost(self) -> CallCost:
        """What looking up one page draws on."""
        ...

    async def page(self, since: float, cursor: str) -> tuple[Sequence[Quoted], str]:
        """One page of what is not in the history yet, in any order, and the cursor of the next one; empty when this is
        the last.

        Args:
            since: when the last question of the chat was written, in seconds since the epoch; 0: there was none.

        Raises:
            DeliveryError: it cannot be looked up; the adapter has told the operator what it lacks.
        """
        ...


class Adapter(Protocol):
    """One platform. Entering logs in (identity, HTTP client), leaving closes."""

    @property
    def platform(self) -> str: ...

    @property
    def listening(self) -> bool:
        """It takes in what people write at this moment."""
        ...

    @property
    def entrance(self) -> Entrance | None:
        """Where what the platform posts to the public address comes in; None where it posts nothing, or not now."""
        ...

    @property
    def conflicts(self) -> int:
        """Signs in the last ten minutes that another program receives with the same token; the adapter logs them."""
        ...

    async def __aenter__(self) -> Adapter: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def listen(self, deliver: Deliver) -> None:
        """Take in what people write until cancelled; surfaces go on working meanwhile and after.

        Raises:
            SettingsError: the platform refuses the token or what the bot needs of it.
            Unreachable: the platform cannot be reached now; the caller waits and listens again, as after anything else
                that is raised here.
        """
        ...

    def surface(self, target: ReplyTarget) -> Surface:
        """Open a place to write to, from stored data alone: works from entering to leaving, at any later time."""
        ...

    async def fetch(self, source: str, into: BinaryIO, most: int) -> Enclosure | None:
        """Write a file that came with a message, named by its `Enclosure.source`, into `into`; return what it is, where
        the platform tells only now.

        Raises:
            FileWithheld: it cannot be had, for a reason that its person can do something about.
            TooLong: it has more than `most` bytes.
            DeliveryError: it cannot be had: it is gone, or the bot may not read it, or nobody answers.
        """
        ...

    def earlier(self, message: MessageSent) -> Earlier | None:
        """What stands before `message` where it was written; None where nothing does, or the platform cannot tell."""
        ...


@runtime_checkable
class Sharded(Protocol):
    """An adapter that keeps several connections, each for a part of its chats."""

    @property
    def shards(self) -> Mapping[str, str]:
        """Shard → `listening`, `connecting` or `unreachable: …`; empty while it does not listen."""
        ...


@runtime_checkable
class Sole(Protocol):
    """An adapter whose platform lets one program at a time receive with the same account."""

    @property
    def account(self) -> str:
        """The account, once it is logged in; empty where any number of programs may receive, as by web."""
        ...

    def take_over(self) -> None:
        """Receive in place of another process of ours, whose connection the platform may know for a while."""
        ...


@runtime_checkable
class Identified(Protocol):
    """An adapter whose token does not tell which bot it is."""

    @property
    def identity(self) -> str:
        """Which bot it is, once it is logged in: the same for a renewed token."""
        ...


@runtime_checkable
class Resuming(Protocol):
    """An adapter whose platform keeps what it could not deliver for the session of a connection alone."""

    @property
    def session(self) -> str:
        """What another process needs to receive what this one did not; empty where there is nothing."""
        ...

    former: str
    """Set before the adapter listens: `session` of the process that listened before; what came since is received."""


@runtime_checkable
class Companion(Protocol):
    """An adapter whose platform shares what people write among several connections."""

    shared: bool
    """Set before the adapter is entered where other processes of ours run: their connections are no rivals."""


@runtime_checkable
class Suggesting(Protocol):
    """An adapter whose platform asks for suggestions while somebody writes a command."""

    suggest: Suggest | None
    """Set before the adapter listens; None: nothing is suggested."""
