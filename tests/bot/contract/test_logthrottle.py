"""A line that would come for ever comes at once, and then seldom."""

from __future__ import annotations

import logging

import pytest

from bot.contract.logthrottle import WINDOW_SECONDS, LogThrottle
from tests.conftest import FakeClock

log = logging.getLogger(__name__)


async def test_repetitions_are_told_together_once_in_ten_minutes(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    throttle = LogThrottle(log, clock)

    for _ in range(100):
        throttle.warn("it is gone")
        throttle.warn("another")
        await clock.advance(10)

    assert [record.getMessage() for record in caplog.records] == [
        "it is gone",
        "another",
        "it is gone (59 times more since the last such line)",
        "another (59 times more since the last such line)",
    ]


async def test_only_the_last_ten_minutes_are_counted(clock: FakeClock) -> None:
    throttle = LogThrottle(log, clock)
    for _ in range(3):
        throttle.warn("it is gone")
        await clock.advance(100)

    counts = []
    for _ in range(5):
        counts.append(throttle.recent)
        await clock.advance(WINDOW_SECONDS / 5)

    assert counts == [3, 3, 3, 2, 1]


async def test_texts_without_end_fill_neither_memory_nor_the_log(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    throttle = LogThrottle(log, clock)
    for number in range(5_000):
        throttle.warn(f"problem {number}")

    assert throttle.recent == 1_000 and len(throttle._said) <= 50
    assert len(caplog.records) == 50

    await clock.advance(WINDOW_SECONDS)
    throttle.warn("one more")
    assert [record.getMessage() for record in caplog.records[50:]] == [
        "4950 different lines like the next one were left out",
        "one more",
    ]
