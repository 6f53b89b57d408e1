"""What reading a document has come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Found: TypeAlias = tuple[str, str]
"""A part of a document: its label and its text."""


@dataclass(slots=True)
class Findings:
    """What is known of a document beside its parts. Whoever reads it fills this in on the way."""

    until: float
    """Monotonic time at which reading ends."""
    title: str = ""
    note: str = ""
    """What was left out, in a sentence."""
    unit: str = "parts"
    """What its parts are called, in the plural."""
    total: int = 0
    """How many there are of them; 0: unknown."""
