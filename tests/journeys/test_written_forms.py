"""Calls and thoughts that servers leave in the text: they run, and nobody sees a sign of them, not for one edit."""

from __future__ import annotations

import asyncio
import re
import runpy
from pathlib import Path

import pytest

from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World

person = runpy.run_path(str(Path(__file__).with_name("test_platforms.py")))["person"]
WAYS = ("telegram", "slack direct", "discord direct")
ARGUMENTS = '{"expression": "17*23"}'
FORMS = [
    "I want to reckon that now, so I reckon, and reckon.\n</think>\n\n"
    f'<tool_call>{{"name": "calculator", "arguments": {ARGUMENTS}}}</tool_call>',
    "<|channel|>analysis<|message|>I reckon.<|end|><|start|>assistant<|channel|>commentary to=functions.calculator "
    f"<|constrain|>json<|message|>{ARGUMENTS}<|call|>",
    '<|tool_call>call:calculator{expression:<|"|>17*23<|"|>}<tool_call|>',
    ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="calculator">]<]minimax[>[<expression>17*23]<]minimax[>['
    "</expression>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
    '```tool_code\nprint(default_api.calculator(expression="17*23"))\n```',
    f"<|reckon_with|>calculator<|these|>{ARGUMENTS}<|done|>",
]
THINKS = 15
"""Words a second of thoughts that are seen until their end comes."""
RAW = re.compile(r"[|｜]&gt;|&lt;[|｜]|minimax|tool_code|calculator|functions|reckon|/think|expression")


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
async def test_a_form_of_any_model_runs_and_is_on_no_screen(mode: str, world: World, start: Start) -> None:
    world.model.script = script
    async with start("telegram", "slack", "discord", TOOL_MODE=mode) as bot:
        for number in range(len(FORMS)):
            people = [person(world, way) for way in WAYS]
            answers = await asyncio.gather(*(one.ask(bot, f"form {number}: 17 by 23?") for one in people))
            for way, messages in zip(WAYS, answers, strict=True):
                assert messages[-1].text == "It is 391.", (way, number, [message.text for message in messages])
                seen = [version.html for message in messages for version in message.versions]
                # Of thoughts whose end alone is marked the beginning may be seen until that comes.
                shown = [one for one in seen if RAW.search(one)]
                assert bool(shown) == (number == 0), (way, number, seen)
