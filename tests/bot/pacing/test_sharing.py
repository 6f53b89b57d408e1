"""Several processes write as one bot: together they keep to its limits, each with its share of the replies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.contract.errors import StoreError
from bot.contract.surface import CallCost, RateBudget, Window
from bot.pacing.pacer import Pacer
from bot.pacing.reader import Reader
from bot.pacing.sharing import EXCHANGE_SECONDS, begin_sharing
from bot.pacing.waiting import Purpose
from bot.store import Allowances, Part, Store
from tests.conftest import FakeClock
from tools.programs.cancelling import end_tasks

BOT = RateBudget("telegram:1", windows=(Window(30, 1.0),), shared=True)
MINUTE = RateBudget("slack:T1/chat.update", windows=(Window(48, 60.0),), shared=True)


@dataclass
class Process:
    """One of the processes: its replies, and when each call of theirs was made."""

    pacer: Pacer
    clock: FakeClock
    called: list[float] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    readers: list[Reader] = field(default_factory=list)

    def reply(self, budget: RateBudget, calls: int) -> None:
        self.readers.append(self.pacer.enter((budget,)))
        self.tasks.append(asyncio.create_task(self._write(CallCost((budget,)), calls)))

    async def _write(self, cost: CallCost, calls: int) -> None:
        for _ in range(calls):
            await self.pacer.call(cost, Purpose.FINAL, self._called)

    async def _called(self) -> None:
        self.called.append(self.clock.now)


@asynccontextmanager
async def processes(tmp_path: Path, clock: FakeClock, count: int) -> AsyncIterator[list[Process]]:
    async with AsyncExitStack() as stack:
        made = []
        for number in range(count):
            opening = Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock, worker=f"{number}")
            store = await stack.enter_async_context(opening)
            pacer = Pacer(clock, shares=True)
            stack.push_async_callback(pacer.close)
            stack.push_async_callback(end_tasks, begin_sharing(pacer, store.allowances, clock))
            made.append(Process(pacer, clock))
        try:
            yield made
        finally:
            await end_tasks(*(task for one in made for task in one.tasks))


async def pass_time(clock: FakeClock, seconds: float) -> None:
    for _ in range(round(seconds / 0.05)):
        await clock.advance(0.05)


def most_within(times: list[float], seconds: float) -> int:
    ordered = sorted(times)
    return max((sum(at <= other < at + seconds for other in ordered) for at in ordered), default=0)


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_together_they_keep_to_the_limit_and_none_is_left_out(
    count: int, tmp_path: Path, clock: FakeClock
) -> None:
    async with processes(tmp_path, clock, count) as made:
        for one in made:
            for _ in range(8):
                one.reply(BOT, 1000)
        await pass_time(clock, 6)

        called = [at for one in made for at in one.called]
        assert most_within(called, 1.0) <= 30
        steady = [len([at for at in one.called if at > clock.now - 3]) for one in made]
        # Nine tenths go to a process alone, and all but what does not divide to several.
        assert sum(steady) >= 3 * 26 and min(steady) >= max(steady) * 0.8


async def test_a_part_follows_the_replies(tmp_path: Path, clock: FakeClock) -> None:
    async with processes(tmp_path, clock, 2) as (busy, quiet):
        for _ in range(9):
            busy.reply(BOT, 1000)
        await pass_time(clock, 3)
        begun = clock.now
        quiet.reply(BOT, 2)
        await pass_time(clock, 1)

        assert len(quiet.called) == 2 and quiet.called[0] - begun <= 2 * EXCHANGE_SECONDS, "who comes finds a call left"
        await pass_time(clock, 3)
        assert len([at for at in busy.called if at > clock.now - 2]) >= 2 * 26, "what is not used comes back"
        assert most_within(busy.called + quiet.called, 1.0) <= 30


async def test_calls_of_a_long_window_are_not_made_twice_by_who_takes_its_part_over(
    tmp_path: Path, clock: FakeClock
) -> None:
    """The one that made forty of a minute's calls is gone; they count for a minute all the same."""
    async with processes(tmp_path, clock, 2) as (dying, other):
        dying.reply(MINUTE, 1000)
        await pass_time(clock, 2)
        made = len(dying.called)
        await end_tasks(*dying.tasks)
        dying.pacer.leave(dying.readers[0])
        other.reply(MINUTE, 1000)
        await pass_time(clock, 40)

        assert made >= 40 and most_within(dying.called + other.called, 60.0) <= 48
        await pass_time(clock, 40)
        assert len(other.called) >= 40


async def test_calls_wait_while_the_database_is_away_and_go_on_then(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> list[Part]:
        raise StoreError("the server is away")

    async with processes(tmp_path, clock, 1) as [one]:
        with monkeypatch.context() as patched:
            patched.setattr(Allowances, "exchange", away)
            one.reply(BOT, 3)
            await pass_time(clock, 2)
            assert not one.called
        await pass_time(clock, 1)
        one.pacer.leave(one.readers[0])
        await pass_time(clock, 3)
        with monkeypatch.context() as patched:
            patched.setattr(Allowances, "exchange", away)
            await pass_time(clock, 2)
        one.reply(BOT, 3)
        await pass_time(clock, 2)

    assert len(one.called) == 6


async def test_what_one_was_refused_the_others_leave_alone(tmp_path: Path, clock: FakeClock) -> None:
    async with processes(tmp_path, clock, 2) as (told, other):
        for one in (told, other):
            one.reply(BOT, 1000)
        await pass_time(clock, 2)
        told.pacer.refused(CallCost((BOT,)), BOT.scope, 5.0)
        refused_at = clock.now
        await pass_time(clock, 1)
        during = [at for at in other.called if at > refused_at + 2 * EXCHANGE_SECONDS]
        await pass_time(clock, 6)

        assert not during
        assert [at for at in other.called if at > refused_at + 5]


async def test_a_reply_without_a_part_yet_is_shown_while_it_is_written(clock: FakeClock) -> None:
    """Others give their part up within moments; what they have used of the minute counts."""
    pacer = Pacer(clock, shares=True)
    reader = pacer.enter((MINUTE,))
    pacer.freeze_shared()

    pacer.share([Part("slack:T1/chat.update", 60.0, 0, 0.0, free=0)])
    assert not pacer.admits(reader), "all are used"
    pacer.share([Part("slack:T1/chat.update", 60.0, 0, 0.0, free=20)])
    assert pacer.admits(reader)
    assert not pacer.take(CallCost((MINUTE,)), Purpose.FINAL), "but no call is made without a part"
    await pacer.close()
