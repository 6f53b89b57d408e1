"""The agent of `tests/ownagents.py`, written with LangGraph."""

from __future__ import annotations

import os
import warnings

from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent
from pydantic import SecretStr

from parley_chat.agents.langgraph import LangGraphAgent
from tests.ownagents import search


async def search_web(query: str) -> str:
    """Search the web."""
    return await search(query)


class Searching(LangGraphAgent):
    asks: tuple[str, ...] = ()

    def __init__(self) -> None:
        model = ChatOpenAI(
            model="scripted",
            base_url=os.environ["OPENAI_BASE_URL"],
            api_key=SecretStr(os.environ["OPENAI_API_KEY"]),
            stream_usage=True,
        )
        with warnings.catch_warnings(action="ignore"):  # it has moved to another package
            graph = create_react_agent(model, [search_web])
        super().__init__(graph, reads={"search_web"}, asks=self.asks)


class Asking(Searching):
    asks = ("search_web",)
