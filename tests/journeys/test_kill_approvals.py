"""`kill -9` around a call that a person has to allow, on all three platforms at once: none unapproved, none twice.

The whole matrix of twenty kills per stage: `pytest -m soak tests/journeys/test_kill_approvals.py`.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from playground.model import Reply
from playground.screen import Shown
from tests.conftest import RawJson
from tests.journeys.conftest import Process, World
from tests.journeys.test_approvals import ALLOW
from tests.journeys.test_kill import PLATFORMS, POSTS, Chats, Outside

STAGES = ("asking before", "asking after", "pressing", "pressed", "running", "answered")
DONE = "That is all of it."


def script(body: RawJson) -> Reply:
    """A model that searches for what the question names, and says what came of it."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        told = str(last["content"])
        return Reply(f"Unknown. {DONE}" if "outcome is unknown" in told else DONE)
    asked = [str(one["content"]) for one in body["messages"] if one["role"] == "user"]
    name = asked[-1].rsplit(" ", 1)[1]
    return Reply("I look.", calls=(("search_web", {"query": f"tea for {name}"}),))


class Hands:
    """Who asks and presses on every platform."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.chats = Chats(world)
        self.outside = Outside(world)
        world.model.script = script

    def cards(self, platform: str) -> list[Shown]:
        """The messages that ask, the newest last."""
        screen = getattr(self.world, platform).screen
        return [one for one in screen.of(self.chats.chat[platform]) if ALLOW in one.buttons]

    def press(self, platform: str) -> None:
        """Press the button as often as an impatient person does."""
        for card in self.cards(platform):
            for _ in range(2):
                match platform:
                    case "telegram":
                        self.world.telegram.press(7, int(card.id), ALLOW, person=7)
                    case "discord":
                        self.world.discord.press(card.id, ALLOW, 7)
                    case _:
                        self.world.slack.press(self.chats.chat["slack"], card.id, ALLOW, "U7")

    @property
    def runs(self) -> Counter[str]:
        """How often the search was made for each platform."""
        return Counter(str(one.body["query"]).rsplit(" ", 1)[1] for one in self.world.tavily.requests)

    def decided(self) -> int:
        return self._count("SELECT count(*) FROM approvals WHERE state = 'allowed'")

    def ended(self) -> int:
        return self._count("SELECT count(*) FROM turns WHERE ended_at IS NOT NULL")

    def _count(self, sql: str) -> int:
        with closing(sqlite3.connect(f"file:{self.world.data / 'parley.db'}?mode=ro", uri=True)) as db:
            return int(db.execute(sql).fetchone()[0])


async def killed_at(stage: str, world: World, process: Process) -> None:
    world.settings["CONFIRM_TOOLS"] = "search_web"
    hands = Hands(world)
    chats, outside = hands.chats, hands.outside
    servers = {name: getattr(world, name) for name in PLATFORMS}
    await process.start()
    await chats.ready()
    if stage.startswith("asking"):
        for name, server in servers.items():
            outside.hold(server, POSTS[name], after=stage.endswith("after"))
    chats.ask()
    if stage.startswith("asking"):
        await chats.until(lambda: outside.reached == 3)
    else:
        await chats.until(lambda: hands.ended() == 3)
        assert not world.tavily.requests, "nobody has allowed it"
        if stage == "running":
            outside.hold(world.tavily, "search", after=False, times=3)
        for name in PLATFORMS:
            hands.press(name)
        if stage == "pressed":
            await chats.until(lambda: hands.decided() >= 1)
        elif stage == "running":
            await chats.until(lambda: outside.reached == 3)
        elif stage == "answered":
            await chats.until(lambda: hands.ended() == 6)
    await process.kill()
    outside.let_go.set()
    for server in (*servers.values(), world.tavily):
        server.faults.clear()
    if stage.startswith("asking"):
        assert not world.tavily.requests, "nobody has allowed it"

    await process.start()
    await chats.ready(starts=2)
    if stage.startswith("asking"):
        await chats.until(lambda: hands.ended() == 3)
        assert not world.tavily.requests, "nobody has allowed it"
    for name in PLATFORMS:
        # Who saw nothing happen presses again.
        hands.press(name)
    await chats.until(lambda: all(any(DONE in text for text in chats.texts(name)) for name in PLATFORMS))
    await chats.until(lambda: hands.ended() == 6 and not any(hands.cards(name)[1:] for name in PLATFORMS))
    await asyncio.sleep(0.1)

    assert all(count == 1 for count in hands.runs.values()) and hands.decided() == 3, hands.runs
    # Killed between the note that a call begins and the call itself, nobody knows whether it was made: it is not made
    # again, and the model is told.
    unknown = {name for name in PLATFORMS if any(f"Unknown. {DONE}" in text for text in chats.texts(name))}
    assert set(PLATFORMS) - set(hands.runs) <= (unknown if stage == "pressed" else set())
    for name in PLATFORMS:
        texts = chats.texts(name)
        assert sum(DONE in text for text in texts) == 1, f"{name}: {texts}"
        assert any("✅ Allowed." in text for text in texts), f"{name}: {texts}"
        if stage == "running":
            assert any(f"Unknown. {DONE}" in text for text in texts), f"{name}: {texts}"
    assert await process.stop() == 0


@pytest.mark.parametrize("stage", STAGES)
async def test_a_kill_runs_nothing_unapproved_and_nothing_twice(stage: str, world: World, process: Process) -> None:
    await killed_at(stage, world, process)


@pytest.mark.soak
@pytest.mark.parametrize("time", range(20))
@pytest.mark.parametrize("stage", STAGES)
async def test_twenty_kills_at_every_stage(stage: str, time: int, world: World, process: Process) -> None:
    await killed_at(stage, world, process)
