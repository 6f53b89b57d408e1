"""Agents of frameworks behind the adapters that we ship: the same promises with each, on every platform."""

from __future__ import annotations

import asyncio
import importlib.util
import re
from pathlib import Path

import pytest

from playground.model import Reply
from tests.journeys.conftest import ROOT, Process, Start, World
from tests.journeys.test_approvals import ALLOW, REFUSE, asked
from tests.journeys.test_controls import PLATFORMS, Room
from tests.journeys.test_kill import STAGES, at_stage
from tests.journeys.test_own_agent import FOUND, LONG, looks
from tests.journeys.test_tools import ask
from tests.patience import PATIENCE

FRAMEWORKS = {
    "pydantic": ("pydantic_ai", "pydantic-ai"),
    "openai_agents": ("agents", "openai-agents"),
    "langgraph": ("langgraph", "langgraph"),
    "ag_ui": ("aiohttp", ""),
}
"""The module in `tests/frameworks`, what it imports, and the extra that brings it."""


DOCUMENTED = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/agents.md").read_text("utf-8"), re.M | re.S)


@pytest.fixture(params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest, world: World) -> str:
    needed, extra = FRAMEWORKS[request.param]
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed: pip install -e '.[{extra}]'")
    world.settings["AGENT"] = f"tests.frameworks.{request.param}:Searching"
    return str(request.param)


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
async def test_the_example_of_the_guide_answers(framework: str, world: World, start: Start, tmp_path: Path) -> None:
    if framework == "ag_ui":
        pytest.skip("its example names a server: the other tests run one")
    [text] = [text for text in DOCUMENTED if f"parley_chat.agents.{framework}" in text]
    (tmp_path / f"guide_{framework}.py").write_text(text.replace("gpt-5-mini", "scripted"))
    (tmp_path / ".env").write_text("")
    world.settings |= {"PARLEY_ENV_FILE": str(tmp_path / ".env"), "AGENT": f"guide_{framework}:agent"}
    world.model.reply(Reply("Leaves."))
    async with start("telegram") as bot:
        [message] = await ask(world, bot, "what is tea made of?")

    assert message.text == "Leaves."


def asking(framework: str, world: World) -> None:
    world.settings["AGENT"] = f"tests.frameworks.{framework}:Asking"


@pytest.fixture(params=PLATFORMS)
def room(request: pytest.FixtureRequest, world: World) -> Room:
    return Room(world, request.param)


async def test_an_answer_with_a_call_stands_whole_in_one_message(
    framework: str, room: Room, start: Start, world: World
) -> None:
    world.model.reply(looks(), Reply("Tea is made of leaves.", words_per_second=20))
    async with start(room.platform) as bot:
        room.ask("what is tea made of?")
        await room.answered(FOUND)
        await bot.dispatcher.wait_idle()
        [message] = room.shown

    assert any("search_web" in version.text for version in message.versions)
    assert (len(world.model.requests), len(world.tavily.requests)) == (2, 1)
    assert world.model.requests[0].messages[-1]["content"].endswith("what is tea made of?"), (
        "not all servers take parts"
    )


async def test_an_allowed_call_runs_once_and_a_refused_one_does_not(
    framework: str, room: Room, start: Start, world: World
) -> None:
    asking(framework, world)
    world.model.reply(looks(), Reply("Tea is made of leaves."), looks(), Reply("Then I leave it."))
    async with start(room.platform):
        room.ask("what is tea made of?")
        card = await asked(room)
        assert "Query: green tea" in card.text and not world.tavily.requests
        room.press(card, ALLOW)
        await room.answered("Tea is made of leaves.")
        assert len(world.tavily.requests) == 1
        number = len(room.shown)
        room.ask("and what else?")
        card = await asked(room, number)
        room.press(card, REFUSE)
        await room.answered("Then I leave it.")

    assert len(world.tavily.requests) == 1
    assert "refused" in str(world.model.requests[-1].messages)


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
async def test_a_call_beside_one_that_interrupts_its_graph_does_not_run_again(world: World, start: Start) -> None:
    """LangGraph runs each of them again when it goes on."""
    if importlib.util.find_spec("langgraph") is None:
        pytest.skip("langgraph is not installed: pip install -e '.[langgraph]'")
    from tests.frameworks.langgraph import NOTED

    asking("langgraph", world)
    NOTED.clear()
    both = Reply("I note it, and look.", calls=(("take_note", {"text": "tea"}), ("search_web", {"query": "green tea"})))
    world.model.reply(both, Reply("Tea is made of leaves."))
    room = Room(world, "telegram")
    async with start("telegram"):
        room.ask("what is tea made of?")
        card = await asked(room)
        assert "Query: green tea" in card.text and NOTED == ["tea"]
        room.press(card, ALLOW)
        await room.answered("Tea is made of leaves.")

    assert NOTED == ["tea"] and len(world.tavily.requests) == 1
    told = str(world.model.requests[-1].messages)
    assert told.count("'take_note'") == 1 and "noted" in told


async def test_stop_closes_the_request_to_the_model(framework: str, world: World, start: Start) -> None:
    world.model.reply(Reply(LONG, words_per_second=20))
    async with start("telegram") as bot:
        world.telegram.person(7, "Ada")
        world.telegram.say(7, "tell me all about tea", person=7)
        await world.telegram.screen.until(lambda screen: any("word2" in one.text for one in screen.of("7")))
        world.telegram.say(7, "/stop", person=7)
        await bot.dispatcher.wait_idle()
        [request] = world.model.requests
        async with asyncio.timeout(PATIENCE):
            while not request.closed_early:
                await asyncio.sleep(0.005)


async def test_a_history_is_told_and_tokens_count(framework: str, world: World, start: Start) -> None:
    world.model.reply(looks(), Reply("Leaves."), Reply("Water."))
    async with start("telegram") as bot:
        await ask(world, bot, "what is tea made of?")
        await ask(world, bot, "and what else?")
        record = await bot.store.turns.find_record(1)

    told = [one["role"] for one in world.model.requests[-1].messages if one["content"] != "Let me look."]
    assert told.count("tool") == 1 and told[-2:] == ["assistant", "user"]
    assert record is not None and record.usage.prompt > 0


@pytest.mark.parametrize("stage", STAGES)
async def test_a_kill_at_any_stage_loses_nothing_and_repeats_nothing(
    framework: str, stage: str, world: World, process: Process
) -> None:
    await at_stage(stage, world, process)


@pytest.mark.soak
@pytest.mark.parametrize("time", range(20))
@pytest.mark.parametrize("stage", STAGES)
async def test_twenty_kills_at_every_stage(
    framework: str, stage: str, time: int, world: World, process: Process
) -> None:
    await at_stage(stage, world, process)
