"""A graph of LangGraph as Parley's agent; needs `langgraph`, and the package of its model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Collection
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages import messages_from_dict as read
from langchain_core.messages import messages_to_dict as write
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from parley_chat.agent import Ask, Call, Event, Fault, Question, Result, Text, Used
from parley_chat.agents import read_messages


class LangGraphAgent:
    """Answers with a compiled graph whose state has `messages`; `interrupt()` about a call asks by a card in the chat.

    Parley hands it what was done before a restart, so its own checkpoints are not used: they would run a tool again.
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
        """`reads` are tools that change nothing: a restart may call them again; `resume` makes what `interrupt()`
        returns of whether a person allowed the call; `node` is the node that asks the model."""
        self._graph, self._reads, self._resume, self._node, self._provider = graph, reads, resume, node, provider

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        graph, config = self._graph.copy({"checkpointer": InMemorySaver()}), {"configurable": {"thread_id": "turn"}}
        told, refused = _history(question), ""
        given: Any = {"messages": told}
        if (decision := question.decision) is not None:
            told, given = read(json.loads(decision.state)), Command(resume=self._resume(decision.allowed))
            await graph.aupdate_state(config, {"messages": told}, as_node=self._node)
            refused = "" if decision.allowed else decision.call.id
            if decision.allowed:
                yield self._call(told[-1].tool_calls[0])
        async for mode, event in graph.astream(given, config, stream_mode=["messages", "updates"]):
            if mode == "messages":
                chunk, about = event
                if isinstance(chunk, AIMessageChunk) and about["langgraph_node"] == self._node:
                    yield Text(chunk.text if isinstance(chunk.text, str) else chunk.text())
                continue
            if "__interrupt__" in event:
                yield self._ask(told) if event["__interrupt__"] else Fault(detail="interrupt_before asks nobody")
                return
            for message in [one for update in event.values() for one in (update or {}).get("messages", [])]:
                told.append(message)
                if isinstance(message, ToolMessage) and message.tool_call_id != refused:
                    yield Result(id=message.tool_call_id, text=str(message.content), ok=message.status != "error")
                elif isinstance(message, AIMessage):
                    yield self._used(message)
                    for call in message.tool_calls:
                        yield self._call(call)

    def _ask(self, told: list[Any]) -> Event:
        """Ask about the first call without a result; the graph goes on with it alone: no ended one runs again."""
        place = max((place for place, one in enumerate(told) if isinstance(one, AIMessage)), default=0)
        last, results = told[place], told[place + 1 :]
        ended = {one.tool_call_id for one in results}
        done = [call for call in getattr(last, "tool_calls", ()) if call["id"] in ended]
        left = [call for call in getattr(last, "tool_calls", ()) if call not in done]
        if not left:
            return Fault(detail="the graph asks about no call", retry=False)
        before = [AIMessage(last.content, tool_calls=done), *results] if done else []
        messages = [*told[:place], *before, AIMessage("" if done else last.content, tool_calls=left[:1])]
        return Ask(call=self._call(left[0]), state=json.dumps(write(messages)))

    def _call(self, call: Any) -> Call:
        return Call(id=call["id"], name=call["name"], arguments=call["args"], effects=call["name"] not in self._reads)

    def _used(self, message: AIMessage) -> Used:
        used: Any = message.usage_metadata or {}
        model, cached = message.response_metadata.get("model_name", ""), used.get("input_token_details", {})
        counts = {"prompt": used.get("input_tokens", 0), "completion": used.get("output_tokens", 0)}
        return Used(model=model and f"{self._provider}:{model}", cached=cached.get("cache_read", 0), **counts)


def _history(question: Question) -> list[Any]:
    messages: list[Any] = [SystemMessage(question.instructions)] if question.instructions else []
    for one, pictures in read_messages(question):
        if one.role == "user":
            shown = [{"type": "image_url", "image_url": {"url": address}} for address in pictures]
            messages.append(HumanMessage([{"type": "text", "text": one.text}, *shown] if shown else one.text))
        elif one.role == "assistant":
            calls = [{"id": call.id, "name": call.name, "args": dict(call.arguments)} for call in one.calls]
            messages.append(AIMessage(one.text, tool_calls=calls))
        else:
            messages.append(ToolMessage(one.text, tool_call_id=one.call))
    return messages
