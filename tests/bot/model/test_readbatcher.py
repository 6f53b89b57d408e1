"""Many streams at once are read in fewer, larger pieces; one alone is read as it comes, and no end waits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.model import Models
from bot.model.base import Request
from bot.model.readbatcher import ReadBatcher
from playground.model import ModelServer, Reply
from tests.bot.model.conftest import Ask, RecordingClock

TEXT = "The news is good. " * 10


def joined(clock: RecordingClock, streams: int) -> tuple[ReadBatcher, list[Any]]:
    batcher = ReadBatcher(clock)
    return batcher, [batcher.join() for _ in range(streams)]


async def test_a_stream_alone_is_read_as_it_comes_and_many_gather(
    server: ModelServer, models: Models, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    clock.instant = True
    server.script = lambda _: Reply(TEXT, words_per_second=500)

    alone = await asking(models, question)
    assert alone.text == TEXT
    assert clock.slept == []

    together = await asyncio.gather(*(asking(models, question) for _ in range(40)))
    assert [asked.text for asked in together] == [TEXT] * 40
    assert clock.slept, "no stream gathered"


async def test_an_answer_that_is_there_is_read_at_once_however_long_others_would_gather(
    server: ModelServer, models: Models, question: Request, asking: Ask, clock: RecordingClock
) -> None:
    """The clock stands still: nobody who gathers is woken by it."""
    server.script = lambda _: Reply(TEXT, words_per_second=500)

    together = await asyncio.gather(*(asking(models, question) for _ in range(40)))

    assert [asked.text for asked in together] == [TEXT] * 40
    assert clock.slept, "no stream gathered"


@pytest.mark.parametrize(("streams", "seconds"), [(1, 0.0), (25, 0.0), (100, 0.075), (5_000, 0.5)])
def test_the_more_streams_the_longer_each_gathers_up_to_half_a_second(
    clock: RecordingClock, streams: int, seconds: float
) -> None:
    batcher, _ = joined(clock, streams)

    assert batcher.seconds() == pytest.approx(seconds)


async def test_who_gathers_is_woken_when_it_is_time_or_when_nothing_more_will_come(clock: RecordingClock) -> None:
    batcher, streams = joined(clock, 125)
    waiting = [asyncio.create_task(stream.gather()) for stream in streams[:3]]
    await clock.advance(0.09)
    assert not any(task.done() for task in waiting)

    streams[0].hurry()
    await clock.advance(0.0)
    assert [task.done() for task in waiting] == [True, False, False]

    await clock.advance(0.04)
    assert all(task.done() for task in waiting)
    await batcher.close()


async def test_streams_that_were_closed_let_the_others_read_as_before(clock: RecordingClock) -> None:
    batcher, streams = joined(clock, 100)
    for stream in streams[:80]:
        stream.leave()
        stream.leave()

    await streams[0].gather()
    await streams[-1].gather()

    assert batcher.seconds() == 0 and clock.slept == []


async def test_one_timer_serves_all_streams_and_ends_with_them(clock: RecordingClock) -> None:
    _, streams = joined(clock, 1_000)
    waiting = [asyncio.create_task(stream.gather()) for stream in streams]
    await clock.advance(2.0)

    assert all(task.done() for task in waiting)
    assert len(clock.slept) < 30
    tasks = len(asyncio.all_tasks())
    await clock.advance(10.0)
    assert len(asyncio.all_tasks()) == tasks == 1


async def test_who_gathers_while_everything_is_closed_looks_at_what_there_is(clock: RecordingClock) -> None:
    batcher, streams = joined(clock, 1_000)
    waiting = [asyncio.create_task(stream.gather()) for stream in streams[:3]]
    await clock.advance(0.0)

    await batcher.close()

    await asyncio.wait_for(asyncio.gather(*waiting), 5)
