"""A conversation that is too long for its model, made shorter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.context.window import as_told
from bot.contract import Entry, SystemEntry, ToolEntry, UserEntry
from bot.model import Request


def drop_oldest(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The same conversation without its older half; our own words and the last question stay.

    Cut at a person's message, so that no call loses its result.
    """
    head = [entry for entry in entries[:1] if isinstance(entry, SystemEntry)]
    rest = entries[len(head) :]
    questions = [number for number, entry in enumerate(rest) if isinstance(entry, UserEntry)]
    if len(questions) < 2:
        return tuple(entries)
    return (*head, *rest[questions[len(questions) // 2] :])


def shortened(request: Request) -> Request | None:
    """The same request with less in it, for a model that finds it too long; None when nothing can go.

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
    """Tell whether the question that stands last has had calls."""
    return any(isinstance(entry, ToolEntry) for entry in entries[-1:])
