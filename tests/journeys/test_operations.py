"""What an operator sees of a bot at work: the page of counts, readiness, and lines that name chat and turn."""

from __future__ import annotations

import asyncio
import logging
import re

import aiohttp
import pytest

from bot.app import App
from bot.contract.reference import reference_of
from bot.operations.logs import _Place
from playground.model import Reply
from tests.conftest import RawObject
from tests.journeys.conftest import Start, World
from tools.calling.registry import ToolRegistry

ADA = 7


async def get(bot: App, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{bot.http.port}{path}") as answer:
        return answer.status, await answer.text()


def value(page: str, series: str) -> float:
    found = re.search(rf"^{re.escape(series)} (\S+)$", page, re.MULTILINE)
    assert found is not None, f"{series} is not in\n{page}"
    return float(found[1])


async def test_a_turn_with_a_search_is_counted_from_its_question_to_its_last_edit(world: World, start: Start) -> None:
    world.model.reply(Reply(calls=(("search_web", {"query": "tea"}),)), Reply("Tea is tea. " * 20))
    settings = {"HTTP_PORT": "0", "TOOL_MODE": "native", "PRICES": "openai:scripted=10/1/50"}
    async with start("telegram", **settings) as bot:
        world.telegram.person(ADA, "Ada")
        world.telegram.say(ADA, "what is tea, look it up", person=ADA)
        await world.telegram.screen.until(lambda screen: screen.of(str(ADA)))
        await bot.dispatcher.wait_idle()
        ready, _ = await get(bot, "/ready")
        health, _ = await get(bot, "/health")
        _, page = await get(bot, "/metrics")
        [told] = await bot.store.writer.run(
            lambda db: db.execute("SELECT first_words, waited, edits, refusals FROM turns").fetchall()
        )

    assert 0 < told[0] < 60 and told[1] >= 0 and told[2] >= 2 and not told[3], "the turn is stored with its waits"
    assert (ready, health) == (200, 200)
    assert value(page, "parley_turns_begun_total") == 1
    assert value(page, 'parley_turns_ended_total{state="done"}') == 1
    assert value(page, 'parley_model_calls_total{model="openai:scripted",outcome="answered"}') == 2
    assert value(page, 'parley_tokens_total{model="openai:scripted",kind="prompt"}') > 100
    assert value(page, 'parley_tool_calls_total{tool="search_web",status="completed"}') == 1
    # The end goes out as a call of its own, unless a call that had its turn already could take it along.
    calls = re.findall(r'^parley_platform_calls_total\{platform="telegram",kind="\w+"\} (\d+)$', page, re.MULTILINE)
    assert sum(map(int, calls)) >= 2
    assert value(page, "parley_reply_lag_seconds_count") == 1
    assert value(page, "parley_first_words_seconds_count") == value(page, "parley_queue_wait_seconds_count") == 1
    assert value(page, "parley_reader_waits_seconds_count") == 1
    assert 0 < value(page, "parley_first_words_seconds_sum") < 60
    assert value(page, 'parley_model_seconds_total{model="openai:scripted"}') > 0
    assert value(page, 'parley_tool_seconds_total{tool="search_web"}') > 0
    assert value(page, 'parley_dollars_total{kind="tool",name="search_web"}') == 0.008
    assert value(page, 'parley_dollars_total{kind="model",name="openai:scripted"}') > 0
    assert "# TYPE process_cpu_seconds_total counter" in page and value(page, "process_cpu_seconds_total") > 0
    assert value(page, "parley_turns_running") == 0 and value(page, "parley_replies_live") == 0
    assert value(page, "process_resident_memory_bytes") > 10_000_000


async def test_whom_quotas_and_lists_refuse_is_counted_and_a_stranger_leaves_one_line(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """Who and where, and nothing of what they wrote; labels name no person."""
    world.model.script = lambda body: Reply("Yes.", usage={"prompt_tokens": 9_000, "completion_tokens": 9_000})
    quotas = {"TOKENS_PER_DAY_PERSON": "15000", "MESSAGES_PER_MINUTE": "3"}
    caplog.set_level(logging.INFO, "bot.intake")
    async with start("telegram", HTTP_PORT="0", ALLOW_ALL="false", ALLOWED_USERS="telegram:7", **quotas) as bot:
        world.telegram.person(ADA, "Ada")
        world.telegram.person(8, "Eve")
        for number in range(4):
            world.telegram.say(8, f"my secret plan {number}", person=8)
            world.telegram.say(ADA, f"please answer question {number}", person=ADA)
            await asyncio.sleep(0.5)
            await bot.dispatcher.wait_idle()
        _, page = await get(bot, "/metrics")

    assert value(page, "parley_strangers_refused_total") == 4
    assert value(page, 'parley_quota_refusals_total{quota="day_person"}') >= 1
    assert value(page, 'parley_quota_refusals_total{quota="messages_per_minute"}') == 1
    assert "telegram:" not in page
    where = f"telegram:{world.telegram.bot['id']}/8"
    lines = [record.getMessage() for record in caplog.records if "may not write" in record.getMessage()]
    assert lines == [f"refused telegram:8 in {where}: may not write (/allow lets them in)"]
    assert "secret plan" not in caplog.text


async def test_a_failed_model_is_counted_and_its_line_names_chat_turn_and_reference(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    world.model.reply(*[Reply(status=401)] * 4)
    caplog.handler.addFilter(_Place())
    with caplog.at_level(logging.WARNING, "bot"):
        async with start("telegram", HTTP_PORT="0") as bot:
            world.telegram.person(ADA, "Ada")
            world.telegram.say(ADA, "my secret question about tea", person=ADA)
            await world.telegram.screen.until(lambda screen: screen.of(str(ADA)))
            await bot.dispatcher.wait_idle()
            _, page = await get(bot, "/metrics")

    [said] = [message.text for message in world.telegram.screen.of(str(ADA))]
    [line] = [record for record in caplog.records if "refuses the key" in record.getMessage()]
    about = vars(line)
    assert reference_of(about["turn"]) in said and f"[{reference_of(about['turn'])}]" in line.getMessage()
    assert about["chat"].endswith("/7") and about["turn"] > 0
    assert not any("secret question" in record.getMessage() for record in caplog.records)
    assert value(page, 'parley_turns_ended_total{state="failed"}') == 1


async def test_a_trial_of_a_tool_has_ended_when_the_bot_has(
    world: World, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long its program takes to end, as on a busy machine."""
    told = []

    async def prove(registry: ToolRegistry) -> None:
        told.append("begun")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(3)
            told.append("ended")

    monkeypatch.setattr(ToolRegistry, "prove", prove)
    async with start("telegram"):
        pass

    assert told == ["begun", "ended"]


async def test_the_operator_finds_a_turn_on_the_page_until_its_chat_is_forgotten(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    world.model.reply(Reply(calls=(("search_web", {"query": "tea"}),)), Reply("Tea is tea."))
    token = "correct-horse-battery-staple"
    async with start("telegram", HTTP_PORT="0", TOOL_MODE="native", ADMIN_TOKEN=token) as bot:
        world.telegram.person(ADA, "Ada")
        world.telegram.say(ADA, "what is tea, look it up", person=ADA)
        await world.telegram.screen.until(lambda screen: screen.of(str(ADA)))
        await bot.dispatcher.wait_idle()
        turn = await bot.store.turns.find_newest()
        page = f"http://127.0.0.1:{bot.http.port}/admin"
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:

            async def read(view: str) -> tuple[int, RawObject]:
                async with session.get(f"{page}/data/{view}") as answer:
                    return answer.status, await answer.json()

            closed = await read("overview")
            async with session.post(f"{page}/session", json={"token": token}) as answer:
                assert answer.status == 200
            found = await read(f"find?q={reference_of(turn)}")
            told = await read(f"turn?turn={turn}")
            summed = await read("overview?days=1")
            shown = len(world.telegram.screen.of(str(ADA)))
            world.telegram.say(ADA, "/forget yes", person=ADA)
            await world.telegram.screen.until(lambda screen: len(screen.of(str(ADA))) > shown)
            await bot.dispatcher.wait_idle()
            gone = await read(f"turn?turn={turn}")
            people = await read("people")

    assert closed[0] == 401 and found[1]["turn"] == turn and gone[0] == 404 and people[1]["people"] == []
    assert [call["tool"] for call in told[1]["calls"]] == ["search_web"] and told[1]["answer"].startswith("Tea is tea.")
    assert told[1]["first_words"] > 0 and told[1]["edits"] >= 2
    assert (summed[1]["totals"]["turns"], summed[1]["tools"][0]["calls"]) == (1, 1)
    assert token not in caplog.text


async def test_a_token_without_a_port_for_the_page_is_told(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    async with start("telegram", ADMIN_TOKEN="correct-horse-battery-staple"):
        pass

    assert "ADMIN_TOKEN has no effect without HTTP_PORT" in caplog.text
