"""What keeps answers from people is told to the owner: forty faults and more, once, in time, with the cause."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Literal, NoReturn

import pytest
from aiohttp import web

from bot.app import App
from bot.intake.alarm import LOOK_SECONDS
from bot.operations import read_memory
from playground.faults import Fault
from playground.model import Reply
from tests import swift
from tests.conftest import RawJson
from tests.journeys.conftest import Process, Start, World
from tests.patience import PATIENCE
from tests.postgres import own_server
from tests.web import free_port

FOR_THE_OPERATOR = "For the operator:"
TOLD_WITHIN = 30.0
PLATFORMS = ("telegram", "slack", "discord")
ADMINS = "telegram:7,slack:T0PARLEY/U7,discord:7"
WORDS = " ".join(f"word{number}" for number in range(12))
LONG = " ".join(f"word{number}" for number in range(60))
MANY = 1_000_000
UNLIMITED = dict.fromkeys(("MESSAGES_PER_MINUTE", "TOKENS_PER_DAY", "TOKENS_PER_DAY_PERSON", "MONEY_PER_DAY"), "0")
UNLIMITED |= {"MONEY_PER_DAY_PERSON": "0"}


@pytest.fixture(autouse=True)
def in_larger_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is so quick that the clock would have to stop for it every hundredth of a second."""
    monkeypatch.setattr(swift, "_STEP", 0.1)
    monkeypatch.setattr("bot.operations.watchdog._BEAT", 1.0)


@dataclass
class Owner:
    """Has written to the bot in private on each platform."""

    world: World
    bot: App
    chats: dict[str, str]
    held: asyncio.Event = field(default_factory=asyncio.Event)
    """Is set at the end: what a fault holds up goes on then."""
    ends: ExitStack = field(default_factory=ExitStack)

    def say(self, platform: str, words: str, person: int = 7) -> None:
        """Write to the bot in private."""
        world = self.world
        match platform:
            case "telegram":
                world.telegram.person(person, "Ada")
                world.telegram.say(person, words, person=person)
            case "slack":
                world.slack.person(f"U{person}", "Ada")
                world.slack.say(world.slack.direct(f"U{person}"), words, person=f"U{person}")
            case _:
                world.discord.person(person, "Ada")
                world.discord.say(world.discord.direct(person).id, words, person=person)

    def told(self) -> list[str]:
        """The lines for the operator, on all platforms."""
        return [
            message.text
            for platform, chat in self.chats.items()
            for message in getattr(self.world, platform).screen.of(chat)
            if FOR_THE_OPERATOR in message.text
        ]

    async def hears(self, words: str) -> None:
        """Wait until the owner is told these words, and a while, in which nothing more may come."""
        now = asyncio.get_running_loop().time
        until = now() + TOLD_WITHIN
        while not self.told() and now() < until:
            await asyncio.sleep(0.5)
        await asyncio.sleep(3 * LOOK_SECONDS)
        told = self.told()
        assert len(told) == 1 and words in told[0], told


@asynccontextmanager
async def owner_of(world: World, start: Start, *platforms: str, **settings: str) -> AsyncIterator[Owner]:
    world.model.script = lambda body: Reply("Fine.")
    async with start(*platforms, ALLOW_ALL="true", ADMINS=ADMINS, **settings) as bot:
        world.telegram.person(7, "Ada")
        world.slack.person("U7", "Ada")
        world.discord.person(7, "Ada")
        chats = {"telegram": "7", "slack": world.slack.direct("U7"), "discord": world.discord.direct(7).id}
        owner = Owner(world, bot, {platform: chats[platform] for platform in platforms})
        for platform in platforms:
            owner.say(platform, "how are you?")
            await getattr(world, platform).screen.until(
                lambda screen, chat=chats[platform]: [one.text for one in screen.of(chat) if one.author == "bot"]
            )
        try:
            yield owner
        finally:
            owner.held.set()
            owner.ends.close()
            for platform in platforms:
                getattr(world, platform).faults.clear()


