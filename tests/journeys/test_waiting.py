"""Who waits for the answer before sees on the very message that it arrived, until its turn begins."""

from __future__ import annotations

import asyncio
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.sentences import say
from playground.model import Reply
from tests.journeys.conftest import Process, Start, World
from tests.patience import PATIENCE

_PLATFORMS = runpy.run_path(str(Path(__file__).with_name("test_platforms.py")))
person = _PLATFORMS["person"]


def signs(world: World, platform: str) -> dict[str, str]:
    """Message id → the reaction that stands on it."""
    match platform:
        case "telegram":
            found = world.telegram.world.reactions.items()
            return {str(id): one[0]["emoji"] for (_, id), one in found if one}
        case "slack":
            return {ts: name for (_, ts), one in world.slack.workspace.messages.items() for name in one.reactions}
        case _:
            return {id: emoji for id, one in world.discord.state.messages.items() for emoji in one.reactions}


def text_of(world: World, platform: str, id: str) -> str:
    match platform:
        case "telegram":
            [text] = [
                one.content["text"] for (_, number), one in world.telegram.world.messages.items() if str(number) == id
            ]
        case "slack":
            [text] = [one.text for (_, ts), one in world.slack.workspace.messages.items() if ts == id]
        case _:
            text = world.discord.state.messages[id].content
    return str(text)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "way", ["telegram", "telegram group", "slack direct", "slack mention", "discord direct", "discord mention"]
)
async def test_a_message_that_waits_carries_a_sign_until_its_turn_begins(world: World, start: Start, way: str) -> None:
    someone, first = person(world, way), asyncio.Event()
    platform = someone.platform
    world.model.script = lambda body: Reply("One two three four five " * 5, hang_after=40, until=first)

    async with start(platform) as bot:
        someone.say("first")
        await world.model.asked(1)
        assert not signs(world, platform)
        someone.say("second")
        await until(lambda: signs(world, platform))
        assert list(signs(world, platform).values()) == ["eyes" if platform == "slack" else "👀"]
        [waiting] = signs(world, platform)
        assert "second" in text_of(world, platform, waiting)

        first.set()
        await until(lambda: not signs(world, platform))
        await bot.dispatcher.wait_idle()

    assert len(world.model.requests) == 2


@pytest.mark.parametrize("way", ["telegram", "slack mention", "discord mention"])
async def test_stop_drops_a_waiting_question_with_its_sign(world: World, start: Start, way: str) -> None:
    someone, never = person(world, way), asyncio.Event()
    world.model.script = lambda body: Reply("One two three four five " * 5, hang_after=40, until=never)

    async with start(someone.platform) as bot:
        someone.say("first")
        await world.model.asked(1)
        someone.say("second")
        await until(lambda: signs(world, someone.platform))
        someone.say("stop" if someone.platform == "slack" else "/stop")
        await until(lambda: not signs(world, someone.platform))
        await bot.dispatcher.wait_idle()

    assert sum("Stopped." in one.text for one in someone.messages) == 1
    assert sum(say("dropped_waiting", "en") in one.text for one in someone.messages) == 1
    assert len(world.model.requests) == 1


async def test_stop_answers_a_waiting_slash_command_too(world: World, start: Start) -> None:
    someone, never = person(world, "discord slash"), asyncio.Event()
    world.model.script = lambda body: Reply("One two three four five " * 5, hang_after=40, until=never)

    async with start("discord") as bot:
        someone.say("first")
        await world.model.asked(1)
        someone.say("second")
        await until(lambda: bot.dispatcher.queue.length)
        world.discord.slash("stop", {}, 12, 7)
        await bot.dispatcher.wait_idle()

    texts = [one.text for one in someone.messages]
    assert sum(text.endswith("Stopped.") for text in texts) == 2
    assert sum(say("dropped_waiting", "en") in text for text in texts) == 1
    assert len(world.model.requests) == 1


async def test_a_slash_command_that_waits_gets_one_line_until_its_turn_begins(world: World, start: Start) -> None:
    someone, first = person(world, "slack command"), asyncio.Event()
    world.model.script = lambda body: Reply("One two three four five " * 5, hang_after=40, until=first)

    def lines() -> list[Any]:
        return [one for one in someone.messages if "Received: “second" in one.text]

    async with start("slack") as bot:
        someone.say("first")
        await world.model.asked(1)
        someone.say("second *question*")
        await until(lines)
        assert len(lines()) == 1
        first.set()
        await until(lambda: not lines())
        await bot.dispatcher.wait_idle()

    assert len(world.model.requests) == 2


async def test_without_the_scope_nothing_is_shown_and_nothing_lost(world: World, start: Start) -> None:
    someone, first = person(world, "slack direct"), asyncio.Event()
    world.slack.scopes.discard("reactions:write")
    world.model.script = lambda body: Reply("Yes.", hang_after=0, until=first)

    async with start("slack") as bot:
        someone.say("first")
        await world.model.asked(1)
        someone.say("second")
        first.set()
        await world.model.asked(2)
        await bot.dispatcher.wait_idle()

    assert not [call for call in world.slack.calls if call.method.startswith("reactions.")]


async def test_a_sign_does_not_outlive_the_process_that_showed_it(world: World, process: Process) -> None:
    someone, first = person(world, "telegram"), asyncio.Event()
    world.model.script = lambda body: Reply("One two three four five " * 5, hang_after=40, until=first)
    await process.start()
    someone.say("first")
    await world.model.asked(1)
    someone.say("second")
    await until(lambda: signs(world, "telegram"))
    await process.kill()
    first.set()
    world.model.script = lambda body: Reply("Whole.")

    await process.start()
    await until(lambda: not signs(world, "telegram"))
    await world.telegram.screen.until(lambda _: sum("Whole." in one.text for one in someone.messages) == 2)
