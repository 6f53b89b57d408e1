"""LangChain's `create_agent` behind the adapter for LangGraph: tools, streaming, the middleware that asks a person."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from playground.model import Reply
from tests.journeys.conftest import Start, World
from tests.journeys.test_approvals import ALLOW, REFUSE, asked
from tests.journeys.test_controls import PLATFORMS, Room
from tests.journeys.test_frameworks import DOCUMENTED

SEARCH = ("search_web", {"query": "green tea"})
LONG = " ".join(f"word{number}" for number in range(80))
MAIL = ("send_mail", {"to": "Bob"})
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("langchain") is None, reason="langchain is not installed: pip install langchain"
)


@pytest.fixture(params=PLATFORMS)
def room(request: pytest.FixtureRequest, world: World) -> Room:
    return Room(world, request.param)


def use(world: World, agent: str) -> None:
    world.settings["AGENT"] = f"tests.frameworks.langchain:{agent}"


async def test_the_example_of_the_guide_asks_by_a_card(world: World, start: Start, tmp_path: Path) -> None:
    [text] = [text for text in DOCUMENTED if "langchain.agents" in text]
    # The package keeps one connection pool for each address, also for the event loop of another test.
    scripted = f'model="scripted", base_url="{world.environment()["OPENAI_BASE_URL"]}"'
    (tmp_path / "guide_langchain.py").write_text(text.replace('model="gpt-5-mini"', scripted))
    (tmp_path / ".env").write_text("")
    world.settings |= {"PARLEY_ENV_FILE": str(tmp_path / ".env"), "AGENT": "guide_langchain:agent"}
    world.model.reply(Reply("", calls=(("send_mail", {"to": "Bob", "text": "Tea?"}),)), Reply("It is sent."))
    room = Room(world, "telegram")
    async with start("telegram"):
        room.ask("invite Bob to tea")
        card = await asked(room)
        assert "send_mail" in card.text and "Bob" in card.text
        room.press(card, ALLOW)
        await room.answered("It is sent.")

    assert "'content': 'Sent.'" in str(world.model.requests[-1].messages)


async def test_an_agent_of_langchain_answers_with_a_tool_in_one_message(room: Room, start: Start, world: World) -> None:
    use(world, "Searching")
    world.model.reply(Reply("I look.", calls=(SEARCH,)), Reply(LONG, words_per_second=40))
    async with start(room.platform) as bot:
        room.ask("what is tea made of?")
        await room.answered(f"I look.\n\n{LONG}")
        await bot.dispatcher.wait_idle()
        [message] = room.shown

    assert len({version.text for version in message.versions}) > 2, "it grows"
    assert (len(world.model.requests), len(world.tavily.requests)) == (2, 1)
    assert "Be brief." in str(world.model.requests[0].messages)


@pytest.mark.parametrize("agent", ["Asking", "AskingEach"])
@pytest.mark.parametrize("allowed", [True, False])
async def test_its_middleware_asks_by_a_card_about_the_very_call(
    room: Room, start: Start, world: World, agent: str, allowed: bool
) -> None:
    use(world, agent)
    world.model.reply(Reply("I look.", calls=(SEARCH,)), Reply("Tea is made of leaves."))
    async with start(room.platform) as bot:
        room.ask("what is tea made of?")
        card = await asked(room)
        assert "search_web" in card.text and "Query: green tea" in card.text and not world.tavily.requests
        room.press(card, ALLOW if allowed else REFUSE)
        await room.answered("Tea is made of leaves.")
        await bot.dispatcher.wait_idle()
        newest = await bot.store.turns.find_newest()
        calls = [call for turn in range(1, newest + 1) for call in await bot.store.turns.list_calls(turn)]

    assert (len(world.model.requests), len(world.tavily.requests)) == (2, allowed)
    told = str(world.model.requests[-1].messages)
    assert ("rejected" in told or "refused" in told) != allowed
    assert {call.call.name for call in calls} == {"search_web"}


@pytest.mark.parametrize("allowed", [True, False])
async def test_calls_that_it_asks_about_together_are_on_one_card(
    room: Room, start: Start, world: World, allowed: bool
) -> None:
    use(world, "Asking")
    world.model.reply(Reply("I look.", calls=(SEARCH, MAIL)), Reply("Tea is made of leaves."))
    async with start(room.platform):
        room.ask("what is tea made of?")
        card = await asked(room)
        assert "green tea" in card.text and "Bob" in card.text and not world.tavily.requests
        room.press(card, ALLOW if allowed else REFUSE)
        await room.answered("Tea is made of leaves.")

    told = str(world.model.requests[-1].messages)
    assert len(world.tavily.requests) == allowed and ("Sent to Bob." in told) == allowed


async def test_calls_that_it_asks_about_each_are_asked_one_after_another(
    room: Room, start: Start, world: World
) -> None:
    use(world, "AskingEach")
    world.model.reply(Reply("I look.", calls=(SEARCH, MAIL)), Reply("Tea is made of leaves."))
    async with start(room.platform):
        room.ask("what is tea made of?")
        first = await asked(room)
        searches = "green tea" in first.text
        assert searches != ("Bob" in first.text)
        number = len(room.shown)
        room.press(first, ALLOW if searches else REFUSE)
        second = await asked(room, number)
        assert ("Bob" if searches else "green tea") in second.text and len(world.tavily.requests) == searches
        room.press(second, REFUSE if searches else ALLOW)
        await room.answered("Tea is made of leaves.")

    told = str(world.model.requests[-1].messages)
    assert len(world.tavily.requests) == 1 and "Sent to Bob." not in told and "rejected" in told
    assert len(world.model.requests) == 2
