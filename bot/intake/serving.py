"""Serve the places assigned to this process, if several processes share one database.

The process that receives a delivery stores it; the process that serves its place finds it, by a hint or within a
second, and handles it in the order of intake.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from bot.contract import Backoff, ChatId, Clock, StoreError, time_limit
from bot.intake.ownership import LOOK_SECONDS
from bot.reply import Settling
from bot.store import InboxRow, InboxState, Store

log = logging.getLogger(__name__)

IDLE_SECONDS = 30.0
"""How long an idle place is kept, so that the next question of a conversation finds its process."""
HELD_SECONDS = 600.0
"""The same if some of the place's state exists only in this process, as variables of `run_python`."""


@dataclass(slots=True)
class _Served:
    """A place served here."""

    busy_at: float
    """The monotonic time of its last work."""
    came: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there may be something new."""
    taken: set[int] = field(default_factory=set)
    """Rows that were taken and have not ended."""


@dataclass(eq=False, repr=False, kw_only=True)
class Serving:
    """Finds the work in places; one object for the process."""

    store: Store
    settling: Settling
    clock: Clock
    take_up: Callable[[InboxRow, bool], None]
    """Handles a row after the chat's earlier ones; True: a former process may have begun it."""
    hand_over: Callable[[str], Awaitable[None]]
    """Ends the running turns of a place, so that another process can continue them."""
    held: Callable[[], Iterable[str]]
    """Returns the chats with state that exists only in this process."""

    def __post_init__(self) -> None:
        self._places: dict[str, _Served] = {}
        self._watching: asyncio.Task[None] | None = None
        self._platforms: set[str] = set()

    def enter(self, platform: str) -> None:
        """Serve places of a platform, which is logged in."""
        self._platforms.add(platform)
        for here in self._places.values():
            here.came.set()

    def leave(self, platform: str) -> None:
        """Stop handling rows in places of a platform."""
        self._platforms.discard(platform)

    def hint(self, place: str) -> bool:
        """Check a place for something new now; return False if it is not served here."""
        if (here := self._places.get(place)) is None:
            return False
        here.came.set()
        return True

    async def serve(self, place: str) -> None:
        """Handle the stored rows of a place, in order, until it has been idle; see `Ownership.run`."""
        here = self._places[place] = _Served(self.clock.monotonic())
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name="places")
        try:
            await self._serve(place, here)
        except BaseException:
            # Also if it is only served again: otherwise running rows would be taken a second time.
            await self.hand_over(place)
            raise
        finally:
            del self._places[place]
            if not self._places:
                self._watching.cancel()
                self._watching = None

    async def _serve(self, place: str, here: _Served) -> None:
        platform = ChatId.parse(place).platform
        left, first = set[ChatId](), True
        backoff = Backoff(self.clock)
        while True:
            here.came.clear()
            if platform not in self._platforms:
                await here.came.wait()
                continue
            try:
                rows, unfinished = await self.store.intake.look(place, here.taken)
                unsettled = await self.settling.resume(place)
            except StoreError as error:
                log.error("%s waits: %s", place, error)
                await backoff.wait()
                continue
            backoff.reset()
            # Rows that a former process was working on, and those that waited behind them, were admitted by that
            # process.
            left |= {row.chat for row in rows if first and row.state == InboxState.RUNNING}
            for row in rows:
                self.take_up(row, first and row.chat in left)
            here.taken = (here.taken & unfinished) | {row.id for row in rows}
            if unfinished - here.taken:
                continue
            first, now = False, self.clock.monotonic()
            if unfinished or unsettled:
                here.busy_at = now
            elif now - here.busy_at >= self._patience(place):
                return
            await self._wait(place, here)

    async def _wait(self, place: str, here: _Served) -> None:
        """Wait until there may be something new in a place, or it has been idle."""
        while (left := here.busy_at + self._patience(place) - self.clock.monotonic()) > 0:
            with suppress(TimeoutError):
                async with time_limit(self.clock, left):
                    await here.came.wait()
                    return

    def _patience(self, place: str) -> float:
        held = any(str(ChatId.parse(chat).place) == place for chat in self.held())
        return HELD_SECONDS if held else IDLE_SECONDS

    async def _watch(self) -> None:
        """Look for rows without a hint: for all places at once, as thousands may be served."""
        while True:
            await self.clock.sleep(LOOK_SECONDS)
            try:
                unfinished = await self.store.intake.map_unfinished()
                unsettled = [(turn, str(chat.place)) for turn, chat, *_ in await self.store.turns.list_unsettled()]
            except StoreError:
                continue  # they are found when it works again
            busy = {*unfinished, *(place for _, place in unsettled)}
            new = {place for turn, place in unsettled if not self.settling.shows(turn)}
            for place, here in self._places.items():
                if place in busy:
                    here.busy_at = self.clock.monotonic()
                if place in new or unfinished.get(place, frozenset()) - here.taken:
                    here.came.set()
