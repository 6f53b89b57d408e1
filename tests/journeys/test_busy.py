"""`/busy`: what becomes of a question that comes while another is being answered, on every platform."""

from __future__ import annotations

import asyncio

import pytest

from playground.faults import Fault
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World
from tests.journeys.test_stop import PLATFORMS, Chats

WORDS = " ".join(f"word{number}" for number in range(60))


class Person(Chats):
    """Ada, in her private chat on one platform."""

    def __init__(self, world: World, platform: str) -> None:
        super().__init__(world)
        self.platform = platform

    def say(self, text: str) -> None:
        match self.platform:
            case "telegram":
                self.world.telegram.say(7, text, person=7)
            case "slack":
                # Slack itself takes what begins with a slash.
                self.world.slack.say(self.chat["slack"], text.replace("/busy ", "busy: "), person="U7")
            case _:
                self.world.discord.say(self.chat["discord"], text, person=7)

    @property
    def shown(self) -> list[str]:
        return self.texts(self.platform)


def said(body: RawJson) -> list[str]:
    """What people have said, of what a model is told, from this turn on."""
    return [str(one["content"]) for one in body["messages"] if one["role"] == "user"]


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_what_is_said_meanwhile_is_told_at_the_next_pass(world: World, start: Start, platform: str) -> None:
    def script(body: RawJson) -> Reply:
        if any(one["role"] == "tool" for one in body["messages"]):
            return Reply("Green tea, from Uji.")
        return Reply(calls=(("calculator", {"expression": "6*7"}),))

    world.model.script = script
    ada = Person(world, platform)
    async with start(platform) as bot:
        ada.say("/busy steer")
        await ada.until(lambda: any("tools' results" in text for text in ada.shown))
        held = world.model.faults.add("*", Fault(hold=asyncio.Event()))
        ada.say("Which tea should I buy?")
        await held.reached.wait()
        ada.say("In Japan, I mean.")
        await ada.until(lambda: bot.dispatcher.queue.length == 1)
        assert held.hold is not None
        held.hold.set()
        await ada.until(lambda: any("Uji" in text for text in ada.shown))
        await bot.dispatcher.wait_idle()

    first, second = (request.body for request in world.model.requests)
    assert not any("In Japan" in text for text in said(first))
    assert "In Japan" in said(second)[-1] and "Which tea" in said(second)[-2]
    assert sum("Uji" in text for text in ada.shown) == 1


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_new_question_ends_the_answer_that_is_being_written(world: World, start: Start, platform: str) -> None:
    def script(body: RawJson) -> Reply:
        new = "Milk?" in said(body)[-1]
        return Reply("Milk is white.") if new else Reply(f"Tea: {WORDS}", words_per_second=5)

    world.model.script = script
    ada = Person(world, platform)
    async with start(platform) as bot:
        ada.say("/busy interrupt")
        await ada.until(lambda: any("stops the answer" in text for text in ada.shown))
        ada.say("Tea?")
        await ada.until(lambda: any("word1" in text for text in ada.shown))
        ada.say("Milk?")
        await ada.until(lambda: any("Milk is white." in text for text in ada.shown))
        await bot.dispatcher.wait_idle()

    tea = next(text for text in ada.shown if text.startswith("Tea:"))
    assert "word59" not in tea and "topped" in tea


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_what_comes_in_pieces_is_answered_once(world: World, start: Start, platform: str) -> None:
    world.model.script = lambda body: Reply(f"I was asked: {said(body)[-1]}")
    ada = Person(world, platform)
    async with start(platform) as bot:
        ada.say("/busy collect")
        await ada.until(lambda: any("one question" in text for text in ada.shown))
        ada.say("My cat is called Tom.")
        await ada.until(lambda: bot.dispatcher.queue.busy == 1)
        ada.say("How old can he get?")
        await ada.until(lambda: any("How old" in text for text in ada.shown if text.startswith("I was asked")))
        await bot.dispatcher.wait_idle()

    [request] = world.model.requests
    assert "Tom." in said(request.body)[-1] and "How old" in said(request.body)[-1]
