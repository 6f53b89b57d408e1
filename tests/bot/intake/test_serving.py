"""How long a process keeps a place, and what it finds there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import pytest

from bot.contract.errors import StoreError
from bot.contract.messages import ChatId, MessageSent, ReplyTarget, Sender
from bot.intake.serving import HELD_SECONDS, IDLE_SECONDS, Serving
from bot.reply import Settling
from bot.store import Connection, InboxRow, InboxState, Store
from tests.conftest import FakeClock

CHANNEL = ChatId("telegram", "42", "7")
PLACE = str(CHANNEL)
TOPIC = replace(CHANNEL, thread="9")
T = TypeVar("T")


class Desk:
    """A process that serves a place, and what it took up there."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store, self.clock = store, clock
        self.taken: list[tuple[str, bool]] = []
        self.ids: list[int] = []
        self.held: list[str] = []
        self.handed: list[str] = []
        self.unsettled = False
        settling = Settling(store=store, replies=None, clock=clock, surface=None)  # type: ignore[arg-type]
        settling.resume = self._resume  # type: ignore[method-assign]
        self.serving = Serving(
            store=store,
            settling=settling,
            clock=clock,
            take_up=self._take_up,
            hand_over=self._hand_over,
            held=lambda: self.held,
        )
        self.task: asyncio.Task[None] | None = None

    async def _resume(self, within: str) -> bool:
        return self.unsettled and within == PLACE

    def _take_up(self, row: InboxRow, again: bool) -> None:
        assert isinstance(row.incoming, MessageSent)
        self.taken.append((row.incoming.text, again))
        self.ids.append(row.id)

    async def _hand_over(self, place: str) -> None:
        self.handed.append(place)

    async def serve(self, *, entered: bool = True) -> None:
        if entered:
            self.serving.enter("telegram")
        self.task = asyncio.create_task(self.serving.serve(PLACE))
        await self.clock.settle()

    async def put(self, text: str, chat: ChatId = CHANNEL) -> int:
        id = await self.store.intake.take_in(
            MessageSent(
                delivery=f"{chat} {text}",
                chat=chat,
                sender=Sender(id="telegram:7"),
                target=ReplyTarget("telegram", {}),
                text=text,
            )
        )
        assert id is not None
        return id

    async def end_all(self) -> None:
        for row in await self.store.intake.list_waiting():
            await self.store.intake.end(row.id, InboxState.DONE)

    async def serves_for(self, seconds: float) -> bool:
        """Whether the place is still served after so long, and no more a moment later."""
        assert self.task is not None
        await self.clock.advance(seconds)
        before = self.task.done()
        await self.clock.advance(3.0)
        return not before and self.task.done()


@pytest.fixture
def desk(store: Store, clock: FakeClock) -> Iterator[Desk]:
    desk = Desk(store, clock)
    yield desk
    if desk.task is not None:
        desk.task.cancel()


async def test_what_is_stored_in_a_place_is_taken_up_once_and_in_order(desk: Desk) -> None:
    await desk.put("one")
    await desk.put("two", TOPIC)
    await desk.serve()
    assert desk.taken == [("one", False), ("two", False)]

    third = await desk.put("three")
    assert desk.serving.hint(PLACE)
    await desk.clock.settle()
    assert desk.ids[-1] == third
    await desk.put("four")  # the hint is lost
    await desk.clock.advance(1.0)
    assert [text for text, _ in desk.taken] == ["one", "two", "three", "four"]

    await desk.store.intake.end(desk.ids[0], InboxState.DONE)
    desk.serving.hint(PLACE)
    await desk.clock.settle()
    assert len(desk.taken) == 4


async def test_more_than_is_read_at_once_is_taken_up_at_once(desk: Desk) -> None:
    for number in range(205):
        await desk.put(f"{number}")
    await desk.store.intake.begin(1)

    await desk.serve()

    assert desk.taken == [(f"{number}", True) for number in range(205)]


async def test_what_a_former_process_was_busy_with_and_what_waited_behind_it_was_let_in_by_it(desk: Desk) -> None:
    for text, chat in (("running", CHANNEL), ("waiting", CHANNEL), ("elsewhere", TOPIC)):
        await desk.put(text, chat)
    await desk.store.intake.begin(1)
    await desk.store.intake.pause(1)  # it was handed over

    await desk.serve()
    await desk.put("later")
    await desk.clock.advance(1.0)

    assert desk.taken == [("running", True), ("waiting", True), ("elsewhere", False), ("later", False)]


