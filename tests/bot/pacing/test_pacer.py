"""Budgets, the order of those who wait, and what a refusal teaches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from functools import partial

import pytest

from bot.contract.errors import Closed, RateLimited, Unclear
from bot.contract.surface import CallCost, RateBudget, Window
from bot.pacing.pacer import PATIENCE, Pacer
from bot.pacing.reader import CALM, COLLECT, Reader
from bot.pacing.scope import BudgetState
from bot.pacing.waiting import Grant, Purpose
from tests.conftest import FakeClock

CHAT = RateBudget("telegram:1/chat/7", rate=1.0, burst=3)
BOT = RateBudget("telegram:1", windows=(Window(28, 1.0),), shared=True)
GROUP = RateBudget("telegram:1/chat/-7", windows=(Window(20, 60.0),))
WIDE = RateBudget("wide", windows=(Window(10, 8.0),), shared=True)
NARROW = CallCost((RateBudget("narrow", windows=(Window(1, 1.0),)),))
TEXT = "word " * 27
"""What a reader takes four seconds for."""


@pytest.fixture
async def pacer(clock: FakeClock) -> AsyncIterator[Pacer]:
    pacer = Pacer(clock)
    yield pacer
    await pacer.close()


class Calls:
    """Calls that were granted, with their times."""

    def __init__(self, pacer: Pacer, clock: FakeClock) -> None:
        self.pacer = pacer
        self.clock = clock
        self.granted: list[tuple[float, str]] = []
        self.tasks: list[asyncio.Task[None]] = []

    def ask(
        self,
        name: str,
        cost: CallCost,
        purpose: Purpose,
        reader: Reader | None = None,
        *,
        answer_after: float = 0.0,
        at_once: bool = True,
    ) -> Grant:
        """Ask for a call now, and make it when it is granted."""
        grant = self.pacer.ask(cost, purpose, reader, at_once=at_once)

        async def call() -> None:
            self.granted.append((round(self.clock.now - 1000.0, 3), name))
            if answer_after:
                await self.clock.sleep(answer_after)

        self.tasks.append(asyncio.create_task(grant.call(call)))
        return grant

    @property
    def names(self) -> list[str]:
        return [name for _, name in self.granted]

    @property
    def times(self) -> list[float]:
        return [at for at, _ in self.granted]


@pytest.fixture
async def calls(pacer: Pacer, clock: FakeClock) -> AsyncIterator[Calls]:
    calls = Calls(pacer, clock)
    yield calls
    for task in calls.tasks:
        task.cancel()
    await asyncio.gather(*calls.tasks, return_exceptions=True)


async def test_a_chat_takes_its_burst_at_once_and_then_one_call_a_second(calls: Calls, clock: FakeClock) -> None:
    for number in range(5):
        calls.ask(str(number), CallCost((CHAT,)), Purpose.FINAL)

    await clock.advance(10.0)

    assert calls.times == [0.0, 0.0, 0.0, 1.0, 2.0]


async def test_a_call_counts_from_its_answer_because_calls_bunch_up_on_the_way(calls: Calls, clock: FakeClock) -> None:
    slow = RateBudget("slow", windows=(Window(1, 1.0),))
    calls.ask("first", CallCost((slow,)), Purpose.FINAL, answer_after=0.8)
    calls.ask("second", CallCost((slow,)), Purpose.FINAL)

    await clock.advance(5.0)

    assert calls.times == pytest.approx([0.0, 1.805])


def reading(pacer: Pacer, *budgets: RateBudget, text: str = TEXT) -> Reader:
    """Return the reader of a reply of which `text` was shown just now."""
    reader = pacer.enter(budgets)
    pacer.seen(reader, text)
    return reader


async def test_the_last_edit_of_a_reply_never_waits_behind_its_progress(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    """Progress leaves one call free in the chat's budget, so that the end goes out at once."""
    reader = reading(pacer, CHAT, text="")
    for number in range(20):
        calls.ask(f"progress {number}", CallCost((CHAT,)), Purpose.PROGRESS, reader)
    await clock.advance(4.3)
    before = len(calls.granted)

    calls.ask("final", CallCost((CHAT,)), Purpose.FINAL, reader)
    await clock.settle()

    assert calls.granted[before:] == [(4.3, "final")]


