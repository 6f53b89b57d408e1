"""With many tools of servers a model is told of some whole and of the rest by name, and may call them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import pytest

from playground.model import Reply
from tests.bot.conftest import OpenRig
from tests.bot.turn.test_conversation import turn_of
from tools.contract.base import Arguments, Json, Tool, ToolContext, ToolResult, ToolSpec
from tools.mcp.source import McpSource

SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What to work on."}},
    "required": ["text"],
}


class Numbered:
    """A tool of a server that has many of the kind."""

    def __init__(self, number: int, ran: list[str]) -> None:
        self.spec = ToolSpec(name=f"box__tool_{number}", purpose=f"Opens drawer {number}.", parameters=SCHEMA)
        self._ran = ran

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        self._ran.append(f"{self.spec.name}({arguments['text']})")
        return ToolResult(text=f"In it lies {arguments['text']}.")

    async def close(self) -> None:
        return None


class Box:
    """A source of forty tools."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self._tools: dict[str, Tool] = {}
        for number in range(40):
            tool = Numbered(number, self.ran)
            self._tools[tool.spec.name] = tool
        self.secrets: tuple[str, ...] = ()
        self.faults: Mapping[str, str] = {}

    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    def tool(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def could_bring(self, pattern: str) -> bool:
        return False

    def starting(self, permits: Callable[[str], bool]) -> tuple[str, ...]:
        return ()

    async def wait_for(self, tool: str) -> None:
        return None

    def start(self) -> None:
        return None

    async def settle(self, seconds: float) -> None:
        return None

    async def close(self) -> None:
        return None


@pytest.mark.parametrize("mode", ["native", "prompt"])
async def test_a_tool_that_is_only_named_runs_when_it_is_called(rig: OpenRig, mode: str) -> None:
    async with rig(TOOL_MODE=mode) as it:
        box = Box()
        it.bot.registry.add_source(cast(McpSource, box))
        call = (("box__tool_39", {"text": "tea"}),)
        it.model.reply(Reply(calls=call, text_calls="" if mode == "native" else "hermes"), Reply("Tea."))
        turn = await turn_of(it, "open drawer 3 for me")
        await turn.run()

        first, second = it.model.requests
        system = str(first.messages[0]["content"])
        named = [spec.name for spec in box.specs() if f"{spec.name}," in system or f"{spec.name}." in system]
        assert it.shown() == ["Tea."]
        assert box.ran == ["box__tool_39(tea)"]
        assert len(named) == 20 and "box__tool_39" in named and "box__tool_3" not in named
        if mode == "native":
            declared = [tool["function"]["name"] for tool in first.body["tools"]]
            assert len([name for name in declared if name.startswith("box__")]) == 20
            assert "box__tool_3" in declared and "box__tool_39" not in declared
            assert "box__tool_39" in [tool["function"]["name"] for tool in second.body["tools"]]


async def test_up_to_twenty_tools_of_servers_leave_no_names_to_tell(rig: OpenRig) -> None:
    async with rig(TOOL_MODE="native") as it:
        it.model.reply(Reply("Well."))
        turn = await turn_of(it, "tell me about tea")
        await turn.run()

        assert "There are more tools" not in str(it.model.requests[0].messages[0]["content"])


async def test_after_a_greeting_nothing_is_declared_or_named(rig: OpenRig) -> None:
    async with rig(TOOL_MODE="native") as it:
        box = Box()
        it.bot.registry.add_source(cast(McpSource, box))
        it.model.reply(Reply("Hello."))
        turn = await turn_of(it, "hello")
        await turn.run()

        assert "tools" not in it.model.requests[0].body
        assert "box__" not in str(it.model.requests[0].messages)


async def test_a_small_model_may_add_what_no_word_led_to_and_the_rest_is_named(rig: OpenRig) -> None:
    async with rig(TOOL_MODE="native", TOOL_CHOICE_MODEL="openai:scripted") as it:
        box = Box()
        it.bot.registry.add_source(cast(McpSource, box))
        it.model.reply(Reply('["box__tool_39", "calculator"]'), Reply("Well."))
        turn = await turn_of(it, "open drawer 3 for me")
        await turn.run()

        chosen, asked = it.model.requests
        system = str(asked.messages[0]["content"])
        assert all(f"- {spec.name}: Opens drawer" in str(chosen.messages) for spec in box.specs())
        assert [tool["function"]["name"] for tool in asked.body["tools"]] == ["calculator", "box__tool_39"]
        assert "box__tool_3," in system and "current_time" in system and "box__tool_39" not in system


async def test_where_a_server_takes_only_calls_of_declared_tools_the_named_one_is_declared(rig: OpenRig) -> None:
    """As Groq says it."""
    said = "Tool call validation failed: attempted to call tool 'box__tool_39' which was not in request.tools"
    async with rig(TOOL_MODE="native") as it:
        box = Box()
        it.bot.registry.add_source(cast(McpSource, box))
        call = (("box__tool_39", {"text": "tea"}),)
        it.model.reply(Reply.refusal(400, said, code="tool_use_failed"), Reply(calls=call), Reply("Tea."))
        turn = await turn_of(it, "open drawer 3 for me")
        await turn.run()

        declared = [[tool["function"]["name"] for tool in one.body["tools"]] for one in it.model.requests]
        assert it.shown() == ["Tea."] and box.ran == ["box__tool_39(tea)"]
        assert ["box__tool_39" in names for names in declared] == [False, True, True]
        assert all(len(names) == len(set(names)) for names in declared)
