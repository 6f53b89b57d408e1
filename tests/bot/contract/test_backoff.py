"""Pauses between attempts: longer each time, for ever or until they end."""

from __future__ import annotations

import asyncio

from bot.contract import PATIENT, QUICK, Backoff, pause_after
from tests.conftest import FakeClock


def test_pauses_grow_and_the_last_repeats(clock: FakeClock) -> None:
    backoff = Backoff(clock, (1.0, 5.0))

    assert [next(backoff) for _ in range(4)] == [1.0, 5.0, 5.0, 5.0]
    backoff.reset()
    assert next(backoff) == 1.0
    assert [pause_after(tries, (1.0, 5.0)) for tries in (1, 2, 3)] == [1.0, 5.0, 5.0]


def test_what_is_not_endless_stops_after_its_pauses(clock: FakeClock) -> None:
    assert list(Backoff(clock, QUICK, endless=False)) == [*QUICK]
    assert sorted(QUICK) == [*QUICK] and sorted(PATIENT) == [*PATIENT]


async def test_waiting_takes_the_clocks_time_and_ends_with_the_pauses(clock: FakeClock) -> None:
    backoff, woken = Backoff(clock, (1.0, 5.0), endless=False), list[float]()

    async def attempts() -> None:
        while await backoff.wait():
            woken.append(clock.monotonic() - 1_000.0)

    trying = asyncio.create_task(attempts())
    await clock.advance(10.0)

    assert trying.done() and woken == [1.0, 6.0]
    assert backoff.tries == 2
