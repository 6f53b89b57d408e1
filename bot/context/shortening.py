"""Shorten a conversation that is too long for its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.context.window import as_told
from bot.contract import Entry, SystemEntry, ToolEntry, UserEntry
from bot.model import Request


def drop_oldest(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Drop the older half of a conversation, keeping the system prompt and the last question.

    Cut at a person's message, so that no call loses its result.
    """
    head = [entry for entry in entries[:1] if isinstance(entry, SystemEntry)]
    rest = entries[len(head) :]
    questions = [number for number, entry in enumerate(rest) if isinstance(entry, UserEntry)]
    if len(questions) < 2:
        return tuple(entries)
    return (*head, *rest[questions[len(questions) // 2] :])


def shorten(request: Request) -> Request | None:
    """Return a shorter request for a model that refused this one as too long; None if nothing can be dropped.

    The oldest turns go first, then the greater part of this turn's results, at last the tools.
    """
    entries = drop_oldest(request.entries)
    if len(entries) == len(request.entries):
        entries = tuple(as_told(entry) for entry in entries)
    if entries != request.entries:
        return replace(request, entries=entries)
    if request.tools and not ends_with_results(entries):
        return replace(request, tools=(), tool_choice="auto")
    return None


def ends_with_results(entries: Sequence[Entry]) -> bool:
    """Return True if the conversation ends with a tool result."""
    return any(isinstance(entry, ToolEntry) for entry in entries[-1:])
