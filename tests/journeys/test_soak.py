"""Many chats, much bad luck, for a while: afterwards nothing is lost, doubled, mixed up or left over.

The long form, with a process of its own: `pytest -m soak tests/journeys/test_soak.py -s`. SOAK_SEED repeats a run's
luck, SOAK_MINUTES its length.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import socket
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from bot.contract.limits import Limits
from bot.reply.settling import SETTLED
from playground.faults import Fault
from playground.mixer import Mixer
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Process, Start, World
from tests.patience import PATIENCE

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


SETTLE = 3.0
"""Seconds for which the process is left alone, before it is looked at while it rests."""


def asked(body: RawJson) -> str:
    """What was asked last; a model that goes on where it broke off is told so in a person's place."""
    return str(re.findall(r"please tell (\d+x\d+)", told(body))[-1])


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
        now = asyncio.get_running_loop().time
        while now() < until:
            self.ask()
            said = self.said
            while self.soak.ended.get(self.number, 0) < said and now() < until:
                await asyncio.sleep(0.1)
            await asyncio.sleep(random.uniform(0, pause))


@dataclass
class Soak:
    """One run."""

    world: World
    mixer: Mixer
    people: list[Person] = field(default_factory=list)
    ended: dict[int, int] = field(default_factory=dict)
    """Person → how many of their messages came to an end."""
    mixed: list[set[str]] = field(default_factory=list)
    """Whose words stood together in one request to the model."""
    waiting: int = 0

    def gather(self, chats: dict[str, int]) -> None:
        """So many people on each platform, and a model that speaks with them."""
        self.world.limits = Limits(first_token_seconds=0.8, idle_seconds=2.0)
        self.world.settings |= {
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
        self.world.model.script = self._script

    async def live(self, seconds: float, pause: float) -> None:
        """Let everybody ask for so long, with bad luck, and be answered."""
        world = self.world
        for platform, methods in CALLS.items():
            getattr(world, platform).faults.source = self.mixer.calls(methods)
        world.tavily.faults.source = self.mixer.calls(("search",), (lambda chance: Fault(status=500),))
        until = asyncio.get_running_loop().time() + seconds
        watching = asyncio.create_task(self._watch())
        async with asyncio.TaskGroup() as group:
            for person in self.people:
                group.create_task(person.live(until, pause))
        for server in (world.telegram, world.slack, world.discord, world.tavily):
            server.faults.source = None
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await self.answered()

    async def answered(self) -> None:
        """Wait until everything asked came to its end."""
        async with asyncio.timeout(120):
            self._look()
            while self.waiting or sum(self.ended.values()) < self.said:
                await asyncio.sleep(0.25)
                self._look()

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
        name = asked(body)
        question = max(at for at, one in enumerate(body["messages"]) if f"please tell {name}" in str(one["content"]))
        # Asked to go on after a broken stream, it does not look again.
        looked = any(one["role"] == "tool" for one in body["messages"][question:])
        if not looked and int(name.split("x")[1]) % 5 == 0 and body.get("tools"):
            return self.mixer.answer(Reply("I look.", calls=(("search_web", {"query": f"tea {name}"}),)))
        words = " ".join(f"word{number}" for number in range(30))
        answer = f"For {name}: {words} end-{name}."
        begun = [message["content"] for message in body["messages"] if message["role"] == "assistant"][-1:]
        if body["messages"][-1]["role"] == "user" and begun and answer.startswith(str(begun[0]).rstrip() or "-"):
            answer = answer[len(str(begun[0]).rstrip()) :] or "."
        return self.mixer.answer(Reply(answer, words_per_second=60))

    async def _watch(self) -> None:
        while True:
            self._look()
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

    def check(self, log: str) -> dict[str, int]:
        """Every invariant, also of what was logged; how many answers of which kind there were."""
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
        self._secrets(log)
        return {"messages": self.said, "whole": whole, "cut short": cut, "summarised": summarised, **self.mixer.drawn}

    def _secrets(self, log: str) -> None:
        world = self.world
        secrets = [world.telegram.token, world.slack.bot_token, world.slack.app_token, world.discord.token]
        secrets.append(world.environment()["OPENAI_API_KEY"])
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


@dataclass
class Samples:
    """What a process of its own needs of this machine, from time to time."""

    process: Process
    port: int
    taken: list[dict[str, float]] = field(default_factory=list)

    async def rest(self) -> None:
        """Wait until no reply is shown again any more: each whose edit got no answer is watched for `SETTLED`."""
        async with asyncio.timeout(SETTLED + 60):
            while (await self._state())["settling"]:
                await asyncio.sleep(1.0)
        await asyncio.sleep(SETTLE)

    async def _state(self) -> RawJson:
        async with aiohttp.ClientSession() as http, http.get(f"http://127.0.0.1:{self.port}/state") as answer:
            return await answer.json()

    async def take(self) -> dict[str, float]:
        pid = self.process.child.pid
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        assert found is not None
        state = await self._state()
        self.taken.append(
            {
                "at": time.monotonic(),
                "mib": int(found[1]) / 1024,
                "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
                "children": len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()),
                "tasks": state["tasks"],
            }
        )
        return self.taken[-1]

    async def watch(self, every: float) -> None:
        while True:
            await asyncio.sleep(every)
            await self.take()


