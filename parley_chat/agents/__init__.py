"""Agents of frameworks as Parley's: `from parley_chat.agents.pydantic_ai import PydanticAgent`; see docs/agents.md."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from parley_chat.agent import Call, Message, Question


def read_messages(question: Question) -> Iterator[tuple[Message, list[str]]]:
    """Yield each message, and with the question its pictures as `data:` addresses."""
    pictures = [one for one in question.files if one.media_type.startswith("image/")]
    addresses = [f"data:{one.media_type};base64,{base64.b64encode(one.content).decode()}" for one in pictures]
    for place, message in enumerate(question.messages, question.done - len(question.messages)):
        yield message, addresses if place == -1 and message.role == "user" else []


def written(call: Call) -> str:
    """Return the arguments of a call as JSON."""
    return json.dumps(dict(call.arguments))
