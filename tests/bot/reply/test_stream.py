"""The reply while it is being written, on a surface that can be made to fail in every way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol, TypedDict, Unpack

import pytest

from bot.contract.errors import (
    DeliveryError,
    MessageGone,
    RateLimited,
    Refused,
    StoreError,
    TooLong,
    Unclear,
    Uneditable,
    Unreachable,
    Unrenderable,
)
from bot.contract.messages import Button, Control, File, MessageRef, Page, Status
from bot.contract.surface import CallCost, Drawn, Pace, RateBudget, SurfaceLimits, Window
from bot.pacing.pacer import Pacer
from bot.pacing.reader import COLLECT
from bot.reply.buttons import ReplyButtons
from bot.reply.pages import ShownBefore, TextFilter
from bot.reply.stream import ReplyStream
from bot.reply.typingsign import TYPING_AFTER
from bot.safety import Redactor
from bot.store import PageState
from tests.bot.conftest import BareSurface
from tests.conftest import FakeClock
from tests.patience import PATIENCE
from tests.surfaces import DrawnPage, page_of

FIRST = "The first words stand."
"""Enough to read, so that it is posted at once."""


@dataclass
class Screen(BareSurface):
    """A surface that keeps what it shows, and fails as told."""

    length: int = 200
    repeats: bool = True
    finds: bool = False
    lost_looks: int = 0
    """So many looks for a post fail."""
    budgets: tuple[RateBudget, ...] = (RateBudget("chat", rate=1.0, burst=3),)
    edit_budgets: tuple[RateBudget, ...] | None = None
    typing_seconds: float = 0.0
    typing_stays: bool = False
    shown: dict[str, list[Page]] = field(default_factory=dict)
    calls: list[tuple[str, Page]] = field(default_factory=list)
    faults: list[Exception | None] = field(default_factory=list)
    found: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    typed: int = 0
    rested: int = 0
    """How often the sign of typing was taken away."""
    drawn: list[Page] = field(default_factory=list)
    """The pages that were drawn, each as often as it was."""
    looks: Callable[[Page], Page] = lambda page: page
    pace: Pace = field(default_factory=Pace)

    @property
    def limits(self) -> SurfaceLimits:
        seconds, stays = self.typing_seconds, self.typing_stays
        return SurfaceLimits(
            self.length, self.length * 2, len, typing_seconds=seconds, typing_stays=stays, pace=self.pace
        )

    def draw(self, page: Page) -> DrawnPage:
        self.drawn.append(page)
        return DrawnPage(self.looks(page))

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        edited = at is not None and self.edit_budgets is not None
        budgets = (self.edit_budgets or ()) if edited else self.budgets
        return CallCost(budgets, self.repeats or at is not None, found_again=self.finds)

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        page = page_of(drawn)
        self.calls.append(("post" if at is None else "edit", page))
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault
        id = at.id if at else f"m{len(self.shown)}"
        self.shown.setdefault(id, []).append(page)
        return MessageRef(id)

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        self.files.append(file.name)
        return MessageRef(f"f{len(self.files)}")

    async def remove(self, at: MessageRef) -> None:
        self.removed.append(at.id)
        self.shown.pop(at.id, None)

    async def typing(self, words: str) -> None:
        self.typed += bool(words)
        self.rested += not words

    async def find(self, nonce: str) -> MessageRef | None:
        if self.lost_looks:
            self.lost_looks -= 1
            raise DeliveryError("nobody says")
        return MessageRef(self.found[nonce]) if nonce in self.found else None

    def now(self, id: str = "m0") -> str:
        return self.shown[id][-1].body


class Log:
    """What a reply records."""

    def __init__(self) -> None:
        self.pages: list[tuple[int, str]] = []

    async def save_page(self, number: int, *, body: str, ref: MessageRef | None, state: str, nonce: str) -> None:
        self.pages.append((number, state))

    async def save_file(self, number: int, file: File, *, ref: MessageRef | None, state: str, nonce: str) -> None:
        self.pages.append((number, f"file {state}"))


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def log() -> Log:
    return Log()


class ReplyOptions(TypedDict, total=False):
    """How a reply is opened, as `ReplyStream` takes it."""

    filters: Callable[[], tuple[TextFilter, ...]]
    preamble: str
    cuts: Sequence[int]
    shown: Mapping[int, ShownBefore]
    attached: Mapping[int, ShownBefore]
    careful: bool
    delayed: Callable[[float], str]
    thinking: str
    calm: bool
    buttons: ReplyButtons


class OpenReply(Protocol):
    """Opens a reply on the screen."""

    async def __call__(self, **more: Unpack[ReplyOptions]) -> ReplyStream: ...


@pytest.fixture
async def pacer(clock: FakeClock) -> AsyncIterator[Pacer]:
    pacer = Pacer(clock)
    yield pacer
    await pacer.close()


@pytest.fixture
async def start(screen: Screen, log: Log, pacer: Pacer, clock: FakeClock) -> AsyncIterator[OpenReply]:
    opened: list[ReplyStream] = []

    async def start(**more: Unpack[ReplyOptions]) -> ReplyStream:
        reply = ReplyStream(screen, pacer, log, clock, turn="t1", **more)
        await reply.__aenter__()
        opened.append(reply)
        return reply

    yield start
    for reply in opened:
        if reply._writer is not None:
            await reply.__aexit__(RuntimeError, None, None)


async def finish(reply: ReplyStream, clock: FakeClock, seconds: float = 30.0) -> None:
    task = asyncio.create_task(reply.finish())
    await clock.advance(seconds)
    assert task.done(), "the reply is not whole in time"
    await task


async def test_words_that_can_be_read_are_the_first_message_at_once(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()

    reply.append(FIRST)
    await clock.settle()

    assert screen.calls == [("post", Page(FIRST))]


async def test_first_words_are_collected_for_a_moment_and_end_with_a_whole_one(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    """The moment begins with the first word that can be shown."""
    reply = await start()
    for piece in ("It", " is", " war"):
        reply.append(piece)
        await clock.advance(COLLECT / 4)
    assert screen.calls == []

    await clock.advance(COLLECT)
    assert screen.calls == [("post", Page("It is "))]
    reply.append("m.")
    await finish(reply, clock)

    assert screen.now() == "It is warm."


async def test_what_becomes_readable_meanwhile_is_not_collected_any_longer(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.append("It is ")
    await clock.settle()
    assert screen.calls == []

    reply.append("warm in Kyoto today, and ")
    await clock.settle()

    assert screen.calls == [("post", Page("It is warm in Kyoto today, and "))]


async def test_what_is_rewritten_goes_into_the_messages_that_stand_and_the_rest_goes_away(
    start: OpenReply, screen: Screen, log: Log, clock: FakeClock
) -> None:
    reply = await start()
    reply.append("They want to know how warm it is in Kyoto. " * 12)
    await clock.advance(60)
    assert len(screen.shown) == 3

    reply.rewrite("")
    await clock.advance(5)
    assert screen.removed == ["m1", "m2"]
    reply.append("It is warm.")
    await clock.advance(5)
    assert [pages[-1].body for pages in screen.shown.values()] == ["It is warm."]

    reply.append(" And it is dry, as it was all of this week." * 6)
    await finish(reply, clock, 60)

    assert reply.text == "It is warm." + " And it is dry, as it was all of this week." * 6
    assert "".join(pages[-1].body for pages in screen.shown.values()).split() == reply.text.split()
    assert len(screen.shown) == 2


async def test_what_the_filters_held_back_of_it_is_forgotten_with_what_is_rewritten(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start(filters=lambda: (Redactor(("secret-of-the-house",)),))
    reply.append("They want the secret-of-the")

    reply.rewrite("It is ")
    reply.append("house number four.")
    await finish(reply, clock)

    assert screen.now() == "It is house number four."


async def test_markup_alone_is_not_shown_before_there_is_something_to_read(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()

    reply.append("**")
    await clock.advance(COLLECT)
    assert screen.calls == []

    reply.append("Yes, it is so.")
    await clock.settle()
    assert screen.now() == "**Yes, it is so."


async def test_what_a_tool_did_stays_until_there_is_a_whole_word_in_its_place(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.status("a", "Searching")
    await clock.advance(3.0)
    reply.clear_status()
    reply.append("I")
    await clock.advance(0.9)
    assert [page for _, page in screen.calls] == [Page("", (Status("Searching"),))]

    reply.append(" was told so.")
    await finish(reply, clock)
    assert screen.now() == "I was told so."


async def test_the_last_word_of_a_text_that_stands_still_is_shown(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.append("The answer to all of it is 42")
    await clock.advance(0.5)
    assert screen.now() == "The answer to all of it is "

    await clock.advance(10.0)
    assert screen.now() == "The answer to all of it is 42"

    reply.append("00")
    await clock.advance(10.0)
    assert screen.now() == "The answer to all of it is 4200"


async def test_an_edit_carries_the_newest_text_and_skips_what_was_between(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    for number in range(100):
        reply.append(f"word{number} ")
        await clock.advance(0.05)

    await finish(reply, clock)

    assert screen.now() == "".join(f"word{n} " for n in range(100))[: len(screen.now())]
    assert reply.text == "".join(f"word{n} " for n in range(100))
    assert len(screen.calls) < 20


async def test_the_last_edit_goes_out_at_once_while_words_stream(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    for number in range(60):
        reply.append(f"{number} ")
        await clock.advance(0.1)

    reply.append("end")
    task = asyncio.create_task(reply.finish())
    await clock.settle()

    assert task.done()
    assert screen.shown[max(screen.shown)][-1].body.endswith("end")


async def test_a_long_reply_takes_several_messages_in_order_and_nothing_is_lost(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    text = "\n\n".join(f"Paragraph {number} says something." for number in range(40))
    reply = await start()

    reply.append(text)
    await finish(reply, clock, 60.0)

    assert len(screen.shown) > 3
    assert "".join("".join(pages[-1].body.split()) for pages in screen.shown.values()) == "".join(text.split())
    assert all(pages[-1].final for pages in screen.shown.values())


async def test_a_refused_last_edit_is_sent_again_after_the_wait(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    screen.faults = [RateLimited("slow down", retry_after=7.0)]
    reply.append(" and last")

    task = asyncio.create_task(reply.finish())
    await clock.advance(6.9)
    assert not task.done()
    await clock.advance(0.3)

    assert task.done()
    assert screen.now() == FIRST + " and last"
    assert (reply.edits, reply.refusals) == (2, 1)


async def test_no_call_is_made_before_the_time_a_refusal_names(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    screen.faults = [RateLimited("slow down", retry_after=30.0)]
    reply.append("words")
    for _ in range(29):
        reply.append(" more")
        await clock.advance(1.0)

    assert len(screen.calls) == 1
    await finish(reply, clock)


DAY = 86_400.0


async def test_a_pause_of_a_day_ends_the_wait_and_what_is_missing_is_owed(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    screen.faults = [RateLimited("tomorrow", retry_after=DAY)]
    reply.append(" and last")
    await clock.settle()

    await finish(reply, clock, 0)

    assert reply.owed == pytest.approx(clock.now + DAY)
    assert not reply.lost and screen.now() == FIRST
    assert len(screen.calls) == 2


async def test_progress_that_is_refused_for_a_day_stops_and_the_text_is_still_taken_in(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    screen.faults = [RateLimited("tomorrow", retry_after=DAY)]
    for _ in range(100):
        reply.append(" more")
        await clock.advance(1.0)

    assert len(screen.calls) == 2
    assert reply.text == FIRST + " more" * 100
    await finish(reply, clock, 0)


async def test_an_end_whose_edit_waits_a_day_goes_out_as_a_new_message_where_posts_are_let_through(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.edit_budgets = (RateBudget("edits", rate=1.0, burst=3),)
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    screen.faults = [RateLimited("tomorrow", retry_after=DAY, scope="edits")]
    reply.append(" and last")

    await finish(reply, clock, 1.0)

    assert reply.owed is None
    assert [pages[-1].body for pages in screen.shown.values()] == [FIRST, FIRST + " and last"]


async def test_where_posts_wait_a_day_the_last_page_says_so(start: OpenReply, screen: Screen, clock: FakeClock) -> None:
    screen.edit_budgets = (RateBudget("edits", rate=1.0, burst=3),)
    reply = await start(delayed=lambda seconds: f"the rest in {seconds:.0f} s")
    reply.append("first. " * 20)
    await clock.settle()
    screen.faults = [None, RateLimited("tomorrow", retry_after=DAY, scope="chat")]
    reply.append("second. " * 20)

    await finish(reply, clock, 5.0)

    [pages] = screen.shown.values()
    assert pages[-1].body.startswith("first. first.") and not pages[-1].final
    assert [line.text for line in pages[-1].status] == ["the rest in 86400 s"]
    assert reply.owed is not None


async def test_where_saying_so_is_refused_that_pause_is_kept_too(
    start: OpenReply, screen: Screen, pacer: Pacer, clock: FakeClock
) -> None:
    screen.edit_budgets = (RateBudget("edits", rate=1.0, burst=3),)
    reply = await start(delayed=lambda seconds: f"the rest in {seconds:.0f} s")
    reply.append("first. " * 20)
    await clock.settle()
    tomorrow = RateLimited("tomorrow", retry_after=DAY, scope="chat")
    screen.faults = [None, tomorrow, RateLimited("soon", retry_after=60.0, scope="edits")]
    reply.append("second. " * 20)

    await finish(reply, clock, 5.0)

    assert reply.owed is not None
    assert pacer.opens_at(CallCost(screen.edit_budgets)) > clock.now


async def test_where_edits_wait_a_day_too_nothing_is_said(start: OpenReply, screen: Screen, clock: FakeClock) -> None:
    reply = await start(delayed=lambda seconds: f"the rest in {seconds:.0f} s")
    reply.append(FIRST)
    await clock.settle()
    screen.faults = [RateLimited("tomorrow", retry_after=DAY, scope="chat")]
    reply.append(" And the end.")

    await finish(reply, clock, 5.0)

    assert screen.now() == FIRST and len(screen.calls) == 2
    assert reply.owed is not None


async def test_refusals_one_after_the_other_are_waited_for_five_minutes_in_all(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    screen.faults = [RateLimited("a minute", retry_after=60.0) for _ in range(100)]
    reply.append(" and last")

    task = asyncio.create_task(reply.finish())
    await clock.advance(299.0)
    assert not task.done()
    await clock.advance(2.0)
    assert task.done()

    assert reply.owed is not None
    assert [kind for kind, _ in screen.calls] == ["post"] + ["edit"] * 6
    await task


async def test_a_file_is_not_waited_for_a_day(start: OpenReply, screen: Screen, log: Log, clock: FakeClock) -> None:
    reply = await start()
    refusals = [RateLimited("tomorrow", retry_after=DAY)]
    posted = screen.attach

    async def attach(file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        if refusals:
            raise refusals.pop()
        return await posted(file, after, nonce)

    screen.attach = attach  # type: ignore[method-assign]
    reply.append("Here it is.")
    reply.attach(File("a.png", "image/png", b"1"))

    await finish(reply, clock, 1.0)

    assert screen.now() == "Here it is." and reply.owed is not None
    assert log.pages[-1] == (0, "file gone"), "whoever goes on may post it"


async def test_a_file_that_is_refused_for_a_moment_is_posted_after_it(
    start: OpenReply, screen: Screen, log: Log, clock: FakeClock
) -> None:
    reply = await start()
    refusals = [RateLimited("soon", retry_after=5.0, scope="chat")]
    posted, times = screen.attach, []

    async def attach(file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        times.append(clock.now)
        if refusals:
            raise refusals.pop()
        return await posted(file, after, nonce)

    screen.attach = attach  # type: ignore[method-assign]
    reply.append("Here it is.")
    reply.attach(File("a.png", "image/png", b"1"))

    await finish(reply, clock)

    assert screen.files == ["a.png"] and reply.undelivered == []
    assert times[1] - times[0] >= 5.0


async def test_an_edit_without_an_answer_leaves_the_reply_unsettled(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    screen.faults = [Unclear("no answer")]
    reply.append(" more")
    await clock.advance(1.0)

    await finish(reply, clock)

    assert reply.unsettled and screen.now() == FIRST + " more"


@pytest.mark.parametrize("fault", [None, RateLimited("wait", retry_after=1.0), DeliveryError("no connection")])
async def test_a_reply_whose_edits_were_all_answered_is_settled(
    fault: Exception | None, start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    screen.faults = [fault]
    reply.append(" more")
    await clock.advance(1.0)

    await finish(reply, clock)

    assert not reply.unsettled and reply.owed is None


async def test_what_was_deleted_is_not_shown_again_for_its_own_sake(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    """A reply that was whole once: its text is only put right where it stands."""
    screen.shown = {"m0": [Page("an older text")], "m1": [Page("another")]}
    screen.faults = [MessageGone("deleted")]
    before = {number: ShownBefore(MessageRef(f"m{number}"), PageState.FINAL) for number in range(2)}
    reply = await start(preamble="x" * 150 + "\n\n" + "y" * 150, cuts=(152,), shown=before, calm=True)

    await finish(reply, clock)

    assert [kind for kind, _ in screen.calls] == ["edit", "edit"]
    assert screen.now("m0") == "an older text" and screen.now("m1") == "y" * 150


async def test_what_is_shown_again_leaves_the_calls_to_those_who_wait(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.budgets = (RateBudget("chat", rate=0.1, burst=1),)
    screen.shown = {"m0": [Page("x")]}
    calm = [
        await start(preamble=f"again {n}", shown={0: ShownBefore(MessageRef("m0"), PageState.FINAL)}, calm=True)
        for n in range(3)
    ]
    ends = [asyncio.create_task(reply.finish()) for reply in calm]
    await clock.settle()
    waiting = await start()
    waiting.append("An answer that somebody waits for.")
    ends.append(asyncio.create_task(waiting.finish()))
    await clock.advance(40.0)

    assert all(task.done() for task in ends)
    assert [page.body.split()[0] for _, page in screen.calls] == ["again", "An", "again", "again"]


async def test_pages_stay_cut_as_an_earlier_process_cut_them(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.shown = {"m0": [Page("x")], "m1": [Page("x")]}
    before = {number: ShownBefore(MessageRef(f"m{number}"), PageState.FINAL) for number in range(2)}
    reply = await start(preamble="word " * 30, cuts=(20,), shown=before, calm=True)

    await finish(reply, clock)

    assert (screen.now("m0"), screen.now("m1")) == ("word " * 4, "word " * 26)


async def test_a_reply_that_somebody_deletes_is_ended_and_nothing_is_posted_again(
    start: OpenReply, screen: Screen, log: Log, clock: FakeClock
) -> None:
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    screen.faults = [MessageGone("deleted")]
    reply.append(" more")
    async with asyncio.timeout(PATIENCE), reply.followed():
        await clock.advance(2.0)
        await asyncio.Event().wait()

    await finish(reply, clock)

    assert reply.lost == "somebody deleted the reply"
    assert len(screen.calls) == 2
    assert log.pages[-1] == (0, "deleted")
    begun = await start(shown={0: ShownBefore(None, PageState.DELETED)})
    begun.append(FIRST)
    await finish(begun, clock)
    assert begun.lost and len(screen.calls) == 2, "nor after a restart"


async def test_a_reply_that_cannot_be_changed_makes_no_progress_and_its_end_is_sent_once(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    screen.faults = [Uneditable("too old")]
    for _ in range(10):
        reply.append(" more")
        await clock.advance(1.0)
    assert len(screen.calls) == 2

    await finish(reply, clock)

    assert screen.calls[-1] == ("post", Page(FIRST + " more" * 10, final=True))
    assert len(screen.calls) == 3


async def test_what_cannot_be_changed_again_is_left_as_it_is(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    screen.faults = [Uneditable("too old"), Uneditable("too old")]
    reply.append(" more")
    await clock.advance(2.0)

    await finish(reply, clock)

    assert len(screen.calls) == 3


async def test_an_odd_refusal_is_asked_once_more(start: OpenReply, screen: Screen, clock: FakeClock) -> None:
    reply = await start()
    screen.faults = [Refused("401 Unauthorized"), Refused("400 Something")]
    reply.append(FIRST)

    await finish(reply, clock)

    assert screen.now("m0") == FIRST and not reply.lost


@pytest.mark.parametrize("times", [1, 2])
async def test_a_refusal_that_comes_again_is_no_passing_one(
    start: OpenReply, screen: Screen, clock: FakeClock, times: int
) -> None:
    """It is asked as plain text, and then not any more; whoever makes the text for it need not go on."""
    reply = await start()
    screen.faults = [Refused("400 CHAT_OF_NEXT_YEAR")] * (2 if times == 1 else 9)
    reply.append(FIRST)

    await finish(reply, clock)

    assert len(screen.calls) == 3
    assert reply.lost == ("" if times == 1 else "400 CHAT_OF_NEXT_YEAR")
    assert screen.calls[-1] == ("post", Page(FIRST, final=True, plain=True))


async def test_refused_notation_is_shown_as_plain_text(start: OpenReply, screen: Screen, clock: FakeClock) -> None:
    reply = await start()
    screen.faults = [Unrenderable("can't parse")]
    reply.append("**odd")

    await finish(reply, clock)

    assert screen.shown["m0"][-1] == Page("**odd", final=True, plain=True)


async def test_a_page_that_is_too_long_once_rendered_is_cut_again(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    screen.faults = [TooLong("too long", by=60)]
    text = " ".join(f"word{number}" for number in range(25))
    reply.append(text)

    await finish(reply, clock)

    assert len(screen.shown) == 2
    assert "".join(pages[-1].body for pages in screen.shown.values()).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("end", [" ", ".\n"])
async def test_a_page_keeps_no_button_though_its_text_was_whole_as_the_next_began(
    end: str, start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    """Neither Stop nor those of a finished answer, which a text that looks whole has."""
    growing, whole = (Button(control, 1, control.value) for control in (Control.STOP, Control.GOOD))
    reply = await start(buttons=ReplyButtons((growing,), (whole,)))
    reply.append("word " * 37 + "last" + end)
    await clock.advance(10.0)
    assert screen.shown["m0"][-1].buttons

    reply.append("and more " * 10)
    await finish(reply, clock)

    assert [pages[-1].buttons for pages in screen.shown.values()] == [(), (growing,)]


async def test_a_blocked_bot_ends_quietly(start: OpenReply, screen: Screen, clock: FakeClock) -> None:
    reply = await start()
    screen.faults = [Unreachable("blocked")]
    reply.append(FIRST)

    await finish(reply, clock)

    assert reply.lost == "blocked"
    assert len(screen.calls) == 1


async def test_what_makes_the_reply_ends_as_soon_as_nobody_can_read_it(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    """Without any time passing, whatever it waits for."""
    reply = await start()
    screen.faults = [Unreachable("blocked")]
    ended = []

    async def make() -> None:
        async with reply.followed():
            reply.append(FIRST)
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("the model")
        ended.append("the turn goes on")

    making = asyncio.create_task(make())
    await clock.settle()

    assert ended == ["the model", "the turn goes on"]
    await making
    await finish(reply, clock, 0)


async def test_what_makes_the_reply_ends_when_the_reply_cannot_be_recorded(
    start: OpenReply, log: Log, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def save_page(*place: object, **page: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(log, "save_page", save_page)
    reply = await start()

    async def make() -> None:
        async with reply.followed():
            reply.append(FIRST)
            await asyncio.Event().wait()

    making = asyncio.create_task(make())
    await clock.settle()

    assert making.done()
    with pytest.raises(StoreError):
        await reply.finish()


async def test_who_stops_what_makes_the_reply_is_heard(start: OpenReply, clock: FakeClock) -> None:
    reply = await start()

    async def make() -> None:
        async with reply.followed():
            await asyncio.Event().wait()

    making = asyncio.create_task(make())
    await clock.settle()
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making


async def test_a_post_that_may_have_arrived_is_not_repeated_where_it_cannot_be_recognised(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.repeats = False
    reply = await start()
    screen.faults = [Unclear("no answer")]
    reply.append("first words")
    for _ in range(10):
        await clock.advance(1.0)
        reply.append(" more")
    assert [kind for kind, _ in screen.calls] == ["post"]

    await finish(reply, clock)

    assert [kind for kind, _ in screen.calls] == ["post", "post", "edit"]
    assert screen.now() == "first words" + " more" * 10


async def test_a_post_that_may_have_arrived_is_looked_up_where_that_is_possible(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.repeats = False
    screen.found = {"t1-0": "m0"}
    reply = await start()
    screen.faults = [Unclear("no answer")]
    reply.append("first words")
    await clock.settle()

    await finish(reply, clock)

    assert [kind for kind, _ in screen.calls] == ["post", "edit"]


async def test_a_repeatable_call_with_an_unknown_outcome_is_made_again(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    screen.faults = [Unclear("no answer"), Unclear("no answer")]
    reply.append(" last")

    await finish(reply, clock)

    assert screen.now() == FIRST + " last"


async def test_a_whole_text_is_never_posted_in_a_call_that_cannot_be_repeated(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    """A crash right after such a post would make a second final answer at the next start."""
    screen.repeats = False
    reply = await start()
    reply.append("All of it at once.")

    await finish(reply, clock)

    assert screen.calls == [("post", Page("All of it at")), ("edit", Page("All of it at once.", final=True))]


async def test_a_whole_text_is_posted_at_once_where_its_post_can_be_found_again(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.repeats, screen.finds = False, True
    reply = await start()
    reply.append("All of it, in one go.")

    await finish(reply, clock)

    assert screen.calls[0] == ("post", Page("All of it, in one go."))


async def test_a_post_that_can_be_found_again_is_not_repeated_before_a_look_succeeded(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.repeats, screen.finds, screen.lost_looks = False, True, 3
    screen.faults = [Unclear("it timed out")]
    screen.found["t1-0"] = "m7"
    reply = await start()
    reply.append("All of it, in one go.")

    await finish(reply, clock, 60)

    assert [kind for kind, _ in screen.calls] == ["post", "edit"]
    assert screen.now("m7") == "All of it, in one go."


async def test_a_reply_whose_end_would_have_to_wait_is_shown_once_and_whole(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    """Six edits a minute for everybody: five replies grow on screen, the others appear when they are written."""
    screen.repeats, screen.finds, screen.budgets = False, True, ()
    screen.edit_budgets = (RateBudget("edits", windows=(Window(6, 60.0),), shared=True),)
    replies = [await start() for _ in range(8)]

    for reply in replies:
        reply.append("This is the beginning,")
    await clock.advance(COLLECT)
    assert [kind for kind, _ in screen.calls] == ["post"] * 5
    for reply in replies:
        reply.append(" and the end.")
    ends = [asyncio.create_task(reply.finish()) for reply in replies]
    await clock.advance(1)

    assert all(task.done() for task in ends)
    assert [pages[-1].body for pages in screen.shown.values()] == ["This is the beginning, and the end."] * 8


async def test_who_has_nothing_to_read_goes_before_the_end_of_what_is_being_read(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    """Six answers wait, all of them written; one call a second, and each answer needs two."""
    screen.repeats = False
    replies = [await start() for _ in range(6)]

    for number, reply in enumerate(replies):
        reply.append(f"Answer {number}: " + "word " * 20)
    await clock.advance(0.01)
    ends = [asyncio.create_task(reply.finish()) for reply in replies]
    await clock.advance(30)
    await asyncio.gather(*ends)

    order = [(kind, page.body.split(":")[0][-1]) for kind, page in screen.calls]
    assert order == [(kind, str(number)) for kind in ("post", "edit") for number in range(6)]


async def test_the_final_text_is_tried_for_five_minutes_and_then_once_as_a_new_message(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    reply.append(" last")
    screen.faults = [DeliveryError("bad gateway")] * 500
    task = asyncio.create_task(reply.finish())
    await clock.advance(299.0)
    assert not task.done()
    assert {kind for kind, _ in screen.calls[1:]} == {"edit"}
    screen.faults = [DeliveryError("bad gateway")]
    await clock.advance(60.0)

    assert task.done()
    assert screen.calls[-1] == ("edit", Page(FIRST + " last", final=True)) or screen.calls[-1][0] == "post"


def without_marks(page: Page) -> Page:
    """How a page looks where stars and its end are not seen."""
    return Page(page.body.replace("*", ""), page.status)


async def test_a_page_is_drawn_once_for_each_call(start: OpenReply, screen: Screen, clock: FakeClock) -> None:
    reply = await start()
    screen.drawn.clear()

    for number in range(100):
        reply.append(f"word{number} ")
        await clock.advance(0.05)
    await finish(reply, clock)

    assert screen.drawn == [page for _, page in screen.calls]


async def test_a_platform_says_how_often_at_most_an_answer_grows_and_its_end_does_not_wait(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.pace, screen.length = Pace(apart=3.0), 10_000
    reply, shown = await start(), list[float]()
    for number in range(100):
        reply.append(f"word{number} ")
        await clock.advance(0.1)
        if len(screen.calls) > len(shown):
            shown.append(clock.now)
    reply.append("The end.")
    await finish(reply, clock, 0.0)

    assert len(shown) == 4 and all(later - sooner > 2.8 for sooner, later in pairwise(shown))
    assert screen.now().endswith("The end.")


async def test_what_looks_the_same_is_no_call_and_takes_none_from_others(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.looks, screen.budgets = without_marks, (RateBudget("chat", windows=(Window(2, 60.0),)),)
    reply, other = await start(), await start()
    reply.append(FIRST)
    await clock.advance(1.0)
    reply.append("**")
    await clock.advance(Pace().apart)
    reply.append("**")
    await finish(reply, clock, 0.0)

    other.append("other")
    await finish(other, clock, 0.0)

    assert [page.body for _, page in screen.calls] == [FIRST, "other"]


async def test_after_an_edit_without_an_answer_the_former_look_is_shown_again(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.looks = without_marks
    reply = await start()
    reply.append(FIRST)
    await clock.advance(1.0)
    screen.faults = [Unclear("no answer")]
    reply.status("c1", "searching")
    await clock.advance(Pace().apart)
    reply.status("c1", None)

    await finish(reply, clock)

    assert [page for _, page in screen.calls][1:] == [Page(FIRST, (Status("searching"),)), Page(FIRST)]


async def test_a_status_is_shown_beside_the_text_and_gone_at_the_end(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    reply = await start()
    reply.status("c1", "🔎 searching: weather")
    await clock.settle()
    assert screen.calls[0][1].status[0].text == "🔎 searching: weather"

    reply.append("Sunny.")
    await finish(reply, clock)

    assert screen.shown["m0"][-1] == Page("Sunny.", final=True)


async def test_a_resumed_reply_completes_the_same_message(start: OpenReply, screen: Screen, clock: FakeClock) -> None:
    screen.shown["m7"] = [Page("half of")]
    reply = await start(shown={0: ShownBefore(MessageRef("m7"), PageState.SHOWN)})
    reply.append("half of it, and the rest")

    await finish(reply, clock)

    assert list(screen.shown) == ["m7"]
    assert screen.now("m7") == "half of it, and the rest"


async def test_a_resumed_message_stays_until_there_is_something_to_read_in_its_place(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    """A mark alone shows nothing, and a platform that refuses it must not cost the answer its markup."""
    reply = await start(shown={0: ShownBefore(MessageRef("m0"), PageState.SHOWN)})

    reply.append("#")
    await clock.settle()
    assert screen.calls == []
    reply.append(" Tea\n")
    await clock.advance(1.0)

    assert screen.calls == [("edit", Page("# Tea\n"))]


async def test_messages_left_over_from_an_earlier_longer_try_are_taken_away(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.shown = {"m7": [Page("one")], "m8": [Page("two")]}
    shown = {0: ShownBefore(MessageRef("m7"), PageState.SHOWN), 1: ShownBefore(MessageRef("m8"), PageState.SHOWN)}
    reply = await start(shown=shown)
    reply.append("short")

    await finish(reply, clock)

    assert screen.removed == ["m8"]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (TooLong("too long", by=5), "file_too_large"),
        (Unrenderable("no such format"), "file_failed"),
        (Unreachable("files may not be posted here"), "file_failed"),
        (MessageGone("no thread"), "file_failed"),
        (Unclear("?"), "file_unsure"),
    ],
)
async def test_a_file_that_is_refused_is_told_and_the_others_are_posted(
    start: OpenReply, screen: Screen, clock: FakeClock, fault: Exception, why: str
) -> None:
    posted = screen.attach

    async def attach(file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        if file.name == "big.png":
            raise fault
        return await posted(file, after, nonce)

    screen.attach = attach  # type: ignore[method-assign]
    reply = await start()
    reply.append("Done.")
    for name in ("big.png", "small.png"):
        reply.attach(File(name, "image/png", b"1"))

    await finish(reply, clock, 60.0)

    assert [(file.name, reason) for file, reason in reply.undelivered] == [("big.png", why)]
    assert screen.files == ["small.png"]


async def test_a_file_that_a_former_process_may_have_posted_is_told_of_and_not_posted(
    start: OpenReply, screen: Screen, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where a repeated post is recognised, it is made again."""
    for safe, told, posted in ((False, ["a.png"], []), (True, [], ["a.png"])):
        monkeypatch.setattr(screen, "cost", lambda page, at, safe=safe: CallCost(repeats_safely=safe))
        reply = await start(attached={0: ShownBefore(None, PageState.SENDING)})
        reply.append("See:")
        reply.attach(File("a.png", "image/png", b"1"))

        await finish(reply, clock)

        assert [file.name for file, _ in reply.undelivered] == told
        assert screen.files == posted


