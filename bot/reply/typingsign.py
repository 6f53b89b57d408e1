"""The sign that an answer is being made, shown until its first words are visible."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
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


@dataclass(eq=False, repr=False, kw_only=True)
class TypingSign:
    """Shows typing on one surface, only with calls that nobody else needs."""

    surface: Surface
    pacer: Pacer
    clock: Clock
    words: str
    stands: bool = False
    """It may be on screen, also because a former process showed it."""
    _keeping: asyncio.Task[None] | None = field(default=None, init=False)

    def begin(self, wanted: Callable[[], bool], name: str) -> None:
        """Show it in the background while it is `wanted`; nothing on a platform without the sign."""
        if self.surface.limits.typing_seconds and wanted():
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
        if self.stands and self.surface.limits.typing_stays:
            self.stands = False
            await self.surface.typing("")

    async def keep(self, wanted: Callable[[], bool]) -> None:
        """Show it repeatedly while it is `wanted`."""
        await self.clock.sleep(TYPING_AFTER)
        cost, post = self.surface.cost(None, None), post_cost(self.surface)
        while wanted():
            # A platform that accepts no page now accepts no sign either.
            if self.pacer.opens_at(post) <= self.clock.monotonic() and (sign := self.pacer.take(cost, closes=post)):
                self.stands = True
                with suppress(RateLimited):
                    await sign.call(partial(self.surface.typing, self.words))
                await self.clock.sleep(self.surface.limits.typing_seconds)
            else:
                await self.clock.sleep(_LOOK_AGAIN)
