"""The output of the detector: a closed union, in the order the model wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
"""The JSON schema of a tool's arguments: an object with `properties` in declared order."""


@dataclass(frozen=True, slots=True)
class Text:
    """Visible text; joined, all of it since the latest `Withdrawn` is the trimmed visible reply."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The model's thoughts; never shown, never searched for calls."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """One complete call found in the text."""

    name: str
    arguments: dict[str, Any] = field(hash=False)
    known: bool = True
    """The name is registered; otherwise it must not run, and the model learns which tools there are."""
    raw: str = field(default="", compare=False)
    """The call as the model wrote it; calls that share one tag or one array share it."""
    problem: str = ""
    """Why it cannot run as requested; empty if it can."""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """All text and all calls so far were thoughts: only their end arrived, their beginning was in the prompt."""


Piece: TypeAlias = Text | Reasoning | Call | Withdrawn
