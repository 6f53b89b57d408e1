"""Agents as LangChain's guide makes them: `create_agent`, with tools and its middleware that asks a person."""

from __future__ import annotations

import os
from typing import ClassVar

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from parley_chat.agents.langgraph import LangGraphAgent
from tests.ownagents import search


@tool  # type: ignore[untyped-decorator]  # installed for this test only
async def search_web(query: str) -> str:
    """Search the web."""
    return await search(query)


@tool  # type: ignore[untyped-decorator]  # the same
async def send_mail(to: str) -> str:
    """Send a mail."""
    return f"Sent to {to}."


class Searching(LangGraphAgent):
    asks: ClassVar[dict[str, object]] = {}
    """What its middleware asks about."""

    def __init__(self) -> None:
        model = ChatOpenAI(
            model="scripted",
            base_url=os.environ["OPENAI_BASE_URL"],
            api_key=SecretStr(os.environ["OPENAI_API_KEY"]),
            stream_usage=True,
        )
        middleware = [HumanInTheLoopMiddleware(**self.asks)] if self.asks else []
        graph = create_agent(
            model,
            [search_web, send_mail],
            system_prompt="Be brief.",
            middleware=middleware,
            checkpointer=InMemorySaver(),
        )
        super().__init__(graph, reads={"search_web"})


class Asking(Searching):
    """Asks about all calls of an answer at once, as the middleware does unless told otherwise."""

    asks: ClassVar = {"interrupt_on": {"search_web": True, "send_mail": {"allowed_decisions": ["approve", "respond"]}}}


class AskingEach(Searching):
    """Asks about each call when it begins."""

    asks: ClassVar = {"interrupt_on": {"search_web": True, "send_mail": True}, "interrupt_mode": "per_call"}
