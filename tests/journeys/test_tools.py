"""What tools bring reaches the person: facts, reminders, images, sources and second tries."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from bot.app import App
from playground.model import Reply
from playground.model.images import png
from playground.screen import Shown
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World
from tests.patience import PATIENCE
from tools.contract.base import Tool

ADA = 7


async def ask(world: World, bot: App, text: str, chat: int = ADA) -> list[Shown]:
    """Say something, wait until everything is answered, and return the bot's new messages."""
    before = len(world.telegram.screen.of(str(chat)))
    world.telegram.person(ADA, "Ada")
    world.telegram.say(chat, text, person=ADA)
    await world.telegram.screen.until(lambda screen: len(screen.of(str(chat))) > before)
    await bot.dispatcher.wait_idle()
    return list(world.telegram.screen.of(str(chat))[before:])


async def test_a_fact_is_kept_over_a_restart_told_to_the_model_and_deleted_by_command(
    world: World, start: Start
) -> None:
    world.model.reply(
        Reply(calls=(("remember", {"fact": "Ada is allergic to nuts."}),)), Reply("Noted."), Reply("Try soup.")
    )
    async with start("telegram", TOOL_MODE="native") as bot:
        await ask(world, bot, "please remember that I am allergic to nuts")
    async with start("telegram", TOOL_MODE="native") as bot:
        await ask(world, bot, "/new")
        await ask(world, bot, "what should I cook tonight?")
        [listed] = await ask(world, bot, "/memory")
        [gone] = await ask(world, bot, "/memory forget 1")
        [empty] = await ask(world, bot, "/memory")

    told = world.model.requests[-1].messages[0]["content"]
    assert "- Ada is allergic to nuts." in told
    assert "Ada is allergic to nuts." in listed.text
    assert gone.text == "Fact 1 is forgotten."
    assert empty.text == "I remember nothing here."


async def test_a_reminder_comes_by_itself(world: World, start: Start) -> None:
    world.model.reply(
        Reply(calls=(("remind_me", {"text": "Tea is ready", "delay": "1 second"}),)), Reply("I will."), Reply("Fine.")
    )
    async with start("telegram", TOOL_MODE="native") as bot:
        await ask(world, bot, "please remind me of my tea in a second")
        await world.telegram.screen.until(lambda screen: len(screen.of(str(ADA))) == 2)
        await bot.dispatcher.wait_idle()
        await ask(world, bot, "thank you, that was the right moment to tell me")

    assert world.telegram.screen.of(str(ADA))[1].text == "⏰ Tea is ready"
    assert "⏰ Tea is ready" in [message["content"] for message in world.model.requests[-1].messages]


async def test_a_reminder_missed_while_the_bot_was_off_comes_late_once_and_says_so(world: World, start: Start) -> None:
    world.model.reply(Reply(calls=(("remind_me", {"text": "Tea", "delay": "1 hour"}),)), Reply("I will."))
    async with start("telegram", TOOL_MODE="native") as bot:
        await ask(world, bot, "please remind me of my tea in an hour")
    with closing(sqlite3.connect(world.data / "parley.db")) as db, db:
        db.execute("UPDATE timers SET due = due - 7200")

    for _ in range(2):
        async with start("telegram") as bot:
            await world.telegram.screen.until(lambda screen: len(screen.of(str(ADA))) == 2)
            await bot.dispatcher.wait_idle()

    late = world.telegram.screen.of(str(ADA))[1].text
    assert late.startswith("⏰ Tea\n\n(This was due ") and late.endswith("while I could not write.)")
    assert len(world.telegram.screen.of(str(ADA))) == 2


