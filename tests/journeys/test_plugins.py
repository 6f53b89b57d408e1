"""A tool of another author in the running bot: called, shown and explained as ours are."""

from __future__ import annotations

from pathlib import Path

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
