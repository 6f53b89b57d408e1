"""Load earlier messages that are not in the history: the question's thread, and the messages it replies to.

Each message is read once: messages that an earlier turn of the chat saw are in the history with that turn, so only
those since its question are loaded. `/new` and `/forget` restart a chat, and messages before them are not read again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from bot.contract import JOB, MOST_QUOTED, BotError, Clock, DeliveryError, Earlier, LogThrottle, MessageSent, Quoted
from bot.model import CountTokens
from bot.pacing import Pacer, Purpose
from bot.safety import Redact, redact_nothing, redact_quote
from bot.store import Store

log = logging.getLogger(__name__)

READ_SECONDS = 10.0
"""Seconds for loading earlier messages; after that the question is answered without them."""
MOST_PAGES = 10
SHARE = 4
"""They can fill a quarter of the model's window."""
PER_MESSAGE = 12
"""Tokens of a message beside its text: the author, and the marks of a quotation."""
_BEGINS = "begins"
"""The setting that stores when a chat was restarted."""


@dataclass(eq=False, repr=False, kw_only=True)
class ThreadContext:
    """Adds earlier messages to questions; one for the process."""

    store: Store
    pacer: Pacer
    find: Callable[[MessageSent], Earlier | None]
    """`Platforms.earlier`."""
    clock: Clock
    window: Callable[[str], int]
    """The most tokens sent to a model, by its name."""
    tokens: Callable[[str], CountTokens]
    """How to count a model's tokens, by its name."""
    redact: Redact = redact_nothing

    def __post_init__(self) -> None:
        self._warnings = LogThrottle(log, self.clock)

    async def begin_anew(self, message: MessageSent) -> None:
        """Ignore everything before `message` from now on."""
        if message.sent_at:
            await self.store.settings.set(message.chat, _BEGINS, repr(message.sent_at))

    async def complete(self, question: MessageSent, model: str) -> MessageSent:
        """Return `question` with the messages before it, as many as fit; unchanged if they cannot be loaded.

        Raises:
            Unreachable: the platform is not connected now.
            StoreError: the store fails now.
        """
        earlier = None if question.command not in ("", JOB) else self.find(question)
        if earlier is None:
            return question
        last, begins = await asyncio.gather(
            self.store.turns.find_last(question.chat), self.store.settings.get(question.chat, _BEGINS)
        )
        since = max(last.incoming.sent_at if last is not None else 0.0, float(begins or 0))
        try:
            async with asyncio.timeout(READ_SECONDS):
                found = await self._read(earlier, since)
        except (BotError, TimeoutError) as error:
            why = str(error) or "loading takes too long"
            self._warnings.warn(f"{question.chat.platform}: questions are answered without earlier messages: {why}")
            return question
        quoted = question.quoted
        known = {question.message_id, quoted.message_id if quoted is not None and quoted.text.strip() else ""}
        found = [one for one in found if one.text.strip() and one.message_id not in known]
        # The bot's own messages since then are already in the history.
        found = [one for one in found if not (since and one.from_bot)]
        found.sort(key=_order)
        kept = self._fit(found, model)
        told = tuple(redact_quote(one, self.redact) for one in kept)
        return replace(question, earlier=told, left_out=len(found) - len(kept))

    async def _read(self, earlier: Earlier, since: float) -> list[Quoted]:
        found: list[Quoted] = []
        cursor = ""
        for _ in range(MOST_PAGES):
            if (grant := self.pacer.take(earlier.cost, Purpose.FIRST)) is None:
                raise DeliveryError("the platform allows no more requests in this minute")
            page, cursor = await grant.call(partial(earlier.page, since, cursor))
            found += page
            if not cursor:
                break
        return found

    def _fit(self, found: Sequence[Quoted], model: str) -> list[Quoted]:
        """Return the first message of a thread, and the newest messages that fit beside it."""
        count = self.tokens(model)
        room = self.window(model) // SHARE
        kept: list[Quoted] = []
        for one in [*found[:1], *reversed(found[1:])]:
            room -= count([one.text[:MOST_QUOTED]]) + PER_MESSAGE
            if room < 0:
                break
            kept.append(one)
        return sorted(kept, key=_order)


def _order(one: Quoted) -> tuple[float, int, str]:
    """Return the sort key of a message: its time, then its id, which increases."""
    return one.sent_at, len(one.message_id), one.message_id
