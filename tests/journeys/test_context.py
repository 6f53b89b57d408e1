"""A long conversation: what the model still knows, what it costs, and what a person sees and deletes of it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping

import pytest

from adapters.telegram import surface
from bot.app import App
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World, more_than

ADA = 7
TURNS = 40


@pytest.fixture(autouse=True)
def unhurried(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty turns of one chat at Telegram's pace would take two minutes; pace is not what is looked at here."""
    world.telegram.world.flood.limits = None
    monkeypatch.setattr(surface, "CHAT_RATE", 1000.0)
    monkeypatch.setattr(surface, "CHAT_BURST", 1000)


def told(body: Mapping[str, RawJson]) -> str:
    """Everything a request says, in one text."""
    return "\n".join(str(message["content"]) for message in body["messages"])


def summing_up(body: Mapping[str, RawJson]) -> bool:
    return "You keep the memory of a conversation" in told(body)


def answer(body: Mapping[str, RawJson]) -> Reply:
    """A model that knows the cat's name as long as it is told of it, and sums up what it finds."""
    known = re.search(r"cat is called (\w+)", told(body))
    if summing_up(body):
        return Reply(f"The person's cat is called {known[1]}." if known else "Nothing was said of a cat.")
    if "what is my cat called" in str(body["messages"][-1]["content"]):
        return Reply(f"It is {known[1]}." if known else "I do not know.")
    return Reply("Tea is made of leaves and hot water. " * 30)


async def ask(world: World, bot: App, text: str) -> str:
    """Say something, wait for the end of its turn, and return the bot's new text."""
    before = len(world.telegram.screen.of(str(ADA)))
    world.telegram.person(ADA, "Ada")
    world.telegram.say(ADA, text, person=ADA)
    await world.telegram.screen.until(lambda screen: len(screen.of(str(ADA))) > before)
    await bot.dispatcher.wait_idle()
    await bot.summaries.wait_idle()
    return "\n".join(message.text for message in world.telegram.screen.of(str(ADA))[before:])


async def test_after_forty_turns_the_model_knows_what_was_said_in_the_first_and_is_told_little(
    world: World, start: Start
) -> None:
    world.model.script = answer
    async with start("telegram", CONTEXT_TOKENS="9000", MESSAGES_PER_MINUTE="0", TOKENS_PER_DAY_PERSON="0") as bot:
        await ask(world, bot, "my cat is called Minka")
        for number in range(TURNS - 2):
            await ask(world, bot, f"please tell me about tea number {number}")
        said = await ask(world, bot, "what is my cat called?")

    assert said == "It is Minka."
    asked = [request.body for request in world.model.requests]
    assert not any("my cat is called" in str(message["content"]) for message in asked[-1]["messages"][1:])
    sizes = [len(told(body)) for body in asked if not summing_up(body)]
    summaries = [len(told(body)) for body in asked if summing_up(body)]
    assert 2 <= len(summaries) <= TURNS // 3, "a summary is for many turns"
    assert max(sizes) < 9000 * 4.6, "the prompt stays within what may be sent"
    assert max(sizes[TURNS // 2 :]) <= max(sizes[: TURNS // 2]) * 1.25, "and does not grow with the conversation"


async def test_a_summary_holds_up_no_answer(world: World, start: Start) -> None:
    waiting = asyncio.Event()
    world.model.script = lambda body: (
        Reply("The cat is Minka.", hang_after=0, until=waiting) if summing_up(body) else Reply("Tea is tea. " * 60)
    )
    async with start("telegram", SUMMARY_AT="900") as bot:
        for number in range(9):
            world.telegram.person(ADA, "Ada")
            before = len(world.telegram.screen.of(str(ADA)))
            world.telegram.say(ADA, f"please tell me about tea number {number}", person=ADA)
            await world.telegram.screen.until(more_than(before, ADA))
            await bot.dispatcher.wait_idle()
        assert sum(summing_up(request.body) for request in world.model.requests) == 1
        waiting.set()
        await bot.summaries.wait_idle()
        shown = await ask(world, bot, "/context")

    assert "The cat is Minka." in shown


async def test_a_person_sees_what_the_model_is_told_and_begins_anew(world: World, start: Start) -> None:
    world.model.script = answer
    async with start("telegram", SUMMARY_AT="900") as bot:
        await ask(world, bot, "my cat is called Minka")
        for number in range(8):
            await ask(world, bot, f"please tell me about tea number {number}")
        seen = await ask(world, bot, "/context")
        await ask(world, bot, "/new")
        afresh = await ask(world, bot, "/context")
        said = await ask(world, bot, "what is my cat called?")

    assert "openai:scripted" in seen and "128,000" in seen
    assert "The person's cat is called Minka." in seen
    assert "0 turns" in afresh and "Minka" not in afresh
    assert said == "I do not know."


async def test_a_chat_is_deleted_only_when_that_is_confirmed(world: World, start: Start) -> None:
    world.model.script = answer
    async with start("telegram") as bot:
        await ask(world, bot, "my cat is called Minka")
        sure = await ask(world, bot, "/forget")
        still = await ask(world, bot, "what is my cat called?")
        done = await ask(world, bot, "/forget yes")
        said = await ask(world, bot, "what is my cat called?")

    assert "/forget yes" in sure and ": 1 turn, reminders" in sure
    assert still == "It is Minka."
    assert "deleted" in done
    assert said == "I do not know."


async def test_in_a_group_only_an_admin_deletes_the_chat(world: World, start: Start) -> None:
    world.telegram.person(ADA, "Ada")
    world.telegram.group(-100, "Tea")
    async with start("telegram") as bot:
        world.telegram.say(-100, "/forget@parley_test_bot yes", person=ADA)
        await world.telegram.screen.until(lambda screen: screen.of("-100"))
        await bot.dispatcher.wait_idle()

    [message] = world.telegram.screen.of("-100")
    assert "admin" in message.text


async def test_the_estimate_of_tokens_follows_what_the_server_reports(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply(
        "Tea.", usage={"prompt_tokens": len(json.dumps(body)) * 2 // 3, "completion_tokens": 1, "total_tokens": 2}
    )
    async with start("telegram") as bot:
        before = bot.models.estimator("openai:scripted").factor
        for number in range(3):
            await ask(world, bot, f"please tell me about tea number {number}")
        after = bot.models.estimator("openai:scripted").factor

    assert before == 1.0 and after > 1.5
