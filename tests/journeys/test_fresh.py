"""An answer that took long ends as a fresh message on each platform, so that its channel becomes unread."""

from __future__ import annotations

import asyncio

import pytest

from playground.faults import Fault
from playground.model import Reply
from tests.journeys.conftest import Process, Start, World
from tests.journeys.test_controls import AGAIN, PLATFORMS, Room

WORDS = " ".join(f"word{number}" for number in range(40))
HELD = {"telegram": "deleteMessage", "slack": "chat.delete", "discord": "DELETE"}


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_the_channel_becomes_unread_when_a_long_answer_ends(world: World, start: Start, platform: str) -> None:
    room, go_on = Room(world, platform), asyncio.Event()
    world.model.reply(Reply(f"Here: {WORDS}", hang_after=60, until=go_on), Reply("At once."))
    async with start(platform, FRESH_MESSAGE_SECONDS="0.2") as bot:
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
        room.press(last, AGAIN)
        await room.answered("At once.")
        await bot.dispatcher.wait_idle()
        assert [one.id for one in room.shown] == [last.id], "what is written anew stays in its place"


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_kill_between_the_fresh_message_and_the_end_leaves_one(
    world: World, process: Process, platform: str
) -> None:
    room, go_on, never = Room(world, platform), asyncio.Event(), asyncio.Event()
    whole = f"Here: {WORDS}"
    world.model.script = lambda _: Reply(whole, hang_after=None if go_on.is_set() else 60, until=go_on)
    others = {"telegram": "TELEGRAM_BOT_TOKEN", "slack": "SLACK_BOT_TOKEN", "discord": "DISCORD_BOT_TOKEN"}
    world.settings = {name: "" for other, name in others.items() if other != platform} | {
        "FRESH_MESSAGE_SECONDS": "0.2"
    }
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
