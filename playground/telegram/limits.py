"""Flood control: who may call how often, and the penalty for calling more often."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playground.calls import Left
from playground.telegram.call import too_many


@dataclass(frozen=True, slots=True)
class Limits:
    """The budgets of one bot. Sends, edits and drafts of a chat share one.

    https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
    """

    chat_rate: float = 1.0
    """Calls a second in a chat, in the long run."""
    chat_burst: int = 3
    """Calls a chat takes at once after a rest."""
    group_calls: int = 20
    """What a group takes besides, in `group_seconds`."""
    group_seconds: float = 60.0
    bot_calls: int = 30
    bot_seconds: float = 1.0
    """Over all chats together."""
    least_penalty: int = 1
    """The shortest wait that a 429 names."""


class Flood:
    """Counts calls against `Limits`. A 429 closes the chat: until the wait is over every further call is refused."""

    def __init__(self, limits: Limits | None, now: Callable[[], float]) -> None:
        self.limits = limits
        """`None`: nothing is counted; penalties started by a fault hold all the same."""
        self._now = now
        self._buckets: dict[int, tuple[float, float]] = {}
        self._groups: dict[int, deque[float]] = {}
        self._bot: deque[float] = deque()
        self._closed: dict[int, float] = {}

    def close(self, chat: int, seconds: float) -> None:
        """Refuse every call of `chat` for so long, or for as long as it is refused already."""
        self._closed[chat] = max(self._closed.get(chat, 0.0), self._now() + seconds)

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Count nothing: what is done inside was let in, and counted, when it arrived."""
        limits, closed = self.limits, self._closed
        self.limits, self._closed = None, {}
        try:
            yield
        finally:
            self.limits, self._closed = limits, closed

    def closed(self, chat: int) -> int:
        """The whole seconds for which `chat` is still closed; 0 when it is open."""
        return max(0, math.ceil(self._closed.get(chat, 0.0) - self._now()))

    def left(self, chat: int) -> Left | None:
        """What a chat takes at once now; None where nothing is counted."""
        if self.limits is None:
            return None
        wait = self._bucket_wait(chat, self._now())
        tokens = 0 if wait or self.closed(chat) else math.floor(self._buckets[chat][0] + 1e-9)
        return "calls in this chat", tokens, self.limits.chat_burst

    def take(self, chat: int, *, group: bool, light: bool = False) -> None:
        """Count one call. A `light` one (typing) draws on the bot-wide budget only.

        Raises:
            ApiError: 429; the call is not counted.
        """
        if wait := self.closed(chat):
            raise too_many(wait)
        if self.limits is None:
            return
        now = self._now()
        needed = self._bot_wait(self.limits, now)
        if not light:
            needed = max(needed, self._bucket_wait(chat, now))
            if group:
                needed = max(needed, self._group_wait(self.limits, chat, now))
        if needed > 0:
            wait = max(math.ceil(needed), self.limits.least_penalty)
            self.close(chat, wait)
            raise too_many(wait)
        self._bot.append(now)
        if light:
            return
        if group:
            self._groups[chat].append(now)
        tokens, at = self._buckets[chat]
        self._buckets[chat] = (tokens - 1, at)

    def _bot_wait(self, limits: Limits, now: float) -> float:
        return _window_wait(self._bot, limits.bot_calls, limits.bot_seconds, now)

    def _group_wait(self, limits: Limits, chat: int, now: float) -> float:
        calls = self._groups.setdefault(chat, deque())
        return _window_wait(calls, limits.group_calls, limits.group_seconds, now)

    def _bucket_wait(self, chat: int, now: float) -> float:
        assert self.limits is not None
        burst, rate = self.limits.chat_burst, self.limits.chat_rate
        tokens, at = self._buckets.get(chat, (float(burst), now))
        tokens = min(float(burst), tokens + (now - at) * rate)
        self._buckets[chat] = (tokens, now)
        # Half a billionth of a call: adding a second in tenths must not fall short of a whole token.
        return 0.0 if tokens >= 1 - 1e-9 else (1 - tokens) / rate


def _window_wait(calls: deque[float], most: int, seconds: float, now: float) -> float:
    """Seconds until a window takes one more call; forgets the calls that left it."""
    while calls and calls[0] + seconds <= now + 1e-9:
        calls.popleft()
    return 0.0 if len(calls) < most else calls[len(calls) - most] + seconds - now
