"""The button that speaks an answer: whose, how often, and what it does not speak."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from bot.contract import Control, ControlPressed, Page
from playground.model import Reply
from tests.bot.commands.test_presses import ADA, BOB, NOT_YOURS, controls, pressed
from tests.bot.conftest import OpenRig, Rig

SPOKEN = {"SPEECH_MODEL": "openai:gpt-4o-mini-tts"}


def below(it: Rig, words: str) -> tuple[str, Page]:
    """The message that shows an answer, and its id."""
    return next((id, page) for id, page in it.memory.pages["7"].items() if words in page.body)


def asks_to_hear(it: Rig, words: str, *, person: str = ADA) -> ControlPressed:
    id, page = below(it, words)
    [speak] = [one for one in page.buttons if one.control is Control.SPEAK]
    return replace(pressed(it, Control.SPEAK, speak.turn, person=person, awaited=True), message_id=str(id))


async def test_a_press_speaks_its_own_answer_also_an_older_one_and_for_nobody_else(rig: OpenRig) -> None:
    async with rig(**SPOKEN) as it:
        it.model.reply(Reply("Tea is a plant."), Reply("Milk is white."))
        await it.say("What is tea?")
        await it.say("And milk?")
        told = []
        for words, person in (("Milk", ADA), ("Tea", ADA), ("Tea", BOB)):
            await it.deliver(press := asks_to_hear(it, words, person=person))
            await it.idle()
            told.append(it.shown(str(press.target.data["chat"]))[0])

        assert it.model.speech.said == ["Milk is white.", "Tea is a plant."]
        assert told == ["On it.", "On it.", NOT_YOURS]
        # It is no question: what is asked again is the newest one.
        it.model.script = lambda body: Reply("Milk is white, I said.")
        await it.say("/retry")
        assert "And milk?" in str(it.model.requests[-1].body["messages"])


async def test_presses_while_an_answer_is_spoken_speak_it_once_and_later_ones_again(rig: OpenRig) -> None:
    async with rig(**SPOKEN) as it:
        goes_on = asyncio.Event()

        async def before(_: str) -> None:
            await goes_on.wait()

        it.model.speech.before = before
        it.model.reply(Reply("Tea is a plant."))
        await it.say("What is tea?")
        await it.deliver(*(asks_to_hear(it, "Tea") for _ in range(3)))
        await it.until(lambda: it.shown(f"aside{it.number}") == ["On it."])
        goes_on.set()
        await it.idle()
        assert it.model.speech.said == ["Tea is a plant."]

        await it.deliver(asks_to_hear(it, "Tea"))
        await it.idle()
        assert len(it.model.speech.said) == 2


async def test_an_answer_that_was_left_behind_is_not_spoken_and_none_in_its_place(rig: OpenRig) -> None:
    async with rig(**SPOKEN) as it:
        it.model.reply(Reply("Tea is a plant."), Reply("Milk is white."))
        await it.say("What is tea?")
        press = asks_to_hear(it, "Tea")
        await it.say("/new")
        await it.say("And milk?")
        await it.deliver(press)
        await it.idle()

        assert it.model.speech.said == []
        assert it.shown(str(press.target.data["chat"]))[-1].startswith("There is no answer here")


async def test_nothing_offers_to_speak_where_nothing_can(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Tea."))
        await it.say("What is tea?")
        assert Control.SPEAK not in controls(it)
