"""Many chats, much bad luck, for a while: afterwards nothing is lost, doubled, mixed up or left over.

The long form: `pytest -m soak tests/journeys/test_soak.py -s`. SOAK_SEED repeats a run's luck, SOAK_MINUTES its length.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from playground.faults import Fault
from playground.mixer import Mixer
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Process, World

CALLS = {
    "telegram": ("sendMessage", "editMessageText", "getUpdates", "sendChatAction", "deleteMessage"),
    "slack": ("chat.postMessage", "chat.update", "chat.delete", "assistant.threads.setStatus"),
    "discord": (
        "POST /channels/{channel}/messages",
        "PATCH /channels/{channel}/messages/{message}",
        "POST /channels/{channel}/typing",
    ),
}


SUMMARY_AT = 1_500
"""Tokens from which a chat is summarised, a tenth of the usual: in the first minutes each of fifty chats reaches its
full length, and is summarised again and again from then on. At the usual size memory would follow the growth of the
chats for the whole half hour: what a turn holds grows with its chat."""


def asked(body: RawJson) -> str:
    return str([message["content"] for message in body["messages"] if message["role"] == "user"][-1])


def told(body: RawJson) -> str:
    """Everything a request says, in one text."""
    return "\n".join(str(message["content"]) for message in body["messages"])


@dataclass
class Person:
    """Somebody who asks again and again, in one chat."""

    soak: Soak
    platform: str
    number: int
    chat: str = ""
    said: int = 0

    def __post_init__(self) -> None:
        world = self.soak.world
        match self.platform:
            case "telegram":
                world.telegram.person(self.number, f"P{self.number}")
                self.chat = str(self.number)
            case "slack":
                world.slack.person(f"U{self.number}", f"P{self.number}")
                self.chat = world.slack.direct(f"U{self.number}")
            case _:
                world.discord.person(self.number, f"P{self.number}")
                self.chat = world.discord.direct(self.number).id

    @property
    def texts(self) -> list[str]:
        return [message.text for message in getattr(self.soak.world, self.platform).screen.of(self.chat)]

    def ask(self) -> None:
        text = f"please tell {self.number}x{self.said}"
        self.said += 1
        world, again = self.soak.world, self.soak.mixer.happens()
        match self.platform:
            case "telegram":
                update = world.telegram.say(self.number, text, person=self.number)
                if again:
                    world.telegram.redeliver(update)
            case "slack":
                before = len(world.slack.deliveries)
                world.slack.say(self.chat, text, person=f"U{self.number}")
                if again:
                    world.slack.redeliver(world.slack.deliveries[before].payload["event_id"])
            case _:
                message = world.discord.say(self.chat, text, person=self.number)
                if again:
                    world.discord.redeliver(message)

    async def live(self, until: float, pause: float) -> None:
        """Ask, wait until it came to its end, ask again."""
        while time.monotonic() < until:
            self.ask()
            said = self.said
            while self.soak.ended.get(self.number, 0) < said and time.monotonic() < until:
                await asyncio.sleep(0.1)
            await asyncio.sleep(random.uniform(0, pause))


@dataclass
class Soak:
    """One run."""

    world: World
    process: Process
    mixer: Mixer
    people: list[Person] = field(default_factory=list)
    ended: dict[int, int] = field(default_factory=dict)
    """Person → how many of their messages came to an end."""
    mixed: list[set[str]] = field(default_factory=list)
    """Whose words stood together in one request to the model."""
    waiting: int = 0
    samples: list[dict[str, float]] = field(default_factory=list)
    rest: dict[str, float] = field(default_factory=dict)
    """How it was when everybody had been answered once and nobody asked."""

    async def run(
        self, seconds: float, chats: dict[str, int], pause: float, sample: float, settle: float = 0.0
    ) -> None:
        """
        Args:
            settle: seconds for which it is left alone, before and after, and then looked at; 0: only after, at once.
        """
        world = self.world
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        world.settings |= {
            "HTTP_PORT": str(port),
            "FIRST_TOKEN_SECONDS": "2",
            "IDLE_SECONDS": "2",
            "TOKENS_PER_DAY": "0",
            "TOKENS_PER_DAY_PERSON": "0",
            "SUMMARY_AT": str(SUMMARY_AT),
            "LOG_LEVEL": "DEBUG",
        }
        number = 100
        for platform, count in chats.items():
            for _ in range(count):
                number += 1
                self.people.append(Person(self, platform, number))
        world.model.script = self._script
        await self.process.start()
        await self._until(lambda: any(call.method == "getMe" for call in world.telegram.calls))
        await world.slack.sockets.until_connected(1)
        await world.discord.gateway.until_ready(1)
        if settle:
            for person in self.people:
                person.ask()
            await self._answered(settle)
            self.rest = await self._sample(port)
        for platform, methods in CALLS.items():
            getattr(world, platform).faults.source = self.mixer.calls(methods)
        world.tavily.faults.source = self.mixer.calls(("search",), (lambda chance: Fault(status=500),))
        until = time.monotonic() + seconds
        watching = asyncio.create_task(self._watch(port, sample))
        async with asyncio.TaskGroup() as group:
            for person in self.people:
                group.create_task(person.live(until, pause))
        for server in (world.telegram, world.slack, world.discord, world.tavily):
            server.faults.source = None
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await self._answered(settle)
        self.samples.append(await self._sample(port))

    async def _answered(self, settle: float) -> None:
        """Wait until everything asked came to its end, and what that leaves to do is done."""
        async with asyncio.timeout(120):
            self._look()
            while self.waiting or sum(self.ended.values()) < self.said:
                await asyncio.sleep(0.25)
                self._look()
        await asyncio.sleep(settle)

    @property
    def said(self) -> int:
        return sum(person.said for person in self.people)

    def _script(self, body: RawJson) -> Reply:
        whole = told(body)
        people = {
            "".join(found) for found in re.findall(r"(?:please tell (\d+)x|Something was told to (\d+)\.)", whole)
        }
        if len(people) != 1:
            self.mixed.append(people)
        if "You keep the memory of a conversation" in whole:
            return self.mixer.answer(Reply(f"Something was told to {people.pop()}."))
        name = asked(body).rsplit(" ", 1)[1]
        if body["messages"][-1]["role"] != "tool" and int(name.split("x")[1]) % 5 == 0 and body.get("tools"):
            return self.mixer.answer(Reply("I look.", calls=(("search_web", {"query": f"tea {name}"}),)))
        words = " ".join(f"word{number}" for number in range(30))
        return self.mixer.answer(Reply(f"For {name}: {words} end-{name}.", words_per_second=60))

    async def _watch(self, port: int, every: float) -> None:
        next_sample = time.monotonic() + every
        while True:
            self._look()
            if time.monotonic() >= next_sample:
                next_sample += every
                self.samples.append(await self._sample(port))
            await asyncio.sleep(0.25)

    def _look(self) -> None:
        with closing(sqlite3.connect(f"file:{self.world.data}/parley.db?mode=ro", uri=True)) as db:
            rows = db.execute("SELECT incoming ->> 'text', state FROM inbox").fetchall()
        ended: dict[int, int] = {}
        for text, state in rows:
            if state not in ("new", "running"):
                number = int(text.rsplit(" ", 1)[1].split("x")[0])
                ended[number] = ended.get(number, 0) + 1
        self.ended, self.waiting = ended, sum(state in ("new", "running") for _, state in rows)

    async def _sample(self, port: int) -> dict[str, float]:
        pid = self.process.child.pid
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        assert found is not None
        async with aiohttp.ClientSession() as http, http.get(f"http://127.0.0.1:{port}/state") as answer:
            state = await answer.json()
        return {
            "at": time.monotonic(),
            "mib": int(found[1]) / 1024,
            "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
            "children": len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()),
            "tasks": state["tasks"],
        }

    async def _until(self, seen: Callable[[], object], seconds: float = 60.0) -> None:
        async with asyncio.timeout(seconds):
            while not seen():
                await asyncio.sleep(0.05)

    def check(self) -> dict[str, int]:
        """Every invariant of the reference's section 9; how many answers of which kind there were."""
        with closing(sqlite3.connect(f"file:{self.world.data}/parley.db?mode=ro", uri=True)) as db:
            inbox = dict(db.execute("SELECT incoming ->> 'text', state FROM inbox"))
            rows = db.execute("SELECT count(*) FROM inbox").fetchone()[0]
            summarised = db.execute("SELECT count(*) FROM chats WHERE summary IS NOT NULL").fetchone()[0]
            turns = db.execute(
                "SELECT i.incoming ->> 'text', t.state, t.visible, t.error FROM turns t JOIN inbox i ON i.id = t.id"
            ).fetchall()
        assert not self.mixed, "a model is told the words of one chat only"
        assert rows == len(inbox) == self.said, "each message has exactly one row"
        assert not [state for state in inbox.values() if state in ("new", "running")]
        visible = {text.rsplit(" ", 1)[1]: (shown, error) for text, _, shown, error in turns}
        whole = cut = 0
        for person in self.people:
            texts = person.texts
            names = [name for text in texts for name in re.findall(r"(?:For |end-)(\d+x\d+)", text)]
            assert all(name.startswith(f"{person.number}x") for name in names), f"{person.chat}: text of another chat"
            ends = [name for text in texts for name in re.findall(r"end-(\d+x\d+)\.", text)]
            assert len(ends) == len(set(ends)), f"{person.chat}: a second final answer: {ends}"
            assert ends == sorted(ends, key=lambda name: int(name.split("x")[1])), f"{person.chat}: out of order"
            for number in range(person.said):
                name = f"{person.number}x{number}"
                shown, error = visible.get(name, ("", "no turn"))
                if f"end-{name}." in shown:
                    assert name in ends, f"{person.chat}: the answer {name} never landed ({error})"
                    whole += 1
                else:
                    cut += 1
        self._secrets()
        return {"messages": self.said, "whole": whole, "cut short": cut, "summarised": summarised, **self.mixer.drawn}

    def _secrets(self) -> None:
        world = self.world
        secrets = [world.telegram.token, world.slack.bot_token, world.slack.app_token, world.discord.token]
        secrets.append(world.environment()["OPENAI_API_KEY"])
        log = self.process.said
        shown = [
            version.text
            for server in (world.telegram, world.slack, world.discord)
            for message in server.screen.messages
            for version in message.versions
        ]
        for secret in secrets:
            assert secret not in log, "a secret stands in the log"
            assert not any(secret in text for text in shown), "a secret stands on a screen"
        assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:3000]

    async def leave(self) -> None:
        """It ends in good order, and leaves nothing behind."""
        assert self.samples[-1]["children"] == 0
        assert await self.process.stop() == 0
        left = {path.name for path in self.world.data.iterdir()} - {
            "log.txt",
            "parley.db",
            "parley.db.run.lock",
            "parley.db-wal",
            "parley.db-shm",
        }
        assert not left


