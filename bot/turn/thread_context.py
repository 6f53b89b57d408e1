"""Look up messages before a question that are not in the history: its thread, and the messages it replies to.

Each message is read once: what an earlier turn of the chat was told stands in the history with that turn, so that only
what was written since its question is looked up. `/new` and `/forget` begin a chat anew, and what was written before
them is not read again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from bot.contract import MOST_QUOTED, BotError, Clock, DeliveryError, Earlier, LogThrottle, MessageSent, Quoted
from bot.model import CountTokens
from bot.pacing import Pacer, Purpose
from bot.safety import Redact, redact_nothing, redact_quote
from bot.store import Store

log = logging.getLogger(__name__)

READ_SECONDS = 10.0
"""Seconds for looking up earlier messages; after that the question is answered without them."""
MOST_PAGES = 10
SHARE = 4
"""A quarter of the model's window may be filled with it."""
PER_MESSAGE = 12
"""Tokens that a message costs beside its text: who speaks, and the marks of a quotation."""
_BEGINS = "begins"
"""The setting that keeps when a chat was begun anew."""


class ThreadContext:
    """Completes questions with what others wrote before them; one for the process."""

    def __init__(
        self,
        store: Store,
        pacer: Pacer,
        find: Callable[[MessageSent], Earlier | None],
        clock: Clock,
        *,
        window: Callable[[str], int],
        tokens: Callable[[str], CountTokens],
        redact: Redact = redact_nothing,
    ) -> None:
        """
        Args:
            find: `Platforms.earlier`.
            window: tokens that a model is sent at most, by its name.
            tokens: how a model's tokens are counted, by its name.
        """
        self._store = store
        self._pacer = pacer
        self._find = find
        self._window = window
        self._tokens = tokens
        self._redact = redact
        self._warnings = LogThrottle(log, clock)

    async def begin_anew(self, message: MessageSent) -> None:
        """Leave what stands before `message` unread from now on."""
        if message.sent_at:
            await self._store.settings.set(message.chat, _BEGINS, repr(message.sent_at))

    async def complete(self, question: MessageSent, model: str) -> MessageSent:
        """Return `question` with the messages before it, as many as fit; unchanged where they cannot be looked up.

        Raises:
            Unreachable: the platform is not connected now.
            StoreError: the store does not work now.
        """
        earlier = None if question.command else self._find(question)
        if earlier is None:
            return question
        last, begins = await asyncio.gather(
            self._store.turns.find_last(question.chat), self._store.settings.get(question.chat, _BEGINS)
        )
        since = max(last.incoming.sent_at if last is not None else 0.0, float(begins or 0))
        try:
            async with asyncio.timeout(READ_SECONDS):
                found = await self._read(earlier, since)
        except (BotError, TimeoutError) as error:
            why = str(error) or "looking it up takes too long"
            self._warnings.warn(
                f"{question.chat.platform}: questions are answered without what was written before: {why}"
            )
            return question
        quoted = question.quoted
        known = {question.message_id, quoted.message_id if quoted is not None and quoted.text.strip() else ""}
        found = [one for one in found if one.text.strip() and one.message_id not in known]
        # What the bot wrote since then is in the history already.
        found = [one for one in found if not (since and one.from_bot)]
        found.sort(key=_order)
        kept = self._fit(found, model)
        told = tuple(redact_quote(one, self._redact) for one in kept)
        return replace(question, earlier=told, left_out=len(found) - len(kept))

    async def _read(self, earlier: Earlier, since: float) -> list[Quoted]:
        found: list[Quoted] = []
        cursor = ""
        for _ in range(MOST_PAGES):
            if (grant := self._pacer.take(earlier.cost, Purpose.FIRST)) is None:
                raise DeliveryError("the platform lets no more be looked up in this minute")
            page, cursor = await grant.call(partial(earlier.page, since, cursor))
            found += page
            if not cursor:
                break
        return found

    def _fit(self, found: Sequence[Quoted], model: str) -> list[Quoted]:
        """Return the first message of a thread, and the newest messages that fit beside it."""
        count = self._tokens(model)
        room = self._window(model) // SHARE
        kept: list[Quoted] = []
        for one in [*found[:1], *reversed(found[1:])]:
            room -= count([one.text[:MOST_QUOTED]]) + PER_MESSAGE
            if room < 0:
                break
            kept.append(one)
        return sorted(kept, key=_order)


def _order(one: Quoted) -> tuple[float, int, str]:
    """Return the sort key of a message: its time, then its id, which grows."""
    return one.sent_at, len(one.message_id), one.message_id
