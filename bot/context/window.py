"""Select the earlier turns that fit the model's context window.

History is taken newest first, in whole turns: a question with everything done to answer it, so that a tool call
never loses its result. Older turns are not sent; nothing is deleted. Before a turn is left out,
`summary.py` has summarised the oldest ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from bot.contract import AssistantEntry, Entry, ToolEntry, UserEntry
from bot.model import CountTokens, token_count
from bot.safety import as_told

_WITHHELD = "[left out: the tool is left to others than the person who asks now]"


def turns_of(history: Sequence[Entry]) -> list[list[Entry]]:
    """Cut a history into turns: each begins with what a person wrote."""
    turns: list[list[Entry]] = []
    for entry in history:
        if isinstance(entry, UserEntry) or not turns:
            turns.append([])
        turns[-1].append(entry)
    return turns


class Fitted(NamedTuple):
    """The part of a history that fits."""

    entries: list[Entry]
    turns: int
    left_out: int
    """The turns before it."""
    tokens: int


def fit(history: Sequence[Entry], room: int, count: CountTokens) -> Fitted:
    """Return the newest whole turns of `history` with at most `room` tokens together."""
    chosen: list[list[Entry]] = []
    left, turns = room, turns_of(history)
    for turn in reversed(turns):
        shorter = as_told(turn)
        needed = token_count(shorter, count)
        if needed > left:
            break
        left -= needed
        chosen.append(shorter)
    entries = [entry for turn in reversed(chosen) for entry in turn]
    return Fitted(entries, len(chosen), len(turns) - len(chosen), room - left)


def withhold(history: Sequence[Entry], may_read: Callable[[str], bool]) -> list[Entry]:
    """Return a history without what the calls of some tools were given and found.

    Args:
        may_read: tells by its name whether the model may read what a tool found.
    """
    return [_withheld(entry, may_read) for entry in history]


def _withheld(entry: Entry, may_read: Callable[[str], bool]) -> Entry:
    if isinstance(entry, ToolEntry) and not may_read(entry.name):
        return replace(entry, text=_WITHHELD, whole="")
    if isinstance(entry, AssistantEntry) and not all(may_read(call.name) for call in entry.calls):
        calls = tuple(call if may_read(call.name) else replace(call, arguments={}) for call in entry.calls)
        return replace(entry, calls=calls, written="", raw={})
    return entry
