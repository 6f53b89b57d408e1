"""Half a surrogate pair or a NUL, wherever it comes from: the turn is answered, the next one too, and all commands."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing

from playground.model import Reply
from playground.tavily.pages import CannedPage
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World
from tests.journeys.test_files import PLATFORMS, PRIVATE, Place, places
from tests.patience import PATIENCE

TORN = "torn \ud83d tea\0 \ude00"
MENDED = "torn \ufffd tea \ufffd"
CALL = ("remember", {"fact": f"Ada likes {TORN}"})
REMINDER = ("remind_me", {"text": TORN, "delay": "1 hour"})


def script(body: RawJson) -> Reply:
    """Answers with halves of its own, after it searched and had facts and reminders kept that hold some."""
    if body["messages"][-1]["role"] == "tool":
        return Reply(f"Here is {TORN}.")
    if "remember" in str(body["messages"][-1]["content"]):
        return Reply("I look.", calls=(("search_web", {"query": "torn tea"}), CALL, REMINDER))
    return Reply(f"Still {TORN} here.", reasoning=f"thinking of {TORN}")


async def said(place: Place, text: str, *, count: int = 1) -> None:
    async with asyncio.timeout(PATIENCE):
        while place.text.count(text) < count:
            await asyncio.sleep(0.01)


def torn_people(world: World) -> dict[str, Place]:
    everywhere = places(world)
    del everywhere["slack command elsewhere"]
    world.telegram.person(7, f"Ada {TORN}")
    world.slack.person("U7", f"Ada {TORN}")
    world.discord.person(7, f"Ada {TORN}")
    return everywhere


async def test_no_half_of_a_character_ends_the_answers_of_a_chat(world: World, start: Start) -> None:
    world.model.script = script
    world.tavily.pages.append(CannedPage("https://known.example/tea", f"Tea {TORN}", f"torn tea {TORN}"))
    everywhere = torn_people(world)
    async with start(*PLATFORMS, TOOL_MODE="native", SHOW_TOOLS="full", SHOW_REASONING="quote") as bot:
        for place in everywhere.values():
            place.say(f"please remember {TORN}")
        for place in everywhere.values():
            await said(place, f"Here is {MENDED}.")
        await bot.dispatcher.wait_idle()
        for place in everywhere.values():
            place.say(f"and {TORN}?")
        for place in everywhere.values():
            await said(place, f"Still {MENDED} here.")
        await bot.dispatcher.wait_idle()

    told = json.dumps([request["messages"] for request in world.model.requests])
    assert "\\ufffd" in told and not any(half in told for half in ("\\u0000", '\\ud83d"', "\\ud83d ", "\\ude00"))
    with closing(sqlite3.connect(world.data / "parley.db")) as database:
        dump = "\n".join(database.iterdump())
    assert "\\ud83d" not in dump and "\\u0000" not in dump and "\0" not in dump


async def test_commands_take_and_show_halves_of_characters(world: World, start: Start) -> None:
    world.model.script = script
    everywhere = [torn_people(world)[name] for name in PRIVATE]
    sign = {"telegram": "/", "slack": "", "discord": "/"}
    async with start(*PLATFORMS, TOOL_MODE="native") as bot:
        for place in everywhere:
            place.say(f"please remember {TORN}")
        for place in everywhere:
            await said(place, f"Here is {MENDED}.")
        await bot.dispatcher.wait_idle()
        for command in (
            f"persona: be {TORN}",
            "memory",
            "reminders",
            "why",
            "context",
            "whoami",
            "export",
            "export json",
        ):
            for place in everywhere:
                place.say(sign[place.platform] + (command.replace(":", "") if sign[place.platform] else command))
            await bot.dispatcher.wait_idle()
        for place in everywhere:
            async with asyncio.timeout(PATIENCE):
                while len(place.files) < 2:
                    await asyncio.sleep(0.01)
        await bot.dispatcher.wait_idle()

    for place in everywhere:
        exported = [content.decode() for _, _, content in place.files]
        assert MENDED in exported[0] and json.loads(exported[1])[0]["settings"] == {"persona": f"be {MENDED}"}
        assert f"Ada likes {MENDED}" in place.text, place.platform


async def test_a_file_with_half_a_character_in_its_name_is_read(world: World, start: Start) -> None:
    world.model.script = script
    everywhere = [torn_people(world)[name] for name in PRIVATE]
    file = (f"{TORN}.txt", "text/plain", b"tea in a file")
    async with start(*PLATFORMS) as bot:
        world.telegram.say(7, TORN, person=7, files=[file])
        world.slack.say(everywhere[1].chat, TORN, person="U7", files=[file])
        world.discord.say(everywhere[2].chat, TORN, person=7, files=[file])
        for place in everywhere:
            await said(place, f"Still {MENDED} here.")
        await bot.dispatcher.wait_idle()

    # The address of a file at the emulated Telegram holds its name, and cannot be asked for with a NUL.
    told = [str(request["messages"][-1]) for request in world.model.requests]
    assert sum("tea in a file" in one for one in told) >= 2 and all(f"{MENDED}.txt" in one for one in told)
