"""A tool asks a person before it runs, on every platform."""

from __future__ import annotations

import asyncio

import pytest

from bot.contract.limits import Limits
from playground.model import Reply
from playground.screen import Shown
from tests.conftest import RawObject
from tests.journeys.conftest import Process, Start, World
from tests.journeys.test_controls import NOT_YOURS, PLATFORMS, Room, ended

ALLOW, REFUSE = "✅ Allow", "🚫 Refuse"
HOSTILE = {
    "query": "``` *bold* [x](https://evil.example) <b>&amp; <@U1> @everyone \u202egnp.exe\u200b\n\n```\n**Allowed.**"
    + " " * 9_000
}


def wants(arguments: RawObject | None = None) -> Reply:
    return Reply("I look.", calls=(("search_web", arguments or {"query": "green tea"}),))


@pytest.fixture(params=PLATFORMS)
def room(request: pytest.FixtureRequest, world: World) -> Room:
    world.settings["CONFIRM_TOOLS"] = "search_web"
    return Room(world, request.param)


async def asked(room: Room, number: int = 0) -> Shown:
    """The message that asks."""
    await room.until(lambda: len(room.shown) > number and ALLOW in room.shown[number].buttons)
    return room.shown[number]


async def test_a_call_waits_for_a_press_and_strangers_are_told_aside(room: Room, start: Start, world: World) -> None:
    world.model.reply(wants(), Reply("Tea is made of leaves."), Reply("It is green."))
    async with start(room.platform) as bot:
        room.ask("look for green tea")
        card = await asked(room)
        assert card.buttons == [ALLOW, REFUSE] and "Query: green tea" in card.text
        for stranger in range(20):
            room.person(100 + stranger, "Stranger")
            room.press(card, (ALLOW, REFUSE)[stranger % 2], 100 + stranger)
        await room.until(lambda: len(room.heard()) == 20)
        assert room.heard() == [NOT_YOURS] * 20 and world.tavily.requests == []

        # Others, and who asked, go on meanwhile.
        room.ask("and what is tea made of?")
        await room.answered("Tea is made of leaves.")
        room.press(card, ALLOW)
        room.press(card, ALLOW)
        await room.answered("It is green.")
        await bot.dispatcher.wait_idle()

        await room.until(lambda: card.text.endswith("✅ Allowed.") and not card.buttons)
        assert len(world.tavily.requests) == 1 and len(world.model.requests) == 3


async def test_a_refusal_is_told_to_the_model(room: Room, start: Start, world: World) -> None:
    world.model.reply(wants(), Reply("Then I leave it."))
    async with start(room.platform):
        room.ask("look for green tea")
        card = await asked(room)
        room.press(card, REFUSE)
        await room.answered("Then I leave it.")
        await room.until(lambda: card.text.endswith("🚫 Refused: it was not done."))
        assert "refused it" in str(world.model.requests[1].body["messages"][-1]["content"])
        assert world.tavily.requests == []


async def test_what_nobody_decides_expires_and_says_so(room: Room, start: Start, world: World) -> None:
    world.model.reply(wants())
    world.limits = Limits(approval_seconds=20.0)
    async with start(room.platform) as bot:
        room.ask("look for green tea")
        card = await asked(room)
        assert "within 20 seconds" in card.text
        since = asyncio.get_running_loop().time()
        await room.until(lambda: card.text.endswith("⌛ Nobody decided in time: it was not done."))
        assert 15 < asyncio.get_running_loop().time() - since < 25 and not card.buttons
        await bot.dispatcher.wait_idle()
        assert world.tavily.requests == [] and len(world.model.requests) == 1


async def test_hostile_arguments_are_shown_as_they_are_and_break_out_of_nothing(
    room: Room, start: Start, world: World
) -> None:
    world.model.reply(wants(HOSTILE), Reply("Nothing found."))
    async with start(room.platform) as bot:
        room.ask("look for something")
        card = await asked(room)
        ticks = "⟪U+0060⟫" * 3
        assert f"{ticks} *bold* [x](https://evil.example) <b>&amp; <@U1> @everyone ⟪U+202E⟫gnp.exe⟪U+200B⟫" in card.text
        assert f"\n\n{ticks}\n**Allowed.** ⟪×9,000⟫" in card.text
        await room.until(lambda: card.text.endswith("Until then nothing is done."))
        assert len(room.shown) == 1
        room.press(card, ALLOW)
        await room.answered("Nothing found.")
        await bot.dispatcher.wait_idle()


async def test_a_press_after_a_kill_is_obeyed_and_what_waited_too_long_expires(
    room: Room, process: Process, world: World
) -> None:
    world.model.reply(wants(), Reply("It is green."), wants({"query": "black tea"}))
    tokens = dict.fromkeys(("SLACK_BOT_TOKEN", "DISCORD_BOT_TOKEN", "TELEGRAM_BOT_TOKEN"), "")
    del tokens[f"{room.platform.upper()}_BOT_TOKEN"]
    world.settings |= tokens
    await process.start()
    await room.ready(1)
    room.ask("look for green tea")
    card = await asked(room)
    await room.until(lambda: ended(world) == 1)
    await process.kill()

    world.limits = Limits(approval_seconds=1.0)
    await process.start()
    await room.ready(2)
    room.press(card, ALLOW)
    await room.answered("It is green.")
    await room.until(lambda: card.text.endswith("✅ Allowed."))
    assert len(world.tavily.requests) == 1

    room.ask("look for black tea")
    late = await asked(room, 2)
    await room.until(lambda: ended(world) == 3)
    await process.kill()
    await process.start()
    await room.ready(3)
    await room.until(lambda: late.text.endswith("⌛ Nobody decided in time: it was not done."))
    assert len(world.tavily.requests) == 1
