"""Servers that are still being started: an allowed call waits for its own, and the model is told of others."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from playground.model import Reply
from tests.bot.conftest import OpenRig, Rig
from tests.bot.turn.test_approvals import buttons, card, press, told
from tests.conftest import RawJson

pytest.importorskip("mcp")
SERVER = Path(__file__).parents[2] / "tools" / "mcp" / "servers" / "plain.py"
NOT_UP = "⚠️ The server of the tool `p__echo` is still starting, so it was not done. Please allow it again in a moment."


@dataclass
class Held:
    """A server that starts when it is let go."""

    folder: Path
    pipe: int

    def release(self) -> None:
        os.write(self.pipe, b"!")

    def configure(self, **more: RawJson) -> str:
        """Write a file for the servers, and return its place."""
        server = {"command": sys.executable, "args": [str(SERVER), "held", str(self.folder / "held")], **more}
        file = self.folder / "mcp.json"
        file.write_text(json.dumps({"mcpServers": {"p": server}}))
        return str(file)


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    monkeypatch.setattr("bot.turn.conversation.SERVERS_SECONDS", 0.0)
    os.mkfifo(tmp_path / "held")
    made = Held(tmp_path, os.open(tmp_path / "held", os.O_RDWR))
    yield made
    os.close(made.pipe)


async def ask(rig: OpenRig, config: str, held: Held) -> tuple[Rig, str]:
    """Let the model want a call that a person has to allow, end the process, and return what is asked."""
    async with rig(MCP_CONFIG=config, TOOL_MODE="native") as it:
        held.release()
        await it.bot.registry.settle(60)
        it.model.reply(Reply(calls=(("p__echo", {}),)))
        [asked] = await it.say("please use the echo tool")
    return it, asked


async def test_an_allowed_call_waits_for_its_server_that_is_still_being_started(rig: OpenRig, held: Held) -> None:
    config = held.configure()
    before, asked = await ask(rig, config, held)
    async with rig(MCP_CONFIG=config, TOOL_MODE="native") as it:
        it.model.reply(Reply("It is done."))
        pressed = asyncio.create_task(press(it, buttons(before)[0]))
        while it.bot.dispatcher.queue.busy == 0 and not pressed.done():
            await asyncio.sleep(0.001)
        assert it.model.requests == [] and "May I do this" in asked
        held.release()

        assert (await pressed)[-1] == "It is done."

    assert "Error" not in str(told(it)[-1]["content"])


async def test_where_its_server_does_not_come_up_in_time_the_card_asks_again(rig: OpenRig, held: Held) -> None:
    before, asked = await ask(rig, held.configure(), held)
    async with rig(MCP_CONFIG=held.configure(startTimeout=0.3), TOOL_MODE="native") as it:
        await press(it, buttons(before)[0])

        assert card(it).body == f"{NOT_UP}\n\n{asked}"
        assert it.model.requests == []
        again = card(it).buttons[0]
    async with rig(MCP_CONFIG=held.configure(), TOOL_MODE="native") as later:
        later.number = it.number
        held.release()
        later.model.reply(Reply("It is done."))
        assert (await press(later, again))[-1] == "It is done."
    assert str(told(later)[-1]["content"]) and "Error" not in str(told(later)[-1]["content"])


async def test_the_model_is_told_which_servers_are_still_being_started(rig: OpenRig, held: Held) -> None:
    async with rig(MCP_CONFIG=held.configure(), TOOL_MODE="native") as it:
        it.model.reply(Reply("Ask me again."), Reply("Now it is there."))
        await it.say("please use the echo tool")
        held.release()
        await it.bot.registry.settle(60)
        await it.say("please use the echo tool again")
    async with rig(MCP_CONFIG=held.configure(), TOOL_MODE="native", TOOLS_OFF="p__*") as closed:
        closed.number = it.number
        closed.model.reply(Reply("I cannot."))
        await closed.say("please use the echo tool")

    first, second = (str(request.body["messages"][0]["content"]) for request in it.model.requests)
    assert "Still being started, and without their tools for a moment: p." in first
    assert "Still being started" not in second
    assert "Still being started" not in str(told(closed)[0]["content"])
