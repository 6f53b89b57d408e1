"""An answer in several messages that are never edited, where no edit is left for its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from bot.contract import CallCost, Drawn, MessageRef, Page, RateBudget, SurfaceLimits, Window
from bot.pacing import Pacer
from bot.reply.stream import ReplyStream
from tests.bot.conftest import BareSurface
from tests.bot.reply.test_stream import Log
from tests.conftest import FakeClock
from tests.patience import PATIENCE
from tests.surfaces import DrawnPage, page_of

POSTS = RateBudget("posts", windows=(Window(40, 60.0),), shared=True)
EDITS = RateBudget("edits", windows=(Window(3, 60.0),), shared=True)
SENTENCE = "The kettle sings before the water boils. "


@dataclass
class Screen(BareSurface):
    """Posts are many and edits are few."""

    pieces: bool = True
    calls: list[tuple[str, Page]] = field(default_factory=list)

    @property
    def limits(self) -> SurfaceLimits:
        return SurfaceLimits(3_600, 4_000, len, typing_seconds=0.0, pieces=self.pieces)

    def draw(self, page: Page) -> DrawnPage:
        return DrawnPage(page)

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        return CallCost((POSTS if at is None else EDITS,), at is not None, found_again=True)

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        self.calls.append(("edit" if at else "post", page_of(drawn)))
        return at or MessageRef(f"m{len(self.calls)}")

    @property
    def text(self) -> str:
        return "".join(page.body for _, page in self.calls)


Start = Callable[[Screen], Awaitable[ReplyStream]]


@pytest.fixture
async def start(clock: FakeClock) -> AsyncIterator[Start]:
    """Begins replies beside two that have the last edits promised."""
    pacer, opened = Pacer(clock), list[ReplyStream]()

    async def start(screen: Screen) -> ReplyStream:
        reply = ReplyStream(screen, pacer, Log(), clock, turn=f"t{len(opened)}")
        opened.append(await reply.__aenter__())
        return reply

    for _ in range(2):
        (await start(Screen())).append(SENTENCE * 3)
    await clock.advance(1.5)
    yield start
    for reply in opened:
        await reply.__aexit__(RuntimeError, None, None)
    await pacer.close()


async def end(reply: ReplyStream, clock: FakeClock) -> None:
    task = asyncio.create_task(reply.finish())
    await clock.advance(2.0)
    await asyncio.wait_for(task, PATIENCE)


async def test_what_has_no_edit_left_is_read_while_it_is_written_and_no_message_is_edited(
    start: Start, clock: FakeClock
) -> None:
    screen = Screen()
    reply = await start(screen)
    reply.append(SENTENCE * 2 + "And a")
    await clock.advance(1.0)
    assert [page.body for _, page in screen.calls] == [SENTENCE * 2]

    reply.append("fter that " + SENTENCE)
    await end(reply, clock)

    assert [kind for kind, _ in screen.calls] == ["post", "post"]
    assert screen.text == f"{SENTENCE * 2}And after that {SENTENCE}"
    assert all(page.final for _, page in screen.calls)


async def test_a_further_message_comes_when_its_reader_runs_out_and_is_long_enough(
    start: Start, clock: FakeClock
) -> None:
    screen = Screen()
    reply = await start(screen)
    reply.append(SENTENCE * 2)
    reply.append("x")
    await clock.advance(1.0)
    assert len(screen.calls) == 1

    reply.append(SENTENCE * 3)
    await clock.advance(60.0)
    assert len(screen.calls) == 1, "three sentences are read in four seconds"

    reply.append(SENTENCE * 10)
    await clock.advance(1.0)
    assert len(screen.calls) == 2


async def test_a_status_is_no_message_of_its_own(start: Start, clock: FakeClock) -> None:
    screen = Screen()
    reply = await start(screen)
    reply.status("a", "Searching")
    await clock.advance(30.0)

    assert screen.calls == []


async def test_where_messages_must_be_edited_it_is_shown_once_and_whole(start: Start, clock: FakeClock) -> None:
    screen = Screen(pieces=False)
    reply = await start(screen)
    reply.append(SENTENCE * 4)
    await clock.advance(30.0)
    assert screen.calls == []

    await end(reply, clock)
    assert [(kind, page.body) for kind, page in screen.calls] == [("post", SENTENCE * 4)]


async def test_pieces_leave_half_of_the_posts_to_the_ends(start: Start, clock: FakeClock) -> None:
    screens = [Screen() for _ in range(30)]
    for screen in screens:
        (await start(screen)).append(SENTENCE * 2 + "x")
    await clock.advance(5.0)

    assert sum(bool(screen.calls) for screen in screens) == 18, "two of twenty began before"


async def test_where_as_many_come_as_can_end_none_is_begun_for_good(start: Start, clock: FakeClock) -> None:
    """Twelve seconds of one a second: twice as many more would take all posts for their ends, so that a beginning that
    nobody edits would delay one."""
    screens = [Screen() for _ in range(12)]
    for screen in screens:
        reply = await start(screen)
        await clock.advance(1.0)
    reply.append(SENTENCE * 2 + "x")
    await clock.advance(1.0)
    assert screen.calls == []

    await clock.advance(12.0)
    assert [page.body for _, page in screen.calls] == [SENTENCE * 2], "no more came, so there is room again"


async def test_many_at_once_are_begun_as_no_more_come(start: Start, clock: FakeClock) -> None:
    screens = [Screen() for _ in range(10)]
    for screen in screens:
        (await start(screen)).append(SENTENCE * 2 + "x")
    await clock.advance(1.5)

    assert all(screen.calls for screen in screens)
