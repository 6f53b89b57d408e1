"""Limits that no setting changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The program's own limits: no operator could choose better ones. Tests pass in others."""

    calls_per_pass: int = 16
    """Tool calls in one model call."""
    result_chars: int = 8_000
    """Characters of a tool's result that the model sees."""
    answer_chars: int = 40_000
    """Characters of an answer; the rest is dropped."""
    question_chars: int = 100_000
    first_token_seconds: float = 60.0
    """How long a model may take to begin, multiplied by `Provider.patience` if it thinks silently."""
    idle_seconds: float = 30.0
    """How long a model may pause while it writes."""
    tool_seconds: float = 30.0
    """How long a tool may take if it sets no limit itself."""
    approval_seconds: float = 3_600.0
    """How long a call waits for a person's decision."""
    waiting_per_person: int = 2
    """Waiting questions of one person in one chat; 0: no limit (also below)."""
    turns_per_person: int = 5
    """Answers for one person at the same time, in all chats."""
    reminders_per_person: int = 50
    """Reminders of one person in one chat."""
    reminders_per_chat: int = 200
    scheduled_per_day: int = 20
    """Questions by one person's reminders in a day."""
    admin_share: float = 0.2
    """The share of a day's tokens and dollars that is reserved for owners and admins."""


LIMITS: Final = Limits()
"""The limits of every process."""
