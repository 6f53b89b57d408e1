"""Several processes on one PostgreSQL: a program asks one of them, and another one answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import openai
import pytest

from playground.model import Reply
from tests.conftest import Nursery
from tests.journeys.conftest import Process, World, process_in
from tests.journeys.test_fleet import Fleet
from tests.journeys.test_web_programs import TOKEN, Page, text_of, until_open
from tests.patience import PATIENCE
from tests.web import free_port

TEXT = " ".join(f"word{number}" for number in range(300))
OFF = dict.fromkeys(("TELEGRAM_BOT_TOKEN", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "DISCORD_BOT_TOKEN"), "")


@pytest.fixture
async def fleet(world: World, nursery: Nursery, postgres_url: str) -> AsyncIterator[Fleet]:
    """One process that only receives, and two that only answer."""
    world.settings |= {"DATABASE_URL": postgres_url, "WEB_TOKEN": TOKEN, **OFF}
    async with AsyncExitStack() as stack:
        processes = [await stack.enter_async_context(process_in(world, nursery, f"-{number}")) for number in range(3)]
        for process, role in zip(processes, ("intake", "turns", "turns"), strict=True):
            process.options, process.settings["WEB_PORT"] = ("--only", role), str(free_port())
        yield Fleet(processes, postgres_url)


async def test_an_answer_of_another_process_comes_whole_also_when_that_one_is_killed(
    world: World, fleet: Fleet
) -> None:
    go_on, reached = asyncio.Event(), asyncio.Event()

    def script(body: object) -> Reply:
        if reached.is_set():
            return Reply(TEXT)
        reached.set()
        return Reply(TEXT, hang_after=600, until=go_on)

    world.model.script = script
    reception: Process = fleet.processes[0]
    for process in fleet.processes:
        await process.start()
    client = openai.AsyncOpenAI(
        api_key=TOKEN, base_url=f"http://127.0.0.1:{reception.settings['WEB_PORT']}/v1", max_retries=0
    )
    async with client:
        page = Page(client)
        await until_open(page)
        reading = asyncio.create_task(page.run("r1", "what is tea"))
        async with asyncio.timeout(PATIENCE):
            await reached.wait()
        serving = fleet.serving("web:client/tea")
        assert serving is not None and serving is not reception
        await serving.kill()
        go_on.set()
        events = await reading
        again = await page.run("r1", "what is tea")

    assert text_of(events) == text_of(again) == TEXT and events[-1]["outcome"] == {"type": "success"}
    assert fleet.unfinished() == 0 and len(world.model.requests) == 2
