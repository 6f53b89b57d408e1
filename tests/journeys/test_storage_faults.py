"""A database that is locked, full, read-only or damaged: nothing is lost, and nothing is answered that is not kept."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from collections.abc import Callable

import pytest

from bot.store.sql import OpenDatabase
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Process, Start, World
from tests.patience import PATIENCE

WORDS = " ".join(f"word{number}" for number in range(40))
SORRY = "I can't save messages right now"
PLATFORMS = ("telegram", "slack", "discord")


class Chats:
    """One private chat on each platform, and Bob's on Telegram."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.telegram.person(7, "Ada")
        world.telegram.person(8, "Bob")
        world.slack.person("U7", "Ada")
        world.discord.person(7, "Ada")
        self.chat = {
            "telegram": "7",
            "slack": world.slack.direct("U7"),
            "discord": world.discord.direct(7).id,
            "bob": "8",
        }

    def ask(self, words: str) -> None:
        self.world.telegram.say(7, f"{words} telegram", person=7)
        self.world.slack.say(self.chat["slack"], f"{words} slack", person="U7")
        self.world.discord.say(self.chat["discord"], f"{words} discord", person=7)

    def bob(self, words: str) -> None:
        self.world.telegram.say(8, f"{words} bob", person=8)

    def texts(self, who: str) -> list[str]:
        server = self.world.telegram if who == "bob" else getattr(self.world, who)
        return [message.text for message in server.screen.of(self.chat[who])]

    async def until(self, seen: Callable[[], object], seconds: float = PATIENCE) -> None:
        async with asyncio.timeout(seconds):
            while not seen():
                await asyncio.sleep(0.01)

    async def ready(self) -> None:
        await self.until(lambda: any(call.method == "getMe" for call in self.world.telegram.calls))
        await self.world.slack.sockets.until_connected(1)
        await self.world.discord.gateway.until_ready(1)


def asked(body: RawJson) -> str:
    return str([message["content"] for message in body["messages"] if message["role"] == "user"][-1])


def answer(question: str) -> str:
    return f"Here it is: {WORDS} end of {question}"


