"""What a graph of LangGraph is told of a question, and where it stands, as text, while a person is asked."""

from __future__ import annotations

import base64
import zlib
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, convert_to_messages
from langgraph.checkpoint.memory import InMemorySaver

from parley_chat.agent import Question, Used
from parley_chat.agents import read_messages

CONFIG: Any = {"configurable": {"thread_id": "turn"}}
_MOST_STATE = 256 * 1024
"""Characters of a `Checkpoint`: a larger one would fail the answer."""
_SERDE = InMemorySaver().serde


def pack(value: Any) -> str:
    """Return values of any type that graphs may hold as text."""
    return base64.b64encode(zlib.compress(_SERDE.dumps_typed(value)[1])).decode()


def unpack(text: str) -> Any:
    """Return what `pack` was given."""
    return _SERDE.loads_typed(("msgpack", zlib.decompress(base64.b64decode(text))))


async def dump(saver: InMemorySaver) -> str:
    """Return where a graph and its subgraphs stand."""
    newest: dict[str, Any] = {}
    async for one in saver.alist(CONFIG):
        newest.setdefault(one.config["configurable"].get("checkpoint_ns", ""), one)
    return pack([[space, one.checkpoint, one.metadata, one.pending_writes] for space, one in newest.items()])


async def checkpoint_of(saver: InMemorySaver) -> str:
    """Return the same, or nothing if it is too large to be kept."""
    text = await dump(saver)
    return text if len(text) <= _MOST_STATE else ""


async def load(saver: InMemorySaver, stored: list[Any]) -> None:
    """Bring a graph back to where it stood when `dump` packed this."""
    for space, checkpoint, metadata, writes in stored:
        config: Any = {"configurable": {**CONFIG["configurable"], "checkpoint_ns": space}}
        config = await saver.aput(config, checkpoint, metadata, checkpoint["channel_versions"])
        for task in dict.fromkeys(task for task, *_ in writes):
            await saver.aput_writes(config, [(channel, value) for id, channel, value in writes if id == task], task)


def read_history(question: Question) -> list[Any]:
    """Return the messages of a question as the framework's own."""
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


def open_calls(messages: list[Any]) -> tuple[int, list[Any], list[Any]]:
    """Return the place of the last answer of a model, its calls without a result, and those with one."""
    place = max((place for place, one in enumerate(messages) if isinstance(one, AIMessage)), default=0)
    ended = {one.tool_call_id for one in messages[place + 1 :] if isinstance(one, ToolMessage)}
    calls = getattr(messages[place], "tool_calls", []) if messages else []
    return place, [one for one in calls if one["id"] not in ended], [one for one in calls if one["id"] in ended]


def messages_in(update: Any) -> list[Any]:
    """Return the messages that a node has added, in whatever form it wrote them."""
    updates = update if isinstance(update, list) else [update]
    added = [one.get("messages") or [] for one in updates if isinstance(one, dict)]
    return [one for some in added for one in convert_to_messages(some if isinstance(some, list) else [some])]


def text_of(message: Any) -> str:
    """Return the text of a message, in whatever version of the framework."""
    return str(message.text if isinstance(message.text, str) else message.text())


def used_for(message: AIMessage, provider: str) -> Used:
    """Return what a model used for a message."""
    used: Any = message.usage_metadata or {}
    model, cached = message.response_metadata.get("model_name", ""), used.get("input_token_details", {})
    counts = {"prompt": used.get("input_tokens", 0), "completion": used.get("output_tokens", 0)}
    return Used(model=model and f"{provider}:{model}", cached=cached.get("cache_read", 0), **counts)
