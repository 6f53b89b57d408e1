"""Two processes where there should be one: on one database, and with one token."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable

import aiohttp
import pytest

from playground.model import Reply
from tests.conftest import Nursery
from tests.journeys.conftest import Process, Start, World
from tests.patience import PATIENCE


async def until(seen: Callable[[], object], seconds: float = PATIENCE) -> None:
    async with asyncio.timeout(seconds):
        while not seen():
            await asyncio.sleep(0.01)


def environment(world: World, **settings: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(world.data), **world.environment(), **settings}


async def test_a_second_process_on_one_database_ends_at_once_and_says_why(
    world: World, process: Process, nursery: Nursery
) -> None:
    world.model.script = lambda body: Reply("Fine, thank you.")
    world.telegram.person(7, "Ada")
    await process.start()
    await world.slack.sockets.until_connected(1)

    second = await nursery.talk("bot", "run", folder=world.data, environment=environment(world))
    listed = await nursery.talk("bot", "chats", folder=world.data, environment=environment(world))
    spoken = await nursery.talk("bot", "chat", folder=world.data, environment=environment(world), typed="how are you?")
    world.telegram.say(7, "how are you?", person=7)
    await world.telegram.screen.until(lambda screen: [one.text for one in screen.of("7")] == ["Fine, thank you."])

    assert (second.code, second.err.count("\n")) == (2, 1)
    assert f"{world.data}/parley.db" in second.err and f"(process {process.child.pid})" in second.err
    assert listed.code == 0
    assert (spoken.code, spoken.out) == (0, "Fine, thank you.\n")
    assert len(world.slack.sockets.received) == 0 and process.child.returncode is None

    await process.kill()
    await process.start()
    world.telegram.say(7, "and now?", person=7)
    await world.telegram.screen.until(lambda screen: len(screen.of("7")) == 2)


async def test_a_second_chat_on_one_database_ends_at_once_and_says_why(world: World, nursery: Nursery) -> None:
    """It would go on with what the first has under way, and answer it twice."""
    world.model.script = lambda body: Reply("Fine, thank you.", hang_after=2)
    null = os.open(os.devnull, os.O_RDWR)
    reading, writing = os.pipe()
    os.write(writing, b"how are you?\n")
    first = nursery.start(
        "bot", "chat", folder=world.data, environment=environment(world), streams=(reading, null, null)
    )
    try:
        await world.model.asked(1)
        second = await nursery.talk("bot", "chat", folder=world.data, environment=environment(world), typed="hello")
    finally:
        first.kill()
        await first.wait()
        for number in (null, reading, writing):
            os.close(number)

    assert second.code == 2
    assert "another `parley chat`" in second.err and f"(process {first.pid})" in second.err
    assert len(world.model.requests) == 1


async def test_two_databases_with_one_token_are_told_of_in_log_state_and_metrics_and_people_are_answered(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    world.model.script = lambda body: Reply("Fine, thank you.")
    world.telegram.person(7, "Ada")
    other = f"sqlite:///{world.data}/other.db"
    async with start("telegram", HTTP_PORT="0") as one, start("telegram", HTTP_PORT="0", DATABASE_URL=other) as two:
        await until(lambda: one.platforms.conflicts or two.platforms.conflicts)
        loser = one if one.platforms.conflicts else two
        async with aiohttp.ClientSession() as http:
            async with http.get(f"http://127.0.0.1:{loser.http.port}/state") as answer:
                state = await answer.json()
            async with http.get(f"http://127.0.0.1:{loser.http.port}/metrics") as answer:
                page = await answer.text()
        world.telegram.say(7, "how are you?", person=7)
        await world.telegram.screen.until(lambda screen: screen.of("7"))

    assert state["conflicts"]["telegram"] >= 1
    assert re.search(r"^parley_token_conflicts [1-9]", page, re.MULTILINE)
    assert re.search(r'^parley_connections_lost_total\{platform="telegram"\} [1-9]', page, re.MULTILINE)
    assert "another program receives with the same TELEGRAM_BOT_TOKEN" in caplog.text
    assert {one.text for one in world.telegram.screen.of("7")} == {"Fine, thank you."}