class Lock:
    """Another program that holds the write lock."""

    def __init__(self, world: World) -> None:
        self.db = sqlite3.connect(world.data / "parley.db", isolation_level=None, timeout=0)

    async def __aenter__(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while not self.db.in_transaction:
                try:
                    self.db.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError:  # the bot itself is writing
                    await asyncio.sleep(0.001)

    async def __aexit__(self, *exc: object) -> None:
        self.db.execute("ROLLBACK")
        self.db.close()


async def locked_for(seconds: float, world: World, start: Start, caplog: pytest.LogCaptureFixture) -> None:
    chats, go_on = Chats(world), asyncio.Event()
    world.model.script = lambda body: Reply(
        answer(asked(body)), hang_after=80 if "bob" in asked(body) else None, until=go_on, words_per_second=300
    )
    async with start(*PLATFORMS) as bot:
        chats.bob("begin for")
        await chats.until(lambda: chats.texts("bob"))
        async with Lock(world):
            chats.ask("please tell")
            go_on.set()
            await asyncio.sleep(seconds)
            assert not any(chats.texts(name) for name in PLATFORMS)
        await chats.until(lambda: all(chats.texts(name) == [answer(f"please tell {name}")] for name in PLATFORMS))
        await bot.dispatcher.wait_idle()

    assert chats.texts("bob") == [answer("begin for bob")]
    assert len(world.model.requests) == 4
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_lock_of_another_program_is_only_a_delay(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    await locked_for(3.5, world, start, caplog)  # Slack sends again what was not acknowledged within three seconds


@pytest.mark.soak
async def test_a_lock_of_half_a_minute_is_only_a_delay(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    await locked_for(30.0, world, start, caplog)


async def test_a_full_disk_is_told_once_and_everything_goes_on_when_there_is_room_again(
    world: World, process: Process
) -> None:
    chats, go_on = Chats(world), asyncio.Event()
    world.model.script = lambda body: Reply(
        answer(asked(body)), hang_after=None if go_on.is_set() else 80, until=go_on, words_per_second=300
    )
    await process.start()
    await chats.ready()
    chats.ask("please tell")
    await chats.until(lambda: all(chats.texts(name) for name in PLATFORMS))

    # No file of the process may grow: SQLite meets an error of the disk at its next write.
    resource.prlimit(process.child.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    chats.bob("and tell")
    go_on.set()
    await chats.until(lambda: all(any(SORRY in text for text in chats.texts(name)) for name in (*PLATFORMS, "bob")))
    before = len(world.model.requests)
    assert not any("and tell bob" in asked(request.body) for request in world.model.requests), "it was not recorded"
    assert process.child.returncode is None
    await asyncio.sleep(1.2)
    assert len(world.model.requests) == before

    resource.prlimit(process.child.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await chats.until(lambda: all(answer(f"please tell {name}") in chats.texts(name) for name in PLATFORMS))
    await chats.until(lambda: answer("and tell bob") in chats.texts("bob"))
    chats.ask("then tell")
    await chats.until(lambda: all(answer(f"then tell {name}") in chats.texts(name) for name in PLATFORMS))

    for name in (*PLATFORMS, "bob"):
        texts = chats.texts(name)
        assert not any(SORRY in text for text in texts), f"{name}: {texts}"
        assert len(texts) == (1 if name == "bob" else 2), f"{name}: {texts}"
    assert await process.stop() == 0


async def test_a_read_only_database_is_told_once_and_everything_goes_on_when_it_can_be_written(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    chats, go_on = Chats(world), asyncio.Event()
    world.model.script = lambda body: Reply(
        answer(asked(body)), hang_after=None if go_on.is_set() else 80, until=go_on, words_per_second=300
    )
    async with start("telegram") as bot:
        world.telegram.say(7, "please tell telegram", person=7)
        await chats.until(lambda: chats.texts("telegram"))
        connect = bot.store.writer.connect

        async def connect_read_only() -> OpenDatabase:
            db = await connect()
            await db.run_together(lambda connection: connection.execute("PRAGMA query_only = ON").fetchall())
            return db

        bot.store.writer.connect = connect_read_only
        await bot.store.writer.run_apart(lambda db: db.execute("PRAGMA query_only = ON").fetchall())
        chats.bob("and tell")
        go_on.set()
        await chats.until(lambda: all(any(SORRY in text for text in chats.texts(name)) for name in ("telegram", "bob")))
        assert len(world.model.requests) == 1
        bot.store.writer.connect = connect
        await chats.until(lambda: answer("please tell telegram") in chats.texts("telegram"))
        await chats.until(lambda: answer("and tell bob") in chats.texts("bob"))
        await bot.dispatcher.wait_idle()

    assert len(chats.texts("telegram")) == len(chats.texts("bob")) == 1, "that nothing can be saved is no longer said"
    complaints = [record for record in caplog.records if "the store cannot write" in record.getMessage()]
    assert len(complaints) == 1, "once a minute is enough"
    assert any("the store writes again" in record.getMessage() for record in caplog.records)


async def test_a_database_moved_away_under_the_bot_is_told_and_everything_goes_on_when_it_is_back(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    chats, database = Chats(world), world.data / "parley.db"
    world.model.script = lambda body: Reply(answer(asked(body)))
    async with start("telegram") as bot:
        chats.bob("please tell")
        await chats.until(lambda: chats.texts("bob") == [answer("please tell bob")])
        await bot.dispatcher.wait_idle()
        database.rename(world.data / "moved.db")
        chats.bob("and tell")
        await chats.until(lambda: any(SORRY in text for text in chats.texts("bob")))
        assert len(world.model.requests) == 1 and not database.exists()
        (world.data / "moved.db").rename(database)
        await chats.until(lambda: answer("and tell bob") in chats.texts("bob"))
        await bot.dispatcher.wait_idle()

    [complaint] = [record for record in caplog.records if "the store cannot write" in record.getMessage()]
    assert "moved away, replaced or deleted while the bot runs" in complaint.getMessage()
    assert any("the store writes again" in record.getMessage() for record in caplog.records)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "flipped bytes": lambda data: data[:4096] + bytes(byte ^ 0xFF for byte in data[4096:12288]) + data[12288:],
    "cut short": lambda data: data[: len(data) // 2 - 100],
}


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_damaged_database_is_kept_aside_and_the_bot_answers(
    damage: str, world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    chats = Chats(world)
    world.model.script = lambda body: Reply(answer(asked(body)))
    async with start("telegram") as bot:
        chats.bob("please tell")
        await chats.until(lambda: chats.texts("bob") == [answer("please tell bob")])
        await bot.dispatcher.wait_idle()
    database = world.data / "parley.db"
    spoiled = DAMAGE[damage](database.read_bytes())
    database.write_bytes(spoiled)

    async with start("telegram") as bot:
        chats.bob("then tell")
        await chats.until(lambda: answer("then tell bob") in chats.texts("bob"))
        await bot.dispatcher.wait_idle()

    [kept] = [path for path in world.data.glob("parley.db.damaged-*") if not path.name.endswith(("-wal", "-shm"))]
    assert kept.read_bytes() == spoiled
    assert any(record.levelname == "CRITICAL" and "damaged" in record.getMessage() for record in caplog.records)
