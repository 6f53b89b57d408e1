"""What people of each platform see under an answer of how it came about: the tools it used, and the reasoning."""

from __future__ import annotations

import asyncio
import runpy
from pathlib import Path

import pytest

from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World

person = runpy.run_path(str(Path(__file__).with_name("test_platforms.py")))["person"]
previews = runpy.run_path(str(Path(__file__).with_name("test_hostile.py")))["previews"]
WAYS = ("telegram", "slack direct", "discord direct")


def script(body: RawJson) -> Reply:
    """A model that says something, reckons, and answers from the result."""
    if body["messages"][-1]["role"] == "tool":
        return Reply("It is *51*.", words_per_second=80)
    return Reply("I reckon.", calls=(("calculator", {"expression": "17*3"}),), words_per_second=80)


async def test_tools_and_results_stand_under_the_answer_on_every_platform(world: World, start: Start) -> None:
    world.model.script = script
    async with start("telegram", "slack", "discord", SHOW_TOOLS="full", TOOL_MODE="native") as bot:
        people = [person(world, way) for way in WAYS]
        answers = await asyncio.gather(*(one.ask(bot, "what is 17 by 3?") for one in people))

    for way, [message] in zip(WAYS, answers, strict=True):
        lines = [line.strip() for line in message.text.splitlines() if line.strip()]
        assert lines[0] == "I reckon." and set(lines[1]) <= set("─-—"), (way, lines)
        assert lines[2] == "It is 51." and lines[3] == "Tools used", (way, lines)
        assert "calculator" in lines[4] and '{"expression": "17*3"}: completed, ' in lines[4], (way, lines)
        assert lines[5].startswith("→ ") and "51" in lines[5], (way, lines)
        assert message.versions[-1].html.count("<code>") == 2, way
    assert previews(world) == []
    assert sum(getattr(world, way.partition(" ")[0]).refusals for way in WAYS) == 0


THOUGHT = "First I multiply.\nThen *I* look at https://evil.example/x again."


@pytest.mark.parametrize("show", ["why", "quote"])
async def test_reasoning_stands_collapsed_where_a_platform_can_and_is_told_on_request(
    show: str, world: World, start: Start
) -> None:
    world.model.script = lambda body: Reply("It is 51.", reasoning=THOUGHT, words_per_second=80)
    async with start("telegram", "slack", "discord", SHOW_REASONING=show) as bot:
        people = [person(world, way) for way in WAYS]
        answers = await asyncio.gather(*(one.ask(bot, "what is 17 by 3?") for one in people))
        for one in people:
            before = len(one.messages)
            if one.platform == "slack":
                world.slack.command("/parley", "why", one.place, "U7")
            else:
                one.say("/why")
            await getattr(world, one.platform).screen.until(
                lambda _, one=one, before=before: len(one.messages) > before
            )
        await bot.dispatcher.wait_idle()

    for way, one, [message] in zip(WAYS, people, answers, strict=True):
        shown = message.versions[-1].html
        opened = {"telegram": '<blockquote class="expandable">', "discord": '<span class="spoiler">'}.get(one.platform)
        if show == "quote" and opened:
            assert shown.count(opened) == 1 and "First I multiply." in shown.partition(opened)[2], (way, shown)
            assert message.text.startswith("It is 51."), way
        else:
            assert message.text == "It is 51.", way
        why = one.messages[-1].text
        assert "First I multiply." in why and "characters, begins with:" in why, (way, why)
        assert "href" not in shown and "href" not in one.messages[-1].versions[-1].html, way
    assert previews(world) == []
