"""A graph of LangGraph as Parley's agent; needs `langgraph`, and the package of its model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from typing import Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.messages import messages_from_dict as read
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from parley_chat.agent import Call, Checkpoint, Event, Question, Result, Text
from parley_chat.agents.langgraph_pauses import question_of, tell_outcomes
from parley_chat.agents.langgraph_state import (
    CONFIG,
    checkpoint_of,
    load,
    messages_in,
    open_calls,
    read_history,
    text_of,
    unpack,
    used_for,
)


class LangGraphAgent:
    """Answers with a compiled graph whose state has `messages`; `interrupt()` asks by a card in the chat.

    Parley hands it what was done before a restart: its own checkpoints are not used, they would run a tool again.
    """

    def __init__(
        self,
        graph: Any,
        *,
        reads: Collection[str] = (),
        resume: Callable[[bool], Any] = bool,
        node: str = "agent",
        provider: str = "openai",
    ) -> None:
        """`reads` are tools that may be called again after a restart; `resume` makes what `interrupt()` returns of
        whether a person allowed it; `node` is the node that asks the model."""
        self._graph, self._reads, self._resume, self._node, self._provider = graph, reads, resume, node, provider

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        told, decision, refused, paused = read_history(question), question.decision, "", False
        saver, streamed, given = InMemorySaver(), set[str](), cast("Any", {"messages": told})
        graph = self._graph.copy({"checkpointer": saver})
        state = json.loads(decision.state) if decision is not None else {}
        if kept := question.checkpoint or state.get("graph", ""):
            await load(saver, kept)
            await tell_outcomes(graph, question.messages[len(question.messages) - question.done :])
            told, given = list((await graph.aget_state(CONFIG)).values.get("messages", [])), None
            for call in () if question.done else open_calls(told)[1]:
                yield self._call(call)
        if decision is not None and kept == state.get("graph"):
            given = Command(resume={state["id"]: self._resume(decision.allowed)})
            if decision.allowed:
                yield decision.call
        elif decision is not None and "rest" in state:
            told, given = read(state["messages"]), Command(resume=self._resume(decision.allowed))
            await graph.aupdate_state(CONFIG, {**unpack(state["rest"]), "messages": told}, as_node=self._node)
            refused = "" if decision.allowed else decision.call.id
            if decision.allowed:
                yield self._call(told[-1].tool_calls[0])
        modes = ["messages", "updates", "checkpoints"][: 3 if kept else 2]
        async for mode, event in graph.astream(given, CONFIG, stream_mode=modes, durability="sync"):
            paused |= mode == "updates" and "__interrupt__" in event
            for one in self._translate(mode, event, told, streamed):
                if not (isinstance(one, Result) and one.id == refused):
                    yield one
            if mode == "checkpoints" and (decision is None or decision.call.name not in event["next"]):
                if now := await checkpoint_of(saver):
                    yield Checkpoint(now)
                if decision is not None and decision.allowed:
                    yield Result(id=decision.call.id, text="The person allowed it, and it is done.")
                decision = None
        if paused:
            yield await question_of(graph, saver, told)

    def _translate(self, mode: str, event: Any, told: list[Any], streamed: set[str]) -> Iterator[Event]:
        if mode == "messages" and isinstance(event[0], AIMessageChunk) and event[1]["langgraph_node"] == self._node:
            streamed.add(event[0].id or "")
            yield Text(text_of(event[0]))
        for node, update in event.items() if mode == "updates" else ():
            for message in messages_in(update):
                told.append(message)
                if isinstance(message, ToolMessage):
                    yield Result(id=message.tool_call_id, text=str(message.content), ok=message.status != "error")
                elif isinstance(message, AIMessage):
                    if message.id not in streamed and (node == self._node or not message.response_metadata):
                        yield Text(text_of(message))
                    yield used_for(message, self._provider)
                    yield from map(self._call, message.tool_calls)

    def _call(self, call: Any) -> Call:
        return Call(id=call["id"], name=call["name"], arguments=call["args"], effects=call["name"] not in self._reads)
