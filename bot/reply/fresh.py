"""The end of an answer that took long, as a fresh message: an edit makes no channel unread.

The last page is posted anew, and the message that showed it is taken away. That message is recorded first, as a page of
a number that the text never reaches, so that whichever process completes the reply posts one fresh message and leaves
none behind.
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
    """When an answer ends as a fresh message."""

    after: float = NEVER
    """Seconds since its newest message was posted; 0: never."""
    since: float = 0.0
    """Monotonic time from which that is counted for what earlier processes posted."""
    below: str = ""
    """What the former message says where it cannot be taken away."""


class FreshEnd:
    """Decides about one reply, once."""

    def __init__(self, pages: PageSet, delivery: Delivery, clock: Clock, options: Fresh) -> None:
        self._pages = pages
        self._delivery = delivery
        self._clock = clock
        self._options = options
        self.possible = options.after > NEVER and not pages.former
        """False: it ends where it stands."""

    @property
    def page(self) -> int | None:
        """The last page, where the text is whole and it is to be posted anew."""
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
        """Post page `number` anew from now on."""
        self.possible = False
        shown = self._pages.now(number)
        nonce = f"{shown.nonce}-former"
        await self._delivery.save_page(
            number + FORMER, body="", ref=shown.stands.ref, state=PageState.SHOWN, nonce=nonce
        )
        self._pages.begin_fresh(number)

    async def undo(self, number: int) -> bool:
        """Show page `number` where it stood; False where no message stands there, or the fresh one is posted."""
        former = self._pages.now(number + FORMER).stands.ref if self._pages.former else None
        if former is None or self._pages.now(number).stands.ref is not None:
            return False
        self._pages.end_fresh(number)
        state, nonce = PageState.SHOWN, self._pages.now(number).nonce
        await self._delivery.save_page(number, body="", ref=former, state=state, nonce=nonce)
        await self._delivery.save_page(number + FORMER, body="", ref=None, state=PageState.GONE, nonce="")
        return True
