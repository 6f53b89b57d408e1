"""The reply while it is being written: the newest text, and one writer that shows it.

Text is never queued. The writer asks the pacer for a call, and when it is granted shows whatever is newest by
then; a skipped edit loses nothing. Knows no model: text, statuses and the end come in from `conversation.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from types import TracebackType

from bot.attachments import Attachments
from bot.clock import Clock
from bot.delivery import Delivery, PageNow, ShownBefore, TextFilter
from bot.errors import (
    DeliveryError,
    MessageGone,
    RateLimited,
    TooLong,
    Unclear,
    Unreachable,
    Unrenderable,
)
from bot.messages import File, MessageRef, Page, Status
from bot.pacing import Grant, Pacer, Priority
from bot.paging import PageText, Paginator, beginning, worth_showing
from bot.surface import Cost, Surface
from bot.typingsign import TypingSign

log = logging.getLogger(__name__)

INSIST_AFTER = 1.6
"""Seconds without new words after which progress may take the call that was kept for the end."""
PROGRESS_GAP = 0.35
"""Least seconds between two progress calls of one reply: more often nobody can read."""
GIVE_UP_AFTER = 300.0
"""Seconds for which the final text is tried before it goes out as a new message, once."""
_BACKOFF = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
_CAREFUL_BACKOFF = (0.5, 1.0, 3.0, 10.0, 20.0, 30.0, 60.0, 120.0)
"""Seconds before a post whose outcome is unknown is made again: each may leave one more beginning on screen."""
_LOOKS = 12
"""How often a post of unknown outcome is looked for, where that is possible, before it is made again all the same."""


_NOTHING = PageText("", 0, 0)


class ReplyStream:
    """One reply: `append` what the model writes, `finish` when it is whole; entering starts the writer.

    Leaving waits until the last edit has landed, or can never land.
    """

    def __init__(
        self,
        surface: Surface,
        pacer: Pacer,
        delivery: Delivery,
        clock: Clock,
        *,
        turn: str,
        filters: tuple[TextFilter, ...] = (),
        preamble: str = "",
        shown: Mapping[int, ShownBefore] | None = None,
        attached: Mapping[int, ShownBefore] | None = None,
        careful: bool = True,
    ) -> None:
        """
        Args:
            turn: names the reply for good; the nonces of its messages are made from it.
            preamble: Markdown that stands before the text on the first page (a quoted question).
            shown: what an earlier process showed of this reply, by page number.
            attached: what an earlier process posted of its files, by number.
            careful: never post a whole text in a call that cannot be repeated safely: post its beginning,
                and complete it by an edit, so that a crash in between cannot make a second final answer.
        """
        self._surface = surface
        self._pacer = pacer
        self._delivery = delivery
        self._clock = clock
        self._turn = turn
        self._filters = filters
        self._preamble = preamble
        self._careful = careful
        self._pages = Paginator(surface.limits.page_length, surface.limits.measure)
        self._shown: dict[int, PageNow] = {}
        for number, before in (shown or {}).items():
            state = self._shown[number] = PageNow(ref=before.ref, state=before.state)
            state.held = before.ref is None and before.state in ("sending", "unclear")
            state.unclear = int(state.held)
        if preamble:
            self._pages.extend(preamble)
        self._text: list[str] = []
        self._status: dict[str, str] = {}
        begun = {number: file for number, file in (attached or {}).items() if file.state != "gone"}
        posted = {number for number, file in begun.items() if file.ref is not None}
        unsure = begun.keys() - posted
        self._attachments = Attachments(surface, pacer, delivery, clock, turn=turn, posted=posted, unsure=unsure)
        self._finished = False
        self._dead = ""
        self.edits = 0  # posts and edits that the platform took
        self._wanted = asyncio.Event()
        self._stale_since: float | None = None
        self._next_progress = 0.0
        self._last_shown = float("inf")
        self._sign = TypingSign(surface, pacer, clock)
        self._grant: Grant | None = None
        self._only_begins = False
        """What is asked for now is a post that may not be the whole text."""
        self._writer: asyncio.Task[None] | None = None
        self._typing: asyncio.Task[None] | None = None
        probe = Page("x")
        self._budgets = tuple(
            {
                budget.scope: budget for at in (None, MessageRef("0")) for budget in surface.cost(probe, at).budgets
            }.values()
        )

    async def __aenter__(self) -> ReplyStream:
        self._presence = self._pacer.enter(self._budgets)
        if self.visible:
            self._pacer.seen(self._presence)
        self._writer = asyncio.create_task(self._write(), name=f"reply {self._turn}")
        if self._surface.limits.typing_seconds and not self.visible:
            typing = self._sign.keep(lambda: not self.visible and not self._dead)
            self._typing = asyncio.create_task(typing, name=f"typing {self._turn}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._writer is not None
        try:
            if kind is None:
                await self.finish()
        finally:
            tasks = [task for task in (self._writer, self._typing) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            # Cancelled tasks keep their frames, which keep this object: without the circle all are freed at once.
            self._writer = self._typing = None
            self._pacer.leave(self._presence)

    @property
    def text(self) -> str:
        """Everything visible of the reply, without the preamble."""
        return "".join(self._text)

    @property
    def visible(self) -> bool:
        """A person sees something of it."""
        return any(shown.ref is not None for shown in self._shown.values())

    @property
    def lost(self) -> str:
        """Why nothing more can be shown here; empty while it can."""
        return self._dead

    @property
    def undelivered(self) -> list[tuple[File, str]]:
        """Files that the platform did not take, each with why: a key of `bot.sentences`."""
        return self._attachments.undelivered

    @property
    def refs(self) -> dict[int, MessageRef]:
        """The message each page is shown in."""
        return {number: shown.ref for number, shown in self._shown.items() if shown.ref is not None}

    def append(self, text: str) -> None:
        """Add text at the end."""
        for one in self._filters:
            text = one.feed(text)
        self._take(text)

    def status(self, key: str, line: str | None) -> None:
        """Show a line about what a tool does, or with None take it away."""
        if line is None:
            self._status.pop(key, None)
        else:
            self._status[key] = line
        self._want()

    def clear_status(self) -> None:
        """The answer arrives: nothing is said of tools any more."""
        if self._status:
            self._status.clear()
            self._want()

    def attach(self, file: File) -> None:
        """Post a file after the text."""
        self._attachments.add(file)

    async def finish(self) -> None:
        """The text is whole: show it for good, and return when it stands (or can never stand)."""
        if not self._finished:
            tail = ""
            for index, one in enumerate(self._filters):
                piece = one.feed(tail) if index else ""
                tail = piece + one.finish()
            self._take(tail)
            self._status.clear()
            self._pages.finish()
            self._finished = True
            if self._typing is not None:
                self._typing.cancel()
            self._want()
            if self._grant is not None and not self._only_begins:
                self._grant.hurry()
        assert self._writer is not None
        await asyncio.shield(self._writer)

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Leave the block, wherever it waits, once nothing more can be shown: what makes the reply runs inside.

        Why it was left is told by `lost`, or raised by `finish`.
        """
        assert self._writer is not None
        try:
            async with asyncio.timeout(None) as limit:

                def end(_: object) -> None:
                    limit.reschedule(asyncio.get_running_loop().time())

                self._writer.add_done_callback(end)
                try:
                    yield
                finally:
                    self._writer.remove_done_callback(end)
        except TimeoutError:
            if not limit.expired():
                raise

    def _take(self, text: str) -> None:
        if text:
            self._text.append(text)
            self._pages.extend(text)
            self._want()

    def _want(self) -> None:
        if self._stale_since is None:
            self._stale_since = self._clock.monotonic()
        self._wanted.set()

    def _exists(self, number: int) -> bool:
        """There is such a page; the first one also where it only shows a status."""
        return number < max(1, len(self._pages.upto(number)))

    # What to show next

    def _page(self, number: int) -> Page:
        """Page `number` as it should look now."""
        pages = self._pages.upto(number + 1) or (_NOTHING,)
        last = number == len(pages) - 1
        shown = self._shown.get(number)
        return Page(
            body=pages[number].body,
            status=tuple(Status(line) for line in self._status.values()) if last else (),
            final=self._finished or not last,
            plain=shown.plain if shown else False,
        )

    def _next(self) -> int | None:
        """The first page that does not look as it should; pages are shown in order."""
        for number in count():
            pages = self._pages.upto(number + 1) or (_NOTHING,)
            if number >= len(pages):
                break
            if pages[number].blank and not (self._status and number == len(pages) - 1):
                continue
            shown = self._shown.get(number)
            if shown is not None and shown.state in ("done", "lost"):
                continue
            if shown is not None and (shown.looked if shown.held else shown.gone) and not self._finished:
                return None
            page = self._page(number)
            if shown is not None and shown.page == page:
                continue
            # A message of an earlier process stays as it is until there is something to read in its place.
            unseen = shown is None or shown.page is None
            if not self._finished and unseen and not (worth_showing(page) and self._may_begin()):
                return None
            return number
        return None

    def _may_begin(self) -> bool:
        return self.visible or self._pacer.admits(self._presence)

    async def _write(self) -> None:
        """The one writer of this reply."""
        try:
            while not self._dead:
                number = self._next()
                if number is not None:
                    await self._step(number)
                elif self._finished:
                    await self._close()
                    return
                else:
                    self._stale_since = None
                    self._wanted.clear()
                    await self._wanted.wait()
        except Unreachable as error:
            self._dead = str(error)
            log.info("turn %s: the reply cannot be shown any more: %s", self._turn, error)

    async def _step(self, number: int) -> None:
        """One call: ask for it, then show page `number` as it is by then."""
        shown = self._shown.get(number)
        at = shown.ref if shown else None
        cost = self._surface.cost(self._page(number), at)
        if at is None and shown is not None and shown.held:
            again = await self._look_up(number, shown, cost)
            if again:
                await self._clock.sleep(again)
            return
        waiting = max(1, self._pages.estimate) - sum(1 for one in self._shown.values() if one.ref is not None)
        first = not self.visible
        # What completes a reply goes before what begins another one, though all of that is written too: where each
        # needs two calls and many wait, half of them are whole long before the last has begun.
        self._only_begins = first and self._begins_only(cost)
        urgent = self._finished and not self._only_begins
        self._grant = self._pacer.ask(
            cost,
            Priority.FINAL if urgent else Priority.FIRST if first else Priority.PROGRESS,
            since=self._stale_since,
            keep=max(0, waiting) + 1,
            not_before=0.0 if self._finished or first else self._next_progress,
            insist_at=self._last_shown + INSIST_AFTER,
        )
        again = 0.0
        async with self._grant:
            self._grant = None
            if not self._exists(number):
                return
            if not cost.budgets and self._surface.cost(self._page(number), at).budgets:
                return  # text came in since: what was to cost nothing would be a call now
            try:
                await self._show(number, at, cost)
            except RateLimited as error:
                log.info("turn %s: refused for %.1f s", self._turn, error.retry_after)
                self._pacer.refused(cost, error.scope, error.retry_after)
                self._sign.quiet_until = self._clock.monotonic() + error.retry_after
            except TooLong as error:
                again = self._shorten(number, error)
            except (MessageGone, Unrenderable) as error:
                await self._mend(number, error)
            except Unclear as error:
                again = self._failed(number, error) if cost.repeats_safely else await self._hold(number, error)
            except Unreachable:
                raise
            except DeliveryError as error:
                again = self._failed(number, error)
        self._next_progress = self._clock.monotonic() + PROGRESS_GAP
        if again:
            await self._clock.sleep(again)

    def _begins_only(self, cost: Cost) -> bool:
        """A post that nobody could tell from a second answer is never the whole text."""
        return self._careful and not cost.repeats_safely and not cost.found_again

    async def _show(self, number: int, at: MessageRef | None, cost: Cost) -> None:
        page = self._page(number)
        shown = self._shown.setdefault(number, PageNow())
        if shown.since is None and page.final:
            shown.since = self._clock.monotonic()
        if at is None and self._begins_only(cost) and not shown.gone and not shown.renewed:
            page = beginning(page)
        nonce = f"{self._turn}-{number}"
        if at is None:
            shown.state = "sending"
            await self._delivery.save_page(number, body=page.body, ref=None, state="sending", nonce=nonce)
        if not self._exists(number + 1):
            self._stale_since = None
        ref = await self._surface.show(page, at, nonce)
        self.edits += 1
        moved = ref != shown.ref
        shown.ref, shown.page, shown.tries = ref, page, 0
        self._pacer.seen(self._presence)
        self._last_shown = self._clock.monotonic()
        done = page.final and self._finished
        shown.state = "done" if done and page == self._page(number) else "shown"
        if moved or done:
            state = "final" if shown.state == "done" else "shown"
            await self._delivery.save_page(number, body=page.body, ref=ref, state=state, nonce=nonce)

    async def _look_up(self, number: int, shown: PageNow, cost: Cost) -> float:
        """A post whose outcome is unknown: take the message if the platform can find it, else post at the end.

        Where the platform recognises a repeated post, it is simply made again. Where a look says for certain whether
        it is there, nothing is posted before one succeeded: the seconds until the next are returned.
        """
        shown.looked = True
        try:
            ref = await self._surface.find(f"{self._turn}-{number}")
        except Unreachable:
            raise
        except DeliveryError as error:
            log.info("turn %s: page %d could not be looked for: %s", self._turn, number, error)
            shown.tries += 1
            if cost.found_again and shown.tries <= _LOOKS:
                return _BACKOFF[min(shown.tries, len(_BACKOFF)) - 1]
            ref = None
        if ref is not None:
            shown.held, shown.ref, shown.state = False, ref, "shown"
            await self._delivery.save_page(number, body="", ref=ref, state="shown", nonce=f"{self._turn}-{number}")
        elif self._finished or cost.repeats_safely:
            shown.held = False
        return 0.0

    async def _hold(self, number: int, error: Unclear) -> float:
        """A post may have arrived and must not be repeated blindly: the seconds before anything else is tried."""
        shown = self._shown.setdefault(number, PageNow())
        log.warning("turn %s: the outcome of posting page %d is unknown: %s", self._turn, number, error)
        shown.held, shown.looked = True, False
        shown.unclear += 1
        if shown.unclear > len(_CAREFUL_BACKOFF):
            log.error("turn %s: page %d could not be delivered: %s", self._turn, number, error)
            shown.state = "lost"
        await self._delivery.save_page(number, body="", ref=None, state="unclear", nonce="")
        return _CAREFUL_BACKOFF[min(shown.unclear, len(_CAREFUL_BACKOFF)) - 1]

    def _shorten(self, number: int, error: TooLong) -> float:
        shown = self._shown.setdefault(number, PageNow())
        shown.shrunk += 1
        if shown.shrunk > 8:
            log.error("turn %s: page %d is still too long after %d cuts", self._turn, number, shown.shrunk)
            shown.plain = True
        later = any(one.ref is not None for other, one in self._shown.items() if other > number)
        if later or not self._pages.shrink(error.by, number):
            shown.plain = True
        return _BACKOFF[0] if shown.shrunk > 8 else 0.0

    async def _mend(self, number: int, error: MessageGone | Unrenderable) -> None:
        shown = self._shown.setdefault(number, PageNow())
        match error:
            case MessageGone():
                shown.gone += 1
                shown.ref, shown.page = None, None
                if shown.gone > 1:
                    shown.state = "lost"
                await self._delivery.save_page(number, body="", ref=None, state="gone", nonce="")
            case Unrenderable() if not shown.plain:
                log.error("turn %s: our notation was refused, page %d goes out plain: %s", self._turn, number, error)
                shown.plain = True
            case Unrenderable():
                log.error("turn %s: page %d was refused even as plain text: %s", self._turn, number, error)
                shown.state = "lost"

    def _failed(self, number: int, error: DeliveryError) -> float:
        """It did not arrive. Progress waits for newer text; the final text is tried until it lands."""
        shown = self._shown.setdefault(number, PageNow())
        shown.tries += 1
        now = self._clock.monotonic()
        if shown.since is not None and now - shown.since > GIVE_UP_AFTER:
            if shown.ref is None or shown.renewed:
                log.error("turn %s: page %d could not be delivered: %s", self._turn, number, error)
                shown.state = "lost"
                return 0.0
            shown.ref, shown.page, shown.renewed = None, None, True
        if shown.tries == 1:
            log.warning("turn %s: page %d was not shown, trying again: %s", self._turn, number, error)
        return _BACKOFF[min(shown.tries, len(_BACKOFF)) - 1]

    async def _close(self) -> None:
        """All pages stand: take away what an earlier try left over, then post the files."""
        for number in sorted(self._shown):
            shown = self._shown[number]
            if not self._exists(number) and shown.ref is not None:
                await self._take_away(number, shown.ref)
                shown.ref = None
        after = max(self.refs.items(), default=(0, None))[1]
        await self._attachments.post(after)

    async def _take_away(self, number: int, ref: MessageRef) -> None:
        """Remove a message that the whole reply does not need; one that resists stays."""
        cost = self._surface.cost(Page("x", final=True), ref)
        problem: DeliveryError | None = None
        for pause in (*_BACKOFF, None):
            async with self._pacer.ask(cost, Priority.FINAL):
                try:
                    await self._surface.remove(ref)
                    return
                except RateLimited as error:
                    self._pacer.refused(cost, error.scope, error.retry_after)
                    problem = error
                except Unreachable:
                    raise
                except DeliveryError as error:
                    problem = error
            if pause is None:
                log.warning("turn %s: page %d could not be taken away: %s", self._turn, number, problem)
                return
            await self._clock.sleep(pause)
