"""Time limits of a stream, by our own clock.

A read timeout counts bytes, and comments are bytes: a server that pings forever would hold a turn forever. Here only
what the caller calls progress restarts the clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Self, TypeVar

from bot.contract import Clock, ModelSlow
from tools.programs.cancelling import end_tasks

_Value = TypeVar("_Value")

_LONGEST_NAP = 5.0
"""The watcher's longest sleep: progress may bring the deadline nearer meanwhile."""
_BUSY_CHECK = 0.25
"""How often to check again while the caller is busy with the last data, and time does not count."""


class Patience:
    """Deadlines of one stream: the first token, the next one, and the end of the turn.

    Time counts only inside `wait`.
    """

    def __init__(self, clock: Clock, *, name: str, first: float, idle: float, deadline: float) -> None:
        self._clock = clock
        self._name = name
        self._idle = idle
        self._first = first
        self._deadline = deadline
        self._due = min(clock.monotonic() + first, deadline)
        self._started = False
        self._scope: asyncio.Timeout | None = None

    async def __aenter__(self) -> Self:
        self._watcher = asyncio.create_task(self._watch(), name=f"deadlines of {self._name}")
        return self

    async def __aexit__(self, *exc: object) -> None:
        await end_tasks(self._watcher)
        # A cancelled task keeps its frames, which keep this object: breaking the circle frees all at once.
        del self._watcher

    def progressed(self, seconds: float | None = None) -> None:
        """Record progress: allow the idle time, or `seconds`, from now."""
        self._started = True
        self._due = min(self._clock.monotonic() + (self._idle if seconds is None else seconds), self._deadline)

    async def wait(self, start: Callable[[], Awaitable[_Value]]) -> _Value:
        """Await what `start` begins.

        Raises:
            ModelSlow: a deadline passed first; the work is cancelled.
        """
        if self._clock.monotonic() >= self._deadline:
            raise self._slow()
        try:
            async with asyncio.timeout(None) as scope:
                self._scope = scope
                try:
                    return await start()
                finally:
                    self._scope = None
        except TimeoutError:
            if not scope.expired():
                raise
            raise self._slow() from None

    def _slow(self) -> ModelSlow:
        if self._clock.monotonic() >= self._deadline:
            return ModelSlow(f"{self._name} did not finish before the turn's deadline")
        if not self._started:
            return ModelSlow(f"{self._name} gave no first token within {self._first:g} s")
        return ModelSlow(f"{self._name} fell silent for {self._idle:g} s")

    async def _watch(self) -> None:
        while True:
            left = self._due - self._clock.monotonic()
            if left > 0:
                await self._clock.sleep(min(left, self._idle, _LONGEST_NAP))
            elif self._scope is None:
                await self._clock.sleep(_BUSY_CHECK)
            else:
                self._scope.reschedule(0.0)
                return
