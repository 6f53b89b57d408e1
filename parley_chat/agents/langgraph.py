"""A graph of LangGraph as Parley's agent; needs `langgraph`, and the package of its model."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Collection
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langgraph.checkpoint.memory import InMemorySaver

from parley_chat.agent import Ask, Call, Event, Question, Result, Text, Used


class LangGraphAgent:
    """Answers with a compiled graph whose state has `messages`, as `create_react_agent` makes it.

    Parley hands it what was done before a restart, so its own checkpoints are not used: they would run a tool again.
    """

    def __init__(
        self,
        graph: Any,
        *,
        asks: Collection[str] = (),
        reads: Collection[str] = (),
        nodes: tuple[str, str] = ("agent", "tools"),
        provider: str = "openai",
    ) -> None:
        """`asks` are tools that a person must allow; `reads` change nothing: a restart may call them again; `nodes` are
        the node that asks the model, and the one that runs the tools."""
        self._graph, self._asks, self._reads, self._provider = graph, asks, reads, provider
        self._model, self._tools = nodes

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        graph, config = (
            self._graph.copy({"checkpointer": InMemorySaver()}),
            {"configurable": {"thread_id": question.turn}},
        )
        told, given = _history(question), None
        if (decision := question.decision) is not None:
            told, node = messages_from_dict(json.loads(decision.state)), self._model
            if decision.allowed:
                yield self._call(told[-1].tool_calls[0])
            else:
                told, node = [*told, ToolMessage("The person refused it.", tool_call_id=decision.call.id)], self._tools
            await graph.aupdate_state(config, {"messages": told}, as_node=node)
        else:
            given = {"messages": told}
        async for mode, event in graph.astream(given, config, stream_mode=["messages", "updates"]):
            if mode == "messages":
                chunk, about = event
                if isinstance(chunk, AIMessageChunk) and about["langgraph_node"] == self._model:
                    yield Text(chunk.text if isinstance(chunk.text, str) else chunk.text())
                continue
            for message in [one for update in event.values() for one in (update or {}).get("messages", [])]:
                told.append(message)
                if isinstance(message, ToolMessage):
                    yield Result(id=message.tool_call_id, text=str(message.content), ok=message.status != "error")
                elif isinstance(message, AIMessage):
                    yield self._used(message)
                    for call in message.tool_calls:
                        if call["name"] in self._asks:
                            # The graph does not go on; other calls of this message are left out.
                            told[-1] = message.model_copy(update={"tool_calls": [call], "additional_kwargs": {}})
                            yield Ask(call=self._call(call), state=json.dumps(messages_to_dict(told)))
                            return
                    for call in message.tool_calls:
                        yield self._call(call)

    def _call(self, call: Any) -> Call:
        return Call(id=call["id"], name=call["name"], arguments=call["args"], effects=call["name"] not in self._reads)

    def _used(self, message: AIMessage) -> Used:
        used: Any = message.usage_metadata or {}
        model, cached = message.response_metadata.get("model_name", ""), used.get("input_token_details", {})
        return Used(
            model=model and f"{self._provider}:{model}",
            prompt=used.get("input_tokens", 0),
            completion=used.get("output_tokens", 0),
            cached=cached.get("cache_read", 0),
        )


def _history(question: Question) -> list[Any]:
    messages: list[Any] = [SystemMessage(question.instructions)] if question.instructions else []
    files = [(one.media_type, base64.b64encode(one.content).decode()) for one in question.files]
    addresses = [f"data:{kind};base64,{content}" for kind, content in files if kind.startswith("image/")]
    pictures = [{"type": "image_url", "image_url": {"url": one}} for one in addresses]
    for place, one in enumerate(question.messages, question.done - len(question.messages)):
        if one.role == "user":
            shown = [{"type": "text", "text": one.text}, *pictures] if pictures and place == -1 else one.text
            messages.append(HumanMessage(shown))
        elif one.role == "assistant":
            calls = [{"id": call.id, "name": call.name, "args": dict(call.arguments)} for call in one.calls]
            messages.append(AIMessage(one.text, tool_calls=calls))
        else:
            messages.append(ToolMessage(one.text, tool_call_id=one.call))
    return messages
