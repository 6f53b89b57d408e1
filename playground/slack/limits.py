"""Every number the emulated service enforces, and the budgets that count calls against them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from playground.calls import Left

TIER_1, TIER_2, TIER_3, TIER_4 = 1, 20, 50, 100

PER_MINUTE: Mapping[str, int] = {
    "auth.test": 600,
    # Documented as tier 1, but reconnecting a few times in a minute works; one a minute would forbid every restart.
    "apps.connections.open": 10,
    "chat.postMessage": 300,
    "chat.postEphemeral": TIER_4,
    "chat.update": TIER_3,
    "chat.delete": TIER_3,
    "chat.startStream": TIER_2,
    "chat.appendStream": TIER_4,
    "chat.stopStream": TIER_2,
    "assistant.threads.setStatus": 600,
    "assistant.threads.setSuggestedPrompts": TIER_4,
    "agents.sessions.setStatus": TIER_3,
    "conversations.history": TIER_3,
    "conversations.replies": TIER_3,
    "users.conversations": TIER_3,
    "users.info": TIER_4,
    "reactions.add": TIER_3,
    "reactions.remove": TIER_2,
    "files.getUploadURLExternal": TIER_4,
    "files.completeUploadExternal": TIER_4,
    "files.info": TIER_4,
}
"""Calls a minute, per method and workspace: docs.slack.dev/apis/web-api/rate-limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the service allows. Lengths are characters, durations seconds."""

    per_minute: Mapping[str, int] = field(default_factory=lambda: dict(PER_MINUTE))
    window: float = 60.0
    posts_per_second: float = 1.0
    """`chat.postMessage`, per channel."""
    post_burst: int = 3
    """Posts a channel takes at once before that rate holds."""
    post_text: int = 40_000
    """Longer text is cut, not refused."""
    update_text: int = 4_000
    markdown_text: int = 12_000
    blocks: int = 50
    blocks_text: int = 13_200
    """The text of all blocks of one message together."""
    stream_bytes: int = 10_600
    """UTF-8 bytes of a whole streamed message; observed between 10,600 and 11,300."""
    stream_lifetime: float = 300.0
    stream_idle: float = 120.0
    status_lifetime: float = 120.0
    response_lifetime: float = 1_800.0
    response_uses: int = 5
    ack_within: float = 3.0
    retry_after: tuple[float, ...] = (0.0, 60.0, 300.0)
    """How long after a failed delivery each further one is made."""
    connections: int = 10


class Budgets:
    """Who has called what how often; refused calls are not counted."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._calls: dict[str, deque[float]] = {}
        self._next_post: dict[str, float] = {}

    def admit(self, method: str, channel: str, now: float) -> int:
        """0 and the call is counted, or the whole seconds to wait."""
        wait = max(self._window_wait(method, now), self._post_wait(method, channel, now))
        if wait > 0:
            return max(1, math.ceil(wait))
        self._calls.setdefault(method, deque()).append(now)
        if method == "chat.postMessage" and channel:
            self._next_post[channel] = max(self._next_post.get(channel, now), now) + 1 / self._limits.posts_per_second
        return 0

    def left(self, method: str, now: float) -> Left:
        """How many calls of a method the last minute has left."""
        allowed = self._limits.per_minute.get(method, TIER_3)
        self._window_wait(method, now)
        return f"{method} in a minute", max(0, allowed - len(self._calls[method])), allowed

    def _window_wait(self, method: str, now: float) -> float:
        allowed = self._limits.per_minute.get(method, TIER_3)
        calls = self._calls.setdefault(method, deque())
        while calls and calls[0] <= now - self._limits.window:
            calls.popleft()
        return calls[0] + self._limits.window - now if len(calls) >= allowed else 0.0

    def _post_wait(self, method: str, channel: str, now: float) -> float:
        if method != "chat.postMessage" or not channel:
            return 0.0
        credit = (self._limits.post_burst - 1) / self._limits.posts_per_second
        # A billionth of slack: sums of floats must not refuse a caller who waited exactly long enough.
        wait = self._next_post.get(channel, now) - now - credit
        return wait if wait > 1e-9 else 0.0
