"""Which earlier turns fit the model's window.

History is taken newest first, in whole turns: a question with everything done to answer it, so that a tool call
never loses its result. What is too old simply is not sent; nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.transcript import AssistantEntry, Entry, SystemEntry, ToolEntry, UserEntry

OLD_RESULT_CHARS = 1_500
"""Characters kept of a tool's result once its turn is over: the answer already says what mattered."""
PER_ENTRY = 6
"""Tokens that a message costs beside its text."""


def text_of(entry: Entry) -> str:
    """Everything of an entry that costs tokens."""
    match entry:
        case AssistantEntry():
            calls = "".join(call.name + str(dict(call.arguments)) for call in entry.calls)
            return (entry.written or entry.text) + calls
        case SystemEntry(text) | UserEntry(text) | ToolEntry(text=text):
            return text


def turns_of(history: Sequence[Entry]) -> list[list[Entry]]:
    """Cut a history into turns: each begins with what a person wrote."""
    turns: list[list[Entry]] = []
    for entry in history:
        if isinstance(entry, UserEntry) or not turns:
            turns.append([])
        turns[-1].append(entry)
    return turns


def fit(history: Sequence[Entry], budget: int, tokens: Callable[[str], int]) -> list[Entry]:
    """The newest whole turns of `history` that cost at most `budget` tokens together."""
    chosen: list[list[Entry]] = []
    left = budget
    for turn in reversed(turns_of(history)):
        shorter = [_shortened(entry) for entry in turn]
        cost = sum(tokens(text_of(entry)) + PER_ENTRY for entry in shorter)
        if cost > left:
            break
        left -= cost
        chosen.append(shorter)
    return [entry for turn in reversed(chosen) for entry in turn]


def _shortened(entry: Entry) -> Entry:
    if isinstance(entry, ToolEntry) and len(entry.text) > OLD_RESULT_CHARS:
        return replace(entry, text=entry.text[:OLD_RESULT_CHARS] + "\n[… the rest of this earlier result is left out]")
    return entry
