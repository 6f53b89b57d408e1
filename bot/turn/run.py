"""A turn in this process: its question, why it is ended, its limits, and the pages it has shown."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.contract import MessageSent
from bot.reply import ReplyStream, ShownBefore
from bot.store import TurnState
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


async def finish(reply: ReplyStream, run: Run, state: TurnState) -> None:
    """Wait until the whole reply is shown, also if somebody stops it meanwhile.

    Args:
        state: how the turn ends.
    """
    try:
        await reply.finish()
    except asyncio.CancelledError:
        if run.ending() is not Ending.STOPPED or state == TurnState.STOPPED:
            raise
        # There is nothing to stop any more: the answer is complete and only waits to be shown.
        uncancel()
        await reply.finish()


def uncancel() -> None:
    """Let this task go on that was cancelled."""
    current = asyncio.current_task()
    assert current is not None
    current.uncancel()
