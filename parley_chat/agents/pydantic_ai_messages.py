"""What an agent of pydantic-ai is told of a question, and which of its calls wait."""

from __future__ import annotations

import pydantic_ai as ai
from pydantic_ai import messages as said

from parley_chat.agent import Question
from parley_chat.agents import read_messages


def waiting_calls(history: list[said.ModelMessage]) -> list[str]:
    """Return the ids of the last calls of the model that have no result."""
    last = next(message for message in reversed(history) if isinstance(message, said.ModelResponse))
    ended = {getattr(part, "tool_call_id", "") for part in history[-1].parts} if history[-1] is not last else set()
    return [call.tool_call_id for call in last.tool_calls if call.tool_call_id not in ended]


def read_history(question: Question) -> list[said.ModelMessage]:
    """Return the messages of a question as the framework's own."""
    history: list[said.ModelMessage] = []
    names = dict.fromkeys((message.call for message in question.messages), "")
    for message, addresses in read_messages(question):
        if message.role == "user":
            pictures = [ai.BinaryContent.from_data_uri(address) for address in addresses]
            content = [message.text, *pictures] if pictures else message.text
            history.append(said.ModelRequest([said.UserPromptPart(content)]))
        elif message.role == "assistant":
            names |= {call.id: call.name for call in message.calls}
            calls = [said.ToolCallPart(call.name, dict(call.arguments), call.id) for call in message.calls]
            text = [said.TextPart(message.text)] if message.text else []
            history.append(said.ModelResponse([*text, *calls]))
        else:
            history.append(said.ModelRequest([said.ToolReturnPart(names[message.call], message.text, message.call)]))
    return history
