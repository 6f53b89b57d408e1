"""Graphs of LangGraph that ask in a node of their own, and those that stop where nobody is asked."""

from __future__ import annotations

import os
from typing import Annotated, Literal, TypedDict

from langchain_core.messages import AIMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import StateGraph, add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt
from pydantic import SecretStr

from parley_chat.agents.langgraph import LangGraphAgent
from tests.ownagents import Body, search, take_note

RAN: list[str] = []


class Shopping(TypedDict):
    messages: Annotated[list[object], add_messages]
    plan: Body


async def plan(state: Shopping) -> Body:
    RAN.append("plan")
    return {"plan": {"tea": "Sencha", "grams": 250}}


async def weigh(state: Shopping) -> Body:
    RAN.append("weigh")
    return {}


async def approve(state: Shopping) -> Body:
    bought = interrupt(state["plan"])
    RAN.append(f"approve {bought}")
    if bought:
        await search(state["plan"]["tea"])
    return {"messages": [AIMessage("Bought." if bought else "Left it.")]}


async def wrap(state: Shopping) -> Body:
    wrapped = interrupt("Wrap it?")
    RAN.append(f"wrap {wrapped}")
    return {"messages": ("ai", "Wrapped." if wrapped else "Not wrapped.")}


def graph() -> StateGraph[Shopping]:
    made = StateGraph(Shopping)
    for node in (plan, weigh, approve, wrap):
        made.add_node(node.__name__, node)
    made.set_entry_point("plan")
    made.add_edge("plan", "weigh")
    made.add_edge("plan", "approve")
    made.add_edge("approve", "wrap")
    return made


class Asking(LangGraphAgent):
    def __init__(self) -> None:
        super().__init__(graph().compile())


class Stopping(LangGraphAgent):
    where: Literal["interrupt_before", "interrupt_after"] = "interrupt_before"

    def __init__(self) -> None:
        super().__init__(graph().compile(**{self.where: ["plan"]}))


class StoppingAfter(Stopping):
    where = "interrupt_after"


async def reckon(state: Shopping) -> Body:
    await search("weights")
    return {"messages": [AIMessage("Weighed.")]}


class Working(LangGraphAgent):
    """Works on after the answer to its question."""

    def __init__(self) -> None:
        made = StateGraph(Shopping)
        for node in (plan, approve, reckon):
            made.add_node(node.__name__, node)
        made.set_entry_point("plan")
        made.add_edge("plan", "approve")
        made.add_edge("approve", "reckon")
        super().__init__(made.compile())


async def search_web(query: str) -> str:
    """Search the web."""
    return await search(query)


async def agent(state: Shopping) -> Body:
    if isinstance(state["messages"][-1], ToolMessage):
        return {"messages": [AIMessage("Weighed.")]}
    call = {"name": "search_web", "args": {"query": "weights"}, "id": "call_1"}
    return {"messages": [AIMessage("", tool_calls=[call])]}


class Calling(LangGraphAgent):
    """Calls a tool after the answer to its question."""

    def __init__(self) -> None:
        made = StateGraph(Shopping)
        for node in (plan, approve, agent):
            made.add_node(node.__name__, node)
        made.add_node("tools", ToolNode([search_web]))
        made.set_entry_point("plan")
        made.add_edge("plan", "approve")
        made.add_edge("approve", "agent")
        made.add_edge("tools", "agent")
        made.add_conditional_edges("agent", tools_condition)
        super().__init__(made.compile())


def model() -> ChatOpenAI:
    address, key = os.environ["OPENAI_BASE_URL"], SecretStr(os.environ["OPENAI_API_KEY"])
    return ChatOpenAI(model="scripted", base_url=address, api_key=key, stream_usage=True)


class Chatting(LangGraphAgent):
    """As tutorials write it: a node of any name, which returns all messages."""

    tool = staticmethod(search_web)

    def __init__(self) -> None:
        asked = model().bind_tools([self.tool, take_note])

        async def chatbot(state: Shopping) -> Body:
            return {"messages": [*state["messages"], await asked.ainvoke(state["messages"])]}

        made = StateGraph(Shopping)
        made.add_node("chatbot", chatbot)
        made.add_node("tools", ToolNode([self.tool, take_note]))
        made.set_entry_point("chatbot")
        made.add_edge("tools", "chatbot")
        made.add_conditional_edges("chatbot", tools_condition)
        super().__init__(made.compile())


async def search_if_allowed(query: str) -> str:
    """Search the web."""
    return await search(query) if interrupt({"query": query}) else "The person refused it."


class ChattingAsking(Chatting):
    tool = staticmethod(search_if_allowed)


class Nested(LangGraphAgent):
    """Its one node is a graph, which hands back all messages."""

    behind: type[Chatting] = Chatting

    def __init__(self) -> None:
        made = StateGraph(Shopping)
        made.add_node("clerk", self.behind()._graph)
        made.set_entry_point("clerk")
        super().__init__(made.compile())


class NestedAsking(Nested):
    behind = ChattingAsking


async def search_by_asking(query: str) -> str:
    """Search the web."""
    return str((await model().ainvoke(query)).content)


class Thinking(Chatting):
    """Its tool asks a model, whose words are no answer."""

    tool = staticmethod(search_by_asking)


class Writing(LangGraphAgent):
    """Its nodes write messages of their own with what a model said, as tutorials' teams do; one chooses the way."""

    def __init__(self) -> None:
        async def route(state: Shopping) -> Body:
            said = await model().with_config(tags=["nostream"]).ainvoke(state["messages"])
            return {"plan": {"way": str(said.content)}}

        async def researcher(state: Shopping) -> Body:
            said = await model().ainvoke(state["messages"])
            return {"messages": [AIMessage(str(said.content), name="researcher")]}

        async def writer(state: Shopping) -> Body:
            return {"messages": [{"role": "assistant", "content": "That is all."}]}

        made = StateGraph(Shopping)
        for node in (route, researcher, writer):
            made.add_node(node.__name__, node)
        made.set_entry_point("route")
        made.add_edge("route", "researcher")
        made.add_edge("researcher", "writer")
        super().__init__(made.compile())


class Handing(LangGraphAgent):
    """Hands on to a graph after the answer to its question."""

    def __init__(self) -> None:
        made = StateGraph(Shopping)
        made.add_node("plan", plan)
        made.add_node("approve", approve)
        made.add_node("clerk", Chatting()._graph)
        made.set_entry_point("plan")
        made.add_edge("plan", "approve")
        made.add_edge("approve", "clerk")
        super().__init__(made.compile())