Plant = Callable[[Owner], Awaitable[object]]
Script = Callable[[RawJson], Reply]


@dataclass(frozen=True)
class Row:
    platforms: tuple[str, ...]
    plant: Plant
    words: str
    settings: Callable[[World], Mapping[str, str]] = lambda _: {}
    """What differs before the start."""


TELEGRAM_BODY = '{"ok":false,"error_code":%d,"description":"%s"}'


def deaf_telegram(fault: Fault | Callable[[Owner], Fault], words: str, method: str = "getUpdates") -> Row:
    async def plant(owner: Owner) -> None:
        owner.world.telegram.faults.add(method, fault(owner) if callable(fault) else fault, MANY)

    return Row(("telegram", "slack"), plant, words)


def deaf_slack(fault: Fault | Callable[[Owner], Fault], words: str) -> Row:
    async def plant(owner: Owner) -> None:
        owner.world.slack.faults.add("apps.connections.open", fault(owner) if callable(fault) else fault, MANY)
        await owner.world.slack.sockets.drop()

    return Row(("telegram", "slack"), plant, words)


def refused_by_slack(error: str) -> Fault:
    return Fault(status=200, body=json.dumps({"ok": False, "error": error}))


def deaf_discord(words: str, code: int = 0, **attributes: object) -> Row:
    async def plant(owner: Owner) -> None:
        gateway = owner.world.discord.gateway
        for name, value in attributes.items():
            setattr(gateway, name, value)
        gateway._sessions.clear()
        await gateway.drop(code)

    return Row(("telegram", "discord"), plant, words)


def lost_discord(words: str, status: int = 0) -> Row:
    """The connection to the gateway is lost, and the next one is refused with a status, or not answered."""

    async def plant(owner: Owner) -> None:
        gateway, patched = owner.world.discord.gateway, owner.ends.enter_context(pytest.MonkeyPatch.context())

        def refuse(**more: object) -> NoReturn:
            raise web.HTTPException(text="not now")

        if status:
            patched.setattr(web.HTTPException, "status_code", status)
            patched.setattr("playground.discord.gateway.web.WebSocketResponse", refuse)
        else:
            patched.setattr(gateway, "_receive", lambda connection, message: 0)
        await gateway.drop()

    return Row(("telegram", "discord"), plant, words)


def store(plant: Plant, words: str) -> Row:
    async def planted(owner: Owner) -> None:
        await plant(owner)
        owner.say("telegram", "and now?")

    return Row(("telegram",), planted, words)


async def move_away(owner: Owner) -> None:
    (owner.world.data / "parley.db").rename(owner.world.data / "elsewhere.db")


async def remove_folder(owner: Owner) -> None:
    for file in owner.world.data.glob("parley.db*"):
        file.unlink()


async def make_read_only(owner: Owner) -> None:
    writer = owner.bot.store.writer
    connect = writer.connect

    async def connect_read_only() -> RawJson:
        db = await connect()
        await db.run_together(lambda connection: connection.execute("PRAGMA query_only = ON").fetchall())
        return db

    writer.connect = connect_read_only
    await writer.run_apart(lambda db: db.execute("PRAGMA query_only = ON").fetchall())


async def fill_up(owner: Owner) -> None:
    def fill(db: RawJson) -> object:
        [pages] = db.execute("PRAGMA page_count").fetchone()
        return db.execute(f"PRAGMA max_page_count = {pages}").fetchall()

    await owner.bot.store.writer.run_apart(fill)
    for number in range(8):
        owner.say("telegram", f"{number} " + "and tell me " * 250)


async def lock(owner: Owner) -> None:
    other = sqlite3.connect(owner.world.data / "parley.db", isolation_level=None, timeout=0)
    while not other.in_transaction:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            await asyncio.sleep(0.01)
    owner.ends.callback(other.close)
    owner.ends.callback(other.execute, "ROLLBACK")


