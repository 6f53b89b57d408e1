"""What running turns have written so far, as their pages show it: a killed process leaves no other count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping

from bot.contract import AssistantEntry, entry_from_json
from bot.store.sql import Connection


def rough_count(text: str) -> int:
    """Estimate the tokens of a text: one for three bytes, which is one Chinese character."""
    return len(text.encode(errors="replace")) // 3


def count_written(db: Connection, turns: Collection[int], weigh: Callable[[str], int]) -> Mapping[int, int]:
    """Return the tokens that each of these turns shows of the pass that is under way.

    Args:
        weigh: estimates the tokens of a text.
    """
    if not turns:
        return {}
    marks, wanted = ", ".join("?" * len(turns)), tuple(turns)
    shown: Counter[int] = Counter()
    for turn, body in db.execute(f"SELECT turn, body FROM pages WHERE turn IN ({marks})", wanted).fetchall():
        shown[turn] += weigh(body)
    for turn, kept in db.execute(f"SELECT turn, entry FROM passes WHERE turn IN ({marks})", wanted).fetchall():
        entry = entry_from_json(kept)
        # Passes that have ended were settled when they did.
        shown[turn] -= weigh(entry.text) if isinstance(entry, AssistantEntry) else 0
    return {turn: max(0, tokens) for turn, tokens in shown.items()}
