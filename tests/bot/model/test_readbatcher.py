"""Streams are read in larger pieces the more of them run and the longer; no beginning and no end waits."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from bot.model import Models
from bot.model.base import Request, TextPiece
from bot.model.readbatcher import ReadBatcher
from playground.model import ModelServer, Reply
from tests.bot.model.conftest import Ask, RecordingClock
from tests.patience import PATIENCE

TEXT = "The news is good. " * 10


async def joined(clock: RecordingClock, streams: int, *, age: float = 60.0) -> tuple[ReadBatcher, list[Any]]:
    """So many streams that were read first `age` seconds ago."""
    batcher = ReadBatcher(clock)
    reads = [batcher.join() for _ in range(streams)]
    for read in reads:
        await read.gather()
    await clock.advance(age)
    return batcher, reads


async def test_a_young_stream_is_read_as_it_comes(
    server: ModelServer, models: Models, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    server.script = lambda _: Reply(TEXT, words_per_second=500)

    together = await asyncio.gather(*(asking(models, question) for _ in range(40)))

    assert [asked.text for asked in together] == [TEXT] * 40
    assert clock.slept == []


@pytest.mark.parametrize("instant", [True, False], ids=["time passes", "the clock stands still"])
async def test_an_old_stream_gathers_and_its_end_is_read_at_once(
    server: ModelServer, models: Models, question: Request, clock: RecordingClock, instant: bool
) -> None:
    """While the clock stands still it wakes nobody who gathers."""
    grown_old = asyncio.Event()
    server.script = lambda _: Reply(TEXT, words_per_second=500, hang_after=40, until=grown_old)

    async with aclosing(models.stream(question)) as pieces:
        begun = await anext(pieces)
        await clock.advance(60.0)
        clock.instant = instant
        grown_old.set()
        rest = [piece async for piece in pieces]

    assert "".join(piece.text for piece in (begun, *rest[:-1]) if isinstance(piece, TextPiece)) == TEXT
    assert clock.slept, "it did not gather"


@pytest.mark.parametrize(("streams", "seconds"), [(1, 0.2), (25, 0.2), (300, 0.3), (5_000, 0.5)])
async def test_the_more_streams_the_longer_each_gathers_up_to_half_a_second(
    clock: RecordingClock, streams: int, seconds: float
) -> None:
    batcher, _ = await joined(clock, streams)

    assert batcher.seconds(60.0) == pytest.approx(seconds)


@pytest.mark.parametrize(("age", "seconds"), [(0.0, 0.0), (0.1, 0.0), (0.5, 0.1), (60.0, 0.2)])
async def test_the_longer_a_stream_has_run_the_longer_it_gathers_up_to_a_fifth_of_a_second(
    clock: RecordingClock, age: float, seconds: float
) -> None:
    batcher, _ = await joined(clock, 1)

    assert batcher.seconds(age) == pytest.approx(seconds)


async def test_a_stream_gathers_by_how_long_it_has_run_itself(clock: RecordingClock) -> None:
    batcher, (old,) = await joined(clock, 1)
    young = batcher.join()

    await young.gather()
    await young.gather()
    waiting = asyncio.create_task(old.gather())
    await clock.advance(0.19)
    assert not waiting.done()

    await clock.advance(0.04)
    assert waiting.done()
    await batcher.close()


async def test_who_gathers_is_woken_when_it_is_time_or_when_nothing_more_will_come(clock: RecordingClock) -> None:
    batcher, streams = await joined(clock, 100)
    waiting = [asyncio.create_task(stream.gather()) for stream in streams[:3]]
    await clock.advance(0.19)
    assert not any(task.done() for task in waiting)

    streams[0].hurry()
    await clock.advance(0.0)
    assert [task.done() for task in waiting] == [True, False, False]

    await clock.advance(0.04)
    assert all(task.done() for task in waiting)
    await batcher.close()


async def test_streams_that_were_closed_let_the_others_read_sooner(clock: RecordingClock) -> None:
    batcher, streams = await joined(clock, 500)
    before = batcher.seconds(60.0)
    for stream in streams[:300]:
        stream.leave()
        stream.leave()

    await streams[0].gather()

    assert (before, batcher.seconds(60.0)) == (0.5, 0.2) and clock.slept == []


async def test_one_timer_serves_all_streams_and_ends_with_them(clock: RecordingClock) -> None:
    _, streams = await joined(clock, 1_000)
    waiting = [asyncio.create_task(stream.gather()) for stream in streams]
    await clock.advance(2.0)

    assert all(task.done() for task in waiting)
    assert len(clock.slept) < 30
    tasks = len(asyncio.all_tasks())
    await clock.advance(10.0)
    assert len(asyncio.all_tasks()) == tasks == 1


async def test_who_gathers_while_everything_is_closed_looks_at_what_there_is(clock: RecordingClock) -> None:
    batcher, streams = await joined(clock, 1_000)
    waiting = [asyncio.create_task(stream.gather()) for stream in streams[:3]]
    await clock.advance(0.0)

    await batcher.close()

    await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
