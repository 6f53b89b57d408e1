"""Where a graph of LangGraph stops: what it asks a person, and what it needs to go on with the answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages import messages_to_dict as write
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolNode
from langgraph.types import StateSnapshot

from parley_chat.agent import Ask, Call, Event, Fault, Message, Question
from parley_chat.agents.langgraph_events import Reader
from parley_chat.agents.langgraph_reviews import answers_to, as_call, as_one, calls_in, is_of_node
from parley_chat.agents.langgraph_state import CONFIG, dump, load, messages_in, open_calls, pack, read_history, unpack

_STOPS = "it stops and asks nobody: compile it without interrupt_before and interrupt_after; call interrupt() to ask"


async def standings(graph: Any) -> list[Any]:
    """Return where a graph stands, and then where its subgraphs do."""
    found = [await graph.aget_state(CONFIG, subgraphs=True)]
    for one in found:
        found.extend(task.state for task in one.tasks if isinstance(task.state, StateSnapshot))
    return found


async def question_of(graph: Any, saver: InMemorySaver, reader: Reader) -> Event:
    """Return the question at which a graph stands, about a tool's call or of a node; a fault if it asks nobody."""
    stands, *inner = await standings(graph)
    waiting = [task for task in stands.tasks if task.interrupts]
    if not waiting:
        return Fault(detail=_STOPS, retry=False)
    node, interrupt = waiting[0].name, waiting[0].interrupts[0]
    reviewed = calls_in(interrupt.value)
    if open_calls(reader.told)[1] and reader.node and isinstance(graph.nodes[node].bound, ToolNode) and not reviewed:
        rest = {name: value for name, value in stands.values.items() if name != "messages"}
        return _about_call(reader, rest)
    asking = [one for one in inner if interrupt.id in [task.id for task in one.interrupts]][-1:]
    left = [call for one in asking for call in open_calls(one.values.get("messages", []))[1]]
    if reviewed:
        asked = as_one(reviewed, left or open_calls(reader.told)[1], interrupt.id)
    else:
        asked = left[0] if left else as_call(interrupt, node)
    state = {"graph": await dump(saver), "id": interrupt.id, "node": node, "answers": answers_to(interrupt.value)}
    return Ask(call=Call(id=asked["id"], name=asked["name"], arguments=asked["args"]), state=json.dumps(state))


def _about_call(reader: Reader, rest: dict[str, Any]) -> Ask:
    """Ask about the first call without a result; the graph goes on with it alone: no ended one runs again."""
    told = reader.told
    place, left, done = open_calls(told)
    last, results, asked = told[place], told[place + 1 :], left[0]
    before = [AIMessage(last.content, tool_calls=done), *results] if done else []
    messages = [*told[:place], *before, AIMessage("" if done else last.content, tool_calls=[asked])]
    state = {"messages": write(messages), "rest": pack(rest), "node": reader.node}
    return Ask(call=Call(id=asked["id"], name=asked["name"], arguments=asked["args"]), state=json.dumps(state))


async def go_on(graph: Any, saver: InMemorySaver, text: str, question: Question) -> list[Any]:
    """Bring a graph to where it stood, and give it what is known of the calls since: none runs again."""
    stored, done = unpack(text), question.messages[len(question.messages) - question.done :]
    history = [one for _, checkpoint, _, _ in stored for one in checkpoint["channel_values"].get("messages", [])]
    history += [one for *_, writes in stored for _, name, value in writes for one in messages_in({name: value})]
    known = {call["id"] for one in history if isinstance(one, AIMessage) for call in one.tool_calls}
    [values] = [checkpoint["channel_values"] for space, checkpoint, *_ in stored if not space]
    values["messages"] = [*values.get("messages", []), *_unknown(question, done, known)]
    await load(saver, stored)
    await _tell_outcomes(graph, done)
    return await standings(graph)


def _unknown(question: Question, done: tuple[Message, ...], known: set[str]) -> Iterator[Any]:
    """Yield the calls that were made in subgraphs since, and their results."""
    made = set[str]()
    for one in read_history(replace(question, instructions="", messages=done)):
        if isinstance(one, AIMessage):
            calls = [call for call in one.tool_calls if call["id"] not in known and not is_of_node(call["id"])]
            made |= {call["id"] for call in calls}
            yield from [AIMessage(one.content, tool_calls=calls)] if calls else []
        elif isinstance(one, ToolMessage) and one.tool_call_id in made:
            yield one


async def _tell_outcomes(graph: Any, done: Iterable[Message]) -> None:
    stands = await graph.aget_state(CONFIG)
    left = {call["id"] for call in open_calls(stands.values.get("messages", []))[1]}
    outcomes = [ToolMessage(one.text, tool_call_id=one.call) for one in done if one.call in left]
    if outcomes and stands.next:
        await graph.aupdate_state(CONFIG, {"messages": outcomes}, as_node=stands.next[0])
