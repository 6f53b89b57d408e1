"""The agent of `tests/ownagents.py`, written with pydantic-ai."""

from __future__ import annotations

import os

from pydantic_ai import Agent, Tool
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from parley_chat.agents.pydantic_ai import PydanticAgent
from tests.ownagents import search


async def search_web(query: str) -> str:
    """Search the web."""
    return await search(query)


class Searching(PydanticAgent):
    asks = False

    def __init__(self) -> None:
        provider = OpenAIProvider(base_url=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
        tools = [Tool(search_web, requires_approval=self.asks)]
        super().__init__(Agent(OpenAIChatModel("scripted", provider=provider), tools=tools), reads={"search_web"})


class Asking(Searching):
    asks = True
