"""Budgets, priorities, and what a refusal teaches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.contract.errors import Closed
from bot.contract.surface import CallCost, RateBudget, Window
from bot.pacing.pacer import PATIENCE, Pacer
from bot.pacing.scope import BudgetState
from bot.pacing.waiting import Priority
from tests.conftest import FakeClock

CHAT = RateBudget("telegram:1/chat/7", rate=1.0, burst=3)
BOT = RateBudget("telegram:1", windows=(Window(28, 1.0),), shared=True)
GROUP = RateBudget("telegram:1/chat/-7", windows=(Window(20, 60.0),))


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

    def ask(self, name: str, cost: CallCost, priority: Priority, *, answer_after: float = 0.0, **more: Any) -> None:
        async def call() -> None:
            async with self.pacer.ask(cost, priority, **more):
                self.granted.append((round(self.clock.now - 1000.0, 3), name))
                if answer_after:
                    await self.clock.sleep(answer_after)

        self.tasks.append(asyncio.create_task(call()))

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
        calls.ask(str(number), CallCost((CHAT,)), Priority.FINAL)

    await clock.advance(10.0)

    assert calls.times == [0.0, 0.0, 0.0, 1.0, 2.0]


async def test_a_call_counts_from_its_answer_because_calls_bunch_up_on_the_way(calls: Calls, clock: FakeClock) -> None:
    slow = RateBudget("slow", windows=(Window(1, 1.0),))
    calls.ask("first", CallCost((slow,)), Priority.FINAL, answer_after=0.8)
    calls.ask("second", CallCost((slow,)), Priority.FINAL)

    await clock.advance(5.0)

    assert calls.times == pytest.approx([0.0, 1.805])


async def test_the_last_edit_of_a_reply_never_waits_behind_its_progress(calls: Calls, clock: FakeClock) -> None:
    """Progress leaves one call free in the chat's budget, so that the end goes out at once."""
    for number in range(20):
        calls.ask(f"progress {number}", CallCost((CHAT,)), Priority.PROGRESS, keep=1)
    await clock.advance(4.3)
    before = len(calls.granted)

    calls.ask("final", CallCost((CHAT,)), Priority.FINAL)
    await clock.settle()

    assert calls.granted[before:] == [(4.3, "final")]


async def test_final_text_goes_before_first_words_and_these_before_progress(calls: Calls, clock: FakeClock) -> None:
    narrow = RateBudget("narrow", windows=(Window(1, 1.0),))
    calls.ask("now", CallCost((narrow,)), Priority.FINAL)
    await clock.settle()
    calls.ask("progress", CallCost((narrow,)), Priority.PROGRESS)
    calls.ask("first", CallCost((narrow,)), Priority.FIRST)
    calls.ask("final", CallCost((narrow,)), Priority.FINAL)

    await clock.advance(10.0)

    assert calls.names == ["now", "final", "first", "progress"]


async def test_among_progress_the_stalest_reply_goes_first(calls: Calls, clock: FakeClock) -> None:
    narrow = RateBudget("narrow", windows=(Window(1, 1.0),))
    calls.ask("now", CallCost((narrow,)), Priority.FINAL)
    await clock.settle()
    calls.ask("fresh", CallCost((narrow,)), Priority.PROGRESS, since=999.0)
    calls.ask("stale", CallCost((narrow,)), Priority.PROGRESS, since=990.0)

    await clock.advance(10.0)

    assert calls.names == ["now", "stale", "fresh"]


async def test_one_flooded_chat_holds_no_other(calls: Calls, clock: FakeClock) -> None:
    other = RateBudget("telegram:1/chat/8", rate=1.0, burst=3)
    for number in range(50):
        calls.ask(f"flood {number}", CallCost((CHAT, BOT)), Priority.FINAL)
    calls.ask("other", CallCost((other, BOT)), Priority.FIRST)

    await clock.settle()

    assert (0.0, "other") in calls.granted