async def test_a_reminder_taken_in_before_a_crash_is_shown_at_the_next_start(world: World, start: Start) -> None:
    """It was written down longer ago than a question would still be answered."""
    world.model.reply(Reply(calls=(("remind_me", {"text": "Tea", "delay": "1 hour"}),)), Reply("I will."))
    async with start("telegram", TOOL_MODE="native") as bot:
        await ask(world, bot, "please remind me of my tea in an hour")
        [timer] = await bot.store.timers.list_due(time.time() + 7200.0, ["telegram"])
        due = replace(timer, due=time.time() - 3600.0).to_delivery(time.time())
        await bot.store.intake.take_in(due, bot.store.timers.claim(timer))
    with closing(sqlite3.connect(world.data / "parley.db")) as db, db:
        db.execute("UPDATE inbox SET received_at = received_at - 3600 WHERE state = 'new'")

    async with start("telegram") as bot:
        await world.telegram.screen.until(lambda screen: len(screen.of(str(ADA))) == 2)
        await bot.dispatcher.wait_idle()

    assert world.telegram.screen.of(str(ADA))[1].text.startswith("⏰ Tea")


async def test_an_image_is_posted_after_the_answer(world: World, start: Start) -> None:
    world.model.reply(Reply(calls=(("generate_image", {"prompt": "a red fox"}),)), Reply("Here is your fox."))
    async with start("telegram", TOOL_MODE="native", IMAGE_MODEL="openai:gpt-image-1") as bot:
        messages = await ask(world, bot, "please draw a red fox for me")

    assert messages[0].text == "Here is your fox."
    assert [file[2] for message in messages for file in message.files] == [png("a red fox")]
    assert messages[-1].files


def somebody(world: World, platform: str) -> tuple[Any, Any]:
    """A person of a platform in a direct chat: how to write, and what is seen there."""
    match platform:
        case "telegram":
            world.telegram.person(ADA, "Ada")
            return (lambda text: world.telegram.say(ADA, text, person=ADA)), lambda: world.telegram.screen.of(str(ADA))
        case "slack":
            world.slack.person("U7", "Ada")
            place = world.slack.direct("U7")
            return (lambda text: world.slack.say(place, text, person="U7")), lambda: world.slack.screen.of(place)
        case _:
            world.discord.person(ADA, "Ada")
            direct = world.discord.direct(ADA)
            return (lambda text: world.discord.say(direct, text, person=ADA)), lambda: world.discord.screen.of(
                direct.id
            )


async def test_an_image_and_a_reminder_reach_every_platform(world: World, start: Start) -> None:
    platforms = ("telegram", "slack", "discord")
    wanted = Reply(
        calls=(
            ("generate_image", {"prompt": "a fox"}),
            ("remind_me", {"text": "Tea is ready", "delay": "1 second"}),
        )
    )
    world.model.script = lambda body: Reply("Here is your fox.") if body["messages"][-1]["role"] == "tool" else wanted
    async with start(*platforms, TOOL_MODE="native", IMAGE_MODEL="openai:gpt-image-1") as bot:
        people = {platform: somebody(world, platform) for platform in platforms}
        for say, _ in people.values():
            say("please draw a fox and remind me of my tea in a second")
        for platform, (_, seen) in people.items():
            screen = getattr(world, platform).screen
            # The first message is the answer; while the tool runs, its status shows a clock too.
            await screen.until(lambda _, seen=seen: any("⏰ Tea" in message.text for message in seen()[1:]))
        await bot.dispatcher.wait_idle()

    for platform, (_, seen) in people.items():
        texts = [message.text.strip() for message in seen()]
        assert texts[0] == "Here is your fox.", platform
        assert sum("Tea is ready" in text for text in texts) == 1, platform
        assert [file[2] for message in seen() for file in message.files] == [png("a fox")], platform


async def test_an_image_too_large_for_the_platform_is_said_plainly(world: World, start: Start) -> None:
    world.model.images.content = b"\x89PNG\r\n\x1a\n" + bytes(17 * 2**20)
    world.model.reply(Reply(calls=(("generate_image", {"prompt": "a whale"}),)), Reply("Here is your whale."))
    async with start("telegram", TOOL_MODE="native", IMAGE_MODEL="openai:gpt-image-1") as bot:
        messages = await ask(world, bot, "please draw a whale for me")

    assert not any(message.files for message in messages)
    assert messages[0].text.startswith("Here is your whale.\n\nThe file image-")
    assert messages[0].text.endswith("(17.0 MB) is too large to be posted here.")


