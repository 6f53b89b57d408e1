"""Reminders: stored in the inbox when they are due, and shown once, late if necessary.

A due timer becomes an inbox row in the same transaction that removes it, or moves a repeated one to its next time, so a
crash at any moment neither loses nor doubles it. From then on it is a turn like any other, without a model. A repeated
reminder that was missed comes once, however often it was due meanwhile.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import math
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from bot.contract import (
    AssistantEntry,
    Backoff,
    Clock,
    Entry,
    MessageSent,
    StoreError,
    Surface,
    TimerDue,
    Unreachable,
    UserEntry,
)
from bot.reply import Replies, Settling
from bot.safety import LinkPolicy, Unknown
from bot.sentences import language_of, say
from bot.store import LATE_AFTER, Claim, InboxState, Store, zone_or_utc
from bot.turn.run import MOST_REMINDER_ATTEMPTS, TurnLimits, close_told
from tools.programs.cancelling import Contained, wait_for_first

log = logging.getLogger(__name__)

LONGEST_SLEEP = 60.0
"""The wall clock may jump during a sleep, so it is checked again."""


Fire: TypeAlias = Callable[[TimerDue | MessageSent, Claim], Awaitable[None]]
"""Stores the delivery of a due timer, together with its claim. Raises StoreError: nothing of it was stored."""


async def nothing_due() -> None:
    """Return that nothing is due."""


@dataclass(eq=False, repr=False, kw_only=True)
class Reminders:
    """Watches the stored timers, and shows those that are due."""

    store: Store
    replies: Replies
    clock: Clock
    surface: Callable[[MessageSent], Surface]
    settling: Settling
    zone: str
    unknown_links: Unknown = "code"

    async def watch(
        self,
        fire: Fire,
        platforms: Collection[str],
        also: Callable[[], Awaitable[float | None]] = nothing_due,
        longest: float = LONGEST_SLEEP,
    ) -> None:
        """Fire every timer of these platforms when it is due, until cancelled.

        Another process can serve other platforms from the same database: it watches their timers.

        Args:
            also: does other due work, and returns when it must next be called at the latest (wall clock).
            longest: seconds after which the clock, and timers set by other processes, are checked again.
        """
        timers = self.store.timers
        while True:
            timers.changed.clear()
            try:
                for timer in await timers.list_due(self.clock.wall(), platforms):
                    await fire(timer.to_delivery(self.clock.wall()), timers.claim(timer))
                due = [one for one in (await timers.find_next_due(platforms), await also()) if one is not None]
                left = min(due, default=math.inf) - self.clock.wall()
            except StoreError as error:
                log.error("reminders wait: %s", error)
                left = 5.0
            seconds = min(max(left, 0.0), longest)
            await wait_for_first(self.clock.sleep(seconds), self.store.timers.changed.wait())

    async def show(self, turn: int, due: TimerDue) -> None:
        """Write a reminder into its chat, as soon as the store and the platform allow it; the edge around this turn.
        Its row ends only after it is shown."""
        limits, backoff = TurnLimits(math.inf), Backoff(self.clock)
        try:
            with Contained():
                while not await self._try_to_show(turn, due, limits):
                    await backoff.wait()
        except asyncio.CancelledError:
            with suppress(StoreError):
                await limits.take_back(lambda: self.store.intake.pause(turn))
            raise
        except Exception:
            log.exception("turn %s: a reminder could not be shown", turn)

    async def _try_to_show(self, turn: int, due: TimerDue, limits: TurnLimits) -> bool:
        """Show a reminder if that is possible now; return False if it must be tried again."""
        try:
            await limits.count(lambda: self.store.turns.begin(turn, due.chat, due.sender.id))
            if limits.attempts > MOST_REMINDER_ATTEMPTS:
                await self.store.intake.end(turn, InboxState.FAILED)
                log.error("turn %s: a reminder is given up after %d attempts", turn, limits.attempts - 1)
            elif limits.attempts:
                await self._show(turn, due)
        except (StoreError, Unreachable) as error:
            log.warning("turn %s: the reminder waits: %s", turn, error)
            return False
        return True

    async def _show(self, turn: int, due: TimerDue) -> None:
        store = self.store
        language = language_of(due.text, due.sender.language)
        surface = self.surface(due.as_message)
        before = await store.turns.load(turn)
        policy = LinkPolicy(unknown=self.unknown_links)
        async with self.replies.answer(surface, due.chat, before, policy, language) as reply:
            reply.append(self._text(due, language))
        told = f"(A reminder set earlier is due: {due.text})"
        entries: list[Entry] = [
            # A model wrote it: none of its addresses comes from a person.
            UserEntry(told, due.origin, begins=len(told)),
            AssistantEntry(text=reply.text, origin=due.origin),
        ]
        await close_told(store, self.settling, turn, due.chat, reply, before, entries)

    def _text(self, due: TimerDue, language: str) -> str:
        if not due.question and (not due.sent_at or self.clock.wall() - due.sent_at <= LATE_AFTER):
            return say("reminder", language, text=due.text)
        zone = zone_or_utc(due.zone or self.zone)
        when = datetime.datetime.fromtimestamp(due.sent_at, zone)
        key = "reminder_unasked" if due.question else "reminder_missed" if due.several else "reminder_late"
        return say(key, language, text=due.text, when=f"{when:%Y-%m-%d %H:%M} ({zone})")
