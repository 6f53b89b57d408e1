"""The sign that an answer is being made, shown until its first words stand."""

from __future__ import annotations

from collections.abc import Callable

from bot.clock import Clock
from bot.pacing import Pacer
from bot.surface import Surface

TYPING_AFTER = 0.3
"""Seconds without first words after which typing is shown: what comes sooner needs no announcement."""
_LOOK_AGAIN = 0.5
"""Seconds until it is tried again where others need the calls."""


class TypingSign:
    """Shows typing on one surface, only with calls that nobody needs."""

    def __init__(self, surface: Surface, pacer: Pacer, clock: Clock) -> None:
        self._surface = surface
        self._pacer = pacer
        self._clock = clock
        self.quiet_until = 0.0
        """Monotonic time before which the platform asked for a pause."""

    async def keep(self, wanted: Callable[[], bool]) -> None:
        """Show it again and again while it is `wanted`."""
        cost = self._surface.cost(None, None)
        await self._clock.sleep(TYPING_AFTER)
        while wanted():
            if self._clock.monotonic() >= self.quiet_until and self._pacer.take(cost):
                try:
                    await self._surface.typing()
                finally:
                    self._pacer.answered(cost)
                await self._clock.sleep(self._surface.limits.typing_seconds)
            else:
                await self._clock.sleep(_LOOK_AGAIN)
