"""How often, how long and how big: the numbers Discord enforces, and the buckets that count against them."""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """At most `calls` between the first of them and `seconds` later; then all of them come back at once."""

    calls: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the emulated service allows. Rates are what bots observe: Discord promises only its headers."""

    rated: bool = True
    """False: no call is ever refused for coming too soon, and no rate header is sent."""
    sends: Window = Window(5, 5.0)
    """New messages of one channel."""
    edits: Window = Window(5, 5.0)
    """Edits in one channel, whichever message."""
    old_edits: Window = Window(30, 3600.0)
    """Edits of messages older than `old_after` in one channel."""
    old_after: float = 3600.0
    deletes: Window = Window(5, 1.0)
    reactions: Window = Window(1, 0.25)
    typing: Window = Window(5, 5.0)
    webhook: Window = Window(5, 2.0)
    """Everything done with one interaction token after its first answer."""
    commands: Window = Window(5, 20.0)
    other: Window = Window(50, 1.0)
    """Every other route, for each of its channels or guilds."""
    overall: Window = Window(50, 1.0)
    """All calls that carry the bot's token."""
    invalid: Window = Window(10_000, 600.0)
    """Answers 401, 403 and 429 before the address is banned."""
    gateway: Window = Window(120, 60.0)
    """What one gateway connection may send."""
    daily_commands: int = 200
    """Commands created anew in a day."""

    content: int = 2000
    """Characters of a message."""
    display: int = 4000
    """Characters over all text displays of a Components V2 message."""
    file: int = 10 * 1024 * 1024
    files: int = 10
    request: int = 25 * 1024 * 1024
    answer_within: float = 3.0
    """Seconds until an interaction must have its first answer."""
    token_lives: float = 900.0
    """Seconds an interaction token is good for."""
    follow_ups: int = 5
    """Follow-ups of an interaction where the application is not in the server."""
    nonce_lives: float = 300.0
    """Seconds an enforced nonce is remembered."""
    session_lives: float = 300.0
    """Seconds a gateway session can still be resumed after its connection went away."""

    def window(self, bucket: str) -> Window:
        """The window that counts calls of `bucket`."""
        found = getattr(self, bucket)
        if not isinstance(found, Window):
            raise LookupError(f"{bucket!r} is no window of Limits")
        return found


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a bucket stands after one call was counted, or refused."""

    allowed: bool
    limit: int
    remaining: int
    reset_after: float
    """Seconds until the window is full again."""


class Buckets:
    """One counter per bucket and major parameter (the channel, the guild, the interaction token)."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._open: dict[tuple[str, str], tuple[float, int]] = {}

    def draw(self, bucket: str, major: str, window: Window) -> Standing:
        """Count one call, unless the window is used up."""
        now, key = self._now(), (bucket, major)
        ends, used = self._open.get(key, (now, 0))
        if now >= ends:
            if len(self._open) > 10_000:
                self._open = {one: value for one, value in self._open.items() if value[0] > now}
            ends, used = now + window.seconds, 0
        allowed = used < window.calls
        if allowed:
            used += 1
        self._open[key] = (ends, used)
        # Rounded up to the millisecond: who waits exactly this long must not come early.
        return Standing(allowed, window.calls, window.calls - used, math.ceil((ends - now) * 1000) / 1000)

    @staticmethod
    def name(bucket: str) -> str:
        """The opaque name a bucket has in `X-RateLimit-Bucket`."""
        return hashlib.sha256(bucket.encode()).hexdigest()[:32]


class InvalidRequests:
    """The 401, 403 and 429 answers of the last minutes, for which Discord's front door bans an address."""

    def __init__(self, now: Callable[[], float], window: Window) -> None:
        self._now = now
        self._window = window
        self._at: deque[float] = deque()

    def count(self) -> int:
        """How many stand against the caller now."""
        while self._at and self._at[0] <= self._now() - self._window.seconds:
            self._at.popleft()
        return len(self._at)

    def add(self) -> None:
        self._at.append(self._now())

    @property
    def banned(self) -> bool:
        return self.count() >= self._window.calls