async def test_files_come_after_the_text_and_once(start: OpenReply, screen: Screen, clock: FakeClock) -> None:
    reply = await start(attached={0: ShownBefore(MessageRef("f0"), PageState.FINAL)})
    reply.append("See:")
    reply.attach(File("a.png", "image/png", b"1"))
    reply.attach(File("b.png", "image/png", b"2"))

    await finish(reply, clock)

    assert screen.files == ["b.png"]


async def test_typing_shows_until_the_first_words_stand(start: OpenReply, screen: Screen, clock: FakeClock) -> None:
    screen.typing_seconds = 4.0
    reply = await start()
    await clock.advance(9.0)
    assert screen.typed == 3

    reply.append(FIRST)
    await clock.advance(20.0)

    assert screen.typed == 3
    await finish(reply, clock)


@pytest.mark.parametrize(("stays", "seconds", "rested"), [(True, 1.0, 1), (True, 0.1, 0), (False, 1.0, 0)])
async def test_a_sign_of_typing_that_stays_is_taken_away_at_the_end(
    start: OpenReply, screen: Screen, clock: FakeClock, stays: bool, seconds: float, rested: int
) -> None:
    screen.typing_seconds, screen.typing_stays = 4.0, stays
    reply = await start()
    await clock.advance(seconds)
    reply.append(FIRST)
    await clock.advance(1.0)
    assert screen.rested == 0

    await finish(reply, clock)
    await reply.__aexit__(None, None, None)

    assert screen.rested == rested


