"""Ended in good order, ended at once, and started again: what became of the answers that were under way."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing

import pytest

from playground.faults import Fault
from playground.model import Reply
from playground.telegram.limits import Limits
from tests.conftest import RawJson
from tests.journeys.conftest import Process, Start, World
from tests.patience import PATIENCE, slowed

WORDS = " ".join(f"word{number}" for number in range(60))
NOTE = "I am restarting"
PLATFORMS = ("telegram", "slack", "discord")


def answer(name: str) -> str:
    return f"Here it is for {name}: {WORDS} end-of-{name}"


class Chats:
    """One private chat on each platform."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.telegram.person(7, "Ada")
        world.telegram.person(8, "Bob")
        world.slack.person("U7", "Ada")
        world.discord.person(7, "Ada")
        self.chat = {"telegram": "7", "slack": world.slack.direct("U7"), "discord": world.discord.direct(7).id}

    def ask(self, words: str = "please tell", only: tuple[str, ...] = PLATFORMS) -> None:
        if "telegram" in only:
            self.world.telegram.say(7, f"{words} telegram", person=7)
        if "slack" in only:
            self.world.slack.say(self.chat["slack"], f"{words} slack", person="U7")
        if "discord" in only:
            self.world.discord.say(self.chat["discord"], f"{words} discord", person=7)

    def texts(self, platform: str) -> list[str]:
        return [message.text for message in getattr(self.world, platform).screen.of(self.chat[platform])]

    async def ready(self, starts: int = 1) -> None:
        await self.until(lambda: len(self.world.discord.gateway.identified) >= starts)
        await self.until(lambda: sum(call.method == "getMe" for call in self.world.telegram.calls) >= starts)
        await self.world.slack.sockets.until_connected(since=starts)
        await self.world.discord.gateway.until_ready(1)

    async def until(self, seen: Callable[[], object], seconds: float = PATIENCE) -> None:
        async with asyncio.timeout(seconds):
            while not seen():
                await asyncio.sleep(0.01)


def stored(world: World) -> int:
    """How many deliveries the bot has taken in."""
    with closing(sqlite3.connect(f"file:{world.data / 'parley.db'}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM inbox").fetchone()[0])


def asked(body: RawJson) -> str:
    return str([message["content"] for message in body["messages"] if message["role"] == "user"][-1])


async def test_a_stop_in_mid_stream_marks_each_reply_and_the_next_start_completes_it(
    world: World, process: Process
) -> None:
    chats, go_on = Chats(world), asyncio.Event()

    def script(body: RawJson) -> Reply:
        name = asked(body).rsplit(" ", 1)[1]
        if name == "bob":
            return Reply("One two three four five.")
        return Reply(answer(name), hang_after=0 if go_on.is_set() else 80, until=go_on, words_per_second=200)

    world.model.script = script
    process.values["bot.operations.stopping.TURN_SECONDS"] = 1.0
    await process.start()
    await chats.ready()
    # Bob's answer is complete; only its last edit is under way, for ever.
    last_edit = world.telegram.faults.add("editMessageText", Fault(hold=asyncio.Event()))
    world.telegram.say(8, "please tell bob", person=8)
    await asyncio.wait_for(last_edit.reached.wait(), PATIENCE)
    chats.ask()
    await chats.until(lambda: all(chats.texts(name) for name in PLATFORMS))

    since = time.monotonic()
    code = await process.stop()
    seconds = time.monotonic() - since
    marked = {name: chats.texts(name) for name in PLATFORMS}

    assert code == 0, process.said
    assert seconds < slowed(10)
    for name in PLATFORMS:
        [text] = marked[name]
        assert text.startswith("Here it is for") and NOTE in text, f"{name}: {text}"

    go_on.set()
    await process.start()
    await chats.until(lambda: all(f"end-of-{name}" in chats.texts(name)[0] for name in PLATFORMS))
    await chats.until(lambda: [one.text for one in world.telegram.screen.of("8")] == ["One two three four five."])
    assert {name: chats.texts(name) for name in PLATFORMS} == {name: [answer(name)] for name in PLATFORMS}
    assert [asked(request.body) for request in world.model.requests].count("please tell bob") == 1

    await chats.ready(2)
    since = time.monotonic()
    assert await process.stop() == 0
    assert time.monotonic() - since < slowed(4), "nothing was under way, so there was nothing to wait for"