async def test_a_place_is_kept_until_it_was_idle_for_a_while(desk: Desk) -> None:
    await desk.put("one")
    await desk.serve()
    await desk.clock.advance(10 * IDLE_SECONDS)
    await desk.end_all()
    desk.unsettled = True
    await desk.clock.advance(10 * IDLE_SECONDS)
    assert desk.task is not None and not desk.task.done()

    desk.unsettled = False
    assert await desk.serves_for(IDLE_SECONDS - 2.0)
    assert not desk.serving.hint(PLACE) and desk.handed == []


async def test_a_place_is_kept_longer_while_variables_of_it_live_here(desk: Desk) -> None:
    desk.held = [str(TOPIC), "telegram:42/70"]
    await desk.serve()

    assert await desk.serves_for(HELD_SECONDS - 2.0)


async def test_a_place_waits_for_the_login_of_its_platform_and_for_the_store(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    look, fails = desk.store.intake.look, True

    async def look_failing(place: str, known: set[int]) -> tuple[list[InboxRow], set[int]]:
        if fails:
            raise StoreError("The disk is full.")
        return await look(place, known)

    monkeypatch.setattr(desk.store.intake, "look", look_failing)
    await desk.put("one")
    await desk.serve(entered=False)
    await desk.clock.advance(10 * IDLE_SECONDS)
    assert desk.task is not None and not desk.task.done() and not caplog.text

    desk.serving.enter("telegram")
    await desk.clock.advance(IDLE_SECONDS)
    assert desk.taken == [] and "telegram:42/7 waits: The disk is full." in caplog.text
    fails = False
    await desk.clock.advance(IDLE_SECONDS)
    assert desk.taken == [("one", False)]
    desk.serving.leave("telegram")
    await desk.put("two")
    await desk.clock.advance(IDLE_SECONDS)
    assert len(desk.taken) == 1


async def test_what_is_to_be_shown_again_is_found_without_a_hint_and_after_a_fault_of_the_store(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    resumed: list[str] = []
    fails, unsettled = True, list[tuple[int, ChatId, float, float]]()

    async def resume(within: str) -> bool:
        resumed.append(within)
        return False

    async def list_unsettled() -> list[tuple[int, ChatId, float, float]]:
        if fails:
            raise StoreError("The disk is full.")
        return unsettled

    monkeypatch.setattr(desk.serving.settling, "resume", resume)
    monkeypatch.setattr(desk.store.turns, "list_unsettled", list_unsettled)
    await desk.serve()
    unsettled.append((1, TOPIC, 0.0, 0.0))
    await desk.clock.advance(3.0)
    assert resumed == [PLACE]
    fails = False
    await desk.clock.advance(1.0)
    assert resumed == [PLACE, PLACE]
    monkeypatch.setattr(desk.serving.settling, "shows", (1).__eq__)
    await desk.clock.advance(10 * IDLE_SECONDS)
    assert desk.task is not None and not desk.task.done()
    unsettled.clear()
    assert await desk.serves_for(IDLE_SECONDS - 2.0)


async def test_a_hundred_places_that_are_kept_cost_two_reads_a_second(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.serving.enter("telegram")
    serving = [asyncio.create_task(desk.serving.serve(f"telegram:42/{number}")) for number in range(100)]
    await desk.clock.settle()
    reads, read = 0, desk.store.intake._readers.read

    async def counted(work: Callable[[Connection], T]) -> T:
        nonlocal reads
        reads += 1
        return await read(work)

    monkeypatch.setattr(desk.store.intake._readers, "read", counted)
    await desk.clock.advance(10.0)
    seen = reads
    await desk.put("one")
    await desk.clock.advance(1.0)
    for task in serving:
        task.cancel()
    await asyncio.wait(serving)

    assert seen == 20 and desk.taken == [("one", False)]


async def test_a_place_that_is_taken_away_is_handed_over(desk: Desk) -> None:
    await desk.serve()
    assert desk.task is not None

    desk.task.cancel()
    await asyncio.wait([desk.task])

    assert desk.task.cancelled() and desk.handed == [PLACE] and not desk.serving.hint(PLACE)


async def test_a_place_that_cannot_be_served_is_handed_over_before_it_is_served_anew(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(row: InboxRow, again: bool) -> None:
        raise RuntimeError("an error of our own")

    await desk.put("one")
    monkeypatch.setattr(desk.serving, "take_up", broken)
    desk.serving.enter("telegram")

    with pytest.raises(RuntimeError):
        await desk.serving.serve(PLACE)

    assert desk.handed == [PLACE]
