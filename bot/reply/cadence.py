"""When a reply requests its next call: as soon as its reader needs it."""

from __future__ import annotations

import asyncio
from typing import Final

from bot.contract import NEXT, CallCost, Clock, MessageRef, Pace, Page, Surface
from bot.pacing import Grant, Pacer, Purpose, seconds_to_read
from bot.reply.pages import PageNow
from bot.reply.pageset import PageSet

PIECE: Final = 10.0
"""The least reading time, in seconds, of a further message of an answer in several: short ones distract."""


class Cadence:
    """Requests the calls of one reply from the pacer, from `begin` to `end`."""

    def __init__(
        self, surface: Surface, pacer: Pacer, clock: Clock, pages: PageSet, *, preamble: str, calm: bool
    ) -> None:
        """
        Args:
            preamble: text before the reply that its reader already knows.
            calm: nobody waits for it.
        """
        self.sample = surface.draw(Page("x"))
        """Represents a page that grows until its call is granted."""
        self._surface = surface
        self._posts = surface.cost(self.sample, None).budgets
        edits = surface.cost(self.sample, MessageRef("", NEXT)).budgets
        self._budgets = tuple({budget.scope: budget for budget in (*self._posts, *edits)}.values())
        self._may_be_in_pieces = pages.limits.pieces
        self._pace = pages.limits.pace
        self._pacer = pacer
        self._clock = clock
        self._pages = pages
        self._preamble = preamble
        self._calm = calm
        self._grant: Grant | None = None
        self._number = 0  # the page it is for
        self._needed = True  # as soon as there is room
        self._only_begins = False  # it is a post that must not contain the whole text
        self.visible = asyncio.Event()
        """Set once something of it is visible."""

    def begin(self) -> None:
        """Join the shared budgets; part of this reply may already be visible."""
        resumed = self._pages.visible and not self._calm
        self.reader = self._pacer.enter(self._budgets, self._pace, calm=self._calm, resumed=resumed)
        if self._pages.visible:
            self._pacer.seen(self.reader, "")
            self.visible.set()

    def slow_down(self, pace: Pace) -> None:
        """Before `begin`: nobody reads along, so more is shown at this pace, and always by edits."""
        self._pace, self._may_be_in_pieces = pace, False

    def end(self) -> None:
        """Leave the shared budgets."""
        self._pacer.leave(self.reader)

    def may_begin(self, number: int) -> bool:
        """Page `number`, not visible yet, may be shown before the text is complete."""
        if self.reader.waits_since is None and not self._pages.status:
            return False
        if not self.reader.in_pieces:
            if self._pages.visible or self._pacer.admits(self.reader):
                return True
            if not self._may_be_in_pieces:
                return False
            # No edit will be left for its end: the text shown now stays for good, and further messages follow.
            self._pacer.show_in_pieces(self.reader, self._posts)
        sentences = self._pages.sentences(number)
        return bool(sentences) and (not number or seconds_to_read(sentences) >= PIECE)

    def cost(self, number: int, shown: PageNow) -> CallCost:
        """Return the cost of showing page `number`: nothing if its end already looks as it should.

        Raises:
            TooLong, Unrenderable: as in `Surface.draw`.
        """
        page = self._pages.page(number)
        if not page.final:  # it is drawn when its call is granted; drawn now, it would be drawn twice
            return self._surface.cost(self.sample, shown.stands.ref)
        drawn = shown.draw(page, self._surface)
        return CallCost() if drawn == shown.stands.drawn else self._surface.cost(drawn, shown.stands.ref)

    def costs_otherwise(self, number: int, shown: PageNow, granted: CallCost) -> bool:
        """The needed call has changed: from none to one, or between something that disappears and something that
        stays."""
        if granted.budgets and not self._surface.limits.passing_seconds and not granted.passes:
            return False
        cost = self.cost(number, shown)
        return cost.passes != granted.passes or (not granted.budgets and bool(cost.budgets))

    def ask(self, number: int, cost: CallCost, *, only_begins: bool) -> Grant:
        """Request the next call, which shows page `number`; `granted` reports whether it may go.

        Args:
            only_begins: show only its beginning, even if the text is complete by then.
        """
        self._number, self._only_begins = number, only_begins
        self._needed = self._is_needed()
        begins_page = self._pages.visible and not self.reader.in_pieces and number not in self._pages.refs
        self._grant = self._pacer.ask(cost, self._purpose, self.reader, at_once=self._needed, begins_page=begins_page)
        return self._grant

    def granted(self) -> None:
        """The request has been answered or withdrawn."""
        self._grant = None

    def grow(self, *, words: bool) -> None:
        """The text has grown, by words or by a tool's status: the requested call may be needed now."""
        now = self._clock.monotonic()
        if words:
            self.reader.wait(now)
            self.reader.words_since = now if self.reader.words_since is None else self.reader.words_since
        waiting = self._grant is not None and not self._needed and now < self._grant.needed_at
        if waiting and self._is_needed():
            self._want_now()

    def finish(self) -> None:
        """The text is complete."""
        if not self._only_begins:
            self._want_now()

    def seen(self, number: int, body: str, before: str | None) -> None:
        """Page `number` shows `body`, after what it showed `before`."""
        self.visible.set()
        known = before if before is not None else self._preamble if not number else ""
        new = body[len(known) :] if body.startswith(known) else body
        self._pacer.seen(self.reader, "" if known.startswith(body) else new)

    def _want_now(self) -> None:
        self._needed = True
        if self._grant is not None:
            self._pacer.change(self._grant, self._purpose, self.reader)

    @property
    def _purpose(self) -> Purpose:
        if self._calm:
            return Purpose.AGAIN
        if self._pages.finished and not self._only_begins:
            return Purpose.FINAL
        return Purpose.PROGRESS if self._pages.visible else Purpose.FIRST

    def _is_needed(self) -> bool:
        """The call is wanted as soon as possible: a full page, or first words that last until the next call."""
        pages, visible = self._pages, self._pages.visible
        if pages.finished or (pages.status and not visible and not self.reader.in_pieces):
            return True
        if visible:
            return pages.exists(self._number + 1)
        words = (pages.beginning(0) if self._only_begins else pages.page(0)).body
        return self._pacer.lasts(
            self.reader, pages.sentences(0) if self.reader.in_pieces else words.removeprefix(self._preamble)
        )
