"""What reading a document has come to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

Found: TypeAlias = tuple[str, str]
"""A part of a document: its label and its text."""


@dataclass(slots=True)
class Findings:
    """Facts about a document beside its parts. The reader fills them in on the way."""

    until: float
    """Monotonic time at which reading ends."""
    title: str = ""
    note: str = ""
    """How far it was read, in a sentence; empty where it was read to its end."""
    left: Counter[str] = field(default_factory=Counter)
    """What a person sees of it and its parts do not tell: how many of each kind, by a noun in the singular."""
    unit: str = "parts"
    """What its parts are called, in the plural."""
    total: int = 0
    """How many there are of them; 0: unknown."""

    def sentences(self) -> str:
        """The missing kinds with their counts, as sentences; empty where nothing is missing."""
        named = [f"{count:,} {kind}{'s' * (count != 1)}" for kind, count in sorted(self.left.items()) if count]
        left = f"Left out, as it is not text: {', '.join(named)}." if named else ""
        return " ".join(sentence for sentence in (self.note, left) if sentence)
