"""A reply's pages: as an earlier process left them, as the platform shows them, and where they are recorded."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from bot.contract import (
    QUICK,
    DeliveryError,
    Drawn,
    MessageGone,
    MessageRef,
    Page,
    Refused,
    Surface,
    Uneditable,
    Unrenderable,
    pause_after,
)
from bot.reply.attachments import FileDelivery
from bot.store import PageState

log = logging.getLogger(__name__)

GIVE_UP_AFTER = 300.0
"""Seconds for which the final text is tried before it goes out as a new message, once."""
CAREFUL_BACKOFF = (0.5, 1.0, 3.0, 10.0, 20.0, 30.0, 60.0, 120.0)
"""Seconds before a post whose outcome is unknown is made again: each may leave one more beginning on screen."""
_MOST_CUTS = 8


class Delivery(FileDelivery, Protocol):
    """Where a reply records what it shows, before and after: `store.turns` of one turn."""

    async def save_page(
        self, number: int, *, body: str, ref: MessageRef | None, state: PageState, nonce: str
    ) -> None: ...


class TextFilter(Protocol):
    """What text passes through before anybody may see it (secrets, links, control characters)."""

    def feed(self, text: str) -> str: ...

    def finish(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ShownBefore:
    """A page that an earlier process or a replaced turn showed, or was about to show."""

    ref: MessageRef | None
    state: PageState
    nonce: str = ""
    """What its post is recognised by; empty: what this reply would give it."""


@dataclass(slots=True)
class PageNow:
    """One page as the platform shows it now, and what went wrong with it."""

    name: str
    """What the log calls it."""
    nonce: str
    """What its post is recognised by."""
    ref: MessageRef | None = None
    page: Page | None = None
    drawn: Drawn | None = None
    """How `page` was drawn; None where the platform may show something else."""
    latest: tuple[Page, Drawn] | None = None
    """What was drawn last, shown or not."""
    state: PageState | None = None
    """None before its first post. A page an earlier process finished is shown once more before it is `FINAL` again."""
    plain: bool = False
    calm: bool = False
    """Nobody waits for it: it is not posted anew."""
    stuck: int = 0
    """How often its message was found to be gone, or not to be changed any more."""
    refusal: str = ""
    """In which words its last call was refused."""
    held: bool = False
    """Its post may or may not have arrived: nothing more until it is found, or until the end."""
    looked: bool = False
    """It was looked for since."""
    unclear: int = 0
    """How many of its posts may or may not have arrived."""
    posted: tuple[float, str] | None = None
    """When this process posted it, and what it showed then."""
    read: str | None = None
    """What its former message shows, where it is posted anew."""
    passes_at: float | None = None
    """Monotonic time at which what is shown of it, which is no message, has to be shown again; None: it stays."""
    unsettled: bool = False
    """An edit without an answer may still be made, after all that were answered."""
    tries: int = 0
    shrunk: int = 0
    since: float | None = None
    """When its final text was first tried."""
    renewed: bool = False
    """Its final text goes out as a new message."""

    def draw(self, page: Page, surface: Surface) -> Drawn:
        """Return how `surface` shows `page`, drawn once however often it is asked for.

        Raises:
            TooLong, Unrenderable: as `Surface.draw`.
        """
        if self.latest is None or self.latest[0] != page:
            self.latest = page, surface.draw(page)
        return self.latest[1]

    def restore(self, before: ShownBefore, calm: bool) -> None:
        """Go on from where an earlier process left it; `calm`: it was whole, and is not posted anew if it is gone."""
        self.nonce = before.nonce or self.nonce
        self.ref, self.state = before.ref, PageState.SHOWN if before.state == PageState.FINAL else before.state
        self.held = before.ref is None and before.state in (PageState.SENDING, PageState.UNCLEAR)
        self.unclear, self.calm = int(self.held), calm

    @property
    def waits_for_end(self) -> bool:
        """Nothing of it is shown before the text is whole."""
        return self.looked if self.held else self.calm or self.stuck > 0

    @property
    def done(self) -> bool:
        """Nothing more is to be done for it."""
        return self.state in (PageState.FINAL, PageState.DELETED, PageState.LOST)

    def renew(self) -> None:
        """Show its final text in a new message."""
        self.renew_as("new")
        self.renewed = True

    def renew_as(self, name: str) -> None:
        """Forget the message that shows it: it is posted anew."""
        self.read = self.page.body if self.page is not None else None
        self._forget_shown()
        self.state = None
        # By the former name a platform would give the former message back.
        self.nonce += f"-{name}"

    def held_back(self, error: DeliveryError) -> float:
        """Its post may have arrived and must not be repeated blindly: the seconds before anything else is tried."""
        log.warning("%s: the outcome of its post is unknown: %s", self.name, error)
        self.held, self.looked = True, False
        self._forget_shown()
        self.unclear += 1
        if self.unclear > len(CAREFUL_BACKOFF):
            self._lose(error)
        return pause_after(self.unclear, CAREFUL_BACKOFF)

    def failed(self, error: DeliveryError, now: float) -> float:
        """It did not arrive: the seconds before the next try; the final text is tried until it lands.

        Raises:
            DeliveryError: it was refused in the same words before; what passes would not be.
        """
        before, self.refusal = self.refusal, str(error) if isinstance(error, Refused) else ""
        if isinstance(error, Refused) and before == self.refusal:
            raise error.lasting from error
        self.tries += 1
        if self.overdue(now):
            if self.ref is None or self.renewed:
                self._lose(error)
                return 0.0
            self.renew()
        if self.tries == 1:
            log.warning("%s was not shown, trying again: %s", self.name, error)
        return pause_after(self.tries, QUICK)

    def overdue(self, at: float) -> bool:
        """By then its final text has been tried for long enough."""
        return self.since is not None and at - self.since > GIVE_UP_AFTER

    def vanished(self, error: MessageGone | Unrenderable) -> float:
        """It was deleted, stays as it is, or its notation was refused: the seconds before what is shown next."""
        match error:
            case MessageGone() if self.page is not None and not (self.calm or isinstance(error, Uneditable)):
                self.state = PageState.DELETED
            case MessageGone():
                self.stuck += 1
                self._forget_shown()
                if self.calm or self.stuck > 1:
                    self.state = PageState.LOST
            case Unrenderable() if not self.plain:
                log.error("%s: our notation was refused, it goes out plain: %s", self.name, error)
                self.plain = True
            case _:
                log.error("%s was refused even as plain text: %s", self.name, error)
                self.state = PageState.LOST
        return QUICK[0] if self.refusal else 0.0

    def too_long(self, shrunk: bool) -> float:
        """It was too long, and its text could be `shrunk`, or not: the seconds before the next try."""
        self.shrunk += 1
        if self.shrunk > _MOST_CUTS:
            log.error("%s is still too long after %d cuts", self.name, self.shrunk)
        if self.shrunk > _MOST_CUTS or not shrunk:
            self.plain = True
        return QUICK[0] if self.shrunk > _MOST_CUTS else 0.0

    def _forget_shown(self) -> None:
        self.ref, self.page, self.drawn, self.passes_at, self.unsettled = None, None, None, None, False

    def _lose(self, error: DeliveryError) -> None:
        log.error("%s could not be delivered: %s", self.name, error)
        self.state = PageState.LOST
