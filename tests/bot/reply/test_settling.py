"""Replies that are shown again until they surely stand, at exact times, out of a real database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.contract.errors import MessageGone, RateLimited, Unclear, Unreachable
from bot.contract.messages import Button, ChatId, Control, File, MessageRef, MessageSent, ReplyTarget, Sender
from bot.contract.surface import CallCost, Drawn, RateBudget, SurfaceLimits
from bot.contract.transcript import Usage
from bot.pacing.pacer import Pacer
from bot.reply.opening import Replies
from bot.reply.record import Recorded
from bot.reply.settling import Due, Settling
from bot.reply.stream import ReplyStream
from bot.store import Store, TurnState
from tests.bot.conftest import BareSurface
from tests.conftest import FakeClock
from tests.surfaces import page_of

CHAT = ChatId("telegram", "42", "7")
ADA = Sender(id="telegram:7", name="Ada")
DAY = 86_400.0
RAIN = ("It rains,", " all over Kyoto,", " today.")
ALL = "".join(RAIN)


@dataclass
class Screen(BareSurface):
    """A platform that may make an edit long after its connection broke."""

    clock: FakeClock
    texts: list[str] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    """When each came."""
    faults: list[Exception | None] = field(default_factory=list)
    late: list[tuple[int, str]] = field(default_factory=list)
    """Edits without an answer that were not made yet."""
    files: list[str] = field(default_factory=list)
    buttons: list[tuple[Button, ...]] = field(default_factory=list)
    """What stood below each page that was shown."""
    limits: SurfaceLimits = field(default_factory=lambda: SurfaceLimits(60, 120, len, typing_seconds=0.0))

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        return CallCost((RateBudget("telegram:42/chat/7", rate=10.0, burst=10),))

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        page = page_of(drawn)
        self.calls.append(self.clock.now)
        self.buttons.append(page.buttons)
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, Unclear) and at is not None:
            self.late.append((int(at.id), page.body))
        if fault is not None:
            raise fault
        if at is None:
            self.texts.append(page.body)
            return MessageRef(str(len(self.texts) - 1))
        self.texts[int(at.id)] = page.body
        return at

    def apply(self) -> None:
        """Make the edits that wait."""
        for number, text in self.late:
            self.texts[number] = text
        self.late.clear()

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        self.files.append(file.name)
        return MessageRef(f"f{len(self.files)}")


class Desk:
    """One process: what it shows, and what it shows again."""

    def __init__(self, store: Store, clock: FakeClock, screen: Screen) -> None:
        self.store, self.clock, self.screen = store, clock, screen
        self.pacer = Pacer(clock)
        replies = Replies(store=store, pacer=self.pacer, clock=clock, buttons=True)
        self.settling = Settling(store=store, replies=replies, clock=clock, surface=self._surface)
        self.connected = True

    def _surface(self, target: ReplyTarget) -> Screen:
        if not self.connected:
            raise Unreachable("not connected")
        return self.screen

    async def answer(self, *pieces: str, faults: tuple[Exception | None, ...] = (), resumed: bool = False) -> int:
        """One turn, piece by piece; the faults meet its calls."""
        question = MessageSent(
            delivery=f"q{self.clock.now}", chat=CHAT, sender=ADA, target=ReplyTarget("telegram"), text="?"
        )
        turn = await self.store.intake.take_in(question)
        assert turn is not None
        await self.store.turns.begin(turn, CHAT, ADA.id)
        self.screen.faults = list(faults)
        reply = ReplyStream(self.screen, self.pacer, Recorded(self.store, turn, str(CHAT)), self.clock, turn=f"t{turn}")
        async with reply:
            for piece in pieces:
                reply.append(piece)
                await self.clock.advance(1.0)
            ending = asyncio.create_task(reply.finish())
            for _ in range(20):
                await self.clock.advance(0.5)
            assert ending.done()
        due = self.settling.due(reply, resumed=resumed)
        await self.store.turns.close(
            turn,
            TurnState.DONE,
            [],
            visible=reply.text,
            reasoning="",
            model="",
            usage=Usage(),
            again_at=due.at if due else None,
            cuts=reply.cuts if due else (),
        )
        self.settling.begin(turn, CHAT, due)
        self.ended = self.clock.now
        self.screen.calls.clear()
        return turn

    async def close(self) -> None:
        await self.settling.close()
        await self.pacer.close()

    @property
    def times(self) -> list[float]:
        """When it was shown again, in seconds after its end."""
        return [round(at - self.ended, 1) for at in self.screen.calls]


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock) as store:
        yield store


@pytest.fixture
def screen(clock: FakeClock) -> Screen:
    return Screen(clock)


@pytest.fixture
async def desk(store: Store, clock: FakeClock, screen: Screen) -> AsyncIterator[Desk]:
    desk = Desk(store, clock, screen)
    yield desk
    await desk.close()


LOST = Unclear("the connection broke")


async def test_what_was_answered_throughout_is_not_shown_again(desk: Desk) -> None:
    await desk.answer("It", " rains.")
    await desk.clock.advance(1_000.0)

    assert desk.screen.calls == [] and desk.settling.waiting == 0
    assert await desk.store.turns.list_unsettled() == []


@pytest.mark.parametrize("when", [0.0, 1.9, 2.1, 14.0, 16.0, 100.0, 149.0])
async def test_an_edit_that_is_made_late_does_not_stand_last(when: float, desk: Desk) -> None:
    """Whenever it is made: that nothing had to be changed before says nothing."""
    await desk.answer(*RAIN, faults=(None, LOST))
    assert desk.screen.texts == [ALL]
    await desk.clock.advance(when)

    desk.screen.apply()
    assert desk.screen.texts == ["".join(RAIN[:2])]
    await desk.clock.advance(150.1 - when)

    assert desk.screen.texts == [ALL]
    assert desk.times == [2.0, 15.0, 150.0]
    assert desk.settling.waiting == 0 and await desk.store.turns.list_unsettled() == []


@pytest.mark.parametrize(("ended", "times"), [(1.0, [3.0, 15.0, 150.0]), (9.0, [11.0, 15.0, 150.0]), (149.0, [151.0])])
async def test_the_next_process_lets_what_is_waited_for_go_first(
    ended: float, times: list[float], desk: Desk, clock: FakeClock, screen: Screen
) -> None:
    """It shows a reply again two seconds later, and then when the process before it would have."""
    await desk.answer(*RAIN, faults=(None, LOST))
    await desk.clock.advance(ended)
    await desk.close()
    screen.calls.clear()

    other = Desk(desk.store, clock, screen)
    other.ended = desk.ended
    await other.settling.resume("telegram")
    await other.clock.advance(200.0)
    await other.close()

    assert other.times == times and await desk.store.turns.list_unsettled() == []


async def test_the_next_process_goes_on_with_what_is_not_settled(desk: Desk, clock: FakeClock, screen: Screen) -> None:
    await desk.answer(*RAIN, faults=(None, LOST))
    await desk.close()
    screen.apply()
    assert screen.texts == ["".join(RAIN[:2])]

    other = Desk(desk.store, clock, screen)
    await other.settling.resume("slack")
    assert other.settling.waiting == 0
    await other.settling.resume("telegram")
    await other.settling.resume("telegram")
    await other.clock.advance(2.1)
    soon = list(screen.texts)
    await other.clock.advance(150.0)
    await other.close()

    assert soon == [ALL]
    assert screen.texts == [ALL] and await desk.store.turns.list_unsettled() == []


async def test_what_is_not_settled_in_a_place_is_found_there_and_shown_by_one_task(
    desk: Desk, clock: FakeClock, screen: Screen
) -> None:
    """Found by who serves the place in the moment in which the turn ends there, it was shown again by two."""
    turn = await desk.answer(*RAIN, faults=(None, LOST))
    place = str(CHAT.place)

    assert not await desk.settling.resume(f"{place}0") and await desk.settling.resume(place)
    desk.settling.begin(turn, CHAT, Due(2.0, stale=True, at=clock.wall() + 2.0))
    assert desk.settling.waiting == 1
    await desk.clock.advance(151.0)
    assert desk.times == [2.0, 15.0, 150.0] and not await desk.settling.resume(place)
    assert desk.settling.waiting == 0


async def test_the_last_edit_of_a_former_process_may_be_late_too(desk: Desk) -> None:
    await desk.answer("It", " rains.", resumed=True)
    await desk.clock.advance(150.1)

    assert desk.times == [2.0, 15.0, 150.0]


async def test_all_pages_are_put_right_as_they_were_cut(desk: Desk) -> None:
    text = [f"Sentence {number} says something here. " for number in range(8)]
    await desk.answer(*text, faults=(None, None, LOST))
    whole = list(desk.screen.texts)
    assert len(whole) > 3
    desk.screen.texts[:] = ["older"] * len(whole)
    await desk.clock.advance(2.5)

    assert desk.screen.texts == whole


async def test_what_was_deleted_meanwhile_stays_deleted(desk: Desk) -> None:
    await desk.answer(*RAIN, faults=(None, LOST))
    desk.screen.faults = [MessageGone("deleted")]
    await desk.clock.advance(150.1)

    assert len(desk.screen.texts) == 1 and desk.times == [2.0]


async def test_nothing_is_shown_again_where_the_person_left(desk: Desk) -> None:
    await desk.answer(*RAIN, faults=(None, LOST))
    desk.screen.faults = [Unreachable("blocked")]
    await desk.clock.advance(200.0)

    assert len(desk.times) <= 3 and await desk.store.turns.list_unsettled() == []


async def test_a_forgotten_chat_is_left_alone(desk: Desk) -> None:
    await desk.answer(*RAIN, faults=(None, LOST))
    await desk.store.history.forget(CHAT)
    await desk.clock.advance(200.0)

    assert desk.times == []


async def test_a_platform_without_a_connection_is_waited_for(desk: Desk) -> None:
    await desk.answer(*RAIN, faults=(None, LOST))
    desk.connected = False
    await desk.clock.advance(40.0)
    desk.screen.apply()
    desk.connected = True
    await desk.clock.advance(31.0)
    soon = list(desk.screen.texts)
    await desk.clock.advance(150.0)

    assert soon == [ALL] and desk.times[-1] >= 150.0


async def test_what_a_platform_refused_for_a_day_is_shown_then(desk: Desk) -> None:
    await desk.answer(*RAIN, faults=(None, RateLimited("tomorrow", retry_after=DAY)))
    assert desk.screen.texts == [RAIN[0]]
    await desk.clock.advance(DAY - 60.0)
    early = list(desk.screen.calls)
    await desk.clock.advance(60.0)

    assert early == [] and desk.screen.texts == [ALL]
    assert await desk.store.turns.list_unsettled() == [] and desk.settling.waiting == 0


async def test_what_waits_for_a_day_survives_a_restart(desk: Desk, clock: FakeClock, screen: Screen) -> None:
    """Also an answer of which nothing stands yet."""
    await desk.answer(ALL, faults=(RateLimited("tomorrow", retry_after=DAY),))
    assert screen.texts == []
    await desk.close()
    await desk.clock.advance(3_600.0)

    other = Desk(desk.store, clock, screen)
    await other.settling.resume("telegram")
    await other.clock.advance(DAY - 3_700.0)
    early = list(screen.texts)
    await other.clock.advance(120.0)
    await other.close()

    assert early == [] and screen.texts == [ALL]


async def test_what_a_platform_refused_for_long_comes_in_order(desk: Desk, clock: FakeClock, screen: Screen) -> None:
    """Also where the first of them is refused once more, and after a restart."""
    await desk.answer("The first.", faults=(RateLimited("tomorrow", retry_after=DAY),))
    await desk.answer("The second.")
    await desk.close()

    other = Desk(desk.store, clock, screen)
    await other.settling.resume("telegram")
    screen.faults = [RateLimited("tomorrow", retry_after=1_000.0)]
    await other.clock.advance(DAY)
    early = list(screen.texts)
    await other.clock.advance(2_000.0)
    await other.close()

    assert early == [] and screen.texts == ["The first.", "The second."]


async def test_a_platform_that_refuses_again_and_again_is_left_at_last(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = RateLimited("tomorrow", retry_after=DAY)
    await desk.answer(*RAIN, faults=(None, *[refusal] * 100))
    for _ in range(12):
        await desk.clock.advance(DAY)

    assert len(desk.times) == 8 and await desk.store.turns.list_unsettled() == []
    assert any("stays as it is" in record.getMessage() for record in caplog.records)


async def test_a_clock_that_was_set_back_makes_nobody_wait_for_weeks(desk: Desk, screen: Screen) -> None:
    turn = await desk.answer(*RAIN, faults=(None, LOST))
    await desk.settling.close()
    await desk.store.turns.show_again(turn, desk.clock.wall() + 90 * DAY)
    await desk.settling.resume("telegram")
    screen.apply()
    await desk.clock.advance(DAY + 1.0)

    assert screen.texts == [ALL]


@pytest.mark.parametrize("newer", [False, True])
async def test_only_the_newest_answer_has_buttons_when_it_is_shown_again(
    desk: Desk, screen: Screen, clock: FakeClock, newer: bool
) -> None:
    await desk.answer(*RAIN, faults=(None, Unclear("?")))
    if newer:
        await desk.answer("Sun.")
    screen.buttons.clear()

    for _ in range(40):
        await clock.advance(1.0)

    shown = {tuple(button.control for button in buttons) for buttons in screen.buttons}
    assert shown == {() if newer else (Control.REGENERATE, Control.GOOD, Control.BAD)}
