"""The agent of `tests/ownagents.py`, written with pydantic-ai."""

from __future__ import annotations

import os

from pydantic_ai import Agent, CallDeferred, Tool
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from parley_chat.agents.pydantic_ai import PydanticAgent
from tests.ownagents import search, take_note


async def search_web(query: str) -> str:
    """Search the web."""
    return await search(query)


class Searching(PydanticAgent):
    asks = False

    def __init__(self) -> None:
        provider = OpenAIProvider(base_url=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
        tools = [Tool(search_web, requires_approval=self.asks), Tool(take_note)]
        super().__init__(Agent(OpenAIChatModel("scripted", provider=provider), tools=tools), reads={"search_web"})


async def search_elsewhere(query: str) -> str:
    """Search the web."""
    raise CallDeferred


class Deferring(PydanticAgent):
    """Another program runs its tool."""

    def __init__(self) -> None:
        provider = OpenAIProvider(base_url=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
        tools = [Tool(search_elsewhere, name="search_web")]
        super().__init__(Agent(OpenAIChatModel("scripted", provider=provider), tools=tools))


class Asking(Searching):
    asks = True