def seed() -> int:
    return int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(10_000))


@pytest.fixture
def soak(world: World) -> Soak:
    return Soak(world, Mixer(seed()))


async def test_a_minute_of_bad_luck_loses_doubles_and_mixes_up_nothing(
    soak: Soak, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    print(f"SOAK_SEED={soak.mixer.seed}")
    caplog.set_level("INFO")
    soak.gather({"telegram": 8, "slack": 2, "discord": 4})
    async with start(*CALLS) as bot:
        await soak.live(60.0, pause=25.0)
        await bot.dispatcher.wait_idle()

    print(soak.check(caplog.text))


@pytest.mark.soak
async def test_half_an_hour_of_bad_luck_with_fifty_chats(soak: Soak, world: World, process: Process) -> None:
    minutes = float(os.environ.get("SOAK_MINUTES") or 30)
    print(f"SOAK_SEED={soak.mixer.seed}")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        samples = Samples(process, probe.getsockname()[1])
    world.settings["HTTP_PORT"] = str(samples.port)
    soak.gather({"telegram": 36, "slack": 4, "discord": 10})
    await process.start()
    async with asyncio.timeout(PATIENCE):
        while not any(call.method == "getMe" for call in world.telegram.calls):
            await asyncio.sleep(0.05)
    await world.slack.sockets.until_connected(1)
    await world.discord.gateway.until_ready(1)
    for person in soak.people:
        person.ask()
    await soak.answered()
    await asyncio.sleep(SETTLE)
    before = await samples.take()
    watching = asyncio.create_task(samples.watch(10.0))
    await soak.live(minutes * 60, pause=10.0)
    watching.cancel()
    await samples.rest()
    after = await samples.take()

    counts = soak.check(process.said)
    print(counts)
    assert counts["summarised"] == len(soak.people) or minutes < 20, "every chat became as long as it may"
    # The first fifth of the time everything is loaded, every chat is new, and grows until it is summarised.
    steady = samples.taken[1 + len(samples.taken) // 5 :]
    rise = slope([sample["at"] for sample in steady], [sample["mib"] for sample in steady])
    level = sum(sample["mib"] for sample in steady) / len(steady)
    print(f"memory: {level:.1f} MiB, {rise * 600 / level * 100:+.2f} % in ten minutes")
    # Tasks and descriptors follow the replies under way, up and down by half: they are compared at rest.
    for what in ("tasks", "descriptors"):
        print(f"{what} at rest: {before[what]:.0f} before, {after[what]:.0f} after")
    assert after["tasks"] <= before["tasks"]
    assert after["descriptors"] <= before["descriptors"]
    assert rise * 600 / level < 0.01
    assert after["children"] == 0
    assert await process.stop() == 0
    left = {path.name for path in world.data.iterdir()}
    assert left <= {"log.txt", "parley.db", "parley.db.run.lock", "parley.db-wal", "parley.db-shm"}


def slope(times: list[float], values: list[float]) -> float:
    """By how much `values` rise in a second: least squares."""
    middle, level = sum(times) / len(times), sum(values) / len(values)
    spread = sum((at - middle) ** 2 for at in times)
    return sum((at - middle) * (value - level) for at, value in zip(times, values, strict=True)) / spread
