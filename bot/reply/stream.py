"""The reply while it is written: the newest text, and one writer that shows it.

Text is never queued. The writer requests a call from the pacer, and when it is granted shows the newest text by then; a
skipped edit loses nothing. It knows no model: text, statuses and the end come from a turn.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial

from bot.contract import (
    Button,
    CallCost,
    Clock,
    Closed,
    DeliveryError,
    File,
    MessageGone,
    MessageRef,
    RateLimited,
    Surface,
    TooLong,
    Unclear,
    Unreachable,
    Unrenderable,
    post_cost,
    time_limit,
)
from bot.pacing import Grant, Pacer
from bot.reply.attachments import Attachments
from bot.reply.buttons import ReplyButtons
from bot.reply.cadence import Cadence
from bot.reply.closing import DELETED, end_with, lose, note_unreachable, take_left_over
from bot.reply.course import Course
from bot.reply.filtering import FilterChain
from bot.reply.finding import look_up
from bot.reply.fresh import Fresh, FreshEnd
from bot.reply.pages import Delivery, PageNow, ShownBefore, Stage, Standing, TextFilter
from bot.reply.pageset import PageSet, is_blank
from bot.reply.typingsign import THINKING, TypingSign
from bot.store import PageState
from tools.contract.base import ToolStatus
from tools.programs.cancelling import Contained, while_running

log = logging.getLogger(__name__)
_STANDS_STILL = 1.0
"""Seconds without more text after which its last word counts as complete."""


class ReplyStream:
    """One reply: `append` the model's text, `finish` when it is complete; entering starts the writer.

    Leaving waits until the last edit has landed, or never can.
    """

    course: Course | None = None

    def __init__(
        self,
        surface: Surface,
        pacer: Pacer,
        delivery: Delivery,
        clock: Clock,
        *,
        turn: str,
        filters: Callable[[], tuple[TextFilter, ...]] = tuple,
        preamble: str = "",
        cuts: Sequence[int] = (),
        shown: Mapping[int, ShownBefore] | None = None,
        attached: Mapping[int, ShownBefore] | None = None,
        careful: bool = True,
        delayed: Callable[[float], str] | None = None,
        thinking: str = THINKING,
        calm: bool = False,
        buttons: ReplyButtons | None = None,
        fresh: Fresh | None = None,
    ) -> None:
        """
        Args:
            turn: names the reply for good; the nonces of its messages derive from it.
            preamble: Markdown before the text on the first page (a quoted question).
            cuts: the ends of the pages as an earlier process cut them.
            shown, attached: what earlier processes showed of it, pages and files by number.
            careful: never post a whole text in a call that cannot be repeated safely: post its beginning, and complete
                it by an edit, so that a crash in between cannot leave a second final answer.
            delayed: the sentence for a rest that can be shown only after so many seconds.
            thinking: the typing sign's text before the first words.
            calm: nobody waits for it, since it was complete: its calls leave room for awaited replies, and pages
                deleted meanwhile stay deleted.
            buttons: its buttons until `offer` names others.
            fresh: when it ends in a fresh message; None: never.
        """
        self.surface = self._surface = surface
        self._pacer = pacer
        self._delivery = delivery
        self._clock = clock
        self._turn = turn
        self._filters = FilterChain(filters)
        self._careful = careful
        self._delayed = delayed
        self._sign = TypingSign(surface=surface, pacer=pacer, clock=clock, words=thinking, stands=bool(shown))
        self._pages = PageSet(turn, surface.limits, preamble, cuts)
        self._pages.restore(shown or {}, calm)
        self._pages.buttons = buttons or ReplyButtons()
        self._fresh = FreshEnd(self._pages, delivery, clock, (fresh if self._pages.limits.unread else None) or Fresh())
        self._below = fresh.below if fresh is not None else ""
        self.cadence = Cadence(surface, pacer, clock, self._pages, preamble=preamble, calm=calm)
        self._text: list[str] = []
        begun = {number: file.ref for number, file in (attached or {}).items() if file.state != PageState.GONE}
        self._attachments = Attachments(surface, pacer, delivery, clock, turn=turn, begun=begun)
        self.lost = ""  # why nothing more can be shown; empty while it can
        self.edits = self.refusals = 0  # calls that the platform accepted, and those it refused as too many
        self._closed = False  # the platform accepts nothing for so long that progress does not wait for it
        self._owed: Closed | None = None
        self._calling = asyncio.Lock()  # held while a call may change messages
        self._wanted = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ReplyStream:
        self.cadence.begin()
        self._writer = asyncio.create_task(self._write(), name=f"reply {self._turn}")
        self._sign.begin(lambda: not self.visible and not self.lost, f"typing {self._turn}")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self._writer is not None
        try:
            if kind is None:
                await self.finish()
        finally:
            self._writer.cancel()
            await asyncio.gather(self._writer, self._sign.close(), return_exceptions=True)
            # Cancelled tasks keep their frames, which keep this object: breaking the circle frees all at once.
            self._writer = None
            self.cadence.end()

    @property
    def text(self) -> str:
        """All visible text of the reply, without the preamble."""
        return "".join(self._text)

    @property
    def visible(self) -> bool:
        """A person sees part of it."""
        return self._pages.visible

    @property
    def owed(self) -> float | None:
        """Monotonic time at which its missing part may be shown; None: nothing is missing."""
        return self._owed.until if self._owed is not None else None

    @property
    def unsettled(self) -> bool:
        """An unanswered edit may still be made, and replace the present text by an older one."""
        return self._pages.unsettled

    @property
    def cuts(self) -> Sequence[int]:
        """The ends of its pages in the preamble and the text, except for the last."""
        return self._pages.cuts

    @property
    def undelivered(self) -> list[tuple[File, str]]:
        """Files that the platform refused, each with the reason: a key of `bot.sentences`."""
        return self._attachments.undelivered

    @property
    def refs(self) -> dict[int, MessageRef]:
        """The message of each page."""
        return self._pages.refs

    def append(self, text: str) -> None:
        """Add text at the end."""
        self._take(self._filters.feed(text))

    def rewrite(self, text: str) -> None:
        """Replace the whole text by `text`: the next edits show it."""
        self._filters.renew()
        self._text.clear()
        self._pages.rewrite()
        self.append(text)
        self._want(words=True)

    def status(self, key: str, line: str | None) -> None:
        """Show a line about what a tool does, or with None remove it."""
        if line is None:
            self._pages.status.pop(key, None)
        else:
            self._pages.begin_task(key, line)
        self._want()

    def ended(self, key: str, state: ToolStatus) -> None:
        """Show how a tool ended, if its line is a card that stays."""
        self._pages.end_task(key, state)
        self._want()

    def clear_status(self) -> None:
        """The answer arrives: remove the tools' statuses."""
        if self._pages.status:
            self._pages.status.clear()
            self._want()

    def offer(self, buttons: tuple[Button, ...]) -> None:
        """Set the buttons of a reply that is about to end; they come with the next call that its text needs."""
        self._pages.buttons = ReplyButtons(buttons)

    def attach(self, file: File) -> None:
        """Post a file after the text, in any case as a new message."""
        self._attachments.add(file)
        self.end_in_place()

    def end_in_place(self) -> None:
        """End it in its present message, however long it took: its person is watching, or something new comes below."""
        self._fresh.possible = False

    async def finish(self) -> None:
        """The text is complete: show it for good, and return when it is shown (or never can be)."""
        if not self._pages.finished:
            self._take(self._filters.finish())
            self._pages.finish()
            self._sign.stop()
            self._want()
            self.cadence.finish()
        assert self._writer is not None
        await asyncio.shield(self._writer)

    async def leave(self) -> None:
        """Show nothing more, and leave the messages to another reply; return when no call of this one is in flight."""
        assert self._writer is not None
        async with self._calling:
            self._writer.cancel()

    def followed(self) -> AbstractAsyncContextManager[None]:
        """Leave the block, wherever it waits, once nothing more can be shown; the producer of the reply runs inside.

        The reason is in `lost`, or raised by `finish`.
        """
        assert self._writer is not None
        return while_running(self._writer)

    def _take(self, text: str) -> None:
        if text:
            self._text.append(text)
            self._pages.extend(text)
            self._want(words=True)

    def _want(self, *, words: bool = False) -> None:
        self._wanted.set()
        self.cadence.grow(words=words)

    def _next(self) -> int | None:
        """Return the page to show next; None if there is nothing to show."""
        if self._closed and not self._pages.finished:
            return None
        number = self._pages.next()
        waits = number is not None and self._pages.begins(number) and not self.cadence.may_begin(number)
        return None if waits else number

    async def _write(self) -> None:
        """The one writer of this reply."""
        try:
            if self._pages.deleted:
                raise Unreachable(DELETED)
            with Contained():
                await self._show_all()
        except Unreachable as error:
            self.lost = note_unreachable(error, self._turn, self._pacer.metrics, self.cadence.reader.budgets)
        except Closed as error:
            self._owed = error
            log.info("turn %s: the reply cannot be completed yet: %s", self._turn, error)
            if self._delayed is not None:
                await self._end_with(self._delayed(error.until - self._clock.monotonic()))
        except Exception:
            # Its turn fails; remove the statuses that say somebody is working.
            await self._end_with("")
            raise

    async def _show_all(self) -> None:
        """Show the newest state whenever it changes, until all of it is shown."""
        while True:
            if self._pages.rewritten:
                async with self._calling:
                    await take_left_over(self._pages, self._surface, self._pacer, self._clock, self._delivery)
            if (stale := self._fresh.page) is not None:
                async with self._calling:
                    await self._fresh.begin(stale)
            if (number := self._next()) is not None:
                await self._step(number)
            elif self._pages.finished:
                async with self._calling:
                    where = self._surface, self._pacer, self._clock, self._delivery
                    await take_left_over(self._pages, *where, self._below)
                    await self._attachments.post(max(self.refs.items(), default=(0, None))[1])
                return
            else:
                self._wanted.clear()
                await self._wait()

    async def _wait(self) -> None:
        """Wait for a change: also for a pause that completes the last word, and for something that disappears."""
        at, page = self._pages.passing or (math.inf, None)
        passes, still = at - self._clock.monotonic(), math.inf
        if self._text and not self._pages.stands_still:
            still = _STANDS_STILL
        if math.isinf(seconds := min(passes, still)):
            await self._wanted.wait()
            return
        try:
            async with time_limit(self._clock, max(0.0, seconds)):
                await self._wanted.wait()
        except TimeoutError:
            if passes <= still:
                self._pages.fading = page
            else:
                self._pages.stands_still = True

    async def _step(self, number: int) -> None:
        """Make one call, and handle its failure."""
        shown, again = self._pages.now(number), 0.0
        try:
            again = await self._attempt(number, shown)
        except Closed as error:
            await self._other_way(number, error)
        except TooLong as error:
            again = self._pages.shorten(number, error)
        except Unreachable:
            if not await self._fresh.undo(number):
                raise
        except (MessageGone, Unrenderable) as error:
            again = await lose(self._delivery, number, shown, error, visible=self.visible)
        if shown.stage is Stage.LOST:
            await self._delivery.save_page(number, body="", ref=shown.stands.ref, state=PageState.LOST, nonce="")
        if again:
            await self._clock.sleep(again)

    async def _attempt(self, number: int, shown: PageNow) -> float:
        """Request a call, then show page `number` as it is by then; return the seconds to wait before anything else."""
        cost = self.cadence.cost(number, shown)
        if shown.held:
            return await look_up(self._surface, self._delivery, number, shown, cost, ended=self._pages.finished)
        grant = self.cadence.ask(number, cost, only_begins=not self.visible and self._begins_only(cost))
        try:
            await grant.call(partial(self._call, number, shown, cost, grant))
        except RateLimited as error:
            self.refusals += 1
            log.info("turn %s: refused for %.1f s", self._turn, error.retry_after)
            if shown.overdue(until := self._clock.monotonic() + error.retry_after):
                raise Closed(f"page {number} was refused for too long", until=until) from error
        except (Closed, TooLong, MessageGone, Unrenderable, Unreachable):
            raise
        except Unclear as error:
            return await self._unclear(number, shown, error, cost)
        except DeliveryError as error:
            return shown.failed(error, self._clock.monotonic())
        finally:
            self.cadence.granted()
        return 0.0

    async def _call(self, number: int, shown: PageNow, cost: CallCost, grant: Grant) -> None:
        """Show page `number`, now that its call is granted."""
        self.cadence.granted()
        # Text came since then: the page may be gone or blank, or need another call.
        gone = not self._pages.exists(number) or is_blank(self._pages.page(number))
        if gone or self._fresh.page is not None or self.cadence.costs_otherwise(number, shown, cost):
            grant.made = False
            return
        if self.cadence.reader.in_pieces and not self._pages.finished:
            self._pages.begin_piece(number, grows=self._surface.limits.grows)
        async with self._calling:
            grant.made = await self._show(number, shown, cost)

    async def _unclear(self, number: int, shown: PageNow, error: Unclear, cost: CallCost) -> float:
        """A call may have arrived: an edit is repeated, a blind post is not."""
        if cost.repeats_safely:
            shown.stands = replace(shown.stands, drawn=None, unsettled=True)
            return shown.failed(error, self._clock.monotonic())
        again = shown.held_back(error)
        await self._delivery.save_page(number, body="", ref=None, state=PageState.UNCLEAR, nonce=shown.nonce)
        return again

    def _begins_only(self, cost: CallCost) -> bool:
        """A post that could be mistaken for a second answer never contains the whole text."""
        return self._careful and not cost.repeats_safely and not cost.found_again

    async def _show(self, number: int, shown: PageNow, cost: CallCost) -> bool:
        """Show page `number` as it is now; return False if that needs no call."""
        page, stands, tries = self._pages.page(number), shown.stands, shown.tries
        at, passed = stands.ref, stands.passes_at is not None
        if tries.since is None and page.final:
            tries.since = self._clock.monotonic()
        posts = not cost.passes and (at is None or passed)
        if posts and self._begins_only(cost) and not tries.gone and not tries.renewed:
            # A message replaces something that disappears, though it is not complete yet.
            page = self._pages.beginning(number, final=self._surface.limits.passing_seconds > 0)
            drawn = self._surface.draw(page)  # beside what was drawn last, which is the whole one
        else:
            drawn = shown.draw(page, self._surface)
        nonce = shown.nonce
        if posts:
            await self._delivery.save_page(number, body=page.body, ref=None, state=PageState.SENDING, nonce=nonce)
        ref = at
        if made := at is None or posts or drawn != stands.drawn or number == self._pages.fading:
            ref = await self._surface.show(drawn, at, nonce)
            self.edits += 1
        self.cadence.seen(number, page.body, stands.page.body if stands.page is not None else shown.read)
        now, tries.failed, tries.refusal = self._clock.monotonic(), 0, ""
        posted = (now, page.body) if posts else stands.posted
        passes_at = now + self._surface.limits.passing_seconds if cost.passes else None
        self._pages.fading, whole = None, page.final and self._pages.finished
        state = PageState.FINAL if whole and page == self._pages.page(number) else PageState.SHOWN
        unsettled = stands.unsettled and not (posts and passed)
        shown.become(Stage(state), Standing(ref, page, drawn, posted, passes_at, unsettled))
        if not cost.passes and (ref != at or whole):
            await self._delivery.save_page(number, body=page.body, ref=ref, state=state, nonce=nonce)
        return made

    async def _other_way(self, number: int, error: Closed) -> None:
        """The wait is too long: send the end as a new message, if that is possible sooner.

        Raises:
            Closed: it is not.
        """
        shown = self._pages.now(number)
        if not self._pages.finished:
            self._closed = True
            return
        if await self._fresh.undo(number):
            return
        opens_at = self._pacer.opens_at(post_cost(self._surface))
        if shown.stands.ref is None or shown.tries.renewed or opens_at > self._clock.monotonic():
            raise error
        shown.renew()

    async def _end_with(self, words: str) -> None:
        await end_with(words, self._pages, self._surface, self._pacer, self._clock)
