"""Graphs of LangGraph that ask in a node of their own, and those that stop where nobody is asked."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import StateGraph, add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt

from parley_chat.agents.langgraph import LangGraphAgent
from tests.ownagents import Body, search

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
