"""The agent of `tests/ownagents.py`, written with LangGraph."""

from __future__ import annotations

import os
import warnings

from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent
from langgraph.types import interrupt
from pydantic import SecretStr

from parley_chat.agents.langgraph import LangGraphAgent
from tests.ownagents import search, take_note


async def search_web(query: str) -> str:
    """Search the web."""
    return await search(query)


async def search_if_allowed(query: str) -> str:
    """Search the web."""
    return await search(query) if interrupt({"query": query}) else "The person refused it."


class Searching(LangGraphAgent):
    tool = staticmethod(search_web)

    def __init__(self) -> None:
        model = ChatOpenAI(
            model="scripted",
            base_url=os.environ["OPENAI_BASE_URL"],
            api_key=SecretStr(os.environ["OPENAI_API_KEY"]),
            stream_usage=True,
        )
        tools = [StructuredTool.from_function(coroutine=self.tool, name="search_web"), take_note]
        with warnings.catch_warnings(action="ignore"):  # it has moved to another package
            graph = create_react_agent(model, tools)
        super().__init__(graph, reads={"search_web"})


class Asking(Searching):
    tool = staticmethod(search_if_allowed)
