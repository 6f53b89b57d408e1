"""What others add to the running bot without changing it: tools, and model servers."""

from __future__ import annotations

from pathlib import Path

from bot.model import use_providers
from playground.model import Reply
from tests.journeys.conftest import Start, World
from tests.journeys.test_tools import ask

DICE = '''
from parley_chat.tool import tool

@tool(category="fun", verb="Rolling a die", icon="🎲")
async def roll_dice(sides: int = 6) -> str:
    """Roll one die.

    Args:
        sides: How many sides it has. Example: 20
    """
    return f"It shows {sides - 1} of {sides}."
'''


async def test_a_tool_in_a_file_is_called_and_a_broken_one_beside_it_is_only_named(
    world: World, start: Start, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "dice.py").write_text(DICE)
    (folder / "broken.py").write_text("import a_library_that_nobody_has\n")
    world.model.reply(Reply(calls=(("roll_dice", {"sides": 20}),)), Reply("You rolled 19."))
    async with start("telegram", TOOL_MODE="native", TOOLS_DIR=str(folder)) as bot:
        [message] = await ask(world, bot, "please roll a die of twenty sides for me")

        assert "a_library_that_nobody_has" in bot.registry.broken["broken.py"]

    assert message.text == "You rolled 19."
    offered = [tool["function"]["name"] for tool in world.model.requests[0].body["tools"]]
    assert "roll_dice" in offered and "broken" not in str(offered)
    assert "It shows 19 of 20." in world.model.requests[1].messages[-1]["content"]


async def test_a_question_is_answered_by_a_model_server_of_the_operator_s_file(
    world: World, start: Start, tmp_path: Path
) -> None:
    file = tmp_path / "providers.toml"
    file.write_text(f'[office]\nbase_url = "{world.model.base_url}"\n')
    world.model.reply(Reply("Tea is made of leaves."))
    async with start(
        "telegram", PROVIDERS_FILE=str(file), MODEL="office:scripted", OFFICE_API_KEY="sk-loopback-key"
    ) as bot:
        [message] = await ask(world, bot, "please tell me about tea")
    use_providers(())

    assert (message.text, world.model.requests[0].body["model"]) == ("Tea is made of leaves.", "scripted")