def seed() -> int:
    return int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(10_000))


@pytest.fixture
def soak(world: World, process: Process) -> Soak:
    return Soak(world, process, Mixer(seed()))


@pytest.mark.first
async def test_a_minute_of_bad_luck_loses_doubles_and_mixes_up_nothing(soak: Soak) -> None:
    print(f"SOAK_SEED={soak.mixer.seed}")
    await soak.run(60.0, {"telegram": 36, "slack": 4, "discord": 10}, pause=35.0, sample=10.0)

    print(soak.check())
    await soak.leave()


@pytest.mark.soak
async def test_half_an_hour_of_bad_luck_with_fifty_chats(soak: Soak) -> None:
    minutes = float(os.environ.get("SOAK_MINUTES") or 30)
    print(f"SOAK_SEED={soak.mixer.seed}")
    await soak.run(minutes * 60, {"telegram": 36, "slack": 4, "discord": 10}, pause=10.0, sample=10.0, settle=3.0)

    counts = soak.check()
    print(counts)
    assert counts["summarised"] == len(soak.people) or minutes < 20, "every chat became as long as it may"
    # The first fifth of the time everything is loaded, every chat is new, and grows until it is summarised.
    steady = soak.samples[len(soak.samples) // 5 :]
    rise = slope([sample["at"] for sample in steady], [sample["mib"] for sample in steady])
    level = sum(sample["mib"] for sample in steady) / len(steady)
    print(f"memory: {level:.1f} MiB, {rise * 600 / level * 100:+.2f} % in ten minutes")
    # Tasks and descriptors follow the replies under way, up and down by half: they are compared at rest.
    before, after = soak.rest, soak.samples[-1]
    for what in ("tasks", "descriptors"):
        print(f"{what} at rest: {before[what]:.0f} before, {after[what]:.0f} after")
    assert after["tasks"] <= before["tasks"]
    assert after["descriptors"] <= before["descriptors"]
    assert rise * 600 / level < 0.01
    await soak.leave()


def slope(times: list[float], values: list[float]) -> float:
    """By how much `values` rise in a second: least squares."""
    middle, level = sum(times) / len(times), sum(values) / len(values)
    spread = sum((at - middle) ** 2 for at in times)
    return sum((at - middle) * (value - level) for at, value in zip(times, values, strict=True)) / spread
