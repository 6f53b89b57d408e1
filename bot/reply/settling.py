"""Replies that are shown again after their turn has ended, until they are certainly shown.

A platform may still make an edit whose answer never came, seconds later, and replace the whole text by an older one.
The bot cannot withdraw an edit, and no platform says how long it may hold a request whose connection broke. The reply
is therefore shown again soon, for present readers, and once more when no proxy can hold the old edit any longer: an
edit answered at that time is the last. An earlier answer "nothing to change" proves nothing, since the old edit may
still be waiting.

A reply that a platform refused for a long time is shown when the platform accepts calls again. Both kinds are stored
with the turn, so the next process can show them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass

from bot.contract import LONGEST_PAUSE, BotError, ChatId, Clock, DeliveryError, ReplyTarget, Surface, is_within
from bot.reply.opening import Replies
from bot.reply.stream import ReplyStream
from bot.store import Store
from tools.programs.cancelling import end_tasks

log = logging.getLogger(__name__)

SOON = (2.0, 15.0)
"""Seconds after its end at which a reply is shown again for present readers."""
SETTLED = 150.0
"""Seconds after which no edit is in flight any more. Proxies, which all platforms use, give up after one or two
minutes."""
_MOST_TRIES = 8
"""How often a platform may refuse for a long time, or a reply may fail, before it is left as it is."""
_NOT_NOW = 30.0
"""Seconds before a retry if the store fails or a platform is not connected."""


@dataclass(frozen=True, slots=True)
class Due:
    """A reply to be shown again."""

    seconds: float
    """Seconds until the reply is shown again."""
    stale: bool
    """A late edit may still replace the reply by an older text."""
    at: float
    """Wall-clock time at which the reply is shown again."""
    ended: float = 0.0
    """How many seconds ago its turn ended."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    chat: ChatId
    stale: bool
    task: asyncio.Task[None]


@dataclass(eq=False, repr=False, kw_only=True)
class Settling:
    """Shows replies again; one object for the whole process."""

    store: Store
    replies: Replies
    clock: Clock
    surface: Callable[[ReplyTarget], Surface]

    def __post_init__(self) -> None:
        self._tasks: dict[int, _Waiting] = {}
        """By turn."""

    @property
    def waiting(self) -> int:
        """Replies to be shown again."""
        return len(self._tasks)

    def shows(self, turn: int) -> bool:
        """Return True if this process is to show the reply of a turn again."""
        return turn in self._tasks

    def due(self, reply: ReplyStream, *, resumed: bool) -> Due | None:
        """Return when a reply that just ended is to be shown again; None if it is certainly shown, or nobody can see
        it.

        Args:
            resumed: a former process showed some of it; its last edit may still be in flight.
        """
        if reply.lost:
            return None
        stale = reply.unsettled or resumed
        if reply.owed is not None:
            seconds = max(0.0, reply.owed - self.clock.monotonic())
        elif stale:
            seconds = SOON[0]
        else:
            return None
        return Due(seconds, stale, self.clock.wall() + seconds)

    def begin(self, turn: int, chat: ChatId, due: Due | None) -> None:
        """Show an ended turn's reply again, if it is due."""
        if due is None:
            return
        # Replies that were never completely shown are shown in the order of their turns.
        before = [one.task for one in self._tasks.values() if one.chat == chat and not (one.stale or due.stale)]
        if (waiting := self._tasks.get(turn)) is not None:
            waiting.task.cancel()
        task = asyncio.create_task(self._settle(turn, due, before), name=f"settle {turn}")
        now = self._tasks[turn] = _Waiting(chat, due.stale, task)
        task.add_done_callback(lambda _: self._tasks.pop(turn, None) if self._tasks.get(turn) is now else None)

    async def refresh(self, turn: int, chat: ChatId) -> None:
        """Show the reply of an ended turn again now: its content has changed."""
        waiting = self._tasks.get(turn)
        await self.drop(turn)
        stale = waiting is not None and waiting.stale
        self.begin(turn, chat, Due(0.0, stale, self.clock.wall()))

    async def resume(self, within: str) -> bool:
        """Show the unsettled replies of a former process again; call it once the platform is logged in.

        Args:
            within: a platform, or a place.

        Returns:
            True if a reply is unsettled there.
        """
        unsettled = await self.store.turns.list_unsettled(within)
        for turn, chat, at, ended in unsettled:
            if turn not in self._tasks:
                # The clock may have been changed meanwhile: nothing waits longer than the longest pause.
                now = self.clock.wall()
                seconds, stale = min(max(0.0, at - now), LONGEST_PAUSE), at - ended < SETTLED
                # Unfinished replies there come first.
                seconds = max(seconds, SOON[0]) if stale else seconds
                self.begin(turn, chat, Due(seconds, stale, at, max(0.0, now - ended)))
        return bool(unsettled)

    async def drop(self, turn: int) -> None:
        """Do not show the reply of a turn again: another has replaced it."""
        if (waiting := self._tasks.get(turn)) is not None:
            await end_tasks(waiting.task)

    async def take_back(self, turn: int) -> None:
        """Delete the messages of an ended turn's reply; those that cannot be deleted now stay, with a log line.

        Raises:
            StoreError: it cannot be loaded now.
        """
        await self.drop(turn)
        await self.store.turns.show_again(turn, None)
        record = await self.store.turns.load_shown(turn)
        if record is None:
            return
        try:
            await self.replies.take_back(self.surface(record.target), record.stored)
        except DeliveryError as error:
            log.warning("turn %s: its reply could not be deleted: %s", turn, error)

    async def suspend(self, within: str) -> None:
        """Show nothing more on a platform, or in a place; a later start, or another process, continues."""
        await end_tasks(*(one.task for one in self._tasks.values() if is_within(one.chat, within)))

    async def close(self) -> None:
        """Show nothing more; the next start continues."""
        await end_tasks(*(one.task for one in self._tasks.values()))

    async def _settle(self, turn: int, due: Due, before: Collection[asyncio.Task[None]]) -> None:
        began = self.clock.monotonic()
        # From the last edit of a former text to the last of this one there is at least SETTLED.
        times, settled = [due.seconds], SETTLED - due.ended
        if due.stale:
            times += [at for at in (SOON[1] - due.ended, settled) if at > due.seconds]
        tries = 0
        while times and tries < _MOST_TRIES:
            await self.clock.sleep(began + times[0] - self.clock.monotonic())
            if before:
                await asyncio.wait(before)
            try:
                later = await self._show(turn, calm=due.stale)
            except BotError as error:
                log.warning("turn %s: its reply is shown again later: %s", turn, error)
                later = self.clock.monotonic() + _NOT_NOW
            if later is None:
                times = [at for at in times[1:] if at > times[0]]
                continue
            tries += 1
            times[0] = later - began
            times[1:] = [settled] if due.stale and times[0] < settled else []
        if times:
            log.error("turn %s: its reply could not be shown again and stays as it is", turn)
        await self.store.turns.show_again(turn, None)

    async def _show(self, turn: int, *, calm: bool) -> float | None:
        """Show the whole reply; return the monotonic time of the next try, if the platform names one.

        Raises:
            StoreError: it cannot be loaded or recorded now.
            Unreachable: the platform is not connected now.
        """
        record = await self.store.turns.load_shown(turn)
        if record is None:
            return None  # its chat was deleted
        async with self.replies.again(self.surface(record.target), record, calm=calm) as reply:
            pass
        if reply.owed is not None:
            at = self.clock.wall() + reply.owed - self.clock.monotonic()
            await self.store.turns.show_again(turn, at)
        return reply.owed
