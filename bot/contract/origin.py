"""The origin of a text: only our words, one person's, or also words from outside.

Every entry of a history is stored with its origin, and so is everything that outlives entries: summaries, facts,
reminders. A model's text has the origin of everything that the model read, so words from outside stay known as such,
however often a model repeats them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

OURS: Final = ""
"""The program's own words and the operator's."""
OUTSIDE: Final = "outside"
"""Words that nobody in this conversation is responsible for (a page, a search result, a quote), or words of several
people."""


def join_origins(origins: Iterable[str]) -> str:
    """Return the origin of a text made from texts of these origins: a person's id, `OURS` or `OUTSIDE`.

    Words of two people together count as words from outside: for each of them, the other's are.
    """
    found = set(origins) - {OURS}
    return (found.pop() if len(found) == 1 else OUTSIDE) if found else OURS


def is_from_outside(origin: str, person: str) -> bool:
    """Return True if a text of this origin contains words of anybody but us and `person`."""
    return origin not in (OURS, person)
