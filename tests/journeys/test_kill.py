"""`kill -9` at every stage of a turn, on all three platforms at once: nothing lost, nothing twice.

The outside holds one chosen answer open, the process is killed, the outside lets go, and a new process starts.
The whole matrix of twenty kills per stage: `pytest -m soak tests/journeys/test_kill.py`.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from playground.faults import Fault
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Process, World
from tests.patience import PATIENCE

WORDS = " ".join(f"word{number}" for number in range(60))
PLATFORMS = ("telegram", "slack", "discord")


def answer(name: str) -> str:
    return f"Here it is for {name}: {WORDS} end-of-{name}"


@dataclass
class Chats:
    """One private chat on each platform, with what a person sees there."""

    world: World

    def __post_init__(self) -> None:
        self.world.telegram.person(7, "Ada")
        self.world.slack.person("U7", "Ada")
        self.world.discord.person(7, "Ada")
        self.chat = {
            "telegram": "7",
            "slack": self.world.slack.direct("U7"),
            "discord": self.world.discord.direct(7).id,
        }

    async def ready(self, starts: int = 1) -> None:
        """Every platform is listened to, by the process that was started as number `starts`."""
        gateway = self.world.discord.gateway
        await self.until(lambda: len(gateway.identified) >= starts)
        await self.until(lambda: sum(call.method == "getMe" for call in self.world.telegram.calls) >= starts)
        await self.world.slack.sockets.until_connected(since=starts)
        await gateway.until_ready(1)

    def ask(self) -> None:
        self.world.telegram.say(7, "please tell telegram", person=7)
        self.world.slack.say(self.chat["slack"], "please tell slack", person="U7")
        self.world.discord.say(self.chat["discord"], "please tell discord", person=7)

    def texts(self, platform: str) -> list[str]:
        return [message.text for message in getattr(self.world, platform).screen.of(self.chat[platform])]

    def whole(self, platform: str) -> int:
        """How many messages show the end of the answer."""
        return sum(f"end-of-{platform}" in text for text in self.texts(platform))

    async def until(self, seen: Callable[[], bool], seconds: float = PATIENCE) -> None:
        async with asyncio.timeout(seconds):
            while not seen():
                await asyncio.sleep(0.01)


def name_of(body: RawJson) -> str:
    asked = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return str(asked[-1]).rsplit(" ", 1)[1]


class Outside:
    """Holds the world at one stage of the three turns."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.let_go = asyncio.Event()
        self.held: set[str] = set()
        self.faults: list[Fault] = []
        self.stage = ""
        world.model.script = self.script

    def script(self, body: RawJson) -> Reply:
        name = name_of(body)
        second = body["messages"][-1]["role"] == "tool"
        holding = not self.let_go.is_set() and name not in self.held
        if not second:
            if holding and self.stage == "S1":
                self.held.add(name)
                return Reply(hang_before_headers=True, until=self.let_go)
            if holding and self.stage == "S3":
                self.held.add(name)
                return Reply("I am going to look this up for you now, one moment.", hang_after=30, until=self.let_go,
                             calls=(("search_web", {"query": f"tea for {name}"}),), words_per_second=100)  # fmt: skip
            return Reply("I look it up.", calls=(("search_web", {"query": f"tea for {name}"}),))
        if holding and self.stage == "S5":
            self.held.add(name)
            return Reply(hang_before_headers=True, until=self.let_go)
        if holding and self.stage == "S6":
            self.held.add(name)
            return Reply(answer(name), hang_after=answer(name).index("word8"), until=self.let_go, words_per_second=100)
        return Reply(answer(name), words_per_second=200)

    def hold(self, server: Any, method: str, *, after: bool, times: int = 1) -> None:
        for _ in range(times):
            fault = Fault(hold_after=self.let_go) if after else Fault(hold=self.let_go)
            self.faults.append(server.faults.add(method, fault))

    @property
    def reached(self) -> int:
        return sum(fault.reached.is_set() for fault in self.faults)


POSTS = {
    "telegram": "sendMessage",
    "slack": "chat.postMessage",
    "discord": "POST /channels/{channel}/messages",
}


def recorded(world: World) -> int:
    """How many messages of its own the bot knows of."""
    with closing(sqlite3.connect(f"file:{world.data / 'parley.db'}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM pages WHERE message IS NOT NULL").fetchone()[0])


async def at_stage(stage: str, world: World, process: Process) -> None:
    chats, outside = Chats(world), Outside(world)
    outside.stage = stage
    await process.start()
    await chats.ready()
    servers = {name: getattr(world, name) for name in PLATFORMS}
    if stage in ("S2 before", "S2 after"):
        for name, server in servers.items():
            outside.hold(server, POSTS[name], after=stage.endswith("after"))
    if stage == "S4":
        outside.hold(world.tavily, "search", after=False, times=3)
    chats.ask()

    if stage in ("S1", "S3", "S5", "S6"):
        await chats.until(lambda: len(outside.held) == 3)
        if stage != "S1":
            # Not only seen but also known to the bot: before that it is S2.
            await chats.until(lambda: recorded(world) == 3)
    elif stage in ("S2 before", "S2 after", "S4"):
        await chats.until(lambda: outside.reached == 3)
        if stage == "S4":
            await chats.until(lambda: recorded(world) == 3)
    elif stage == "S7":
        await chats.until(lambda: any(chats.whole(name) for name in PLATFORMS))
    else:
        await chats.until(lambda: all(chats.whole(name) for name in PLATFORMS))
        await asyncio.sleep(0.3)
    await process.kill()
    outside.let_go.set()
    for server in (*servers.values(), world.tavily):
        server.faults.clear()

    await process.start()
    await chats.until(lambda: all(chats.whole(name) for name in PLATFORMS))
    # Whatever else would come, comes before the next answer.
    await chats.ready(starts=2)
    world.model.script = lambda body: Reply("And that is the next one.")
    world.telegram.say(7, "please go on", person=7)
    world.slack.say(chats.chat["slack"], "please go on", person="U7")
    world.discord.say(chats.chat["discord"], "please go on", person=7)
    await chats.until(lambda: all("And that is the next one." in chats.texts(name)[-1:] for name in PLATFORMS))

    for name in PLATFORMS:
        texts = chats.texts(name)
        assert chats.whole(name) == 1, f"{name}: {texts}"
        complete = next(text for text in texts if f"end-of-{name}" in text)
        assert complete.endswith(answer(name)) and complete.count(f"end-of-{name}") == 1, f"{name}: {texts}"
        orphans = len(texts) - 2
        assert orphans <= (1 if stage.startswith("S2") else 0), f"{name}: {texts}"
        others = [other for other in PLATFORMS if other != name]
        assert not any(f"end-of-{other}" in text for other in others for text in texts)
    if stage in ("S5", "S6", "S8"):
        assert len(world.tavily.requests) == 3, "a stored result was not reused"
    assert await process.stop() == 0


STAGES = ("S1", "S2 before", "S2 after", "S3", "S4", "S5", "S6", "S7", "S8")


@pytest.mark.parametrize("stage", STAGES)
async def test_a_kill_at_any_stage_loses_nothing_and_repeats_nothing(
    stage: str, world: World, process: Process
) -> None:
    await at_stage(stage, world, process)


@pytest.mark.soak
@pytest.mark.parametrize("time", range(20))
@pytest.mark.parametrize("stage", STAGES)
async def test_twenty_kills_at_every_stage(stage: str, time: int, world: World, process: Process) -> None:
    await at_stage(stage, world, process)
