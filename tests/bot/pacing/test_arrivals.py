"""Who comes a moment later finds a call to begin with and one to end with, before others have their third."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.contract.surface import CallCost, RateBudget, Window
from bot.pacing.asked import Asked
from bot.pacing.pacer import Pacer
from bot.pacing.reader import Reader
from bot.pacing.scope import BudgetState
from bot.pacing.waiting import Grant, Purpose
from tests.conftest import FakeClock

EDITS = RateBudget("slack:T1/chat.update", windows=(Window(48, 60.0),), shared=True)
POSTS = RateBudget("slack:T1/chat.postMessage", windows=(Window(290, 60.0),), shared=True)
WORDS = "word " * 5
"""What a reader takes three quarters of a second for."""


@pytest.fixture
async def pacer(clock: FakeClock) -> AsyncIterator[Pacer]:
    pacer = Pacer(clock)
    yield pacer
    await pacer.close()


class People:
    """Replies whose readers need an edit whenever they have read what is shown, and which end after a while."""

    def __init__(self, pacer: Pacer, clock: FakeClock, seconds: float = 4.0) -> None:
        self.pacer, self.clock, self.seconds = pacer, clock, seconds
        self.admitted = 0
        self.progress = 0
        self.late: list[float] = []
        """How much later than they were asked for ends came."""
        self._waiting: list[tuple[float, Reader, Grant]] = []

    def come(self) -> None:
        reader = self.pacer.enter((EDITS,))
        self.admitted += self.pacer.admits(reader)
        self.pacer.seen(reader, WORDS)
        self._want(self.clock.now, reader, Purpose.PROGRESS)

    def _want(self, came: float, reader: Reader, purpose: Purpose) -> None:
        grant = self.pacer.ask(CallCost((EDITS,)), purpose, reader, at_once=purpose is Purpose.FINAL)
        self.pacer.wait(grant)
        self._waiting.append((came, reader, grant))

    async def read(self, seconds: float) -> None:
        """Let time pass: what is granted is shown, and what is written ends."""
        until = self.clock.now + seconds
        while self.clock.now < until:
            await self.clock.advance(0.05)
            waiting, self._waiting = self._waiting, []
            for came, reader, grant in waiting:
                over = self.clock.now - came >= self.seconds
                if not grant.granted:
                    if over and grant.purpose is Purpose.PROGRESS:
                        self.pacer.change(grant, Purpose.FINAL, reader)
                    self._waiting.append((came, reader, grant))
                    continue
                self.pacer.answered(grant.cost)
                if grant.purpose is Purpose.FINAL:
                    self.late.append(self.clock.now - came - self.seconds)
                    self.pacer.leave(reader)
                    continue
                self.progress += 1
                self.pacer.seen(reader, WORDS)
                self._want(came, reader, Purpose.FINAL if over else Purpose.PROGRESS)


@pytest.mark.parametrize(("many", "within"), [(23, 2.0), (16, 6.0)])
async def test_everybody_who_comes_within_seconds_begins_grows_once_and_ends_in_time(
    pacer: Pacer, clock: FakeClock, many: int, within: float
) -> None:
    """Nobody's second edit that is not the last takes an end of those who come later."""
    people = People(pacer, clock)
    for _ in range(many):
        people.come()
        await people.read(within / many)
    await people.read(6.0)

    assert people.admitted == many
    assert len(people.late) == many and max(people.late) <= 0.2


async def test_who_comes_at_once_grows_as_soon_as_no_more_come(pacer: Pacer, clock: FakeClock) -> None:
    people = People(pacer, clock)
    for _ in range(20):
        people.come()
    await people.read(1.0)
    assert people.progress == 20

    await people.read(6.0)
    assert max(people.late) <= 0.2 and 20 <= people.progress <= 28


async def test_a_few_who_come_one_after_the_other_grow_meanwhile(pacer: Pacer, clock: FakeClock) -> None:
    people = People(pacer, clock)
    for _ in range(10):
        people.come()
        await people.read(0.5)

    assert people.progress >= 5


async def test_of_posts_beginnings_come_before_further_messages(pacer: Pacer, clock: FakeClock) -> None:
    """Of answers that no edit is left for, half of the posts stay for whoever comes; a beginning may use more."""
    readers = [pacer.enter((POSTS,)) for _ in range(100)]
    await clock.advance(1.0)
    for _ in range(150):
        assert pacer.take(CallCost((POSTS,)), Purpose.FINAL)
        pacer.answered(CallCost((POSTS,)))
    for reader in readers:
        reader.in_pieces = True
    pacer.seen(readers[0], "")
    await clock.advance(1.0)
    further = pacer.ask(CallCost((POSTS,)), Purpose.PROGRESS, readers[0])
    first = pacer.ask(CallCost((POSTS,)), Purpose.FIRST, readers[1])
    for grant in (further, first):
        pacer.wait(grant)
    await clock.advance(2.0)

    assert first.granted and not further.granted


