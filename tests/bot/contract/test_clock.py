"""Limits by a clock that is handed in."""

from __future__ import annotations

import asyncio

import pytest

from bot.contract import done_within, time_limit
from tests.conftest import FakeClock


async def limited(clock: FakeClock, gate: asyncio.Event) -> str:
    async with time_limit(clock, 5.0):
        await gate.wait()
    return "done"


async def test_a_block_that_takes_too_long_is_broken_off_at_its_time(clock: FakeClock) -> None:
    working = asyncio.create_task(limited(clock, asyncio.Event()))

    await clock.advance(4.9)
    before = working.done()
    await clock.advance(0.1)

    assert not before
    with pytest.raises(TimeoutError):
        await working


async def test_a_block_that_ends_in_time_leaves_nobody_waiting(clock: FakeClock) -> None:
    gate = asyncio.Event()
    working = asyncio.create_task(limited(clock, gate))

    await clock.advance(4.9)
    gate.set()

    assert await working == "done"
    assert not clock._sleepers


async def test_who_is_cancelled_in_such_a_block_is_cancelled(clock: FakeClock) -> None:
    working = asyncio.create_task(limited(clock, asyncio.Event()))
    await clock.settle()

    working.cancel()

    with pytest.raises(asyncio.CancelledError):
        await working


async def test_tasks_are_waited_for_no_longer_than_is_said_and_go_on(clock: FakeClock) -> None:
    gates = asyncio.Event(), asyncio.Event()
    tasks = [asyncio.create_task(gate.wait()) for gate in gates]
    gates[0].set()

    first = asyncio.create_task(done_within(clock, tasks[:1], 5.0))
    both = asyncio.create_task(done_within(clock, tasks, 5.0))
    await clock.settle()
    early = first.done(), both.done()
    await clock.advance(5.0)

    assert early == (True, False)
    assert (await first, await both, await done_within(clock, (), 5.0)) == (True, False, True)
    gates[1].set()
    assert await tasks[1]
