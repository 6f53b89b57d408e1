"""Telegram makes a post and its answer is lost: the message is found, continued, and not posted a second time."""

from __future__ import annotations

import asyncio

import pytest

from playground.faults import Fault
from playground.model import Reply
from tests.journeys.conftest import Start, World, more_than
from tests.patience import PATIENCE

WORDS = " ".join(f"word{number}" for number in range(60))


def ask(world: World, chat: int) -> None:
    world.telegram.person(7, "Ada")
    if chat < 0:
        world.telegram.group(chat, "Group")
    name = world.telegram.world.bot["username"]
    world.telegram.say(chat, "tell me" if chat > 0 else f"@{name} tell me", person=7)


@pytest.mark.parametrize("chat", [7, -5, -1_000_000_000_005], ids=["private", "group", "supergroup"])
@pytest.mark.parametrize("pace", [0.0, 20.0], ids=["whole at once", "growing"])
@pytest.mark.parametrize("trouble", [False, True], ids=["", "in trouble"])
async def test_a_post_whose_answer_was_lost_is_found_and_goes_on(
    world: World, start: Start, chat: int, pace: float, trouble: bool
) -> None:
    world.model.script = lambda _: Reply(WORDS, words_per_second=pace)
    world.telegram.faults.add("sendMessage", Fault(drop="after"))
    lost = Fault(drop="before"), Fault(drop="after")
    for fault in (Fault(status=429, retry_after=1), Fault(status=502), *lost) if trouble else ():
        world.telegram.faults.add("editMessageText", fault)
    async with start("telegram") as bot:
        ask(world, chat)
        # Other messages have numbers, too; of what people say to each other in a group the bot does not hear.
        for _ in range(3):
            world.telegram.say(8 if chat > 0 else chat, "people talk", person=8)
        async with asyncio.timeout(PATIENCE):
            while not world.telegram.screen.of(str(chat)):
                await asyncio.sleep(0.005)
        await bot.dispatcher.wait_idle()

    shown = world.telegram.screen.of(str(chat))
    assert [message.text for message in shown] == [WORDS]


async def test_a_post_that_was_not_made_is_made_and_no_other_message_is_touched(world: World, start: Start) -> None:
    world.model.script = lambda _: Reply(WORDS)
    async with start("telegram") as bot:
        for answers in (1, 2):
            world.telegram.faults.add("sendMessage", Fault(drop="before"))
            ask(world, 7)
            await world.telegram.screen.until(more_than(answers - 1, 7))
            await bot.dispatcher.wait_idle()

    written = [(message.text, len(message.versions)) for message in world.telegram.screen.of("7", author="7")]
    assert written == [("tell me", 1)] * 2
    assert [message.text for message in world.telegram.screen.of("7")] == [WORDS, WORDS]


async def test_an_answer_to_the_changed_question_finds_the_lost_post_of_the_former_one(
    world: World, start: Start
) -> None:
    world.model.script = lambda _: Reply(WORDS, words_per_second=20.0)
    lost = world.telegram.faults.add("sendMessage", Fault(drop="after"))
    async with start("telegram") as bot:
        ask(world, 7)
        [question] = [message.id for message in world.telegram.screen.of("7", author="7")]
        async with asyncio.timeout(PATIENCE):
            await lost.reached.wait()
            while not world.telegram.screen.of("7"):
                await asyncio.sleep(0.001)
        world.telegram.edit(7, int(question), "tell me more")
        async with asyncio.timeout(PATIENCE):
            while not any(message.text == WORDS for message in world.telegram.screen.of("7")):
                await asyncio.sleep(0.005)
        await bot.dispatcher.wait_idle()

    assert [message.text for message in world.telegram.screen.of("7")] == [WORDS]