async def test_who_runs_out_first_gets_the_next_call(calls: Calls, pacer: Pacer, clock: FakeClock) -> None:
    """Whatever it is for: who has nothing to read at all has run out already."""
    calls.ask("now", NARROW, Purpose.FINAL)
    long, short = (reading(pacer, *NARROW.budgets, text="word " * count) for count in (300, 60))
    calls.ask("much to read", NARROW, Purpose.PROGRESS, long)
    calls.ask("little to read", NARROW, Purpose.PROGRESS, short)
    calls.ask("nothing to read", NARROW, Purpose.FIRST, pacer.enter(NARROW.budgets))
    await clock.advance(0.5)
    calls.ask("nothing since later", NARROW, Purpose.FIRST, pacer.enter(NARROW.budgets))

    await clock.advance(10.0)

    assert calls.names == ["now", "nothing to read", "nothing since later", "little to read", "much to read"]


async def test_an_end_is_due_when_it_is_written_also_where_there_is_more_to_read(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    calls.ask("now", NARROW, Purpose.FINAL)
    readers = [reading(pacer, *NARROW.budgets, text="word " * count) for count in (300, 60, 0)]
    await clock.advance(0.01)
    for name, reader in zip(("end", "more", "out"), readers, strict=True):
        calls.ask(name, NARROW, Purpose.FINAL if name == "end" else Purpose.PROGRESS, reader)

    await clock.advance(10.0)

    assert calls.names == ["now", "out", "end", "more"]


@pytest.mark.parametrize("seen", [True, False], ids=["an edit", "first words"])
async def test_who_has_nothing_left_to_read_keeps_their_place_when_the_answer_ends(
    calls: Calls, pacer: Pacer, clock: FakeClock, *, seen: bool
) -> None:
    calls.ask("now", NARROW, Purpose.FINAL)
    out = reading(pacer, *NARROW.budgets, text="word ") if seen else pacer.enter(NARROW.budgets)
    full = reading(pacer, *NARROW.budgets, text="word " * 300)
    waits = calls.ask("out", NARROW, Purpose.PROGRESS if seen else Purpose.FIRST, out)
    await clock.advance(0.3)
    calls.ask("much to read", NARROW, Purpose.FINAL, full)
    await clock.advance(0.1)

    pacer.change(waits, Purpose.FINAL, out)

    await clock.advance(10.0)
    assert calls.names == ["now", "out", "much to read"]


async def test_who_waits_for_first_words_keeps_their_place_while_the_post_fails(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    earlier, later = (pacer.enter(NARROW.budgets) for _ in range(2))
    calls.ask("failed", NARROW, Purpose.FIRST, earlier)
    await clock.advance(0.5)
    calls.ask("later", NARROW, Purpose.FIRST, later)
    calls.ask("again", NARROW, Purpose.FIRST, earlier)

    await clock.advance(5.0)

    assert calls.names == ["failed", "again", "later"]


async def test_first_words_are_collected_for_a_moment(calls: Calls, pacer: Pacer, clock: FakeClock) -> None:
    calls.ask("readable", CallCost((CHAT,)), Purpose.FIRST, pacer.enter((CHAT,)))
    calls.ask("too little", CallCost((BOT,)), Purpose.FIRST, pacer.enter((BOT,)), at_once=False)

    await clock.advance(5.0)

    assert calls.granted == [(0.0, "readable"), (COLLECT, "too little")]


async def test_first_words_are_collected_no_longer_where_the_next_call_is_far(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    """A call that nobody makes now is lost to those who wait later."""
    for _ in range(28):
        reading(pacer, BOT)
    calls.ask("first", CallCost((BOT,)), Purpose.FIRST, pacer.enter((BOT,)), at_once=False)

    await clock.advance(5.0)

    assert calls.granted == [(COLLECT, "first")]


async def test_what_is_worth_a_call_meanwhile_waits_no_longer(calls: Calls, pacer: Pacer, clock: FakeClock) -> None:
    reader = pacer.enter((CHAT,))
    grant = calls.ask("first", CallCost((CHAT,)), Purpose.FIRST, reader, at_once=False)
    await clock.advance(0.1)
    assert calls.names == []

    pacer.change(grant, Purpose.FIRST, reader)
    await clock.settle()

    assert calls.names == ["first"]


async def test_first_words_last_where_they_can_be_read_and_fill_the_time_until_the_next_call(
    pacer: Pacer, clock: FakeClock
) -> None:
    alone = pacer.enter((CHAT,))
    assert pacer.lasts(alone, "Green tea in Kyoto ") and not pacer.lasts(alone, "Green tea in ")
    assert pacer.lasts(alone, "京都今天下雨") and not pacer.lasts(alone, "京都今天下")
    assert not pacer.lasts(alone, "1 2 3 4"), "it is read before the next call is answered"

    for _ in range(28):
        reading(pacer, BOT)
    one_of_many = pacer.enter((BOT,))
    second = "word " * 6
    assert not pacer.lasts(one_of_many, second) and pacer.lasts(one_of_many, 2 * second)


async def test_where_a_third_of_a_budget_stays_free_progress_comes_before_it_is_needed(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    reader = reading(pacer, WIDE)
    for number in range(10):
        calls.ask(str(number), CallCost((WIDE,)), Purpose.PROGRESS, reader, at_once=False)
    calls.ask("typing", CallCost((WIDE,)), Purpose.TYPING)

    await clock.advance(8.0 / 7 - 0.01)
    assert calls.names == ["typing"]
    await clock.advance(0.02)
    assert len(calls.names) == 7, "whoever comes next finds a third of them free"
    await clock.advance(reader.out_at - clock.now - reader.pace.ahead - 0.01)
    assert len(calls.names) == 7
    await clock.advance(0.02)

    assert len(calls.names) == 10, "it is needed"


async def test_what_is_needed_does_not_wait_for_a_third_of_the_budget(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    for _ in range(19):
        calls.ask("used", CallCost((BOT,)), Purpose.FINAL)
    await clock.settle()
    reader = reading(pacer, BOT, text="")

    calls.ask("a whole page", CallCost((BOT,)), Purpose.PROGRESS, reader)
    calls.ask("more", CallCost((BOT,)), Purpose.PROGRESS, reader, at_once=False)
    await clock.settle()
    assert calls.names[-1] == "a whole page"
    await clock.advance(0.5)

    assert calls.names[-1] == "more"


async def test_what_was_whole_once_leaves_half_of_the_calls_for_half_a_minute(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    slow = RateBudget("slow", windows=(Window(4, 600.0),))
    reader = pacer.enter((slow,), calm=True)
    for number in range(3):
        calls.ask(str(number), CallCost((slow,)), Purpose.AGAIN, reader)

    await clock.settle()
    assert calls.times == [0.0, 0.0]
    await clock.advance(600.0)

    assert calls.times == [0.0, 0.0, CALM]


@pytest.mark.parametrize(("known", "made_at"), [(False, [0.0, 2.0]), (True, [0.0, 0.0])])
async def test_of_a_reply_that_another_process_began_the_end_goes_out_at_once_and_progress_later(
    known: bool, made_at: list[float], calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    """What the other one called in the last moment counts still, and nobody here knows of it."""
    if known:
        pacer.leave(pacer.enter((CHAT,)))
    reader = pacer.enter((CHAT,), resumed=True)
    pacer.seen(reader, "")
    calls.ask("end", CallCost((CHAT,)), Purpose.FINAL, reader)
    calls.ask("progress", CallCost((CHAT,)), Purpose.PROGRESS, reader)
    await clock.advance(3.0)

    assert calls.times == made_at


@pytest.mark.parametrize(("written_for", "made_at"), [(5.0, 5.0), (100.0, CALM)])
async def test_what_was_whole_once_waits_while_a_reply_is_written_in_its_chat(
    written_for: float, made_at: float, calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    """A chat allows few calls: the reply that somebody waits for would be late."""
    writing, again = reading(pacer, CHAT), pacer.enter((CHAT,), calm=True)
    calls.ask("again", CallCost((CHAT,)), Purpose.AGAIN, again)

    await clock.advance(written_for)
    pacer.leave(writing)
    await clock.settle()

    assert calls.times == [made_at]


@pytest.mark.parametrize(
    ("budget", "used", "live", "pace"),
    [
        (CHAT, 0, 1, 1.0),
        (RateBudget("channel", windows=(Window(5, 5.0),)), 0, 1, 1.25),
        (RateBudget("channel", windows=(Window(5, 5.0),)), 4, 1, 4.9),
        (RateBudget("interaction", windows=(Window(5, 2.0),)), 2, 1, 1.9 / 3),
        (RateBudget("minute", windows=(Window(48, 60.0),), shared=True), 0, 1, 10 / 32),
        (RateBudget("minute", windows=(Window(48, 60.0),), shared=True), 22, 1, 1.0),
        (RateBudget("minute", windows=(Window(48, 60.0),), shared=True), 32, 1, float("inf")),
        (RateBudget("minute", windows=(Window(48, 60.0),), shared=True), 0, 8, 2.5),
        (RateBudget("minute", windows=(Window(48, 60.0),), shared=True), 0, 60, float("inf")),
        (RateBudget("group", windows=(Window(21, 60.0),)), 0, 1, 10 / 14),
        (BOT, 0, 19, 1.0),
        # What others have just used comes back before one reply's next edit is due.
        (BOT, 19, 19, 1.0),
        (RateBudget("bot", windows=(Window(30, 1.0),), shared=True), 20, 20, 1.0),
    ],
)
async def test_edits_that_nobody_needs_are_spread_over_an_answer_and_over_who_is_answered(
    budget: RateBudget, used: int, live: int, pace: float, clock: FakeClock
) -> None:
    state = BudgetState(budget)
    state.live = state.promised = live
    for _ in range(used):
        state.grant(clock.now)
        state.answer(clock.now)

    assert state.spread(clock.now + 0.1) == pytest.approx(pace)


async def test_the_gap_lasts_until_everybody_had_a_turn_where_not_all_find_two_calls(clock: FakeClock) -> None:
    state = BudgetState(RateBudget("ten", windows=(Window(10, 5.0),)))
    state.live, state.beginning = 5, 5
    assert state.gap(clock.now) == 0.0

    state.live = state.beginning = 6
    assert state.gap(clock.now) == 5.0

    state.live = state.beginning = 15
    assert state.gap(clock.now) == 7.5
    assert state.gap(clock.now, 5) == 10.0


async def test_where_replies_come_in_a_stream_that_leaves_no_third_call_first_words_last_for_good(
    clock: FakeClock,
) -> None:
    state = BudgetState(RateBudget("thirty", windows=(Window(30, 1.0),), shared=True))
    for second in range(5):
        for _ in range(10):
            state.come(clock.now + second, clock.now + second)
    assert state.gap(clock.now + 4.5) == 0.0

    for second in range(5, 10):
        for _ in range(11):
            state.come(clock.now + second, clock.now + second)
    assert state.gap(clock.now + 9.5) == float("inf")

    for _ in range(100):
        state.come(clock.now + 20.0, clock.now + 20.0)
    assert state.gap(clock.now + 20.5) == 0.0, "many at once are over soon"


async def test_first_words_of_the_first_last_until_those_who_are_expected_had_a_turn(pacer: Pacer) -> None:
    words = "word " * 14
    first = pacer.enter((CHAT, BOT))
    assert pacer.lasts(first, words)

    with ExitStack() as asked:
        for _ in range(99):
            asked.enter_context(pacer.expecting("telegram"))
        asked.enter_context(pacer.expecting("discord"))
        assert not pacer.lasts(first, words) and pacer.lasts(first, 2 * words)
        others = [pacer.enter((CHAT, BOT)) for _ in range(99)]
        assert not pacer.lasts(first, words) and pacer.lasts(first, 2 * words), "each is counted once"
        for reader in others:
            pacer.leave(reader)

    assert pacer.lasts(first, words)


async def test_the_sign_of_typing_leaves_a_call_to_everybody_who_begins(pacer: Pacer) -> None:
    cost = CallCost((BOT,))
    assert pacer.take(cost)

    with ExitStack() as asked:
        for _ in range(27):
            asked.enter_context(pacer.expecting("telegram"))
        assert not pacer.take(cost)
        for _ in range(27):
            pacer.enter((BOT,))
        assert not pacer.take(cost), "they begin"

    assert pacer.take(CallCost((CHAT,))), "where nothing is shared"


async def test_one_flooded_chat_holds_no_other(calls: Calls, clock: FakeClock) -> None:
    other = RateBudget("telegram:1/chat/8", rate=1.0, burst=3)
    for number in range(50):
        calls.ask(f"flood {number}", CallCost((CHAT, BOT)), Purpose.FINAL)
    calls.ask("other", CallCost((other, BOT)), Purpose.FIRST)

    await clock.settle()

    assert (0.0, "other") in calls.granted


async def test_a_refusal_closes_its_scope_for_exactly_as_long_as_asked_and_no_other(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    other = RateBudget("telegram:1/chat/8", rate=1.0, burst=3)
    pacer.refused(CallCost((CHAT, BOT)), "", 7.4)
    calls.ask("refused", CallCost((CHAT, BOT)), Purpose.FINAL)
    calls.ask("other", CallCost((other, BOT)), Purpose.FINAL)

    await clock.advance(20.0)

    assert calls.granted == [(0.0, "other"), (7.4, "refused")]


async def test_a_refusal_lowers_the_rate_and_calm_raises_it_again(calls: Calls, pacer: Pacer, clock: FakeClock) -> None:
    pacer.refused(CallCost((CHAT,)), "", 0.5)
    for number in range(4):
        calls.ask(str(number), CallCost((CHAT,)), Purpose.FINAL)
    await clock.advance(5.0)
    assert calls.times[3] - calls.times[0] > 1.0

    calls.granted.clear()
    for _ in range(12):
        await clock.advance(40.0)
        calls.ask("calm", CallCost((CHAT,)), Purpose.FINAL)
    await clock.advance(40.0)
    calls.granted.clear()
    for number in range(5):
        calls.ask(str(number), CallCost((CHAT,)), Purpose.FINAL)
    await clock.advance(5.0)

    assert calls.times[4] - calls.times[3] == pytest.approx(1.0, abs=0.01)


async def test_progress_in_a_group_leaves_its_ends_a_call_and_never_breaks_the_limit(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    reader = reading(pacer, GROUP, text="")
    for number in range(60):
        calls.ask(str(number), CallCost((GROUP,)), Purpose.PROGRESS, reader)

    await clock.advance(50.0)
    assert len(calls.times) == 19
    calls.ask("end", CallCost((GROUP,)), Purpose.FINAL, reader)
    await clock.settle()
    assert calls.names[-1] == "end"
    await clock.advance(130.0)

    for start in calls.times:
        assert sum(start <= at < start + 60.0 for at in calls.times) <= 20


async def test_a_reply_that_ends_while_it_waits_overtakes_at_once(calls: Calls, pacer: Pacer, clock: FakeClock) -> None:
    reader = reading(pacer, CHAT, text="word " * 300)
    grant = calls.ask("edit", CallCost((CHAT,)), Purpose.PROGRESS, reader, at_once=False)
    await clock.settle()
    assert calls.names == []

    pacer.change(grant, Purpose.FINAL, reader)
    await clock.settle()

    assert calls.names == ["edit"]


async def test_a_cancelled_wait_gives_its_place_back(calls: Calls, pacer: Pacer, clock: FakeClock) -> None:
    narrow = RateBudget("narrow", windows=(Window(1, 1.0),))
    calls.ask("now", CallCost((narrow,)), Purpose.FINAL)
    calls.ask("cancelled", CallCost((narrow,)), Purpose.FINAL)
    await clock.settle()
    calls.tasks[1].cancel()
    calls.ask("next", CallCost((narrow,)), Purpose.FINAL)

    await clock.advance(3.0)

    assert calls.names == ["now", "next"]


async def test_whoever_is_cancelled_when_it_was_granted_leaves_the_call_to_the_next(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    assert pacer.take(NARROW, Purpose.FINAL)
    calls.ask("cancelled", NARROW, Purpose.FINAL)
    await clock.settle()

    pacer.returned(NARROW)
    calls.tasks[0].cancel()
    calls.ask("next", NARROW, Purpose.FINAL)
    await clock.settle()

    assert calls.names == ["next"]


@pytest.mark.parametrize("cancelled_first", [True, False])
async def test_whoever_is_cancelled_when_its_wait_is_ended_gives_back_no_call_that_it_never_had(
    calls: Calls, pacer: Pacer, clock: FakeClock, cancelled_first: bool
) -> None:
    assert pacer.take(NARROW, Purpose.FINAL)
    calls.ask("cancelled", NARROW, Purpose.FINAL)
    await clock.settle()
    ends: list[Callable[[], object]] = [calls.tasks[0].cancel, lambda: pacer.refused(NARROW, "", 86_400.0)]

    for end in ends if cancelled_first else reversed(ends):
        end()
    await clock.settle()
    pacer.answered(NARROW)
    await clock.advance(86_401.0)

    assert [bool(pacer.take(NARROW, Purpose.FINAL)) for _ in range(2)] == [True, False]


async def test_a_call_that_is_wanted_for_something_else_before_it_waits_is_made_for_that(
    pacer: Pacer, clock: FakeClock
) -> None:
    reader = reading(pacer, CHAT)
    grant = pacer.ask(CallCost((CHAT,)), Purpose.AGAIN, reader)
    before = grant.due

    pacer.change(grant, Purpose.FINAL, reader)

    assert (before, grant.purpose, grant.due) == (clock.now + CALM, Purpose.FINAL, clock.now)


async def test_a_call_gives_what_it_returns_and_counts_from_its_answer_however_it_ends(
    pacer: Pacer, clock: FakeClock
) -> None:
    async def posted() -> str:
        return "m1"

    async def unanswered() -> str:
        raise Unclear("no answer")

    assert await pacer.call(NARROW, Purpose.FINAL, posted) == "m1"
    second = asyncio.create_task(pacer.call(NARROW, Purpose.FINAL, unanswered))
    await clock.advance(1.1)
    with pytest.raises(Unclear):
        await second

    assert not pacer.take(NARROW, Purpose.FINAL)
    await clock.advance(1.1)
    assert pacer.take(NARROW, Purpose.FINAL)


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_refused_call_closes_what_it_says_it_does(pacer: Pacer, clock: FakeClock, at_once: bool) -> None:
    async def refused() -> None:
        raise RateLimited("slower", retry_after=30.0)

    sign, post = CallCost((BOT,)), CallCost((CHAT, BOT))
    call = pacer.call(sign, Purpose.FINAL, refused)
    if at_once:
        call.close()
        taken = pacer.take(sign, closes=post)
        assert taken is not None
        call = taken.call(refused)
    with pytest.raises(RateLimited):
        await call

    closed = pacer.opens_at(CallCost((CHAT,))), pacer.opens_at(sign)
    assert [until > clock.now for until in closed] == [at_once, not at_once]


async def test_a_call_that_draws_on_no_budget_is_made_at_once_and_its_refusal_closes_none(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    pacer.refused(CallCost(), "", 86_400.0)
    calls.ask("end", CallCost(), Purpose.FINAL)
    await clock.settle()

    assert calls.names == ["end"]
    assert pacer.opens_at(CallCost()) == float("-inf")


async def test_a_pause_of_a_day_ends_only_the_waits_for_its_own_budget(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    wide = CallCost((RateBudget("elsewhere", windows=(Window(1, 1.0),)),))
    for cost in (NARROW, wide):
        assert pacer.take(cost, Purpose.FINAL)
        calls.ask(cost.budgets[0].scope, cost, Purpose.FINAL)
    await clock.settle()

    pacer.refused(NARROW, "", 86_400.0)
    pacer.answered(wide)
    await clock.advance(1.1)

    assert calls.names == ["elsewhere"]
    assert isinstance(calls.tasks[0].exception(), Closed)


async def test_a_reply_in_pieces_is_never_in_need_and_leaves_no_call_for_an_edit_of_its_end(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    """Its pieces stand as they are: another one is worth a call only while half of them are free."""
    posts = RateBudget("posts", windows=(Window(4, 60.0),), shared=True)
    reader = pacer.enter((CHAT,))
    pacer.show_in_pieces(reader, (posts,))
    pacer.seen(reader, TEXT)
    for number in range(3):
        calls.ask(f"piece {number}", CallCost((posts,)), Purpose.PROGRESS, reader, at_once=False)
        await clock.advance(10.0)
        pacer.seen(reader, TEXT)
    before = calls.names

    calls.ask("end", CallCost((posts,)), Purpose.FINAL, reader)
    await clock.settle()

    assert before == ["piece 0", "piece 1"]
    assert calls.names == [*before, "end"]
    assert not reader.promised


async def test_hundreds_who_wait_for_the_same_budget_are_not_looked_at_one_by_one(
    calls: Calls, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0
    ready_at = BudgetState.ready_at

    def counted(scope: BudgetState, now: float, keep: int) -> float:
        nonlocal looked
        looked += 1
        return ready_at(scope, now, keep)

    monkeypatch.setattr(BudgetState, "ready_at", counted)
    for number in range(500):
        calls.ask(f"{number}", CallCost((RateBudget(f"chat {number}", rate=1.0, burst=3), BOT)), Purpose.FIRST)
    await clock.settle()
    assert len(calls.granted) == 28

    looked = 0
    calls.ask("one more", CallCost((RateBudget("chat 500", rate=1.0, burst=3), BOT)), Purpose.FIRST)
    calls.ask("elsewhere", CallCost((CHAT,)), Purpose.PROGRESS)
    await clock.settle()

    assert calls.names[-1] == "elsewhere"
    assert looked < 10


async def test_who_is_cancelled_and_changed_at_once_leaves_the_queue_as_it_was(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    calls.ask("now", NARROW, Purpose.FINAL)
    readers = [reading(pacer, *NARROW.budgets, text="word " * (40 + number)) for number in range(6)]
    grants = [
        calls.ask(str(number), NARROW, Purpose.PROGRESS, reader, at_once=False) for number, reader in enumerate(readers)
    ]
    await clock.settle()
    calls.tasks[6].cancel()
    for number in (5, 4):
        pacer.change(grants[number], Purpose.FINAL, readers[number])
    await clock.advance(20.0)

    assert calls.names == ["now", "4", "0", "1", "2", "3"]


async def test_memory_follows_live_replies_not_known_chats(pacer: Pacer, clock: FakeClock) -> None:
    for number in range(2_000):
        cost = CallCost((RateBudget(f"chat {number}", rate=1.0, burst=3),))
        await pacer.call(cost, Purpose.FINAL, partial(asyncio.sleep, 0))
        clock.now += 0.1

    assert pacer.known_scopes < 600


async def test_nobody_is_refused_with_a_hundred_replies_under_one_bots_limit(pacer: Pacer, clock: FakeClock) -> None:
    """Whatever the replies want, no window of one second holds more than 28 calls."""
    calls = Calls(pacer, clock)
    for reply in range(100):
        chat = RateBudget(f"chat {reply}", rate=1.0, burst=3)
        reader = pacer.enter((chat, BOT))
        calls.ask(f"first {reply}", CallCost((chat, BOT)), Purpose.FIRST, reader)
        for _ in range(3):
            calls.ask(f"progress {reply}", CallCost((chat, BOT)), Purpose.PROGRESS, reader)
        calls.ask(f"final {reply}", CallCost((chat, BOT)), Purpose.FINAL, reader)

    await clock.advance(60.0)

    assert len(calls.granted) == 500
    for start in calls.times:
        assert sum(start <= at < start + 1.0 for at in calls.times) <= 28


async def test_edits_under_a_short_window_of_their_own_never_leave_their_reader_without_words(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    """A model that writes eight words a second, five edits in five seconds: more than a reader can take in."""
    own = RateBudget("discord:1/channel/7/edit", windows=(Window(5, 5.0),))
    reader = reading(pacer, own)
    waited, since = 0.0, clock.now
    for number in range(20):
        calls.ask(f"edit {number}", CallCost((own,)), Purpose.PROGRESS, reader, at_once=False)
        while len(calls.names) <= number:
            await clock.advance(0.05)
        waited += max(0.0, clock.now - reader.out_at)
        written, since = round(8 * (clock.now - since)), clock.now
        pacer.seen(reader, "word " * written)

    assert waited < 0.1
    for begin in calls.times:
        assert sum(begin <= at < begin + 5.0 for at in calls.times) <= 5


async def test_a_take_leaves_half_of_the_calls_for_text_unless_somebody_waits_for_it(
    pacer: Pacer, clock: FakeClock
) -> None:
    cost = CallCost((RateBudget("four", windows=(Window(4, 1.0),)),))

    assert [bool(pacer.take(cost)) for _ in range(3)] == [True, True, False]
    assert [bool(pacer.take(cost, Purpose.FIRST)) for _ in range(3)] == [True, True, False]


async def test_a_reply_begins_on_screen_only_if_its_end_will_have_a_call(
    pacer: Pacer, calls: Calls, clock: FakeClock
) -> None:
    edits = RateBudget("edits", windows=(Window(3, 60.0),), shared=True)
    replies = [pacer.enter((edits,)) for _ in range(4)]

    assert [pacer.admits(reply) for reply in replies] == [True, True, False, False]
    assert pacer.admits(replies[0]), "its end has its call already"
    calls.ask("end", CallCost((edits,)), Purpose.FINAL)
    await clock.settle()
    pacer.leave(replies[0])
    assert not pacer.admits(replies[2]), "the call that the first one used is not free again"

    await clock.advance(56)
    assert pacer.admits(replies[2]), "it will be when this one has been written"
    assert not pacer.admits(replies[3])
    pacer.leave(replies[1])
    assert pacer.admits(replies[3])


async def test_progress_leaves_every_reply_on_screen_the_call_for_its_end(
    pacer: Pacer, calls: Calls, clock: FakeClock
) -> None:
    edits = RateBudget("edits", windows=(Window(10, 60.0),), shared=True)
    replies = [pacer.enter((edits,)) for _ in range(6)]
    for reply in replies:
        assert pacer.admits(reply)
        pacer.seen(reply, "")
    for number in range(10):
        calls.ask("progress", CallCost((edits,)), Purpose.PROGRESS, replies[number % 6])
    await clock.advance(50)
    made = len(calls.granted)
    assert made == 4

    for _ in replies:
        calls.ask("end", CallCost((edits,)), Purpose.FINAL)
    await clock.settle()

    assert [name for _, name in calls.granted[made:]] == ["end"] * 6


async def test_nobody_waits_for_a_pause_of_a_day(
    pacer: Pacer, calls: Calls, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither who waits already, nor who comes later; who draws on other budgets goes on. The operator is told once."""
    other = RateBudget("telegram:1/chat/8", rate=1.0, burst=3)
    for number in range(5):
        calls.ask(f"first {number}", CallCost((CHAT, BOT)), Purpose.FINAL)
    await clock.settle()
    assert len(calls.granted) == 3

    for _ in range(3):
        pacer.refused(CallCost((CHAT, BOT)), "", 86_400.0)
    await clock.settle()
    calls.ask("late", CallCost((CHAT, BOT)), Purpose.FINAL)
    calls.ask("other", CallCost((other, BOT)), Purpose.FINAL)
    await clock.settle()

    ended = [task.exception() for task in calls.tasks]
    assert [type(error) for error in ended] == [type(None)] * 3 + [Closed] * 3 + [type(None)]
    assert {error.until for error in ended if isinstance(error, Closed)} == {clock.now + 86_400.0}
    assert calls.names[-1] == "other"
    assert pacer.opens_at(CallCost((CHAT, BOT))) == clock.now + 86_400.0 > pacer.opens_at(CallCost((other, BOT)))
    [told] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "telegram:1/chat/7 is refused until 2026-09-22 14:13:20 UTC" in told


async def test_a_pause_that_a_reply_may_wait_for_is_waited_for(pacer: Pacer, calls: Calls, clock: FakeClock) -> None:
    pacer.refused(CallCost((CHAT, BOT)), "", PATIENCE)
    calls.ask("end", CallCost((CHAT, BOT)), Purpose.FINAL)
    await clock.advance(PATIENCE + 0.1)

    assert calls.granted == [(PATIENCE, "end")]


async def test_after_a_pause_of_a_day_everything_goes_on(pacer: Pacer, calls: Calls, clock: FakeClock) -> None:
    pacer.refused(CallCost((CHAT,)), "", 86_400.0)
    await clock.advance(86_400.0)
    calls.ask("end", CallCost((CHAT,)), Purpose.FINAL)
    await clock.settle()

    assert calls.names == ["end"]


async def test_what_nobody_will_be_able_to_complete_does_not_begin(pacer: Pacer, clock: FakeClock) -> None:
    """Posts are allowed and edits are not: such a reply appears once, whole."""
    posts, edits = (
        RateBudget("slack:T/post", rate=1.0, burst=1),
        RateBudget("slack:T/update", windows=(Window(48, 60.0),)),
    )
    reader = pacer.enter((posts, edits))
    assert pacer.admits(pacer.enter((posts, edits)))

    pacer.refused(CallCost((edits,)), edits.scope, 86_400.0)

    assert not pacer.admits(reader)


async def test_nothing_is_granted_while_another_process_may_have_replaced_this_one(clock: FakeClock) -> None:
    heard = False
    pacer = Pacer(clock, may_call=lambda: heard)
    calls = Calls(pacer, clock)

    calls.ask("words", CallCost((CHAT,)), Purpose.FIRST)
    await clock.advance(5.0)
    assert calls.granted == [] and not pacer.take(CallCost((CHAT,)))

    heard = True
    await clock.advance(0.1)
    assert calls.names == ["words"] and pacer.take(CallCost((CHAT,)))
    await asyncio.gather(*calls.tasks)
    await pacer.close()


async def test_a_call_is_not_made_by_a_process_that_stood_still_after_it_was_granted(clock: FakeClock) -> None:
    heard, as_it_is_granted = False, [True]
    pacer = Pacer(clock, may_call=lambda: as_it_is_granted.pop() if as_it_is_granted else heard)
    calls = Calls(pacer, clock)

    calls.ask("words", CallCost((CHAT,)), Purpose.FIRST)
    await clock.advance(5.0)
    assert not as_it_is_granted and calls.granted == []

    heard = True
    await clock.advance(0.1)
    assert calls.names == ["words"]
    await asyncio.gather(*calls.tasks)
    await pacer.close()