async def test_sources_of_two_searches_have_numbers_of_their_own(world: World, start: Start) -> None:
    def answer(body: RawJson) -> Reply:
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if not results:
            return Reply(calls=(("search_web", {"query": "green tea"}), ("search_web", {"query": "solar power"})))
        numbers = [line.split("]")[0] + "]" for result in results for line in result.splitlines() if line[:1] == "["
                   and line[1:2].isdigit()]  # fmt: skip
        assert numbers == [f"[{number}]" for number in range(1, len(numbers) + 1)]
        return Reply(f"Tea is green [1], the sun is bright {numbers[-1]}, and pigs fly [99].")

    world.model.script = answer
    async with start("telegram", TOOL_MODE="native") as bot:
        [message] = await ask(world, bot, "please look up green tea and solar power")

    text, _, footer = message.text.partition("\n\nSources\n")
    assert text.startswith("Tea is green [1]") and text.endswith("and pigs fly [99].")
    assert [line.split()[0] for line in footer.splitlines()] == ["[1]", text.split("bright ")[1].split(",")[0]]


async def test_a_second_try_is_a_status_and_never_part_of_the_answer(world: World, start: Start) -> None:
    world.model.reply(
        Reply(calls=(("calculator", {"expression": "2 +"}),), words_per_second=50),
        Reply(calls=(("calculator", {"expression": "2 + 2"}),), words_per_second=50),
        Reply("It is 4."),
    )
    async with start("telegram", TOOL_MODE="native") as bot:
        statuses: list[str] = []
        registry, status = bot.registry, bot.registry.status

        def noted(*given: Any) -> str:
            statuses.append(status(*given))
            return statuses[-1]

        registry.status = noted  # type: ignore[method-assign, assignment]
        [message] = await ask(world, bot, "please calculate two and two")

    assert "(2nd try)" not in statuses[0]
    assert "(2nd try): 2 + 2" in statuses[1]
    assert message.text == "It is 4."


async def test_a_database_is_asked_through_the_whole_bot(world: World, start: Start) -> None:
    with closing(sqlite3.connect(world.data / "sales.db")) as db, db:
        db.execute("CREATE TABLE orders AS SELECT 42 AS amount")
    world.model.reply(
        Reply(calls=(("query_database", {"sql": "SELECT sum(amount) AS total FROM orders"}),)), Reply("42 in total.")
    )
    async with start("telegram", TOOL_MODE="native", DATABASES=f"sales=sqlite:///{world.data}/sales.db") as bot:
        [message] = await ask(world, bot, "please sum up the orders in the database")

    assert message.text == "42 in total."
    assert "| total |\n|---|\n| 42 |" in world.model.requests[1].messages[-1]["content"]


async def test_a_sandbox_that_does_not_hold_is_said_once_and_its_tool_never_offered(
    world: World, start: Start, refusing_bwrap: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    world.model.reply(Reply("I cannot run code here."))
    async with start("telegram", TOOL_MODE="native", CODE_BACKEND="bwrap", PATH=refusing_bwrap) as bot:
        async with asyncio.timeout(PATIENCE):
            while "run_python" not in bot.registry.unavailable:
                await asyncio.sleep(0.005)
        await ask(world, bot, "please run this Python code: print(2 ** 100)")

    offered = [tool["function"]["name"] for tool in world.model.requests[-1].body.get("tools", [])]
    assert "run_python" not in offered
    said = [record.getMessage() for record in caplog.records if "run_python" in record.getMessage()]
    assert len(said) == 1 and said[0].startswith("run_python is not offered: bwrap: ")
    assert "read_page: pages are read with the bot's rights" in caplog.text


async def test_a_tool_that_cannot_be_opened_is_one_line_of_the_log_and_the_bot_answers(
    world: World, start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def opens(settings: object) -> Tool:
        raise OSError("no such\ndevice")

    monkeypatch.setattr("tools.calculator.open_tool", opens)
    world.model.reply(Reply("Tea is a leaf."))
    async with start("telegram") as bot:
        [answer] = await ask(world, bot, "what is tea")

    [line] = [record.getMessage() for record in caplog.records if "calculator" in record.getMessage()]
    assert line.startswith("the tool calculator is off: it cannot be opened: OSError: no such device (test_tools.py, ")
    assert answer.text == "Tea is a leaf." and bot.registry.spec("current_time") is not None