def readers(words: str, script: Script, platform: str, *faults: tuple[str, Fault, int], server: str = "") -> Row:
    """Three people who wait for words within their answers."""

    async def plant(owner: Owner) -> None:
        world, waits = owner.world, owner.bot.metrics.reader_waits
        owner.bot.registry._now = asyncio.get_running_loop().time
        world.model.script = script
        for method, fault, times in faults:
            getattr(world, server or platform).faults.add(method, fault, times)
        for number in (17, 18, 19):
            owner.say(platform, "please tell me", number)
        async with asyncio.timeout(3 * PATIENCE):
            while waits.above(5.0) < 3:
                await asyncio.sleep(0.5)

    return Row((platform,), plant, words)


def model(words: str, reply: Callable[[], Reply], *platforms: str) -> Row:
    """Three questions that the model does not answer."""

    async def plant(owner: Owner) -> None:
        owner.world.model.script = lambda body: reply()
        calls = owner.bot.metrics.model_calls
        async with asyncio.timeout(10 * PATIENCE):
            for number in range(3 // len(owner.chats)):
                for platform in owner.chats:
                    owner.say(platform, f"question {number}")
                while calls.total - calls.by("outcome")["answered"] < (number + 1) * len(owner.chats):
                    await asyncio.sleep(0.5)

    return Row(platforms or ("telegram",), plant, words)


def PACED(body: RawJson) -> Reply:
    return Reply(LONG, words_per_second=6)


def SEARCHED(body: RawJson) -> Reply:
    if any(one["role"] == "tool" for one in body["messages"]):
        return Reply("Tea is a leaf.")
    return Reply("I look it up for you, one moment.", calls=(("search_web", {"query": "tea"}),))


def mute(platform: str, words: str, fault: Fault, *methods: str) -> Row:
    """Somebody asks where the bot may not write any more."""

    async def plant(owner: Owner) -> None:
        for method in methods:
            getattr(owner.world, platform).faults.add(method, fault, MANY)
        owner.say(platform, "please tell me", 17)

    return Row(("slack" if platform == "telegram" else "telegram", platform), plant, words)


def by_name(*settings: str) -> Callable[[World], Mapping[str, str]]:
    """Addresses with the name of this machine, which has to be resolved."""
    return lambda world: {name: world.environment()[name].replace("127.0.0.1", "localhost") for name in settings}


def resolve_nothing(owner: Owner) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    patched = owner.ends.enter_context(pytest.MonkeyPatch.context())
    patched.setattr("socket.getaddrinfo", fail)
    # It counts ten true seconds.
    patched.setattr("aiohttp.connector._DNSCacheTable.expired", lambda *_: True)


async def deaf_without_names(owner: Owner) -> None:
    resolve_nothing(owner)
    owner.world.telegram.faults.add("getUpdates", Fault(drop="before"), MANY)


async def silent_without_names(owner: Owner) -> None:
    resolve_nothing(owner)
    owner.world.model.faults.add("chat.completions", Fault(drop="before"), 2)
    await model("", lambda: Reply("Fine.")).plant(owner)


async def use_up_memory(owner: Owner) -> None:
    files = owner.world.data / "meminfo", owner.world.data
    files[0].write_text("MemTotal:  524288 kB\nMemFree:  4000 kB\nMemAvailable:  20480 kB\n")
    owner.bot.alarm.memory = lambda: read_memory(*files)


def posted(world: World) -> Mapping[str, str]:
    port = free_port()
    return {"TELEGRAM_WEBHOOK_URL": f"http://127.0.0.1:{port}/telegram", "WEB_PORT": str(port)}


async def lose_posts(owner: Owner) -> None:
    """Something between Telegram and the public address refuses its posts."""
    updates, clock = owner.world.telegram.world.updates, SimpleNamespace(time=owner.bot.clock.wall)
    patched, deliver = owner.ends.enter_context(pytest.MonkeyPatch.context()), updates._deliver
    patched.setattr("playground.telegram.updates.time", clock)
    patched.setattr(updates, "_deliver", lambda url, secret: deliver("http://127.0.0.1:9/telegram", secret))
    await updates._stop_delivery()
    updates._delivery = asyncio.create_task(updates._deliver("", ""))
    await asyncio.sleep(2.0)
    owner.say("telegram", "and now?")


IN_TRUE_TIME = {"store: locked"}
"""SQLite itself waits for the lock."""


class Later(asyncio.Event):
    """Is set so many seconds after it was first waited for."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def wait(self) -> Literal[True]:
        asyncio.get_running_loop().call_later(self._seconds, self.set)
        return await super().wait()


def overloaded() -> Row:
    """The event loop gets the processor a quarter of the time, while a model writes at a usual pace."""

    async def plant(owner: Owner) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, swift.SwiftLoop)

        async def hold_up() -> None:
            while True:
                await asyncio.sleep(0.5)
                loop.now += 1.5

        patched = owner.ends.enter_context(pytest.MonkeyPatch.context())
        patched.setattr("bot.operations.watchdog.time.perf_counter", loop.time)
        owner.ends.callback(asyncio.create_task(hold_up()).cancel)
        await asyncio.sleep(60.0)
        for _ in range(3):
            owner.bot.metrics.reader_waits.observe(6.0)

    return Row(("telegram",), plant, "the machine is overloaded")


def crowd() -> Row:
    """Ten people ask in one group, whose messages Telegram limits to twenty a minute."""

    async def plant(owner: Owner) -> None:
        world, waits = owner.world, owner.bot.metrics.reader_waits
        world.model.script = PACED
        world.telegram.group(-50, "Crowd")
        for number in range(20, 30):
            world.telegram.person(number, f"P{number}")
            world.telegram.say(-50, f"@{world.telegram.bot['username']} please tell me", person=number)
        async with asyncio.timeout(5 * PATIENCE):
            while waits.above(5.0) < 3:
                await asyncio.sleep(0.5)

    return Row(("telegram",), plant, "more answers at once than the limits of Telegram carry")


TABLE: dict[str, Row] = {
    "telegram: 502": deaf_telegram(Fault(status=502), "from Telegram: "),
    "telegram: 500": deaf_telegram(Fault(status=500), "from Telegram: "),
    "telegram: cut": deaf_telegram(Fault(drop="before"), "from Telegram: "),
    "telegram: cut everywhere": deaf_telegram(Fault(drop="before"), "from Telegram: ", "*"),
    "telegram: other program": deaf_telegram(
        Fault(status=409, body=TELEGRAM_BODY % (409, "Conflict: terminated")),
        "another program receives with the same TELEGRAM_BOT_TOKEN",
    ),
    "telegram: token revoked": deaf_telegram(
        Fault(status=401, body=TELEGRAM_BODY % (401, "Unauthorized")), "TELEGRAM_BOT_TOKEN"
    ),
    "telegram: flood": deaf_telegram(Fault(status=429, retry_after=40), "from Telegram: "),
    "telegram: silent": deaf_telegram(lambda owner: Fault(hold=owner.held), "from Telegram: "),
    "telegram: a page of a proxy": deaf_telegram(Fault(status=200, body="<html>hello</html>"), "from Telegram: "),
    "slack: 500": deaf_slack(Fault(status=500), "from Slack: "),
    "slack: 503": deaf_slack(Fault(status=503), "from Slack: "),
    "slack: cut": deaf_slack(Fault(drop="before"), "from Slack: "),
    "slack: silent": deaf_slack(lambda owner: Fault(hold=owner.held), "from Slack: "),
    "slack: token revoked": deaf_slack(refused_by_slack("token_revoked"), "SLACK_APP_TOKEN"),
    "slack: invalid token": deaf_slack(refused_by_slack("invalid_auth"), "SLACK_APP_TOKEN"),
    "slack: flood": deaf_slack(Fault(status=429, retry_after=60), "from Slack: "),
    "discord: token": deaf_discord("DISCORD_BOT_TOKEN", 4004, token="another"),
    "discord: intents": deaf_discord("from Discord: ", 4014, allowed_intents=0),
    "discord: 503": lost_discord("from Discord: the connection was lost", 503),
    "discord: 429": lost_discord("asks for a pause", 429),
    "discord: silent": lost_discord("from Discord: the connection was lost"),
    "store: moved away": store(move_away, "The database was moved away"),
    "store: removed": store(remove_folder, "moved away"),
    "store: read-only": store(make_read_only, "written"),
    "store: full": store(fill_up, "full"),
    "store: locked": store(lock, "locked"),
    **{
        f"readers: slow model on {platform}": readers(
            "writes slowly", lambda body: Reply(WORDS, words_per_second=0.6), platform
        )
        for platform in PLATFORMS
    },
    "readers: flood on telegram": readers(
        "Telegram refuses calls", PACED, "telegram", ("editMessageText", Fault(status=429, retry_after=12), 3)
    ),
    "readers: flood on slack": readers(
        "Slack refuses calls", PACED, "slack", ("chat.update", Fault(status=429, retry_after=12), 3)
    ),
    "readers: flood on discord": readers(
        "Discord refuses calls",
        PACED,
        "discord",
        ("PATCH /channels/{channel}/messages/{message}", Fault(status=429, retry_after=12), 3),
    ),
    "readers: slow tool": readers(
        "the tool search_web takes long", SEARCHED, "telegram", ("search", Fault(delay=9), 9), server="tavily"
    ),
    "readers: a model that pauses": readers(
        "writes slowly", lambda body: Reply(WORDS, words_per_second=20, hang_after=30, until=Later(20)), "slack"
    ),
    "readers: an overloaded machine": overloaded(),
    "readers: a crowd": crowd(),
    "readers: no scope on slack": mute(
        "slack",
        "shown on Slack: SLACK_BOT_TOKEN is refused by Slack (missing_scope)",
        refused_by_slack("missing_scope"),
        "chat.postMessage",
        "chat.startStream",
    ),
    "readers: no right on discord": mute(
        "discord",
        "shown on Discord: the bot lacks a right there (Send Messages",
        Fault(status=403, body='{"message": "Missing Permissions", "code": 50013}'),
        "POST /channels/{channel}/messages",
    ),
    "readers: no right on telegram": mute(
        "telegram",
        "shown on Telegram: the bot lacks the right to write",
        Fault(
            status=400, body=TELEGRAM_BODY % (400, "Bad Request: not enough rights to send text messages to the chat")
        ),
        "sendMessage",
    ),
    "telegram: no names": Row(
        ("telegram", "slack"),
        deaf_without_names,
        "from Telegram: this machine cannot resolve the name localhost (DNS)",
        by_name("TELEGRAM_API_BASE_URL"),
    ),
    "model: no names": Row(
        ("telegram",),
        silent_without_names,
        "get no answer: this machine cannot resolve the name localhost (DNS)",
        by_name("OPENAI_BASE_URL"),
    ),
    "machine: no memory": Row(("telegram",), use_up_memory, "memory is nearly used up"),
    "telegram: posts are lost": Row(
        ("slack", "telegram"), lose_posts, "from Telegram: Telegram cannot post to", posted
    ),
    "model: key": model("key or its name is wrong", lambda: Reply.refusal(401, "Incorrect API key provided")),
    "model: name": model("key or its name is wrong", lambda: Reply.refusal(404, "The model does not exist")),
    "model: account": model(
        "no money left", lambda: Reply.refusal(429, "You exceeded your current quota", code="insufficient_quota")
    ),
    "model: limits": model("limits our requests", lambda: Reply.rate_limited(30.0)),
    "model: 500": model("is overloaded", lambda: Reply(status=500)),
    "model: 503": model("is overloaded", lambda: Reply(status=503)),
    "model: silent": model("in time", lambda: Reply(hang_before_headers=True), *PLATFORMS),
    "model: broken streams": model("breaks off before its first word", lambda: Reply(WORDS, cut_after=0)),
    "model: no words": model("or writes none", lambda: Reply("")),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak) if name in IN_TRUE_TIME else name for name in TABLE]
)
async def test_a_fault_is_told_once_with_its_cause(world: World, start: Start, name: str) -> None:
    row = TABLE[name]
    world.settings |= row.settings(world)
    async with owner_of(world, start, *row.platforms) as owner:
        await row.plant(owner)
        await owner.hears(row.words)


async def moment(owner: Owner) -> None:
    owner.world.slack.faults.add("apps.connections.open", Fault(status=500), 1)
    await owner.world.slack.sockets.drop()
    owner.world.telegram.faults.add("getUpdates", Fault(status=502), 3)
    await owner.world.discord.gateway.drop()


async def one_conflict(owner: Owner) -> None:
    owner.world.telegram.faults.add("getUpdates", Fault(status=409, body=TELEGRAM_BODY % (409, "Conflict: terminated")))


async def refresh(owner: Owner) -> None:
    await owner.world.slack.sockets.disconnect()
    owner.world.discord.gateway.reconnect()


async def one_bad_question(owner: Owner) -> None:
    owner.world.model.reply(Reply.refusal(400, "This picture cannot be read"))
    owner.say("telegram", "and this?")


@pytest.mark.parametrize("plant", [moment, one_conflict, refresh, one_bad_question])
async def test_what_passes_is_nothing_to_tell(world: World, start: Start, plant: Plant) -> None:
    async with owner_of(world, start, *PLATFORMS) as owner:
        await plant(owner)
        await asyncio.sleep(2 * TOLD_WITHIN)
        assert not owner.told()


@pytest.mark.soak
@pytest.mark.real
async def test_a_postgresql_server_that_is_away_is_named_in_the_log(world: World, process: Process) -> None:
    """In true time. No owner can be told: without the server nobody knows what other processes have called."""
    with own_server() as server:
        world.settings |= {"DATABASE_URL": server.make_database("alarm"), "ADMINS": ADMINS}
        world.model.script = lambda body: Reply("Fine.")
        world.telegram.person(7, "Ada")
        await process.start()
        world.telegram.say(7, "how are you?", person=7)
        await world.telegram.screen.until(lambda screen: any(one.text == "Fine." for one in screen.of("7")))
        await asyncio.sleep(2 * LOOK_SECONDS)
        await asyncio.to_thread(server.control, "stop", "-m", "immediate")
        world.telegram.say(7, "and now?", person=7)
        async with asyncio.timeout(TOLD_WITHIN):
            while FOR_THE_OPERATOR not in process.said:
                await asyncio.sleep(0.1)

    lines = process.said.splitlines()
    [line] = [line for line in lines if FOR_THE_OPERATOR in line]
    assert "I cannot save anything, so I do not answer. The database does not answer" in line
    assert sum("the direct connection to PostgreSQL is lost" in line for line in lines) < 5


@pytest.mark.soak
async def test_an_hour_of_ordinary_traffic_is_nothing_to_tell(world: World, start: Start) -> None:
    """Nine people on three platforms, with what happens every day: refused calls, replaced connections, searches."""
    luck = random.Random(35)
    async with owner_of(world, start, *PLATFORMS, **UNLIMITED) as owner:
        world.model.script = lambda body: Reply(" ".join(["word"] * luck.randint(5, 200)), words_per_second=25)
        edits = {
            "telegram": "editMessageText",
            "slack": "chat.update",
            "discord": "PATCH /channels/{channel}/messages/{message}",
        }
        until, asked = asyncio.get_running_loop().time() + 3_600, 0
        while asyncio.get_running_loop().time() < until:
            platform, person = luck.choice(PLATFORMS), luck.randint(17, 19)
            owner.say(platform, f"please tell me about thing number {asked}", person)
            asked += 1
            match luck.randrange(60):
                case 0:
                    await refresh(owner)
                case 1:
                    await moment(owner)
                case number if number < 8:
                    getattr(world, platform).faults.add(edits[platform], Fault(status=429, retry_after=2))
            await asyncio.sleep(luck.uniform(3.0, 15.0))
        assert asked > 300 and owner.bot.metrics.reader_waits.count > 250
        assert not owner.told()
