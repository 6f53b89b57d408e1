"""A model at a provider that returns one whole thing, and not a stream: timed, and retried while busy."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from bot.contract import Backoff, Clock, ModelBusy, ModelError, ModelSlow, time_limit
from bot.model.failures import failure
from bot.model.wire import Endpoint

_PAUSES: Final = (0.5, 1.0)
"""Seconds after which a busy server is asked again."""
_LONGEST_PAUSE: Final = 5.0
"""A server that demands a longer wait is not asked again: a person waits."""
_AT_ONCE: Final = 4
"""Requests in progress at the same time."""

T = TypeVar("T")


class Service:
    """Asks one model at its server."""

    def __init__(self, at: Endpoint, clock: Clock, jitter: random.Random) -> None:
        self.at = at
        self._clock = clock
        self._jitter = jitter
        self._places = asyncio.Semaphore(_AT_ONCE)

    @property
    def name(self) -> str:
        """`provider:name`."""
        return str(self.at.name)

    async def ask(self, once: Callable[[], Awaitable[T]], seconds: float, what: str) -> T:
        """Return the result of `once`, asked again while the server is busy.

        Args:
            seconds: the time for all tries together.
            what: the requested thing, for the log.

        Raises:
            ModelSlow: it took longer.
            ModelError: what `once` raised.
        """
        backoff = Backoff(self._clock, _PAUSES, endless=False)
        try:
            async with time_limit(self._clock, seconds), self._places:
                while True:
                    try:
                        return await once()
                    except ModelBusy as error:
                        pause = next(backoff, None)
                        wait = error.retry_after or (pause or 0.0) * self._jitter.uniform(0.75, 1.25)
                        if pause is None or wait > _LONGEST_PAUSE:
                            raise
                    await self._clock.sleep(wait)
        except TimeoutError:
            raise ModelSlow(f"{self.name} gave no {what} within {seconds:g} s") from None

    def failure(self, error: BaseException) -> ModelError:
        """Return the error for a refusal or a network error."""
        return failure(error, self.at.name, {}, place=self.at.server, wall=self._clock.wall())