async def test_as_many_are_expected_as_came_in_the_minute_until_a_lull(clock: FakeClock) -> None:
    state = BudgetState(EDITS)
    for number in range(20):
        state.come(at := clock.now + number * 0.5, at)
    assert state.expected(clock.now + 9.9) == 20
    assert state.expected(clock.now + 16.0) == 0
    assert (state.crowd(clock.now + 9.9, 1.0), state.crowd(clock.now + 9.9, 5.0)) == (2, 10)

    for number in range(30):
        state.come(at := clock.now + 65 + number * 0.001, at)
    assert state.expected(clock.now + 65.1) == 39, "with nine of the minute"
    assert state.expected(clock.now + 65.4) == 0, "they came at once"


async def test_who_asked_before_twenty_at_once_does_not_make_them_a_stream(pacer: Pacer, clock: FakeClock) -> None:
    """Their first words would be collected until the next call, which a hundred newcomers would have used."""
    pacer.leave(pacer.enter((EDITS,)))
    await clock.advance(2.0)
    twenty = []
    for _ in range(20):
        twenty.append(pacer.enter((EDITS,)))
        await clock.advance(0.003)
    await clock.advance(0.08)

    assert all(pacer.lasts(reader, WORDS) for reader in twenty)


async def test_no_call_is_kept_that_is_free_again_by_then(clock: FakeClock) -> None:
    """Where people come all the time, calls come back as they were used."""
    state = BudgetState(EDITS)
    for number in range(60):
        state.come(at := clock.now + number, at)
        state.grant(at)
        state.answer(at)

    assert state.expected(clock.now + 59.5) == 0, "a call comes back each second"
    assert state.expected(clock.now + 95.0) == 0, "nobody comes any more"

    state = BudgetState(EDITS)
    for number in range(20):
        state.come(at := clock.now + number, at)
        state.grant(at + 10.0)
        state.answer(at + 10.0)
    assert state.expected(clock.now + 29.9 - 10.0) == 20, "the first comes back after forty seconds"

    of_one = BudgetState(RateBudget("telegram:1/chat/-7", windows=(Window(20, 60.0),)))
    near = BudgetState(RateBudget("telegram:1", windows=(Window(28, 1.0),), shared=True))
    for budget in (of_one, near):
        for _ in range(10):
            budget.come(clock.now, clock.now)
        assert budget.expected(clock.now) == 0


async def test_a_hundred_who_ask_at_once_are_no_stream_however_late_their_answers_begin(
    pacer: Pacer, clock: FakeClock
) -> None:
    """A stream of twenty a second would leave every post to the ends."""
    reader, begin = pacer.enter((POSTS,)), asyncio.Event()

    async def begin_late(number: int) -> None:
        with pacer.expecting("slack", anew=True):
            await begin.wait()
            await clock.sleep(number / 20)
            with pacer.expecting("slack"):
                pacer.enter((POSTS,))

    answers = [asyncio.create_task(begin_late(number)) for number in range(100)]
    await asyncio.sleep(0)
    begin.set()
    for _ in range(90):
        await clock.advance(0.05)
    reader.in_pieces = True
    first = pacer.ask(CallCost((POSTS,)), Purpose.FIRST, reader)
    pacer.wait(first)
    assert first.granted
    await clock.advance(1.0)
    await asyncio.gather(*answers)


async def test_a_busy_machine_that_begins_answers_late_sees_no_lull_in_a_stream(pacer: Pacer, clock: FakeClock) -> None:
    """Eight a second come, and each answer begins three seconds later: their ends leave no post for more."""
    reader = pacer.enter((POSTS,))
    for _ in range(20):
        assert pacer.take(CallCost((POSTS,)), Purpose.FINAL)
        pacer.answered(CallCost((POSTS,)))

    async def begin_late() -> None:
        with pacer.expecting("slack", anew=True):
            await clock.sleep(3.0)
            pacer.enter((POSTS,))

    answers = []
    for _ in range(200):
        answers.append(asyncio.create_task(begin_late()))
        await clock.advance(0.125)
    reader.in_pieces = True
    first = pacer.ask(CallCost((POSTS,)), Purpose.FIRST, reader)
    pacer.wait(first)
    assert not first.granted

    await clock.advance(4.5)
    assert first.granted, "no more come"
    await asyncio.gather(*answers)


async def test_a_question_asked_from_an_answer_has_a_time_of_its_own(pacer: Pacer, clock: FakeClock) -> None:
    asked = Asked(clock)
    with asked.expect("slack", anew=True):
        await clock.advance(5.0)
        with asked.expect("slack", anew=False):
            assert asked.asked_at == clock.now - 5.0
        with asked.expect("slack", anew=True):
            assert asked.asked_at == clock.now
        assert asked.asked_at == clock.now - 5.0


@pytest.mark.parametrize(("made", "at_once"), [(0, True), (30, True), (44, False)])
async def test_a_few_who_ask_within_seconds_get_first_words_at_once_while_a_minutes_edits_are_left(
    pacer: Pacer, clock: FakeClock, made: int, at_once: bool
) -> None:
    """One a second would use the minute's edits three times over, but three people are not a minute of them."""
    for _ in range(made):
        await pacer.call(CallCost((EDITS,)), Purpose.FINAL, lambda: asyncio.sleep(0))
    readers = list[Reader]()
    for _ in range(3):
        await clock.advance(1.5)
        readers.append(pacer.enter((EDITS,)))

    assert [pacer.lasts(reader, WORDS) for reader in readers] == [at_once] * 3
