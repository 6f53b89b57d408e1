"""What became of a delivery, for an adapter whose platform keeps no messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from bot.contract.messages import ChatId
from bot.contract.transcript import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A delivery's state and answer, as stored."""

    ended: bool
    stopped: bool = False
    """A person stopped the answer."""
    failed: bool = False
    """There is no answer, or only a part of one."""
    text: str = ""
    """All text of the answer; empty while it is written, and of what was never a turn: commands, refusals."""
    usage: Usage = field(default_factory=Usage)
    asks: str = ""
    """The answer asks whether a tool may make a call: names that question; empty: it asks nothing, or not any more."""
    asks_until: float = 0.0
    """The wall-clock time until which it can be decided."""


Recall: TypeAlias = Callable[[ChatId, str], Awaitable[Recalled | None]]
"""Returns what is stored of a chat's delivery, or, if it is empty, of the chat's newest answer that asks whether a tool
may make a call; None: nothing is.

Raises:
    StoreError: the database cannot be read now.
"""


@runtime_checkable
class Recalling(Protocol):
    """An adapter that asks the store what became of a delivery."""

    recall: Recall | None
    """Set before the adapter listens."""