async def test_a_sign_of_typing_that_a_former_process_left_is_taken_away(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.typing_seconds, screen.typing_stays = 4.0, True
    reply = await start(shown={0: ShownBefore(MessageRef("m0"), PageState.SHOWN)})
    reply.append(FIRST)

    await finish(reply, clock)
    await reply.__aexit__(None, None, None)

    assert (screen.typed, screen.rested) == (0, 1)


async def test_the_record_is_written_before_a_post_and_after_it(start: OpenReply, log: Log, clock: FakeClock) -> None:
    reply = await start()
    reply.append(FIRST)
    await clock.settle()
    assert log.pages == [(0, "sending"), (0, "shown")]

    await finish(reply, clock)

    assert log.pages[-1] == (0, "final")


async def test_a_post_that_arrived_is_found_at_once_and_the_reply_goes_on_live(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.repeats = False
    screen.found = {"t1-0": "m0"}
    reply = await start()
    screen.faults = [Unclear("no answer")]
    reply.append("first words")
    await clock.settle()
    reply.append(" and more. ")
    await clock.advance(3.0)

    assert [kind for kind, _ in screen.calls] == ["post", "edit"]
    await finish(reply, clock)


async def test_a_post_of_unknown_outcome_is_made_again_with_growing_pauses_until_it_lands(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.repeats = False
    reply = await start()
    screen.faults = [Unclear("no answer")] * 5
    reply.append("All of it at once.")
    task = asyncio.create_task(reply.finish())
    await clock.advance(4.0)
    assert len(screen.calls) == 3
    await clock.advance(60.0)

    assert task.done()
    assert screen.calls[-1] == ("edit", Page("All of it at once.", final=True))
    assert len(screen.calls) == 7


async def test_a_platform_that_cannot_look_a_post_up_or_take_it_back_now_does_not_end_the_turn(
    start: OpenReply, screen: Screen, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: Screen, what: object) -> None:
        raise DeliveryError("bad gateway")

    monkeypatch.setattr(Screen, "find", refuse)
    monkeypatch.setattr(Screen, "remove", refuse)
    screen.repeats = False
    reply = await start(
        shown={0: ShownBefore(None, PageState.SENDING), 1: ShownBefore(MessageRef("m7"), PageState.SHOWN)},
    )
    reply.append("All of it at once.")
    task = asyncio.create_task(reply.finish())
    await clock.advance(60.0)

    assert task.done() and task.exception() is None
    assert screen.calls[-1][1].body == "All of it at once."


async def test_a_refused_sign_closes_the_chat_as_a_refused_page_does(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.typing_seconds = 4.0

    async def refused(words: str) -> None:
        raise RateLimited("wait", retry_after=9.0)

    screen.typing = refused  # type: ignore[method-assign]
    reply = await start()
    await clock.advance(TYPING_AFTER + 0.1)
    reply.append(FIRST)
    await clock.advance(8.8)
    early = list(screen.calls)
    await clock.advance(0.2)

    assert early == [] and [kind for kind, _ in screen.calls] == ["post"]


async def test_no_typing_is_shown_while_the_platform_asks_for_a_pause(
    start: OpenReply, screen: Screen, clock: FakeClock
) -> None:
    screen.typing_seconds = 4.0
    reply = await start()
    screen.faults = [RateLimited("slow down", retry_after=30.0)]
    reply.append(FIRST)
    await clock.settle()
    typed = screen.typed
    await clock.advance(29.0)

    assert screen.typed == typed
    await finish(reply, clock)
