"""The clock of the tests keeps the times that tasks ask for, however slow the machine is."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from bot.store.database import open_database
from tests.conftest import FakeClock


async def test_time_stands_still_while_a_database_works(tmp_path: Path, clock: FakeClock) -> None:
    times: list[float] = []

    async def work() -> None:
        for pause in (2.0, 13.0, 85.0):
            await clock.sleep(pause)
            await opened.run_together(lambda _: time.sleep(0.02))
            times.append(clock.now)

    async with await open_database(tmp_path / "parley.db", timeout=1.0) as opened:
        working = asyncio.create_task(work())
        await clock.advance(500.0)
        working.cancel()

    assert times == [1_002.0, 1_015.0, 1_100.0]


async def test_a_long_way_from_task_to_task_takes_no_time(clock: FakeClock) -> None:
    async def way(length: int) -> None:
        if length:
            await asyncio.create_task(way(length - 1))
        else:
            await clock.sleep(1.0)
            times.append(clock.now)

    times: list[float] = []
    working = asyncio.create_task(way(100))
    await clock.advance(5.0)
    working.cancel()

    assert times == [1_001.0]