async def test_many_restarts_in_good_order_are_no_failed_attempts(
    world: World, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.operations.stopping.TURN_SECONDS", 0.1)
    # A new process does not know what the former one spent of the chat's calls.
    world.telegram.world.flood.limits = Limits(chat_burst=100)
    chats, go_on = Chats(world), asyncio.Event()
    world.model.script = lambda body: Reply(answer("telegram"), hang_after=80, until=go_on, words_per_second=400)
    for number in range(4):
        async with start("telegram"):
            if not number:
                chats.ask(only=("telegram",))
            await world.model.asked(number + 1)
            await chats.until(lambda: chats.texts("telegram") and NOTE not in chats.texts("telegram")[0])
        assert NOTE in chats.texts("telegram")[0]
    async with start("telegram") as bot:
        await world.model.asked(5)
        go_on.set()
        await bot.dispatcher.wait_idle()

    assert chats.texts("telegram") == [answer("telegram")]


async def test_a_second_request_to_stop_ends_the_process_at_once(world: World, process: Process) -> None:
    chats = Chats(world)
    world.model.reply(Reply(answer("telegram"), hang_after=80, words_per_second=200))
    await process.start()
    await chats.ready()
    chats.ask(only=("telegram",))
    await chats.until(lambda: chats.texts("telegram"))

    process.child.terminate()
    await chats.until(lambda: "stopping" in process.said)
    since = time.monotonic()
    assert await process.stop() == 1
    assert time.monotonic() - since < slowed(1)


async def test_a_message_that_kills_the_process_twice_is_apologised_for_once_and_frees_its_chat(
    world: World, process: Process
) -> None:
    chats = Chats(world)
    world.model.script = lambda body: (
        Reply("I begin to answer and", hang_after=15, words_per_second=200)
        if "poison" in asked(body)
        else Reply(f"Fine: {asked(body)}")
    )
    for number in range(2):
        await process.start()
        if not number:
            await chats.ready()
            chats.ask("poison for")
            await world.model.asked(3)
            chats.ask("something else for")
            # Stored, or the kill would lose what Discord never sends again.
            await chats.until(lambda: stored(world) == 6)
        await world.model.asked(3 * number + 3)
        await chats.until(lambda: all(chats.texts(name) for name in PLATFORMS))
        await process.kill()

    await process.start()
    await chats.until(lambda: all(f"Fine: something else for {name}" in chats.texts(name) for name in PLATFORMS))
    assert await process.stop() == 0
    await process.start()
    await chats.ready(4)
    chats.ask("the last for")
    await chats.until(lambda: all(f"Fine: the last for {name}" in chats.texts(name) for name in PLATFORMS))

    for name in PLATFORMS:
        texts = chats.texts(name)
        assert sum("Something went wrong on my side" in text for text in texts) == 1, f"{name}: {texts}"
        assert len(texts) <= 4
    assert sum("poison" in asked(request.body) for request in world.model.requests) == 6


async def test_what_was_written_long_before_a_start_is_answered_with_its_age_and_what_was_begun_goes_on(
    world: World, process: Process
) -> None:
    chats, go_on = Chats(world), asyncio.Event()
    world.model.script = lambda body: Reply(
        answer(asked(body).rsplit(" ", 1)[1]), hang_after=80, until=go_on, words_per_second=300
    )
    await process.start()
    await chats.ready()
    chats.ask("begin to tell")
    await chats.until(lambda: all(chats.texts(name) for name in PLATFORMS))
    chats.ask("and tell")
    database = world.data / "parley.db"

    def waiting() -> int:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT count(*) FROM inbox WHERE state = 'new'").fetchone()[0])

    await chats.until(lambda: waiting() == 3)
    await process.kill()
    with closing(sqlite3.connect(database)) as db, db:
        sent = "json_set(incoming, '$.sent_at', json_extract(incoming, '$.sent_at') - 4000)"
        db.execute(f"UPDATE inbox SET incoming = {sent} WHERE state = 'new'")
    go_on.set()
    await process.start()

    def late(name: str) -> list[str]:
        return [text for text in chats.texts(name) if "You wrote this 67 minutes ago" in text and answer(name) in text]

    await chats.until(lambda: all(answer(name) in chats.texts(name) and late(name) for name in PLATFORMS))
    assert all(len(late(name)) == 1 and len(chats.texts(name)) == 2 for name in PLATFORMS)
    assert await process.stop() == 0


async def test_stop_pressed_while_the_answer_waits_for_its_last_edit_loses_nothing_of_it(
    world: World, start: Start
) -> None:
    chats = Chats(world)
    world.model.reply(Reply("One two three four five."))
    async with start("telegram") as bot:
        let_go = asyncio.Event()
        edit = world.telegram.faults.add("editMessageText", Fault(hold=let_go))
        chats.ask(only=("telegram",))
        await asyncio.wait_for(edit.reached.wait(), PATIENCE)
        world.telegram.say(7, "/stop", person=7)
        [chat] = bot.dispatcher.queue._boxes
        running = bot.dispatcher.queue.find_running(chat)
        assert running is not None
        await chats.until(lambda: running.ending is not None)
        let_go.set()
        await bot.dispatcher.wait_idle()

    assert chats.texts("telegram") == ["One two three four five."]
