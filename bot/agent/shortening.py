"""Shorten a conversation that is too long for its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.contract import Entry, SystemEntry, ToolEntry, UserEntry
from bot.model import Request
from bot.safety import MOST_TOLD, as_told

LEAST_RESULT_CHARS = 200
"""A result of fewer characters is not cut, but left out."""
_LEFT_OUT = "[this result is left out, as the conversation grew too long]"


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

    The oldest turns go first, then of this turn's results the greater part of each, half of that and so on, then the
    older results whole, at last the tools.
    """
    entries = drop_oldest(request.entries)
    if len(entries) == len(request.entries):
        entries = _shorten_results(entries)
    if entries != request.entries:
        return replace(request, entries=entries)
    return replace(request, tools=(), tool_choice="auto") if request.tools else None


def _shorten_results(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Halve the longest results; where all are short, leave out the older half of them."""
    results = [entry for entry in entries if isinstance(entry, ToolEntry) and len(entry.text) > len(_LEFT_OUT)]
    longest = max((len(entry.text) for entry in results), default=0)
    if longest > LEAST_RESULT_CHARS:
        most = MOST_TOLD if longest > MOST_TOLD else max(LEAST_RESULT_CHARS, longest // 2)
        return tuple(as_told(entries, most))
    # The calls stay: what had effects is not to be done again.
    left_out = {id(entry) for entry in results[: len(results) // 2]}
    return tuple(
        replace(entry, text=_LEFT_OUT, whole=entry.whole or entry.text)
        if isinstance(entry, ToolEntry) and id(entry) in left_out
        else entry
        for entry in entries
    )


def ends_with_results(entries: Sequence[Entry]) -> bool:
    """Return True if the conversation ends with a tool result."""
    return any(isinstance(entry, ToolEntry) for entry in entries[-1:])