async def test_a_refusal_closes_its_scope_for_exactly_as_long_as_asked_and_no_other(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    other = RateBudget("telegram:1/chat/8", rate=1.0, burst=3)
    pacer.refused(CallCost((CHAT, BOT)), "", 7.4)
    calls.ask("refused", CallCost((CHAT, BOT)), Priority.FINAL)
    calls.ask("other", CallCost((other, BOT)), Priority.FINAL)

    await clock.advance(20.0)

    assert calls.granted == [(0.0, "other"), (7.4, "refused")]


async def test_a_refusal_lowers_the_rate_and_calm_raises_it_again(calls: Calls, pacer: Pacer, clock: FakeClock) -> None:
    pacer.refused(CallCost((CHAT,)), "", 0.5)
    for number in range(4):
        calls.ask(str(number), CallCost((CHAT,)), Priority.FINAL)
    await clock.advance(5.0)
    assert calls.times[3] - calls.times[0] > 1.0

    calls.granted.clear()
    for _ in range(12):
        await clock.advance(40.0)
        calls.ask("calm", CallCost((CHAT,)), Priority.FINAL)
    await clock.advance(40.0)
    calls.granted.clear()
    for number in range(5):
        calls.ask(str(number), CallCost((CHAT,)), Priority.FINAL)
    await clock.advance(5.0)

    assert calls.times[4] - calls.times[3] == pytest.approx(1.0, abs=0.01)


async def test_progress_in_a_group_is_spread_over_the_minute(calls: Calls, pacer: Pacer, clock: FakeClock) -> None:
    """Twenty calls a minute spent in twenty seconds would leave a person waiting for forty."""
    pacer.enter((GROUP,))
    for number in range(60):
        calls.ask(str(number), CallCost((GROUP,)), Priority.PROGRESS, keep=2)

    await clock.advance(120.0)

    gaps = [after - before for before, after in zip(calls.times, calls.times[1:], strict=False)]
    assert max(gaps) < 12.0
    for start in calls.times:
        assert sum(start <= at < start + 60.0 for at in calls.times) <= 20


async def test_a_reply_that_upgrades_to_its_end_overtakes_at_once(pacer: Pacer, clock: FakeClock) -> None:
    later = pacer.ask(CallCost((CHAT,)), Priority.PROGRESS, not_before=clock.now + 100.0)
    entered = asyncio.Event()

    async def call() -> None:
        async with later:
            entered.set()

    task = asyncio.create_task(call())
    await clock.settle()
    assert not entered.is_set()

    later.hurry()
    await task

    assert entered.is_set()


async def test_a_cancelled_wait_gives_its_place_back(calls: Calls, pacer: Pacer, clock: FakeClock) -> None:
    narrow = RateBudget("narrow", windows=(Window(1, 1.0),))
    calls.ask("now", CallCost((narrow,)), Priority.FINAL)
    calls.ask("cancelled", CallCost((narrow,)), Priority.FINAL)
    await clock.settle()
    calls.tasks[1].cancel()
    calls.ask("next", CallCost((narrow,)), Priority.FINAL)

    await clock.advance(3.0)

    assert calls.names == ["now", "next"]


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
        calls.ask(f"{number}", CallCost((RateBudget(f"chat {number}", rate=1.0, burst=3), BOT)), Priority.FIRST)
    await clock.settle()
    assert len(calls.granted) == 28

    looked = 0
    calls.ask("one more", CallCost((RateBudget("chat 500", rate=1.0, burst=3), BOT)), Priority.FIRST)
    calls.ask("elsewhere", CallCost((CHAT,)), Priority.PROGRESS)
    await clock.settle()

    assert calls.names[-1] == "elsewhere"
    assert looked < 10


async def test_who_is_cancelled_and_hurried_at_once_leaves_the_queue_as_it_was(pacer: Pacer, clock: FakeClock) -> None:
    narrow = RateBudget("narrow", windows=(Window(1, 1.0),))
    grants = [pacer.ask(CallCost((narrow,)), Priority.PROGRESS, since=1000.0 + number) for number in range(6)]
    order: list[int] = []

    async def call(number: int) -> None:
        async with grants[number]:
            order.append(number)

    tasks = [asyncio.create_task(call(number)) for number in range(6)]
    await clock.settle()
    tasks[5].cancel()
    grants[5].hurry()
    grants[4].hurry()
    await clock.advance(10.0)

    assert order == [0, 4, 1, 2, 3]
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_memory_follows_live_replies_not_known_chats(pacer: Pacer, clock: FakeClock) -> None:
    for number in range(2_000):
        async with pacer.ask(CallCost((RateBudget(f"chat {number}", rate=1.0, burst=3),)), Priority.FINAL):
            pass
        clock.now += 0.1

    assert pacer.known_scopes < 600


async def test_nobody_is_refused_with_a_hundred_replies_under_one_bots_limit(pacer: Pacer, clock: FakeClock) -> None:
    """Whatever the replies want, no window of one second holds more than 28 calls."""
    calls = Calls(pacer, clock)
    for reply in range(100):
        chat = RateBudget(f"chat {reply}", rate=1.0, burst=3)
        pacer.enter((chat, BOT))
        calls.ask(f"first {reply}", CallCost((chat, BOT)), Priority.FIRST)
        for _ in range(3):
            calls.ask(f"progress {reply}", CallCost((chat, BOT)), Priority.PROGRESS, keep=1)
        calls.ask(f"final {reply}", CallCost((chat, BOT)), Priority.FINAL)

    await clock.advance(60.0)

    assert len(calls.granted) == 500
    for start in calls.times:
        assert sum(start <= at < start + 1.0 for at in calls.times) <= 28


async def test_a_person_who_waited_long_gets_the_call_that_was_kept_for_the_end(calls: Calls, clock: FakeClock) -> None:
    for _ in range(3):
        calls.ask("earlier", CallCost((CHAT,)), Priority.FINAL)
    await clock.settle()

    calls.ask("progress", CallCost((CHAT,)), Priority.PROGRESS, keep=1, insist_at=clock.now + 1.6)
    await clock.advance(5.0)

    assert calls.granted[-1] == (1.6, "progress")


async def test_progress_leaves_what_soon_begins_its_first_words(calls: Calls, pacer: Pacer, clock: FakeClock) -> None:
    for number in range(10):
        pacer.enter((BOT,))
        calls.ask(f"edit {number}a", CallCost((BOT,)), Priority.PROGRESS)
        calls.ask(f"edit {number}b", CallCost((BOT,)), Priority.PROGRESS)
    await clock.settle()
    for number in range(10):
        calls.ask(f"first {number}", CallCost((BOT,)), Priority.FIRST)
    await clock.settle()

    assert sum(name.startswith("first") for name in calls.names) == 10
    await clock.advance(1.1)
    # Whoever has not begun by now thinks for long: nobody waits for that.
    assert sum(name.startswith("edit") for name in calls.names) == 20


async def test_progress_leaves_their_end_to_those_that_are_read_for_a_while(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    for _ in range(20):
        pacer.seen(pacer.enter((BOT,)))
    for number in range(28):
        calls.ask(f"edit {number}", CallCost((BOT,)), Priority.PROGRESS)
    await clock.settle()
    assert len(calls.names) == 28, "what has just begun does not end at once"

    await clock.advance(3.0)
    for number in range(28):
        calls.ask(f"edit {number}", CallCost((BOT,)), Priority.PROGRESS)
    await clock.settle()
    assert len(calls.names) == 28 + 14
    for number in range(14):
        calls.ask(f"last {number}", CallCost((BOT,)), Priority.FINAL)
    await clock.settle()
    assert sum(name.startswith("last") for name in calls.names) == 14


async def test_edits_under_a_short_window_of_their_own_come_early_and_never_stand_still(
    calls: Calls, pacer: Pacer, clock: FakeClock
) -> None:
    own = RateBudget("discord:1/channel/7/edit", windows=(Window(5, 5.0),))
    pacer.seen(pacer.enter((own,)))
    last = clock.now
    for number in range(20):
        calls.ask(f"edit {number}", CallCost((own,)), Priority.PROGRESS, keep=1, insist_at=last + 1.6)
        while len(calls.names) <= number:
            await clock.advance(0.05)
        last = clock.now

    gaps = [later - earlier for earlier, later in zip(calls.times, calls.times[1:], strict=False)]
    assert max(gaps) < 2.0
    assert calls.times[3] < 3.0
    for begin in calls.times:
        assert sum(begin <= at < begin + 5.0 for at in calls.times) <= 5


async def test_a_reply_begins_on_screen_only_if_its_end_will_have_a_call(
    pacer: Pacer, calls: Calls, clock: FakeClock
) -> None:
    edits = RateBudget("edits", windows=(Window(3, 60.0),), shared=True)
    replies = [pacer.enter((edits,)) for _ in range(4)]

    assert [pacer.admits(reply) for reply in replies] == [True, True, False, False]
    calls.ask("end", CallCost((edits,)), Priority.FINAL)
    await clock.settle()
    pacer.leave(replies[0])
    assert not pacer.admits(replies[2]), "the call that the first one used is not free again"

    await clock.advance(56)
    assert pacer.admits(replies[2]), "it will be when this one has been written"
    assert not pacer.admits(replies[3])
    pacer.leave(replies[1])
    assert pacer.admits(replies[3])


async def test_progress_leaves_every_admitted_reply_the_call_for_its_end(
    pacer: Pacer, calls: Calls, clock: FakeClock
) -> None:
    edits = RateBudget("edits", windows=(Window(10, 60.0),), shared=True)
    replies = [pacer.enter((edits,)) for _ in range(6)]
    for reply in replies:
        pacer.admits(reply)
    for _ in range(10):
        calls.ask("progress", CallCost((edits,)), Priority.PROGRESS)
    await clock.advance(50)
    made = len(calls.granted)
    assert 0 < made <= 4

    for _ in replies:
        calls.ask("end", CallCost((edits,)), Priority.FINAL)
    await clock.settle()

    assert [name for _, name in calls.granted[made:]] == ["end"] * 6


async def test_nobody_waits_for_a_pause_of_a_day(
    pacer: Pacer, calls: Calls, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither who waits already, nor who comes later; who draws on other budgets goes on. The operator is told once."""
    other = RateBudget("telegram:1/chat/8", rate=1.0, burst=3)
    for number in range(5):
        calls.ask(f"first {number}", CallCost((CHAT, BOT)), Priority.FINAL)
    await clock.settle()
    assert len(calls.granted) == 3

    for _ in range(3):
        pacer.refused(CallCost((CHAT, BOT)), "", 86_400.0)
    await clock.settle()
    calls.ask("late", CallCost((CHAT, BOT)), Priority.FINAL)
    calls.ask("other", CallCost((other, BOT)), Priority.FINAL)
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
    calls.ask("end", CallCost((CHAT, BOT)), Priority.FINAL)
    await clock.advance(PATIENCE + 0.1)

    assert calls.granted == [(PATIENCE, "end")]


async def test_after_a_pause_of_a_day_everything_goes_on(pacer: Pacer, calls: Calls, clock: FakeClock) -> None:
    pacer.refused(CallCost((CHAT,)), "", 86_400.0)
    await clock.advance(86_400.0)
    calls.ask("end", CallCost((CHAT,)), Priority.FINAL)
    await clock.settle()

    assert calls.names == ["end"]


async def test_what_nobody_will_be_able_to_complete_does_not_begin(pacer: Pacer, clock: FakeClock) -> None:
    """Posts are allowed and edits are not: such a reply appears once, whole."""
    posts, edits = (
        RateBudget("slack:T/post", rate=1.0, burst=1),
        RateBudget("slack:T/update", windows=(Window(48, 60.0),)),
    )
    presence = pacer.enter((posts, edits))
    assert pacer.admits(pacer.enter((posts, edits)))

    pacer.refused(CallCost((edits,)), edits.scope, 86_400.0)

    assert not pacer.admits(presence)
