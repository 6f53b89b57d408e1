"""Agents of frameworks behind the adapters that we ship: the same promises with each, on every platform."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from playground.faults import Fault
from playground.model import Reply
from tests.journeys.conftest import ROOT, Process, Start, World
from tests.journeys.test_approvals import ALLOW, REFUSE, asked
from tests.journeys.test_controls import GO_ON, PLATFORMS, Room
from tests.journeys.test_kill import STAGES, at_stage
from tests.journeys.test_own_agent import FOUND, LONG, looks
from tests.journeys.test_tools import ask
from tests.ownagents import NOTED
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
    module = f"parley_chat.agents.{framework}"
    [text] = [text for text in DOCUMENTED if module in text and "langchain.agents" not in text]
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


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_call_beside_one_that_asks_does_not_run_again(
    framework: str, world: World, start: Start, allowed: bool
) -> None:
    """LangGraph runs each of them again when it goes on."""
    if framework == "ag_ui":
        pytest.skip("its agent makes one call at a time")
    asking(framework, world)
    NOTED.clear()
    both = Reply("I note it, and look.", calls=(("take_note", {"text": "tea"}), ("search_web", {"query": "green tea"})))
    world.model.reply(both, Reply("Tea is made of leaves."))
    room = Room(world, "telegram")
    async with start("telegram"):
        room.ask("what is tea made of?")
        card = await asked(room)
        assert "Query: green tea" in card.text and NOTED == ["tea"]
        room.press(card, ALLOW if allowed else REFUSE)
        await room.answered("Tea is made of leaves.")

    assert NOTED == ["tea"] and len(world.tavily.requests) == allowed
    told = str(world.model.requests[-1].messages)
    assert told.count("'take_note'") == 1 and "noted" in told


async def test_what_was_done_since_a_refusal_is_not_done_again_after_a_kill(
    framework: str, world: World, process: Process
) -> None:
    if framework == "ag_ui":
        pytest.skip("its agent has one tool")
    asking(framework, world)
    held = asyncio.Event()
    world.model.reply(
        looks(),
        Reply("Then I note it.", calls=(("take_note", {"text": "tea"}),)),
        Reply(hang_before_headers=True, until=held),
        Reply("It is noted."),
    )
    room = Room(world, "telegram")
    await process.start()
    await room.until(lambda: any(call.method == "getMe" for call in world.telegram.calls))
    room.ask("what is tea made of?")
    room.press(await asked(room), REFUSE)
    await room.until(lambda: len(world.model.requests) == 3)
    await process.kill()
    held.set()
    await process.start()
    await room.until(lambda: any("It is noted." in one.text for one in room.shown))

    told = str(world.model.requests[3].messages)
    assert told.count("'take_note'") == 1 and "noted" in told and "refused" in told and not world.tavily.requests


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


async def test_a_result_that_is_the_answer_is_shown(world: World, start: Start) -> None:
    if importlib.util.find_spec("agents") is None:
        pytest.skip("agents is not installed: pip install -e '.[openai-agents]'")
    world.settings["AGENT"] = "tests.frameworks.openai_agents:Ending"
    world.model.reply(looks())
    async with start("telegram") as bot:
        [message] = await ask(world, bot, "what is tea made of?")

    assert message.text.startswith("Let me look.\n\n") and len(message.text) > len("Let me look.\n\n")


async def test_a_call_for_another_program_is_not_asked_about_and_the_log_says_what_to_do(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    if importlib.util.find_spec("pydantic_ai") is None:
        pytest.skip("pydantic_ai is not installed: pip install -e '.[pydantic-ai]'")
    world.settings["AGENT"] = "tests.frameworks.pydantic:Deferring"
    world.model.reply(looks())
    async with start("telegram") as bot:
        [message] = await ask(world, bot, "what is tea made of?")

    assert "asking again does not help" in message.text
    assert "defers search_web to another program" in caplog.text and "requires_approval" in caplog.text


def test_the_banner_of_pydantic_ai_is_off_where_an_agent_or_a_terminal_would_get_it() -> None:
    if importlib.util.find_spec("pydantic_ai") is None:
        pytest.skip("pydantic_ai is not installed: pip install -e '.[pydantic-ai]'")
    text = (
        "import asyncio, pydantic_ai as ai\n"
        "from pydantic_ai.models.test import TestModel\n"
        "from parley_chat.agent import Message, Question\n"
        "from parley_chat.agents.pydantic_ai import PydanticAgent\n"
        "messages = (Message(role='user', text='tea?'),)\n"
        "question = Question(turn='t', attempt=1, chat='c', person='p', name='', language='', zone='', "
        "instructions='', messages=messages)\n"
        "async def ask():\n"
        "    return [one async for one in PydanticAgent(ai.Agent(TestModel())).answer(question)]\n"
        "print(len(asyncio.run(ask())))\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CI"))}
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment | {"CODEX_CI": "1"}, capture_output=True, text=True, check=True
    )

    assert int(done.stdout) > 1 and done.stderr == ""


@pytest.fixture
def nodes(world: World) -> list[str]:
    """What the nodes of a graph have done."""
    if importlib.util.find_spec("langgraph") is None:
        pytest.skip("langgraph is not installed: pip install -e '.[langgraph]'")
    from tests.frameworks.langgraph_nodes import RAN

    world.settings["AGENT"] = "tests.frameworks.langgraph_nodes:Asking"
    RAN.clear()
    return RAN


async def test_a_node_that_interrupts_its_graph_asks_by_a_card_and_goes_on_with_the_answer(
    nodes: list[str], room: Room, start: Start, world: World
) -> None:
    async with start(room.platform):
        room.ask("buy me tea")
        card = await asked(room)
        assert "approve" in card.text and "Sencha" in card.text and "250" in card.text
        assert nodes == ["plan", "weigh"]
        room.press(card, ALLOW)
        await room.until(lambda: len(room.shown) > 1)
        card = await asked(room, 1)
        assert "Bought." in card.text and "Wrap it?" in card.text
        room.press(card, REFUSE)
        await room.answered("Not wrapped.")

    assert nodes == ["plan", "weigh", "approve True", "wrap False"] and len(world.tavily.requests) == 1


async def test_a_node_that_was_refused_is_told_so(nodes: list[str], start: Start, world: World) -> None:
    room = Room(world, "telegram")
    async with start("telegram"):
        room.ask("buy me tea")
        room.press(await asked(room), REFUSE)
        await room.until(lambda: len(room.shown) > 1)
        assert "Left it." in (await asked(room, 1)).text

    assert nodes == ["plan", "weigh", "approve False"] and not world.tavily.requests


@pytest.mark.parametrize("agent", ["Stopping", "StoppingAfter"])
async def test_a_graph_that_stops_and_asks_nobody_is_not_asked_again_and_the_log_says_what_to_do(
    nodes: list[str], start: Start, world: World, agent: str, caplog: pytest.LogCaptureFixture
) -> None:
    world.settings["AGENT"] = f"tests.frameworks.langgraph_nodes:{agent}"
    async with start("telegram") as bot:
        [message] = await ask(world, bot, "buy me tea")

    assert "interrupt_before" in caplog.text and "interrupt()" in caplog.text
    assert "asking again does not help" in message.text and GO_ON not in message.buttons


@pytest.mark.parametrize("held", ["in the node that was allowed", "in a later node", "in a later tool"])
async def test_a_node_that_was_allowed_is_done_once_whenever_the_program_is_killed(
    nodes: list[str], world: World, process: Process, held: str
) -> None:
    """Whether the first had its effect is not known, so the person is asked again."""
    agent = "Calling" if held == "in a later tool" else "Working"
    world.settings["AGENT"] = f"tests.frameworks.langgraph_nodes:{agent}"
    room = Room(world, "telegram")
    place = 0 if held.startswith("in the node") else 1
    await process.start()
    await room.until(lambda: any(call.method == "getMe" for call in world.telegram.calls))
    for _ in range(place):
        world.tavily.faults.add("search", Fault())
    fault = world.tavily.faults.add("search", Fault(hold=asyncio.Event()))
    room.ask("buy me tea")
    room.press(await asked(room), ALLOW)
    async with asyncio.timeout(PATIENCE):
        await fault.reached.wait()
    await process.kill()
    world.tavily.faults.clear()
    await process.start()
    if place == 0:
        await room.until(lambda: len(room.shown) > 1 and ALLOW in room.shown[1].buttons)
        room.press(room.shown[1], REFUSE)
    await room.until(lambda: any("Weighed." in one.text for one in room.shown))

    searched = [request.body["query"] for request in world.tavily.requests]
    # The code of a node runs again, unless a person allowed it; a tool does not.
    assert searched == ["Sencha", "weights", *(["weights"] if held == "in a later node" else [])]


@pytest.mark.parametrize("agent", ["Chatting", "Nested"])
async def test_a_graph_may_name_its_nodes_as_it_likes_and_hand_back_all_messages(
    nodes: list[str], start: Start, world: World, agent: str
) -> None:
    world.settings["AGENT"] = f"tests.frameworks.langgraph_nodes:{agent}"
    world.model.reply(looks(), Reply("Tea is made of leaves."), Reply("Of water."))
    async with start("telegram") as bot:
        [first] = await ask(world, bot, "what is tea made of?")
        second = (await ask(world, bot, "and what else?"))[-1]
        records = [await bot.store.turns.list_calls(turn) for turn in (1, 2)]

    assert (first.text, second.text) == (FOUND, "Of water.")
    assert [len(one) for one in records] == [1, 0] and len(world.tavily.requests) == 1


@pytest.mark.parametrize("agent", ["ChattingAsking", "NestedAsking"])
@pytest.mark.parametrize("allowed", [True, False])
async def test_a_tool_of_such_a_graph_asks(
    nodes: list[str], start: Start, world: World, agent: str, allowed: bool
) -> None:
    world.settings["AGENT"] = f"tests.frameworks.langgraph_nodes:{agent}"
    call = (("search_if_allowed", {"query": "green tea"}),)
    world.model.reply(Reply("Let me look.", calls=call), Reply("Tea is made of leaves."))
    room = Room(world, "telegram")
    async with start("telegram") as bot:
        room.ask("what is tea made of?")
        card = await asked(room)
        room.press(card, ALLOW if allowed else REFUSE)
        await room.answered("Tea is made of leaves.")
        await bot.dispatcher.wait_idle()
        records = await bot.store.turns.list_calls(2)

    assert "search_if_allowed" in card.text and "Query: green tea" in card.text
    assert len(world.tavily.requests) == allowed == len(records)


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_call_in_the_same_node_as_one_that_asks_does_not_run_again(
    nodes: list[str], start: Start, world: World, allowed: bool
) -> None:
    world.settings["AGENT"] = "tests.frameworks.langgraph_nodes:ChattingAsking"
    NOTED.clear()
    calls = (("take_note", {"text": "tea"}), ("search_if_allowed", {"query": "green tea"}))
    world.model.reply(Reply("I note it, and look.", calls=calls), Reply("Tea is made of leaves."))
    room = Room(world, "telegram")
    async with start("telegram"):
        room.ask("what is tea made of?")
        card = await asked(room)
        assert "Query: green tea" in card.text and NOTED == ["tea"]
        room.press(card, ALLOW if allowed else REFUSE)
        await room.answered("Tea is made of leaves.")

    assert NOTED == ["tea"] and len(world.tavily.requests) == allowed
    told = str(world.model.requests[-1].messages)
    assert told.count("'take_note'") == 1 and "noted" in told


async def test_what_a_model_writes_in_a_tool_is_not_the_answer(nodes: list[str], start: Start, world: World) -> None:
    world.settings["AGENT"] = "tests.frameworks.langgraph_nodes:Thinking"
    call = (("search_by_asking", {"query": "green tea"}),)
    world.model.reply(Reply("Let me look.", calls=call), Reply("Hm, tea."), Reply("Tea is made of leaves."))
    async with start("telegram") as bot:
        [message] = await ask(world, bot, "what is tea made of?")

    assert message.text == FOUND and "Hm, tea." in str(world.model.requests[-1].messages)


async def test_what_a_model_said_and_a_node_repeats_is_told_once(nodes: list[str], start: Start, world: World) -> None:
    world.settings["AGENT"] = "tests.frameworks.langgraph_nodes:Writing"
    world.model.reply(Reply("research"), Reply("Tea is made of leaves."))
    async with start("telegram") as bot:
        [message] = await ask(world, bot, "what is tea made of?")

    assert message.text == "Tea is made of leaves.\n\nThat is all."


async def test_what_a_graph_in_the_graph_has_done_since_an_answer_is_not_done_again_after_a_kill(
    nodes: list[str], world: World, process: Process
) -> None:
    world.settings["AGENT"] = "tests.frameworks.langgraph_nodes:Handing"
    held = asyncio.Event()
    world.model.reply(looks(), Reply(hang_before_headers=True, until=held), Reply("Tea is made of leaves."))
    room = Room(world, "telegram")
    await process.start()
    await room.until(lambda: any(call.method == "getMe" for call in world.telegram.calls))
    room.ask("buy me tea")
    room.press(await asked(room), ALLOW)
    await room.until(lambda: len(world.model.requests) == 2)
    await process.kill()
    held.set()
    await process.start()
    await room.until(lambda: any("made of leaves" in one.text for one in room.shown))

    told = str(world.model.requests[2].messages)
    assert told.count("'search_web'") == 1 and "'tool'" in told and len(world.tavily.requests) == 2
