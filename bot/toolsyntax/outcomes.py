"""The outcome of reading a possible call."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from bot.toolsyntax.arguments import Found


class Verdict(Enum):
    """The result for a possible body."""

    CALLS = 1
    TEXT = 2
    UNFINISHED = 3
    """The reply ended inside it: there is no call, and none of it is shown."""
    BROKEN = 4
    """It is call syntax, but cannot be read."""


class Outcome(NamedTuple):
    """A verdict, with the calls in written order."""

    verdict: Verdict
    calls: tuple[Found, ...] = ()


TEXT: Final = Outcome(Verdict.TEXT)
UNFINISHED: Final = Outcome(Verdict.UNFINISHED)
BROKEN: Final = Outcome(Verdict.BROKEN)


def fired(*calls: Found) -> Outcome:
    """The outcome of a body that was read."""
    return Outcome(Verdict.CALLS, calls)
