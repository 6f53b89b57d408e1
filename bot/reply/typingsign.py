"""The sign that an answer is being made, shown until its first words are visible."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from bot.contract import Clock, RateLimited, Surface, post_cost
from bot.pacing import Pacer
from bot.sentences import say

THINKING = say("thinking", "en")
"""The sign's text if no other is given."""
TYPING_AFTER = 1.0
"""Seconds without first words after which typing is shown: earlier words need no announcement."""
_LOOK_AGAIN = 0.5
"""Seconds until the next try if others need the calls."""


class TypingSign:
    """Shows typing on one surface, only with calls that nobody else needs."""

    def __init__(self, surface: Surface, pacer: Pacer, clock: Clock, words: str, *, stands: bool = False) -> None:
        """
        Args:
            stands: a former process may have shown it.
        """
        self._surface = surface
        self._pacer = pacer
        self._clock = clock
        self._words = words
        self._stands = stands
        self._keeping: asyncio.Task[None] | None = None

    def begin(self, wanted: Callable[[], bool], name: str) -> None:
        """Show it in the background while it is `wanted`; nothing on a platform without the sign."""
        if self._surface.limits.typing_seconds and wanted():
            self._keeping = asyncio.create_task(self.keep(wanted), name=name)

    def stop(self) -> None:
        """Stop showing it."""
        if self._keeping is not None:
            self._keeping.cancel()

    async def close(self) -> None:
        """Stop showing it, and remove it if it stays."""
        self.stop()
        if self._keeping is not None:
            await asyncio.gather(self._keeping, return_exceptions=True)
            # A cancelled task keeps its frames, which keep what it waited for.
            self._keeping = None
        if self._stands and self._surface.limits.typing_stays:
            self._stands = False
            await self._surface.typing("")

    async def keep(self, wanted: Callable[[], bool]) -> None:
        """Show it repeatedly while it is `wanted`."""
        await self._clock.sleep(TYPING_AFTER)
        cost, post = self._surface.cost(None, None), post_cost(self._surface)
        while wanted():
            # A platform that accepts no page now accepts no sign either.
            if self._pacer.opens_at(post) <= self._clock.monotonic() and (sign := self._pacer.take(cost, closes=post)):
                self._stands = True
                with suppress(RateLimited):
                    await sign.call(partial(self._surface.typing, self._words))
                await self._clock.sleep(self._surface.limits.typing_seconds)
            else:
                await self._clock.sleep(_LOOK_AGAIN)
