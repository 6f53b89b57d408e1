"""A reply's pages: their state from an earlier process, on the platform, and in the record."""

from __future__ import annotations

import enum
import logging
from dataclasses import dataclass, field
from typing import Final, Protocol

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
"""Seconds for which the final text is tried before it is sent once as a new message."""
CAREFUL_BACKOFF = (0.5, 1.0, 3.0, 10.0, 20.0, 30.0, 60.0, 120.0)
"""Seconds before a post of unknown outcome is repeated: each repetition may leave one more beginning on screen."""
_MOST_CUTS = 8


class Delivery(FileDelivery, Protocol):
    """Where a reply records what it shows, before and after: `store.turns` of one turn."""

    async def save_page(
        self, number: int, *, body: str, ref: MessageRef | None, state: PageState, nonce: str
    ) -> None: ...


class TextFilter(Protocol):
    """The filter for text before anybody sees it (secrets, links, control characters)."""

    def feed(self, text: str) -> str: ...

    def finish(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ShownBefore:
    """A page that an earlier process or a replaced turn showed, or was about to show."""

    ref: MessageRef | None
    state: PageState
    nonce: str = ""
    """Identifies its post; empty: the one that this reply would give it."""


class Stage(enum.Enum):
    """How far a page has come on the platform."""

    UNPOSTED = "unposted"
    """No message shows it. While its post is in flight only its record says more."""
    UNCLEAR = "unclear"
    """Its post may or may not have arrived: it is looked for."""
    LOOKED = "looked"
    """It was looked for and not found: nothing more until the end."""
    SHOWN = "shown"
    GONE = "gone"
    """Its message is gone, or fixed: it is posted again when the text is complete."""
    DELETED = "deleted"
    """Somebody deleted it while the reply was written."""
    LOST = "lost"
    """Nothing more of it is shown."""
    FINAL = "final"
    """Shown for good. A page that an earlier process finished is shown once more before that."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A page's message, and its present content."""

    ref: MessageRef | None = None
    page: Page | None = None
    """None if an earlier process showed it."""
    drawn: Drawn | None = None
    """The drawing of `page`; None if the platform may show something else."""
    posted: tuple[float, str] | None = None
    """When this process posted it, and with which text."""
    passes_at: float | None = None
    """Monotonic time at which something shown that is not a message must be shown again; None: it stays."""
    unsettled: bool = False
    """An unanswered edit may still be made, after all answered ones."""


NOTHING: Final = Standing()


@dataclass(slots=True)
class Tries:
    """The tries to show a page, and their results."""

    failed: int = 0
    """Consecutive calls that did not arrive."""
    refusal: str = ""
    """The words of the last refusal."""
    since: float | None = None
    """When its final text was first tried."""
    cuts: int = 0
    """How often it was too long."""
    unclear: int = 0
    """How many of its posts may or may not have arrived."""
    gone: bool = False
    """Its message was found to be gone or fixed."""
    renewed: bool = False
    """Its final text goes into a new message."""


@dataclass(slots=True)
class PageNow:
    """One page in its present state on the platform."""

    name: str
    """Its name in the log."""
    nonce: str
    """Identifies its post."""
    stage: Stage = Stage.UNPOSTED
    stands: Standing = NOTHING
    tries: Tries = field(default_factory=Tries)
    latest: tuple[Page, Drawn] | None = None
    """The last drawing, shown or not."""
    read: str | None = None
    """The text of its former message, if it is posted again."""
    plain: bool = False
    grows: bool = False
    """Its message accepts more text at its end, but no edits."""
    calm: bool = False
    """It is not posted again if it disappears."""

    def become(self, stage: Stage, stands: Standing = NOTHING) -> None:
        """Move to a stage: the only place that changes it. The message is kept if the platform may still show it."""
        match stage:
            case Stage.DELETED | Stage.LOST:
                self.stage = stage
            case Stage.GONE:
                # What nobody waits for is not posted again, so nothing appears twice.
                self.stage, self.stands = Stage.LOST if self.calm or self.tries.gone else stage, NOTHING
                self.tries.gone = True
            case _:
                self.stage, self.stands = stage, stands

    def draw(self, page: Page, surface: Surface) -> Drawn:
        """Return the drawing of `page` for `surface`, drawn once however often it is requested.

        Raises:
            TooLong, Unrenderable: as in `Surface.draw`.
        """
        if self.latest is None or self.latest[0] != page:
            self.latest = page, surface.draw(page)
        return self.latest[1]

    def restore(self, before: ShownBefore, calm: bool) -> None:
        """Continue from the state left by an earlier process; `calm`: it was complete, and is not posted again if it is
        gone."""
        self.nonce, self.calm = before.nonce or self.nonce, calm
        self.become(Stage.UNPOSTED if before.ref is None else Stage.SHOWN, Standing(before.ref))
        match before.state:
            case PageState.DELETED | PageState.LOST:
                self.become(Stage(before.state))
            case PageState.SENDING | PageState.UNCLEAR if before.ref is None:
                self.become(Stage.UNCLEAR)
                self.tries.unclear = 1

    @property
    def held(self) -> bool:
        """Its post may or may not have arrived."""
        return self.stage in (Stage.UNCLEAR, Stage.LOOKED)

    @property
    def waits_for_end(self) -> bool:
        """Nothing of it is shown before the text is complete."""
        return self.stage is Stage.LOOKED or (self.stage is not Stage.UNCLEAR and (self.calm or self.tries.gone))

    @property
    def done(self) -> bool:
        """Nothing more needs to be done for it."""
        return self.stage in (Stage.FINAL, Stage.DELETED, Stage.LOST)

    def renew(self) -> None:
        """Show its final text in a new message."""
        self.renew_as("new")
        self.tries.renewed = True

    def renew_as(self, name: str) -> None:
        """Forget its message: it is posted again."""
        self.read = self.stands.page.body if self.stands.page is not None else None
        self.become(Stage.UNPOSTED)
        # Under the former name a platform would return the former message.
        self.nonce += f"-{name}"

    def held_back(self, error: DeliveryError) -> float:
        """Its post may have arrived and must not be repeated blindly; return the seconds before anything else is
        tried."""
        log.warning("%s: the outcome of its post is unknown: %s", self.name, error)
        self.become(Stage.UNCLEAR)
        self.tries.unclear += 1
        if self.tries.unclear > len(CAREFUL_BACKOFF):
            self._lose(error)
        return pause_after(self.tries.unclear, CAREFUL_BACKOFF)

    def failed(self, error: DeliveryError, now: float) -> float:
        """It did not arrive; return the seconds before the next try; the final text is tried until it lands.

        Raises:
            DeliveryError: it was refused in the same words before; a passing reason would have changed.
        """
        tries = self.tries
        before, tries.refusal = tries.refusal, str(error) if isinstance(error, Refused) else ""
        if isinstance(error, Refused) and before == tries.refusal:
            raise error.lasting from error
        tries.failed += 1
        if self.overdue(now):
            if self.stands.ref is None or tries.renewed:
                self._lose(error)
                return 0.0
            self.renew()
        if tries.failed == 1:
            log.warning("%s was not shown, trying again: %s", self.name, error)
        return pause_after(tries.failed, QUICK)

    def overdue(self, at: float) -> bool:
        """By then its final text has been tried for long enough."""
        return self.tries.since is not None and at - self.tries.since > GIVE_UP_AFTER

    def vanished(self, error: MessageGone | Unrenderable) -> float:
        """It was deleted or is fixed, or its notation was refused; return the seconds before the next call."""
        match error:
            case MessageGone() if self.stands.page is not None and not (self.calm or isinstance(error, Uneditable)):
                self.become(Stage.DELETED)
            case MessageGone():
                self.become(Stage.GONE)
            case Unrenderable() if not self.plain:
                log.error("%s: the platform refused our markup; it is sent as plain text: %s", self.name, error)
                self.plain = True
            case _:
                log.error("%s was refused even as plain text: %s", self.name, error)
                self.become(Stage.LOST)
        return QUICK[0] if self.tries.refusal else 0.0

    def too_long(self, shrunk: bool) -> float:
        """It was too long, and its text could be `shrunk`, or not; return the seconds before the next try."""
        self.tries.cuts += 1
        if self.tries.cuts > _MOST_CUTS:
            log.error("%s is still too long after %d cuts", self.name, self.tries.cuts)
        if self.tries.cuts > _MOST_CUTS or not shrunk:
            self.plain = True
        return QUICK[0] if self.tries.cuts > _MOST_CUTS else 0.0

    def _lose(self, error: DeliveryError) -> None:
        log.error("%s could not be delivered: %s", self.name, error)
        self.become(Stage.LOST)
