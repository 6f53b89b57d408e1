"""A turn in this process: its question, why it is ended, its limits, and its shown pages."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.contract import ChatId, Entry, MessageSent, StoreError, Usage
from bot.reply import ReplyStream, Settling, ShownBefore
from bot.store import Delivered, Store, StoredTurn, TurnState

MOST_ATTEMPTS = 2
"""Processes that may die over one question until its answer is complete, and over showing it: a message that kills the
process must not start again for ever. Tries within a process are limited only by the turn's time."""
MOST_REMINDER_ATTEMPTS = 5
"""Processes that may die over one reminder."""


@dataclass(slots=True)
class TurnLimits:
    """The deadline of a turn in this process, and the count of its attempts: when either is exceeded it is given up.

    An attempt is the work of one process on a turn, however often the process tries. The store counts it before the
    work begins. `kill -9` leaves the count as it is; a process that ends in good order takes its attempt back, and the
    last pass of an answer, like each of a job, sets the count to 0.
    """

    deadline: float
    """Monotonic time at which the time of the turn (`turn_seconds`) is over; pauses between tries move it."""
    attempts: int = 0
    """Attempts in the store, this process's included; 0 before it is counted, and for a turn that has ended."""
    _counting: asyncio.Task[int] | None = None
    _taken_back: bool = False

    @property
    def exceeded(self) -> bool:
        """True if too many processes died over the turn."""
        return self.attempts > MOST_ATTEMPTS

    def end_by(self, deadline: float) -> None:
        """Let the time of the turn be over at this monotonic time, if that is earlier."""
        self.deadline = min(self.deadline, deadline)

    async def count(self, count: Callable[[], Coroutine[Any, Any, int]]) -> None:
        """Count this process's attempt once, however often this is called; a cancelled call counts, too.

        Args:
            count: counts in the store and returns the new count, or 0 if nothing is left to do.

        Raises:
            StoreError: the attempt was not counted.
        """
        if self._counting is None:
            self._counting = asyncio.create_task(count(), name="count attempt")
        try:
            self.attempts = await asyncio.shield(self._counting)
        except StoreError:
            self._counting = None
            raise

    async def take_back(self, pause: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Take back this process's attempt, once, if it was counted; waits for a count in progress.

        Raises:
            StoreError: the attempt could not be taken back.
        """
        if self._counting is None or self._taken_back:
            return
        try:
            counted = await asyncio.shield(self._counting)
        except StoreError:
            return
        if counted:
            self._taken_back = True
            await pause()


class EndReason(enum.Enum):
    """Why a running turn is ended from outside."""

    STOPPED = "stopped"
    SHUTDOWN = "shutdown"
    REPLACED = "replaced"
    """Its question was changed or deleted: its messages pass to the turn that replaces it."""
    HANDED_OVER = "handed over"
    """Another process continues it, in the same messages, without a note."""


LEFT = frozenset({EndReason.REPLACED, EndReason.HANDED_OVER})
"""Reasons after which its messages pass to a turn that continues it."""


async def no_wait() -> None:
    """Return at once."""


def not_told() -> None:
    """Do nothing."""


@dataclass(slots=True)
class Run:
    """One turn in this process, over all its tries."""

    turn: int
    """The inbox row's id."""
    question: MessageSent
    language: str
    ending: Callable[[], EndReason | None]
    """Returns why the task is being cancelled, at that moment."""
    limits: TurnLimits
    came_at: float = 0.0
    """The monotonic time at which its question came; 0: unknown."""
    at_stage: Callable[[], Awaitable[None]] = no_wait
    """Awaited when everything done so far is stored and nothing runs: another process could continue from here."""
    speaks: Callable[[], None] = not_told
    """Called when its text is complete and stored, and only its voice is not: the chat's next turn begins."""
    do: Callable[[Run], Awaitable[None]] | None = None
    """Runs a command instead of asking a model."""
    job: bool = False
    """See `bot.turn.jobs`."""
    shown: dict[int, ShownBefore] = field(default_factory=dict)
    """The pages that earlier attempts showed, including those that could not be stored."""


async def finish(
    reply: ReplyStream, run: Run, state: TurnState, ends_spoken: Callable[[], Awaitable[bool]] | None = None
) -> None:
    """Wait until the whole reply is shown, even if somebody stops it meanwhile.

    Args:
        state: how the turn ends.
        ends_spoken: returns True if a voice message comes after it, which marks the channel as unread.
    """

    async def finishing() -> None:
        if ends_spoken is not None and await ends_spoken():
            reply.end_in_place()
        await reply.finish()

    try:
        await finishing()
    except asyncio.CancelledError:
        if run.ending() is not EndReason.STOPPED or state == TurnState.STOPPED:
            raise
        # There is nothing left to stop: the answer is complete and only waits to be shown.
        uncancel()
        await finishing()


async def close_told(
    store: Store,
    settling: Settling,
    turn: int,
    chat: ChatId,
    reply: ReplyStream,
    before: StoredTurn,
    entries: Sequence[Entry] = (),
) -> TurnState:
    """Close a turn whose reply no model wrote, make sure that the reply stays, and return how it ended.

    Args:
        before: the stored state of the turn when this process started on it.
        entries: its entries for later questions.

    Raises:
        StoreError: the store fails now.
    """
    again = settling.due(reply, resumed=any(page.ref for page in before.pages))
    state = TurnState.FAILED if reply.lost else TurnState.DONE
    await store.turns.close(
        turn,
        state,
        entries,
        visible=reply.text,
        reasoning="",
        model="",
        usage=Usage(),
        error=reply.lost,
        again_at=again.at if again else None,
        cuts=reply.cuts if again else (),
        delivered=Delivered(edits=reply.edits, course=reply.course.to_json() if reply.course else ""),
    )
    settling.begin(turn, chat, again)
    return state


def uncancel() -> None:
    """Undo this task's cancellation."""
    current = asyncio.current_task()
    assert current is not None
    current.uncancel()
