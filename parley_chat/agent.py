"""All that the author of an agent imports: `from parley_chat.agent import Question, Text`; see docs/agents.md."""

from __future__ import annotations

from bot.contract import File
from bot.contract.answers import (
    Answers,
    Ask,
    Call,
    Checkpoint,
    Decision,
    Event,
    Fault,
    Message,
    Question,
    Result,
    Text,
    Thought,
    Used,
)
from tools.contract.base import Json, Source

__all__ = [
    "Answers",
    "Ask",
    "Call",
    "Checkpoint",
    "Decision",
    "Event",
    "Fault",
    "File",
    "Json",
    "Message",
    "Question",
    "Result",
    "Source",
    "Text",
    "Thought",
    "Used",
]
