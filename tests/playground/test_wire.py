"""The wire of an answer: calls with their times, what rates have left, and how far model, screen and reader were."""

from __future__ import annotations

import aiohttp
import pytest

from playground import wire
from playground.faults import Fault
from playground.show import Playground
from tests.patience import PATIENCE

PLATFORMS = ("telegram", "slack", "discord")


def test_a_reader_never_outruns_the_screen_and_waits_where_it_stands_still() -> None:
    read, waited = wire.reader([(1.0, 24), (4.0, 48), (5.0, 60)], 24.0)

    assert read[0] == (1.0, 0) and read[-1][1] <= 60
    assert all(count <= (24 if at < 4.0 else 48 if at < 5.0 else 60) for at, count in read)
    assert waited == pytest.approx(2.0, abs=0.1), "one second of words, then three until the next"
    assert wire.reader([], 24.0) == ([], 0.0)


def test_chinese_is_read_by_the_character() -> None:
    assert wire.reading_rate("words and words") == 24.0
    assert wire.reading_rate("只有汉字") == pytest.approx(400 / 60)


@pytest.mark.first
@pytest.mark.asyncio(loop_scope="module")
async def test_each_call_of_an_answer_is_told_with_its_time_and_a_refusal_too(answering: Playground) -> None:
    for name in PLATFORMS:
        await answering._connected(name)
    answering.telegram.faults.add("editMessageText", Fault(status=429, retry_after=1))
    await answering.scenes.play("search", PLATFORMS)
    async with aiohttp.ClientSession() as page:
        for name in PLATFORMS:
            async with page.get(f"{answering.url}wire/{name}", timeout=aiohttp.ClientTimeout(PATIENCE)) as answer:
                told = await answer.json()
            assert told["calls"] and all(call["took"] >= 0 and call["status"] for call in told["calls"]), name
            assert "solar power" in told["question"]
            assert any(call["left"] for call in told["calls"]) and told["left"]
            assert told["written"][-1][1] > 300 and told["screen"][-1][1] > 300, name
            assert [at for at, _ in told["screen"]] == sorted(at for at, _ in told["screen"])
            assert told["first"] is not None and told["read"][-1][1] <= told["screen"][-1][1]
            assert any(call["refused"] for call in told["calls"]) == (name == "telegram")
            async with page.get(f"{answering.url}turn/{name}") as answer:
                turn = await answer.json()
            assert (turn["state"], [call["name"] for call in turn["calls"]]) == ("done", ["search_web"]), name
            assert "solar power" in turn["calls"][0]["arguments"] and turn["seconds"] > 0 and turn["tokens"][0] > 1000
            assert [one["role"] for one in turn["sent"]][:2] == ["system", "user"]
        async with page.get(f"{answering.url}turn/irc") as answer:
            assert answer.status == 404
        async with page.get(f"{answering.url}wire/irc") as answer:
            assert answer.status == 404
