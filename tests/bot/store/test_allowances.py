"""The parts that processes have of a platform's limits: never more than the whole, and nobody's for long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from bot.store import Allowances, Part, Store, Wish
from tests.bot.store.conftest import HandClock


def wish(used: int = 0, demand: int = 1, closed_for: float = 0.0) -> list[Wish]:
    return [Wish("telegram:1", 1.0, 30, used, demand, closed_for)]


@pytest.fixture
async def processes(url: str, clock: HandClock) -> AsyncIterator[list[Allowances]]:
    async with AsyncExitStack() as stack:
        opening = [Store.open(url, clock=clock, worker=name) for name in ("first", "second", "third")]
        yield [(await stack.enter_async_context(one)).allowances for one in opening]


async def test_parts_are_exchanged_and_never_exceed_the_whole(processes: list[Allowances], clock: HandClock) -> None:
    first, second, _ = processes

    assert await first.exchange(wish()) == [Part("telegram:1", 1.0, 27, 0.0, 30)], "a tenth is left to who comes next"
    assert [part.calls for part in await second.exchange(wish())] == [3]
    assert [part.calls for part in await first.exchange(wish(used=20))] == [15]
    assert [part.calls for part in await second.exchange(wish())] == [10], "what counts still is not given up yet"
    assert [part.calls for part in await first.exchange(wish(used=15))] == [15]
    assert [part.calls for part in await second.exchange(wish())] == [15]
    assert [part.calls for part in await first.exchange(wish(used=15, demand=0))] == [0]
    assert [part.calls for part in await second.exchange(wish())] == [15]


async def test_the_part_of_a_dead_process_is_free_after_three_seconds(
    processes: list[Allowances], clock: HandClock
) -> None:
    first, second, _ = processes
    await first.exchange(wish(demand=9))
    await second.exchange(wish())

    clock.passed += 2.9
    [held] = await second.exchange(wish())
    clock.passed += 0.2
    [free] = await second.exchange(wish())

    assert (held.calls, free.calls) == (3, 27)


async def test_a_process_that_is_known_to_have_died_holds_its_calls_for_one_more_window(
    processes: list[Allowances], clock: HandClock
) -> None:
    """Else whoever completes its answers would wait for three seconds."""
    first, second, _ = processes
    await first.exchange(wish(used=9, demand=9))
    await second.exchange(wish())

    await second.bury("first")
    [at_once] = await second.exchange(wish())
    clock.passed += 1.1
    [soon] = await second.exchange(wish())

    assert await second.list_workers() == {"second"}
    assert (at_once.calls, soon.calls) == (30 - 9 - 3, 27)


async def test_of_a_minutes_calls_a_dead_process_keeps_what_it_made(
    processes: list[Allowances], clock: HandClock
) -> None:
    """Else its part would be missing for a minute, and what it was answering would stand there unfinished."""
    first, second, _ = processes

    def wishes(used: int) -> list[Wish]:
        return [Wish("slack:1", 60.0, 50, used, 1)]

    await first.exchange(wishes(used=8))
    clock.passed += 3.1
    [after_the_kill] = await second.exchange(wishes(used=0))
    clock.passed += 57.0
    [after_its_minute] = await second.exchange(wishes(used=0))

    assert after_the_kill.calls == 50 - 8 - 5, "five more than are known may have been made"
    assert after_its_minute.calls == 45


async def test_what_others_hold_and_do_not_use_is_told_of_as_free(processes: list[Allowances]) -> None:
    """A reply that is handed over is shown on as it was begun, though its process has no part of the calls yet."""
    first, second, third = processes
    await first.exchange(wish(used=9, demand=9))
    await second.exchange(wish(used=0, demand=9))

    [none_yet] = await third.exchange(wish())

    assert (none_yet.calls, none_yet.free) == (0, 30 - 9 - 3 - 3)


async def test_a_refusal_is_told_to_the_others(processes: list[Allowances], clock: HandClock) -> None:
    first, second, _ = processes
    await first.exchange(wish(closed_for=5.0))

    [told] = await second.exchange(wish())

    assert told.closed_for == pytest.approx(5.0)


async def test_at_the_same_instant_too_all_parts_are_no_more_than_the_whole(processes: list[Allowances]) -> None:
    held = dict.fromkeys(range(3), 0)
    for _ in range(5):
        found = await asyncio.gather(
            *(one.exchange(wish(used=held[number], demand=number + 1)) for number, one in enumerate(processes))
        )
        held = {number: part.calls for number, [part] in enumerate(found)}

        assert sum(held.values()) <= 30
    assert held == {0: 5, 1: 10, 2: 15}
