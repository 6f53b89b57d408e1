"""The tools of MCP servers in a chat, from the first question on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from playground.model import Reply
from tests.journeys.conftest import Start, World
from tests.patience import PATIENCE

SERVER = Path(__file__).parents[1] / "tools" / "mcp" / "servers" / "plain.py"
ADA = 7


async def test_the_first_question_after_a_start_has_the_tools_of_its_servers(
    world: World, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading what speaks to them takes a second or two, in which somebody may ask."""
    monkeypatch.setattr("bot.turn.conversation.SERVERS_SECONDS", PATIENCE)
    file = world.data / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"p": {"command": sys.executable, "args": [str(SERVER), "pid"]}}}))
    world.model.reply(Reply("Here I am."))
    world.telegram.person(ADA, "Ada")
    world.telegram.say(ADA, "please use the echo tool of p to find out who you are", person=ADA)

    async with start("telegram", TOOL_MODE="native", MCP_CONFIG=str(file)) as bot:
        await world.telegram.screen.until(lambda screen: screen.of(str(ADA)))
        await bot.dispatcher.wait_idle()

    offered = [tool["function"]["name"] for tool in world.model.requests[0].body["tools"]]
    assert "p__echo" in offered
