"""Whose words a text holds: only ours, one person's, or also words from outside.

Every entry of a history is kept with its origin, and so is what outlives entries: summaries, facts, reminders. What a
model writes has the origin of everything it was told; so words from outside stay known as such, however often a model
says them again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

OURS: Final = ""
"""The program's own words and the operator's."""
OUTSIDE: Final = "outside"
"""Words that nobody in this conversation answers for: a page, a search result, a quote; or of several people."""


def join_origins(origins: Iterable[str]) -> str:
    """The origin of a text made from texts of these origins: a person's id, `OURS` or `OUTSIDE`.

    Words of two people are words from outside: for each of them the other's are.
    """
    found = set(origins) - {OURS}
    return (found.pop() if len(found) == 1 else OUTSIDE) if found else OURS


def is_from_outside(origin: str, person: str) -> bool:
    """Tell whether a text of this origin holds anybody's words but ours and those of `person`."""
    return origin not in (OURS, person)
