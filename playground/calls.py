"""The calls an emulator was asked for, and a listener for those it has answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

Left: TypeAlias = tuple[str, int, int]
"""What a rate counts, how many of it are left, and how many there may be."""


class Answered(Protocol):
    """What every emulator notes of a call."""

    at: float
    status: int
    retry_after: float
    took: float
    left: Left | None


C = TypeVar("C", bound=Answered)


class Calls(list[C]):
    """The calls, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: Callable[[C], None] = lambda call: None
        """Called with each call once it was answered, or its connection dropped."""

    def answered(self, call: C, now: float, left: Left | None) -> None:
        """Note when a call was answered and what its rate has left."""
        call.took, call.left = now - call.at, left
        self.heard(call)
