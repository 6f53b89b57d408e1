"""A process counts its attempt at a turn once, however often it tries, is stopped or is held up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from bot.contract.errors import StoreError
from bot.store import StoredTurn
from bot.turn.run import MOST_ATTEMPTS, EndReason, TurnLimits
from tests.bot.conftest import OpenRig


@pytest.fixture
def limits() -> TurnLimits:
    return TurnLimits(60.0)


def counting(*outcomes: int | StoreError) -> tuple[Callable[[], Coroutine[None, None, int]], list[int], asyncio.Event]:
    """Counts with these outcomes once the gate is open; how often it was asked to."""
    asked: list[int] = []
    gate = asyncio.Event()

    async def count() -> int:
        outcome = outcomes[len(asked)]
        asked.append(len(asked))
        await gate.wait()
        if isinstance(outcome, StoreError):
            raise outcome
        return outcome

    return count, asked, gate


async def taken_back(limits: TurnLimits) -> int:
    """How often the store is told to take the attempt back."""
    asked = 0

    async def pause() -> None:
        nonlocal asked
        asked += 1

    await limits.take_back(pause)
    return asked


async def test_who_tries_again_while_a_count_is_on_its_way_waits_for_the_same(limits: TurnLimits) -> None:
    count, asked, gate = counting(1)
    first = asyncio.create_task(limits.count(count))
    await asyncio.sleep(0)
    again = asyncio.create_task(limits.count(count))
    gate.set()
    await asyncio.gather(first, again)
    await limits.count(count)

    assert asked == [0]
    assert limits.attempts == 1
    assert await taken_back(limits) == 1


async def test_what_could_not_be_counted_is_counted_later(limits: TurnLimits) -> None:
    count, asked, gate = counting(StoreError("locked"), 2)
    gate.set()

    with pytest.raises(StoreError):
        await limits.count(count)
    assert limits.attempts == 0 and await taken_back(limits) == 0
    await limits.count(count)

    assert asked == [0, 1]
    assert limits.attempts == 2


async def test_a_count_that_nobody_waits_for_any_more_arrives_and_is_known(limits: TurnLimits) -> None:
    count, asked, gate = counting(1)
    waiting = asyncio.create_task(limits.count(count))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    gate.set()

    assert await taken_back(limits) == 1
    assert asked == [0]


async def test_a_turn_that_has_ended_has_no_attempt(limits: TurnLimits) -> None:
    count, _, gate = counting(0)
    gate.set()
    assert await taken_back(limits) == 0

    await limits.count(count)

    assert limits.attempts == 0
    assert await taken_back(limits) == 0


async def test_an_attempt_is_taken_back_once(limits: TurnLimits) -> None:
    """A shutdown that has to insist cancels a second time."""
    count, _, gate = counting(2)
    gate.set()
    await limits.count(count)

    assert await taken_back(limits) == 1
    assert await taken_back(limits) == 0


@pytest.mark.parametrize("held", ["while it is counted", "while the store is waited for"])
async def test_what_is_ended_in_good_order_before_it_began_costs_no_attempt(
    rig: OpenRig, held: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig() as it:
        turns, reached, gate = it.bot.store.turns, asyncio.Event(), asyncio.Event()
        begin, load = turns.begin, turns.load

        async def begin_held(*turn: Any) -> int:
            attempts: int = await begin(*turn)
            if held == "while it is counted":
                reached.set()
                await gate.wait()
            return attempts

        async def load_failing(turn: int) -> StoredTurn:
            if held == "while it is counted":
                return await load(turn)
            reached.set()
            raise StoreError("cannot be read now")

        monkeypatch.setattr(turns, "begin", begin_held)
        monkeypatch.setattr(turns, "load", load_failing)
        message = it.message("hello")
        await it.deliver(message)
        await reached.wait()
        running = it.bot.dispatcher.queue.find_running(message.chat)
        assert running is not None
        closing = asyncio.create_task(it.bot.dispatcher.close(0.0))
        while running.ending is not EndReason.SHUTDOWN:
            await asyncio.sleep(0)
        gate.set()
        await closing

        [row] = await it.bot.store.intake.list_waiting()
        assert (row.state, row.attempts) == ("running", 0)


@pytest.mark.parametrize("text", ["hello", "/tool no_such_tool 1"])
async def test_what_failed_too_often_is_given_up_whatever_was_asked(
    rig: OpenRig, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig() as it:
        store = it.bot.store

        async def died_before(*turn: Any) -> int:
            return MOST_ATTEMPTS + 1

        monkeypatch.setattr(store.intake, "begin", died_before)
        monkeypatch.setattr(store.turns, "begin", died_before)

        [said] = await it.say(text)

        assert "went wrong" in said and "no_such_tool" not in said
        assert await store.intake.list_waiting() == []
        assert it.bot.metrics.turns_begun.value() == 1
