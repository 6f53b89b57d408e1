"""Serve the places that this process is given, where several processes share one database.

Whoever receives a delivery stores it; the process that serves its place finds it there, by a hint or within a second,
and handles it in the order of intake.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

from bot.contract import Backoff, ChatId, Clock, StoreError, time_limit
from bot.intake.ownership import LOOK_SECONDS
from bot.reply import Settling
from bot.store import InboxRow, InboxState, Store

log = logging.getLogger(__name__)

IDLE_SECONDS = 30.0
"""How long a place is kept without anything to do there: the next question of a conversation finds its process."""
HELD_SECONDS = 600.0
"""The same while something of the place lives in this process alone, as the variables of `run_python` do."""


class Serving:
    """Finds what is to be done in places; one object for the process."""

    def __init__(
        self,
        store: Store,
        settling: Settling,
        clock: Clock,
        *,
        take_up: Callable[[InboxRow, bool], None],
        hand_over: Callable[[str], Awaitable[None]],
        held: Callable[[], Iterable[str]],
    ) -> None:
        """
        Args:
            take_up: handles a row after what its chat sent before; True: a former process may have begun with it.
            hand_over: ends what runs in a place, so that another process can go on with it.
            held: returns the chats of which something lives in this process alone.
        """
        self._store = store
        self._settling = settling
        self._clock = clock
        self._take_up = take_up
        self._hand_over = hand_over
        self._held = held
        self._hints: dict[str, asyncio.Event] = {}
        """By place that is served now."""
        self._platforms: set[str] = set()

    def enter(self, platform: str) -> None:
        """Serve places of a platform: it is logged in."""
        self._platforms.add(platform)
        for place in self._hints:
            self.hint(place)

    def leave(self, platform: str) -> None:
        """Handle nothing more in places of a platform."""
        self._platforms.discard(platform)

    def hint(self, place: str) -> bool:
        """Look for something new in a place now; False if it is not served here."""
        if (came := self._hints.get(place)) is None:
            return False
        came.set()
        return True

    async def serve(self, place: str) -> None:
        """Handle what is stored of a place, in its order, until it has been idle; see `Ownership.run`."""
        came = self._hints[place] = asyncio.Event()
        try:
            await self._serve(place, came)
        except asyncio.CancelledError:
            await self._hand_over(place)
            raise
        finally:
            del self._hints[place]

    async def _serve(self, place: str, came: asyncio.Event) -> None:
        platform = ChatId.parse(place).platform
        taken, left = set[int](), set[ChatId]()
        busy_at = self._clock.monotonic()
        backoff, first = Backoff(self._clock), True
        while True:
            came.clear()
            if platform not in self._platforms:
                await came.wait()
                continue
            try:
                rows, unfinished = await self._store.intake.look(place, taken)
                unsettled = await self._settling.resume(place)
            except StoreError as error:
                log.error("%s waits: %s", place, error)
                await backoff.wait()
                continue
            backoff.reset()
            # What a former process was busy with, and what waited behind it there, was let in by that process.
            left |= {row.chat for row in rows if first and row.state == InboxState.RUNNING}
            for row in rows:
                self._take_up(row, first and row.chat in left)
            taken = (taken & unfinished) | {row.id for row in rows}
            if unfinished - taken:
                continue
            first, now = False, self._clock.monotonic()
            if unfinished or unsettled:
                busy_at = now
            elif now - busy_at >= self._patience(place):
                return
            with suppress(TimeoutError):
                async with time_limit(self._clock, LOOK_SECONDS):
                    await came.wait()

    def _patience(self, place: str) -> float:
        held = any(str(ChatId.parse(chat).place) == place for chat in self._held())
        return HELD_SECONDS if held else IDLE_SECONDS
