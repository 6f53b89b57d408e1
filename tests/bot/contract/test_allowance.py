"""Calls that nobody waits for never use up more of a platform's window than is theirs."""

from __future__ import annotations

from bot.contract import Allowance, Window
from tests.conftest import FakeClock


async def test_a_call_counts_from_when_it_is_taken_until_its_window_has_passed_after_its_answer(
    clock: FakeClock,
) -> None:
    allowance = Allowance(Window(2, 60.0), clock)

    assert [allowance.take() for _ in range(3)] == [True, True, False]
    await clock.advance(100.0)
    assert not allowance.take()
    allowance.answered()
    await clock.advance(59.9)
    assert not allowance.take()
    await clock.advance(0.1)
    assert [allowance.take() for _ in range(2)] == [True, False]


async def test_after_a_refusal_nothing_is_taken_for_as_long_as_the_platform_says(clock: FakeClock) -> None:
    allowance = Allowance(Window(2, 60.0), clock)
    allowance.take()
    allowance.refused(7.0)
    allowance.answered()

    await clock.advance(6.9)
    assert not allowance.take()
    await clock.advance(0.1)
    assert allowance.take()
