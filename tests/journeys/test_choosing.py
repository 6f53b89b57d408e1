"""A person names a tool, or asks what plainly needs a search: it is done before the model is asked."""

from __future__ import annotations

import pytest

from bot.app import App
from playground.model import Reply
from playground.model.server import ModelRequest
from tests.journeys.conftest import Start, World

ADA = 7


async def ask(world: World, bot: App, text: str) -> str:
    """Say something and return the last message on the screen once everything is answered."""
    before = len(world.telegram.screen.of(str(ADA)))
    world.telegram.person(ADA, "Ada")
    world.telegram.say(ADA, text, person=ADA)
    await world.telegram.screen.until(lambda screen: len(screen.of(str(ADA))) > before)
    await bot.dispatcher.wait_idle()
    return str(world.telegram.screen.of(str(ADA))[-1].text)


def roles(request: ModelRequest) -> list[str]:
    return [message["role"] for message in request.messages]


# Each asks for another tea, so that no search is answered from one before.
NAMED = (
    "/tool search_web green tea",
    "tool search_web white tea",
    "使用工具：search_web: black tea",
    "我需要使用工具：search_web yellow tea",
    'search_web("mint tea")',
)


async def test_a_named_tool_runs_at_once_and_the_model_answers_from_its_result(world: World, start: Start) -> None:
    async with start("telegram", TOOL_MODE="native") as bot:
        for number, text in enumerate(NAMED, 1):
            world.model.reply(Reply(f"Tea number {number} is not fermented."))

            assert await ask(world, bot, text) == f"Tea number {number} is not fermented.", text
            assert len(world.tavily.requests) == len(world.model.requests) == number, text
            request = world.model.requests[-1]
            assert roles(request)[-3:] == ["user", "assistant", "tool"], text
            assert request.messages[-3]["content"] == text


async def test_a_named_tool_that_does_not_exist_is_told_without_asking_the_model(world: World, start: Start) -> None:
    async with start("telegram") as bot:
        answer = await ask(world, bot, "/tool serch_web tea")
        world.model.reply(Reply("Hello."))
        await ask(world, bot, "please tell me about tea")

    assert "Did you mean search_web" in answer
    assert len(world.model.requests) == 1
    assert not any("serch" in str(message) for message in world.model.requests[0].messages)


async def test_a_named_tool_is_asked_again_by_retry(world: World, start: Start) -> None:
    world.model.reply(Reply("Bad."), Reply("Good."))
    async with start("telegram", TOOL_MODE="native") as bot:
        await ask(world, bot, "/tool search_web green tea")
        answer = await ask(world, bot, "/retry")

    assert answer == "Good."
    assert world.model.requests[-1].messages[-3]["content"] == "/tool search_web green tea"
    assert roles(world.model.requests[-1]).count("tool") == 1


async def test_with_pre_search_the_first_pass_has_the_results(world: World, start: Start) -> None:
    world.model.reply(Reply("Here is the news."), Reply("A leaf."))
    async with start("telegram", TOOL_MODE="native", PRE_SEARCH="true") as bot:
        await ask(world, bot, "what is the latest news about solar energy?")
        await ask(world, bot, "please describe a tea leaf")

    assert roles(world.model.requests[0])[-2:] == ["assistant", "tool"]
    assert roles(world.model.requests[1])[-1] == "user"
    assert len(world.tavily.requests) == 1


async def test_without_the_setting_nothing_is_searched_ahead(world: World, start: Start) -> None:
    world.model.reply(Reply("I do not know."))
    async with start("telegram", TOOL_MODE="native") as bot:
        await ask(world, bot, "what is the latest news about solar energy?")

    assert roles(world.model.requests[0])[-1] == "user"
    assert not world.tavily.requests


@pytest.mark.parametrize(("said", "offered"), [('["search_web"]', ["search_web"]), ("[]", None)])
async def test_a_small_model_decides_which_tools_the_large_one_is_told_of(
    world: World, start: Start, said: str, offered: list[str] | None
) -> None:
    world.model.reply(Reply(said), Reply("An answer."))
    world.model.models.append("small")
    async with start("telegram", TOOL_MODE="native", TOOL_CHOICE_MODEL="openai:small") as bot:
        answer = await ask(world, bot, "please tell me about tea")

    assert answer == "An answer."
    small, large = world.model.requests
    assert (small.body["model"], large.body["model"]) == ("small", "scripted")
    assert "tools" not in small.body
    assert [tool["function"]["name"] for tool in large.body.get("tools", [])] == (offered or [])


async def test_a_small_model_that_fails_costs_no_tool_and_no_answer(world: World, start: Start) -> None:
    world.model.reply(Reply(status=500), Reply(status=500), Reply(status=500), Reply("An answer."))
    async with start("telegram", TOOL_MODE="native", TOOL_CHOICE_MODEL="openai:scripted") as bot:
        answer = await ask(world, bot, "please tell me about tea")

    assert answer == "An answer."
    assert world.model.requests[-1].body["tools"]
