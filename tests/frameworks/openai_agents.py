"""The agent of `tests/ownagents.py`, written with the OpenAI Agents SDK."""

from __future__ import annotations

import os
from typing import Literal

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, function_tool
from openai import AsyncOpenAI

from parley_chat.agents.openai_agents import OpenAIAgent
from tests.ownagents import search, take_note


async def search_web(query: str) -> str:
    """Search the web."""
    return await search(query)


class Searching(OpenAIAgent):
    asks = False
    ends: Literal["run_llm_again", "stop_on_first_tool"] = "run_llm_again"

    def __init__(self) -> None:
        client = AsyncOpenAI(api_key=os.environ["OPENAI_API_KEY"], base_url=os.environ["OPENAI_BASE_URL"])
        agent = Agent(
            name="clerk",
            model=OpenAIChatCompletionsModel("scripted", client),
            tools=[function_tool(search_web, needs_approval=self.asks), function_tool(take_note)],
            tool_use_behavior=self.ends,
            model_settings=ModelSettings(include_usage=True),
        )
        super().__init__(agent, reads={"search_web"})
        self._client = client

    async def __aenter__(self) -> Searching:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.close()


class Asking(Searching):
    asks = True


class Ending(Searching):
    """What it finds is its answer."""

    ends = "stop_on_first_tool"
