"""Calls and thoughts that servers leave in the text: they run, and nobody sees a sign of them, not for one edit."""

from __future__ import annotations

import asyncio
import json
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tools
from playground.model import Reply
from playground.screen import Screen
from tests.conftest import RawJson
from tests.docs.test_call_syntax import SAMPLES
from tests.journeys.conftest import Start, World, more_than
from tools.calling.function import tool

person = runpy.run_path(str(Path(__file__).with_name("test_platforms.py")))["person"]
WAYS = ("telegram", "slack direct", "discord direct")
PLATFORMS = ("telegram", "slack", "discord")
ARGUMENTS = '{"expression": "17*23"}'
FORMS = [
    "I want to reckon that now, so I reckon, and reckon.\n</think>\n\n"
    f'<tool_call>{{"name": "calculator", "arguments": {ARGUMENTS}}}</tool_call>',
    f"<|reckon_with|>calculator<|these|>{ARGUMENTS}<|done|>",
]
THINKS = 15
"""Words a second of thoughts that are seen until their end comes."""
RAW = re.compile(r"[|｜]&gt;|&lt;[|｜]|calculator|reckon|/think|expression")


def script(body: RawJson) -> Reply:
    """A model that writes its call as the question says; in the known form where it is asked again; then answers."""
    last = body["messages"][-1]
    text = last["content"] if isinstance(last["content"], str) else str(last["content"])
    if last["role"] == "tool" or "<tool_result" in text:
        return Reply("It is <think>easy</think>391.<|im_end|>")
    if "could not be read" in text:
        return Reply(f'<tool_call>{{"name": "calculator", "arguments": {ARGUMENTS}}}</tool_call>')
    form = re.search(r"form (\d)", text)
    assert form is not None, text
    return Reply(FORMS[int(form[1])], words_per_second=THINKS if form[1] == "0" else 0)


@pytest.mark.parametrize("mode", ["native", "prompt"])
async def test_thoughts_without_a_beginning_and_a_form_of_the_next_model(mode: str, world: World, start: Start) -> None:
    world.model.script = script
    async with start(*PLATFORMS, TOOL_MODE=mode) as bot:
        for number in range(len(FORMS)):
            people = [person(world, way) for way in WAYS]
            answers = await asyncio.gather(*(one.ask(bot, f"form {number}: 17 by 23?") for one in people))
            for way, messages in zip(WAYS, answers, strict=True):
                assert messages[-1].text == "It is 391.", (way, number, [message.text for message in messages])
                seen = [version.html for message in messages for version in message.versions]
                # Of thoughts whose end alone is marked the beginning may be seen until that comes.
                shown = [one for one in seen if RAW.search(one)]
                assert bool(shown) == (number == 0), (way, number, seen)


NAMES = ("Rolling", "正在掷骰子", "正在擲骰子")
FORM = re.compile(r"form (\d+):")
RESULT = re.compile(r"rolled (\{.*\})")
WRITTEN = [sample for sample in SAMPLES if sample.calls and sample.heading.startswith("Format")]


@tool(category="games", icon="🎲", verb=NAMES, label=NAMES, examples=({"sides": 6},))
async def roll_dice(sides: int, count: int = 0) -> str:
    """Roll dice.

    Args:
        sides: Of each.
        count: Of dice.
    """
    return "rolled " + json.dumps({"sides": sides} | ({"count": count} if count else {}))


@tool(category="words", icon="🎲", verb=NAMES, label=NAMES, examples=({"text": "hi"},))
async def translate(text: str, target: str = "") -> str:
    """Translate a text.

    Args:
        text: In any language.
        target: The language.
    """
    return "rolled " + json.dumps({"text": text} | ({"target": target} if target else {}))


@pytest.mark.parametrize(("mode", "first"), [("native", 0), ("prompt", 1)])
async def test_every_form_of_the_page_runs_and_is_on_no_screen(
    mode: str, first: int, world: World, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in (roll_dice, translate):
        module = ModuleType(one.spec.name)
        monkeypatch.setattr(module, "open_tool", lambda _, one=one: one, raising=False)
        monkeypatch.setitem(sys.modules, f"tests.{one.spec.name}", module)
        monkeypatch.setitem(tools.TOOLS, one.spec.name, f"tests.{one.spec.name}")
    ran: dict[int, list[RawJson]] = {}

    def answer(body: RawJson) -> Reply:
        told = [str(message["content"]) for message in body["messages"]]
        [number] = {int(found) for text in told for found in FORM.findall(text)}
        if body["messages"][-1]["role"] != "tool" and "<tool_result" not in told[-1]:
            return Reply(WRITTEN[number].reply, words_per_second=100)
        ran[number] = [json.loads(found) for text in told for found in RESULT.findall(text)]
        return Reply("Done.")

    world.model.script = answer
    places: dict[int, tuple[Screen, str]] = {}
    async with start(*PLATFORMS, TOOL_MODE=mode, REPLY_BUTTONS="false") as bot:
        for number, _ in enumerate(WRITTEN):
            platform = PLATFORMS[(number + first) % len(PLATFORMS)]
            question, them = f"form {number}: roll the dice or translate this, please", 100 + number
            match platform:
                case "telegram":
                    world.telegram.person(them, "Ada")
                    world.telegram.say(them, question, person=them)
                    places[number] = world.telegram.screen, str(them)
                case "slack":
                    places[number] = world.slack.screen, world.slack.direct(f"U{them}")
                    world.slack.say(places[number][1], question, person=f"U{them}")
                case _:
                    direct = world.discord.direct(them)
                    world.discord.say(direct, question, person=them)
                    places[number] = world.discord.screen, str(direct.id)
        for screen, place in places.values():
            await screen.until(more_than(0, place))
        await bot.dispatcher.wait_idle()

    wrong = {}
    for number, (screen, place) in places.items():
        sample, messages = WRITTEN[number], screen.of(place)
        text = "\n".join(message.text for message in messages)
        ever = [version.text for message in messages for version in message.versions]
        leaks = [text for text in ever if re.search(r"[<>{}|｜\[\]]|roll_dice|sides|arguments|使用工具", text)]
        whole = [arguments for _, arguments, known in sample.calls if known]
        if leaks or text != f"{sample.shown}\n\nDone.".strip() or ran.get(number, []) != whole:
            wrong[sample.heading, sample.reply] = text, leaks, ran.get(number)
    assert not wrong
