"""The watch on the event loop."""

from __future__ import annotations

import asyncio
import logging
import time
import weakref

import pytest

from bot.operations.watchdog import LoopWatch
from tests.patience import PATIENCE


def counts_for(seconds: float) -> None:
    """Keep the processor busy."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def a_beat(watch: LoopWatch, over: float) -> None:
    async with asyncio.timeout(PATIENCE):
        while watch.longest_computing < over:
            await asyncio.sleep(0.01)


async def test_a_call_that_blocks_the_loop_is_measured_and_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with LoopWatch() as watch:
            await asyncio.sleep(0.06)
            counts_for(0.3)
            await a_beat(watch, 0.2)

    assert watch.longest >= watch.longest_computing
    assert "counts_for (test_watchdog.py:" in watch.where
    [record] = caplog.records
    assert "every chat waited" in record.getMessage() and "counts_for" in record.getMessage()


async def test_what_ran_in_a_block_is_kept_by_nobody() -> None:
    kept: list[weakref.ref[LoopWatch]] = []

    def block() -> None:
        turn = LoopWatch()
        kept.append(weakref.ref(turn))
        counts_for(0.3)

    async with LoopWatch() as watch:
        await asyncio.sleep(0.06)
        block()
        await a_beat(watch, 0.2)
        assert "block" in watch.where and kept[0]() is None


async def test_blocks_are_complained_about_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with LoopWatch() as watch:
            for _ in range(3):
                await asyncio.sleep(0.06)
                counts_for(0.2)
                await a_beat(watch, 0.12)
                watch.reset()

    assert len(caplog.records) == 1


async def test_a_block_before_anybody_can_write_is_measured_and_not_complained_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As while the bot starts: no chat waits for it."""
    listening: set[str] = set()
    async with LoopWatch(lambda: bool(listening)) as watch:
        for platforms in ((), ("telegram",)):
            assert not caplog.records
            listening.update(platforms)
            watch.reset()
            await asyncio.sleep(0.06)
            counts_for(0.2)
            await a_beat(watch, 0.12)

    assert len(caplog.records) == 1


async def test_work_in_small_pieces_is_no_block(caplog: pytest.LogCaptureFixture) -> None:
    async with LoopWatch() as watch:
        for _ in range(40):
            counts_for(0.003)
            await asyncio.sleep(0)

    assert watch.longest_computing < 0.1
    assert caplog.records == []
