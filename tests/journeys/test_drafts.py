"""Telegram with `TELEGRAM_DRAFTS`: whatever happens while an answer is a draft, it ends whole, once, as a message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from playground.faults import Fault
from playground.model import Reply
from playground.screen import Shown
from tests.conftest import RawJson
from tests.journeys.conftest import Process, Start, World
from tests.patience import PATIENCE

ADA = 7
WORDS = " ".join(f"word{number}" for number in range(60))


async def until(seen: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not seen():
            await asyncio.sleep(0.005)


def shown(world: World) -> list[Shown]:
    return world.telegram.screen.of(str(ADA))


def drafts(world: World) -> list[Shown]:
    return [one for one in shown(world) if one.live]


def messages(world: World) -> list[str]:
    return [one.text for one in shown(world) if not one.live]


async def test_stop_and_a_changed_question_find_the_answer_in_its_draft(world: World, start: Start) -> None:
    world.telegram.person(ADA, "Ada")

    def script(body: RawJson) -> Reply:
        asked = str(body["messages"][-1]["content"])
        return Reply("Coffee it is, then.") if "coffee" in asked else Reply(f"Here: {WORDS}", words_per_second=20)

    world.model.script = script
    async with start("telegram", TELEGRAM_DRAFTS="true") as bot:
        world.telegram.say(ADA, "tell me", person=ADA)
        await until(lambda: drafts(world))
        assert drafts(world)[0].text.startswith("Here: word0") and not messages(world)
        world.telegram.stop_draft(ADA)
        await bot.dispatcher.wait_idle()
        [stopped] = messages(world)
        assert stopped.startswith("Here: word0") and stopped.endswith("Stopped.") and not drafts(world)

        world.telegram.say(ADA, "tell me more", person=ADA)
        await until(lambda: drafts(world))
        world.telegram.say(ADA, "/stop", person=ADA)
        await bot.dispatcher.wait_idle()
        assert len(messages(world)) == 2 and messages(world)[1].endswith("Stopped.") and not drafts(world)

        asked = world.telegram.message_id(world.telegram.say(ADA, "tell me about tea", person=ADA))
        await until(lambda: drafts(world))
        world.telegram.edit(ADA, asked, "tell me about coffee")
        await until(lambda: len(messages(world)) == 3)
        await bot.dispatcher.wait_idle()
        assert messages(world)[2] == "Coffee it is, then." and not drafts(world)

        # What stands as a message by now is rewritten in its place.
        world.telegram.edit(ADA, asked, "tell me about coffee, once more")
        await until(lambda: len(world.model.requests) == 5)
        await bot.dispatcher.wait_idle()
        assert messages(world)[2:] == ["Coffee it is, then."]


@pytest.mark.parametrize("moment", ["draft", "posted", "edited"])
async def test_a_kill_loses_the_draft_and_not_the_answer(world: World, process: Process, moment: str) -> None:
    """While the draft grows, when its message was posted without anybody knowing, and when the last edit was made."""
    world.telegram.person(ADA, "Ada")
    go_on, never = asyncio.Event(), asyncio.Event()
    whole = f"Here: {WORDS}"
    hangs = 60 if moment == "draft" else None
    world.model.script = lambda _: Reply(whole, hang_after=None if go_on.is_set() else hangs, until=go_on)
    world.settings = {"TELEGRAM_DRAFTS": "true", "SLACK_BOT_TOKEN": "", "DISCORD_BOT_TOKEN": ""}
    held = Fault(hold_after=never)
    if moment != "draft":
        world.telegram.faults.add("sendMessage" if moment == "posted" else "editMessageText", held)
    await process.start()
    await until(lambda: any(call.method == "getMe" for call in world.telegram.calls))
    world.telegram.say(ADA, "tell me", person=ADA)
    await until(lambda: drafts(world) if moment == "draft" else held.reached.is_set())
    await until(lambda: moment == "draft" or messages(world))
    await process.kill()
    go_on.set()

    await process.start()
    await until(lambda: messages(world).count(whole) == 1 and not drafts(world))
    # A post that nobody knows of may leave its beginning: never a second answer.
    left = [text for text in messages(world) if text != whole]
    assert len(left) <= (moment == "posted") and all(whole.startswith(text) for text in left)
