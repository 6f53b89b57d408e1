"""Several `parley run` on one PostgreSQL: people meet one bot, whichever process answers and however it ends."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from playground.model import Reply
from tests.conftest import Nursery
from tests.journeys.conftest import Process, World, process_in
from tests.journeys.test_kill import PLATFORMS, Chats, Outside, answer
from tests.patience import slowed


@dataclass
class Fleet:
    """The processes, and what the database knows of them."""

    processes: list[Process]
    url: str

    async def start(self, chats: Chats) -> None:
        """Start all; each platform is received by one of them."""
        for process in self.processes:
            await process.start()
        await chats.until(lambda: all("shares the database" in process.said for process in self.processes))
        await chats.ready()

    def serving(self, place: str) -> Process | None:
        """The process that serves a place now."""
        import psycopg

        with psycopg.connect(self.url) as db:
            found = db.execute(
                "SELECT name FROM workers JOIN places ON owner = id WHERE starts_with(place, %s)", [place]
            ).fetchone()
        pid = int(found[0].rpartition(" ")[2]) if found else None
        return next((process for process in self.processes if process.started and process.child.pid == pid), None)


@pytest.fixture
async def fleet(world: World, nursery: Nursery, postgres_url: str) -> AsyncIterator[Fleet]:
    world.settings["DATABASE_URL"] = postgres_url
    async with AsyncExitStack() as stack:
        yield Fleet(
            [await stack.enter_async_context(process_in(world, nursery, f"-{number}")) for number in range(3)],
            postgres_url,
        )


async def test_a_process_that_answers_is_killed_and_another_completes_its_message(world: World, fleet: Fleet) -> None:
    """Its words stand there already; they are completed within a second, and nothing comes twice."""
    chats, outside = Chats(world), Outside(world)
    outside.stage = "S6"
    await fleet.start(chats)
    chats.ask()
    await chats.until(lambda: len(outside.held) == 3)
    serving = {name: fleet.serving(name) for name in PLATFORMS}
    killed = serving["telegram"]
    assert killed is not None and all(serving.values())

    await killed.kill()
    outside.let_go.set()
    await chats.until(lambda: all(chats.whole(name) for name in PLATFORMS))

    world.model.script = lambda body: Reply("And that is the next one.")
    world.telegram.say(7, "please go on", person=7)
    world.slack.say(chats.chat["slack"], "please go on", person="U7")
    world.discord.say(chats.chat["discord"], "please go on", person=7)
    await chats.until(lambda: all("And that is the next one." in chats.texts(name)[-1:] for name in PLATFORMS))
    for name in PLATFORMS:
        texts = chats.texts(name)
        assert len(texts) == 2 and texts[0].endswith(answer(name)), f"{name}: {texts}"
    assert len(world.tavily.requests) == 3, "a stored result was not reused"
    for process in fleet.processes:
        if process is not killed:
            assert await process.stop() == 0
            assert "another program" not in process.said


async def test_where_the_process_that_receives_is_killed_another_does_and_nothing_is_lost(
    world: World, fleet: Fleet
) -> None:
    chats = Chats(world)
    world.model.script = lambda body: Reply("Yes.")
    await fleet.start(chats)
    receiving = [process for process in fleet.processes if "has listening to telegram" in process.said]
    assert len(receiving) == 1

    await receiving[0].kill()
    world.telegram.say(7, "one", person=7)
    world.telegram.say(7, "two", person=7)

    began = time.monotonic()
    await chats.until(lambda: bool(chats.texts("telegram")))
    assert time.monotonic() - began < slowed(5.0)
    await chats.until(lambda: chats.texts("telegram") == ["Yes.", "Yes."])
