"""What an agent behind AG-UI is sent of a question, and what it sends of a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parley_chat.agent import Message, Question
from parley_chat.agents import written


def write_input(question: Question) -> dict[str, Any]:
    """Return the body of a request for a run."""
    decided = [{"interruptId": one.state, "payload": {"approved": one.allowed}} for one in [question.decision] if one]
    return {
        "threadId": question.chat,
        "runId": f"{question.turn}-{question.attempt}",
        "messages": [_message(one, f"m{place}") for place, one in enumerate(question.messages)],
        "context": [{"description": "instructions", "value": question.instructions}],
        "tools": [],
        "state": {},
        "forwardedProps": {},
        **({"resume": [one | {"status": "resolved"} for one in decided]} if decided else {}),
    }


def _message(message: Message, id: str) -> dict[str, Any]:
    told = {"id": id, "role": message.role, "content": message.text}
    if message.role == "tool":
        return told | {"toolCallId": message.call}
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": written(one)}}
        for one in message.calls
    ]
    return told | ({"toolCalls": calls} if calls else {})


def text_of(content: Any) -> str:
    """Return a result, which can have parts, as text."""
    parts = content if isinstance(content, list) else [{"text": content}]
    return "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts)


def is_earlier(interrupt: Mapping[str, Any]) -> bool:
    """Return True if another Parley only repeats what an earlier run asked: its card is in the chat."""
    return bool(((interrupt.get("metadata") or {}).get("parley") or {}).get("earlier"))
