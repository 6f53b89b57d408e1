"""What an agent of the OpenAI Agents SDK is told of a question."""

from __future__ import annotations

from typing import Any

from parley_chat.agent import Question
from parley_chat.agents import read_messages, written


def read_history(question: Question) -> list[Any]:
    """Return the messages of a question as items of the SDK."""
    items: list[Any] = [{"role": "system", "content": question.instructions}] if question.instructions else []
    for one, addresses in read_messages(question):
        pictures = [{"type": "input_image", "image_url": address, "detail": "auto"} for address in addresses]
        if one.role == "tool":
            items.append({"type": "function_call_output", "call_id": one.call, "output": one.text})
        elif one.role == "user":
            shown = [{"type": "input_text", "text": one.text}, *pictures] if pictures else one.text
            items.append({"type": "message", "role": "user", "content": shown})
        elif one.text:
            told = {"id": f"msg_{len(items)}", "type": "message", "role": "assistant", "status": "completed"}
            items.append(told | {"content": [{"type": "output_text", "text": one.text, "annotations": []}]})
        for call in one.calls:
            items.append({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": written(call)})
    return items
