"""Where a graph of LangGraph stops: what it asks a person, and what it needs to go on with the answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages import messages_to_dict as write
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolNode

from parley_chat.agent import Ask, Call, Event, Fault, Message
from parley_chat.agents.langgraph_state import CONFIG, dump, open_calls, pack

_STOPS = "it stops and asks nobody: compile it without interrupt_before and interrupt_after; call interrupt() to ask"


async def question_of(graph: Any, saver: InMemorySaver, told: list[Any]) -> Event:
    """Return the question at which a graph stands, about a tool's call or of a node; a fault if it asks nobody."""
    stands = await graph.aget_state(CONFIG)
    waiting = [(task.name, one) for task in stands.tasks for one in task.interrupts]
    if not waiting:
        return Fault(detail=_STOPS, retry=False)
    name, interrupt = waiting[0]
    rest = {name: value for name, value in stands.values.items() if name != "messages"}
    if open_calls(told)[1] and (not rest or isinstance(graph.nodes[name].bound, ToolNode)):
        return _about_call(told, rest)
    value = json.loads(json.dumps(interrupt.value, default=str))
    arguments = value if isinstance(value, dict) else {"question": value}
    state = {"graph": await dump(saver), "id": interrupt.id}
    return Ask(call=Call(id=f"interrupt-{interrupt.id}", name=name, arguments=arguments), state=json.dumps(state))


def _about_call(told: list[Any], rest: dict[str, Any]) -> Ask:
    """Ask about the first call without a result; the graph goes on with it alone: no ended one runs again."""
    place, left, done = open_calls(told)
    last, results, asked = told[place], told[place + 1 :], left[0]
    before = [AIMessage(last.content, tool_calls=done), *results] if done else []
    messages = [*told[:place], *before, AIMessage("" if done else last.content, tool_calls=[asked])]
    state = {"messages": write(messages), "rest": pack(rest)}
    return Ask(call=Call(id=asked["id"], name=asked["name"], arguments=asked["args"]), state=json.dumps(state))


async def tell_outcomes(graph: Any, done: Iterable[Message]) -> None:
    """Give a graph that goes on after a restart what is known of the calls that it had begun: none runs again."""
    stands = await graph.aget_state(CONFIG)
    left = {call["id"] for call in open_calls(stands.values.get("messages", []))[1]}
    outcomes = [ToolMessage(one.text, tool_call_id=one.call) for one in done if one.call in left]
    if outcomes and stands.next:
        await graph.aupdate_state(CONFIG, {"messages": outcomes}, as_node=stands.next[0])
