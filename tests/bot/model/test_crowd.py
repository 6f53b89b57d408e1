"""Many streams at once are read in fewer, larger pieces; one alone is read as it comes."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

import pytest

from bot.model import Models
from bot.model.base import Request
from bot.model.crowd import Crowd
from playground.model import ModelServer, Reply

TEXT = "The news is good. " * 10


async def test_a_stream_alone_is_read_as_it_comes_and_many_gather(
    server: ModelServer, models: Models, question: Request, asking: Any, clock: Any
) -> None:
    clock.instant = True
    server.script = lambda _: Reply(TEXT, words_per_second=500)

    alone = await asking(models, question)
    assert alone.text == TEXT
    assert clock.slept == []

    together = await asyncio.gather(*(asking(models, question) for _ in range(40)))
    assert [asked.text for asked in together] == [TEXT] * 40
    assert clock.slept, "no stream gathered"
    assert all(0.0 < seconds <= 0.25 for seconds in clock.slept)


@pytest.mark.parametrize(("streams", "seconds"), [(1, None), (25, None), (100, 0.05), (5_000, 0.25)])
async def test_the_more_streams_the_longer_each_gathers_up_to_a_quarter_of_a_second(
    clock: Any, streams: int, seconds: float | None
) -> None:
    clock.instant = True
    crowd = Crowd(clock)
    with ExitStack() as opened:
        for _ in range(streams):
            opened.enter_context(crowd.joined())
        await crowd.gather()

    assert clock.slept == ([] if seconds is None else [pytest.approx(seconds)])
