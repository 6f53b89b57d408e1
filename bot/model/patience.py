"""Time limits of a stream, by our own clock.

A read timeout counts bytes, and comments are bytes: a server that pings forever would hold a turn forever. Here only
what the caller calls progress restarts the clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Self, TypeVar

from bot.contract import Clock, ModelSlow, Timer

_Value = TypeVar("_Value")

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
        self._alarm: Timer | None = None
        self._looks_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop()

    def progressed(self, seconds: float | None = None) -> None:
        """Record progress: allow the idle time, or `seconds`, from now."""
        self._started = True
        self._due = min(self._clock.monotonic() + (self._idle if seconds is None else seconds), self._deadline)
        if self._alarm is not None and self._due < self._looks_at:
            self._stop()

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
                if self._alarm is None:
                    self._look_in(max(self._due - self._clock.monotonic(), _BUSY_CHECK))
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

    def _look(self) -> None:
        """The time is up, unless there was progress meanwhile, or nobody waits: the next wait looks again."""
        self._alarm = None
        if self._due > self._clock.monotonic():
            self._look_in(self._due - self._clock.monotonic())
        elif self._scope is not None:
            self._scope.reschedule(0.0)

    def _look_in(self, seconds: float) -> None:
        self._looks_at = self._clock.monotonic() + seconds
        self._alarm = self._clock.after(seconds, self._look)

    def _stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
