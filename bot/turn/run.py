"""A turn in this process: its question, why it is ended, its limits, and the pages it has shown."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.contract import MessageSent
from bot.reply import ShownBefore
from bot.turn.limits import TurnLimits


class Ending(enum.Enum):
    """Why a running turn is ended from outside."""

    STOPPED = "stopped"
    SHUTDOWN = "shutdown"
    REPLACED = "replaced"
    """Its question was changed or deleted: what it showed is left to the turn that takes its place."""


@dataclass(slots=True)
class Run:
    """One turn in this process, over all its tries."""

    turn: int
    """The inbox row's id."""
    question: MessageSent
    language: str
    ending: Callable[[], Ending | None]
    """Why the task is being cancelled, asked when it is."""
    limits: TurnLimits
    shown: dict[int, ShownBefore] = field(default_factory=dict)
    """The pages that earlier tries showed, also those that could not be stored."""
