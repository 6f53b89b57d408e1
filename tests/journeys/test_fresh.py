"""An answer that took long ends as a fresh message on each platform, so that its channel becomes unread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from bot.app import App
from playground.faults import Fault
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Process, Start, World
from tests.journeys.test_changed import person_on
from tests.journeys.test_controls import PLATFORMS, Room
from tests.patience import PATIENCE

WORDS = " ".join(f"word{number}" for number in range(40))
HELD = {"telegram": "deleteMessage", "slack": "chat.delete", "discord": "DELETE"}


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_the_channel_becomes_unread_when_a_long_answer_ends(world: World, start: Start, platform: str) -> None:
    room, go_on = Room(world, platform), asyncio.Event()
    world.model.reply(Reply(f"Here: {WORDS}", hang_after=60, until=go_on))
    world.settings["FRESH_MESSAGE_SECONDS"] = "0.2"
    async with start(platform) as bot:
        await room.ready(1)
        room.ask("tell me")
        await room.until(lambda: room.shown)
        [first] = room.shown
        await asyncio.sleep(0.3)
        go_on.set()
        last = await room.answered(f"Here: {WORDS}")
        await bot.dispatcher.wait_idle()

        assert room.shown == [last] and last.id != first.id and first.deleted
        assert last.reply_to == first.reply_to and last.thread == first.thread


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_kill_between_the_fresh_message_and_the_end_leaves_one(
    world: World, process: Process, platform: str
) -> None:
    room, go_on, never = Room(world, platform), asyncio.Event(), asyncio.Event()
    whole = f"Here: {WORDS}"
    world.model.script = lambda _: Reply(whole, hang_after=None if go_on.is_set() else 60, until=go_on)
    others = {"telegram": "TELEGRAM_BOT_TOKEN", "slack": "SLACK_BOT_TOKEN", "discord": "DISCORD_BOT_TOKEN"}
    world.settings = {name: "" for other, name in others.items() if other != platform}
    world.settings["FRESH_MESSAGE_SECONDS"] = "0.2"
    reached = asyncio.Event()

    def hold(method: str) -> Fault | None:
        if method.startswith(HELD[platform]) and not reached.is_set():
            reached.set()
            return Fault(hold=never)
        return None

    getattr(world, platform).faults.source = hold
    await process.start()
    await room.ready(1)
    room.ask("tell me")
    await room.until(lambda: room.shown)
    await asyncio.sleep(0.3)
    go_on.set()
    await room.until(reached.is_set)
    assert len(room.shown) == 2
    await process.kill()

    await process.start()
    await room.until(lambda: [one.text for one in room.shown] == [whole])


class Waits:
    """A private chat on one platform, in which answers are written until the test lets them end."""

    def __init__(self, world: World, platform: str) -> None:
        self.person = person_on(world, platform)
        self.go_on = asyncio.Event()
        world.model.script = self._write
        self.before: dict[str, str] = {}

    def _write(self, body: RawJson) -> Reply:
        asked = str(body["messages"][-1]["content"])
        if "quickly" in asked:
            return Reply("At once.")
        return Reply(f"Here: {WORDS}", hang_after=60, until=self.go_on)

    async def until(self, seen: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not seen():
                await asyncio.sleep(0.005)

    async def begun(self) -> str:
        """Wait until an answer grows; the id of its message."""

        def growing() -> list[str]:
            return [id for id, text in self.person.texts().items() if "Here:" in text and not text.endswith("word39")]

        await self.until(growing)
        return growing()[-1]

    async def end(self, bot: App) -> dict[str, str]:
        """Let it end after longer than such answers stay where they are; all messages then."""
        await asyncio.sleep(0.3)
        self.go_on.set()
        await bot.dispatcher.wait_idle()
        self.go_on.clear()
        return self.person.texts()


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_which_long_answers_end_as_a_fresh_message(world: World, start: Start, platform: str) -> None:
    """What its person stopped does not, nor what was followed by others; one that takes the place of another does."""
    chat = Waits(world, platform)
    world.settings["FRESH_MESSAGE_SECONDS"] = "0.2"
    async with start(platform) as bot:
        first = chat.person.say("quickly please")
        await chat.until(lambda: "At once." in chat.person.texts().values())
        await bot.dispatcher.wait_idle()
        [quick] = chat.person.texts()
        chat.person.edit(first, "now take your time")
        assert await chat.begun() == quick, "it grows where the former answer stood"
        [(anew, whole)] = (await chat.end(bot)).items()
        assert anew != quick and whole == f"Here: {WORDS}"

        chat.person.say("quickly, one more")
        await chat.until(lambda: "At once." in chat.person.texts().values())
        await bot.dispatcher.wait_idle()
        chat.person.edit(first, "take your time again")
        assert await chat.begun() == anew
        assert next(iter(await chat.end(bot))) == anew, "others follow it"

        chat.person.say("take your time")
        stopped = await chat.begun()
        await asyncio.sleep(0.3)
        chat.person.say("stop" if platform == "slack" else "/stop")
        texts = await chat.end(bot)
        assert "Stopped." in texts[stopped]
