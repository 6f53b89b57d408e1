"""The end of a slow answer as a fresh message: an edit does not mark a channel as unread.

The last page is posted again, and its former message deleted. That message is first recorded as a page with a number
that the text never reaches, so whichever process completes the reply posts one fresh message and leaves none behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bot.contract import Clock
from bot.reply.pages import Delivery
from bot.reply.pageset import FORMER, PageSet
from bot.store import PageState

NEVER: Final = 0.0


@dataclass(frozen=True, slots=True)
class Fresh:
    """When an answer ends in a fresh message."""

    after: float = NEVER
    """Seconds since its newest message was posted; 0: never."""
    since: float = 0.0
    """Monotonic start of that time for messages posted by earlier processes."""
    below: str = ""
    """The former message's new text if it cannot be deleted."""


class FreshEnd:
    """Decides about one reply, once."""

    def __init__(self, pages: PageSet, delivery: Delivery, clock: Clock, options: Fresh) -> None:
        self._pages = pages
        self._delivery = delivery
        self._clock = clock
        self._options = options
        self.possible = options.after > NEVER and not pages.former
        """False: it ends in its present message."""

    @property
    def page(self) -> int | None:
        """The last page, if the text is complete and it should be posted again."""
        pages = self._pages
        if not (self.possible and pages.finished):
            return None
        last = max(filter(pages.exists, pages.refs), default=None)
        if last is None or pages.exists(last + 1):
            return None
        shown = pages.now(last)
        at, body = shown.stands.posted or (self._options.since, None)
        long = self._clock.monotonic() - at >= self._options.after
        return last if long and shown.stands.passes_at is None and body != pages.page(last).body else None

    async def begin(self, number: int) -> None:
        """Post page `number` again from now on."""
        self.possible = False
        shown = self._pages.now(number)
        nonce = f"{shown.nonce}-former"
        await self._delivery.save_page(
            number + FORMER, body="", ref=shown.stands.ref, state=PageState.SHOWN, nonce=nonce
        )
        self._pages.begin_fresh(number)

    async def undo(self, number: int) -> bool:
        """Show page `number` in its former message; return False if there is none, or the fresh one is posted."""
        former = self._pages.now(number + FORMER).stands.ref if self._pages.former else None
        if former is None or self._pages.now(number).stands.ref is not None:
            return False
        self._pages.end_fresh(number)
        state, nonce = PageState.SHOWN, self._pages.now(number).nonce
        await self._delivery.save_page(number, body="", ref=former, state=state, nonce=nonce)
        await self._delivery.save_page(number + FORMER, body="", ref=None, state=PageState.GONE, nonce="")
        return True
