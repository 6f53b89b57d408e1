"""The pages of one reply: how each should look, and how the platform shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bot.contract import GROWS, Button, Full, MessageRef, Page, Status, SurfaceLimits, TooLong
from bot.reply.buttons import ENDS, ReplyButtons
from bot.reply.pages import PageNow, ShownBefore, Stage, Standing
from bot.reply.paging import Paginator, beginning, whole_words, worth_showing
from tools.contract.base import ToolStatus

MOST_LINES = 12
"""Lines about tools that a page shows: more than run at once, and always fewer than a message has room for."""
FORMER = 1_000_000
"""Added to the number of a page that is posted again: its former message is recorded under that number until it is
deleted."""


def is_blank(page: Page) -> bool:
    """Return True if a growing page shows nothing: a tool's status stays until it does."""
    return not page.final and not page.status and not page.body.strip()


class PageSet:
    """Cuts a growing text into pages, and compares each with its state on the platform."""

    def __init__(self, turn: str, limits: SurfaceLimits, preamble: str = "", cuts: Sequence[int] = ()) -> None:
        """
        Args:
            turn: names the reply for good; the nonces of its messages derive from it.
            preamble: Markdown before the text on the first page.
            cuts: the ends of the pages as an earlier process cut them.
        """
        self._turn = turn
        self.limits = limits
        """Those of the surface as the reply began."""
        self._preamble = preamble
        self._paginator = Paginator.resume(limits.page_length, limits.measure, preamble, cuts)
        self._shown: dict[int, PageNow] = {}
        self.status: dict[str, str] = {}
        """Lines about what tools do, below the text, by their keys."""
        self._tasks: dict[str, Status] = {}
        """The cards of tool calls, by their keys."""
        self._task_pages: dict[str, int] = {}
        """The pages with those cards, if any."""
        self.buttons = ReplyButtons()
        """The buttons below the last page."""
        self.rewritten = False
        """The text started again: there may be pages that it no longer reaches."""
        self.finished = False
        """The text is complete."""
        self.stands_still = False
        """No text has come for a while: its last word counts as complete."""
        self.fading: int | None = None
        """A page that disappears and must be shown again, however it looks."""

    def restore(self, shown: Mapping[int, ShownBefore], calm: bool) -> None:
        """Continue from what an earlier process showed, by page number; `calm`: see `PageNow.restore`."""
        for number, before in shown.items():
            self.now(number).restore(before, calm)
        for number in [number - FORMER for number in shown if number >= FORMER]:
            if (ref := self.now(number + FORMER).stands.ref) is not None and ref == self.now(number).stands.ref:
                self.now(number).renew_as("fresh")

    @property
    def former(self) -> bool:
        """A page is posted again, or was, by any process."""
        return any(number >= FORMER for number in self._shown)

    def begin_fresh(self, number: int) -> None:
        """Page `number` is to be posted again; its message stays until `left_over` names it."""
        shown = self.now(number)
        self.now(number + FORMER).become(Stage.SHOWN, Standing(shown.stands.ref))
        shown.grows = False
        shown.renew_as("fresh")

    def end_fresh(self, number: int) -> None:
        """Page `number` is shown in its former message after all."""
        former = self.now(number + FORMER)
        self.now(number).become(Stage.SHOWN, Standing(former.stands.ref))
        former.become(Stage.UNPOSTED)

    @property
    def deleted(self) -> bool:
        """Somebody deleted a page while an earlier process wrote the reply."""
        return any(page.stage is Stage.DELETED for page in self._shown.values())

    def extend(self, text: str) -> None:
        """Add text at the end."""
        self.stands_still = False
        self._paginator.extend(text)

    def rewrite(self) -> None:
        """Start the text again, in the present messages."""
        for shown in self._shown.values():
            shown.grows = False
        self.rewritten = True
        self._paginator = Paginator.resume(self.limits.page_length, self.limits.measure, self._preamble)

    def forget(self, number: int) -> None:
        """Page `number` is no longer on screen; a new one of that number is another message."""
        self._shown[number] = PageNow(self.now(number).name, f"{self.now(number).nonce}-again")

    def finish(self) -> None:
        """The text is complete, and no tool runs any more."""
        self.status.clear()
        for key, task in self._tasks.items():
            if task.state == ToolStatus.RUNNING:
                self._tasks[key] = replace(task, state=ToolStatus.CANCELLED)
        self._paginator.finish()
        self.finished = True

    def begin_task(self, key: str, line: str) -> None:
        """A tool runs, as `line` says; on a growing page a card says so, and later how it ended."""
        self.status[key] = line
        self._tasks[key] = Status(line, key)
        for number in self._growing():
            self._task_pages.setdefault(key, number)

    def end_task(self, key: str, state: ToolStatus) -> None:
        """The tool has ended."""
        if key in self._tasks:
            self._tasks[key] = replace(self._tasks[key], state=state)

    def _cards(self, number: int) -> tuple[Status, ...]:
        """The cards on a growing page; on a final one, those that it already has."""
        stands = self.now(number).stands.page
        if stands is not None and stands.final:
            return stands.status
        return tuple(task for key, task in self._tasks.items() if self._task_pages.get(key) == number)

    @property
    def refs(self) -> dict[int, MessageRef]:
        """The message of each page."""
        return {number: shown.stands.ref for number, shown in self._shown.items() if shown.stands.ref is not None}

    @property
    def visible(self) -> bool:
        """A person sees part of it."""
        return any(shown.stands.ref is not None for shown in self._shown.values())

    @property
    def unsettled(self) -> bool:
        """An unanswered edit may still be made, and replace the present text by an older one."""
        return any(one.stands.unsettled and one.stands.ref is not None for one in self._shown.values())

    @property
    def passing(self) -> tuple[float, int] | None:
        """When something that disappears must be shown again, and on which page; None if there is nothing, or it is
        due."""
        if self.fading is not None:
            return None
        passing = [(at, number) for number, one in self._shown.items() if (at := one.stands.passes_at)]
        return min(passing, default=None)

    @property
    def cuts(self) -> Sequence[int]:
        """The ends of the pages in the preamble and the text, except for the last."""
        return self._paginator.sealed_ends

    def left_over(self) -> Iterable[tuple[int, MessageRef]]:
        """The numbers and messages of pages on screen that the text no longer reaches, in order."""
        return [(number, ref) for number, ref in sorted(self.refs.items()) if not self.exists(number)]

    def now(self, number: int) -> PageNow:
        """Page `number` in its present state on the platform."""
        return self._shown.setdefault(number, PageNow(f"turn {self._turn}: page {number}", f"{self._turn}-{number}"))

    def exists(self, number: int) -> bool:
        """There is such a page; the first one also if it shows only a status."""
        return number == 0 or number < len(self._paginator.upto(number))

    def page(self, number: int) -> Page:
        """Page `number` as it should look now."""
        pages = self._paginator.upto(number + 1)
        last = number == len(pages) - 1
        shown = self._shown.get(number)
        stands = shown.stands.page.body if shown is not None and shown.stands.page is not None else ""
        live, body = last and not self.finished, pages[number].body
        if (grows := shown is not None and shown.grows) and live:
            body = max(self.sentences(number), stands, key=len)
        elif (
            live and not self.status and not self.stands_still
        ):  # while a tool runs the last word counts as complete, too
            body = body[: max(len(whole_words(body)), len(stands))]
        lines = list(self.status.values())[-MOST_LINES:] if last and not grows else ()
        buttons: tuple[Button, ...] = ()
        if last and not (grows and live):
            waits = self.finished or self.status or self.stands_still or body != pages[number].body
            buttons = self.buttons.growing if waits or not body.rstrip().endswith(ENDS) else self.buttons.whole
        return Page(
            body=body,
            status=self._cards(number) if grows and body else tuple(map(Status, lines)),
            final=not live,
            buttons=buttons,
            plain=shown.plain if shown else False,
            grows=grows,
        )

    def beginning(self, number: int, *, final: bool = False) -> Page:
        """Page `number` as a first post that never contains the whole text so far.

        Args:
            final: show it as if it were.
        """
        page = self.page(number)
        cut = (
            page
            if page.body != self._paginator.upto(number + 1)[number].body
            else beginning(page, self.buttons.growing)
        )
        return replace(cut, final=cut.final or final)

    def sentences(self, number: int) -> str:
        """The whole sentences of page `number`, while it grows."""
        return self._paginator.sentences(number)

    def begin_piece(self, number: int, *, grows: bool) -> None:
        """Show page `number` in whole sentences: in a message that `grows`, or in one that stays as it is posted."""
        if grows and number not in self.refs and not self._paginator.upto(number)[number].opened:
            self.now(number).grows = True
            for key in self._tasks:
                self._task_pages.setdefault(key, number)
        elif not self.now(number).grows:
            self._paginator.cut(number)

    def end_piece(self, number: int) -> None:
        """Leave page `number` as it is; the rest is the next page."""
        shown = self.now(number)
        stands, shown.grows = shown.stands, False
        assert stands.ref is not None
        shown.stands = stands = replace(stands, ref=MessageRef(stands.ref.id))
        if stands.page is not None:
            self._paginator.end(number, len(stands.page.body))
            shown.stands = replace(stands, page=self.page(number))

    def _growing(self) -> list[int]:
        return sorted(number for number, shown in self._shown.items() if shown.grows)

    def next(self) -> int | None:
        """The first page that does not look as it should; pages are shown in order."""
        for number in self._growing():
            ref, page = (stands := self.now(number).stands).ref, stands.page
            if ref is not None and ref.form != GROWS and page is not None and not page.final:
                self.end_piece(number)  # it could only be posted, or had to be edited
        number = -1
        while True:
            number += 1
            pages = self._paginator.upto(number + 1)
            if number >= len(pages):
                return None
            if pages[number].blank and not (self.status and number == len(pages) - 1):
                continue
            shown = self._shown.get(number)
            if shown is not None and shown.done:
                continue
            if shown is not None and shown.waits_for_end and not self.finished:
                return None
            page = self.page(number)
            if shown is not None and shown.stands.page == page and number != self.fading:
                continue
            # An earlier process's message stays as it is until there is text to replace it.
            return None if is_blank(page) or (self.begins(number) and not worth_showing(page)) else number

    def begins(self, number: int) -> bool:
        """Page `number` is not visible yet, and the text is not complete."""
        shown = self._shown.get(number)
        return not self.finished and (shown is None or shown.stands.page is None)

    def shorten(self, number: int, error: TooLong) -> float:
        """Cut page `number` shorter because it was too long, if possible; return the seconds before the next try."""
        if isinstance(error, Full):
            self.end_piece(number)
            return 0.0
        later = any(one.stands.ref is not None for other, one in self._shown.items() if other > number)
        return self.now(number).too_long(not later and self._paginator.shrink(error.by, number))
