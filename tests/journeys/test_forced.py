"""A person who names a tool in a sentence gets a model that has to call it."""

from __future__ import annotations

from playground.model import Reply
from tests.journeys.conftest import Start, World

ADA = 7


async def test_a_tool_that_a_person_names_is_forced_in_the_first_request_alone(world: World, start: Start) -> None:
    world.model.reply(Reply(calls=(("calculator", {"expression": "12*12"}),)), Reply("It is 144."))
    world.telegram.person(ADA, "Ada")
    async with start("telegram", TOOL_MODE="native") as bot:
        world.telegram.say(ADA, "use the calculator tool: how many eggs are a dozen dozens?", person=ADA)
        await world.telegram.screen.until(lambda screen: screen.of(str(ADA)))
        await bot.dispatcher.wait_idle()

    choices = [request.body.get("tool_choice") for request in world.model.requests]
    assert choices == [{"type": "function", "function": {"name": "calculator"}}, None]
    assert world.telegram.screen.of(str(ADA))[-1].text == "It is 144."
