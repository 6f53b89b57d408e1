"""Limit how often the same thing is said: repeated mistakes are not answered each time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.contract import ChatId, Clock

MOST_REMEMBERED = 4_000
"""Keys kept in memory; when it is full, new keys are refused."""
REFUSED_AGAIN_AFTER = 3600.0
"""Seconds in which a person is told once that something is not theirs to do."""
IN_CHAT_SECONDS = 60.0
"""Seconds in which the same refusal is shown once in a chat."""


@dataclass(frozen=True, slots=True)
class OncePer:
    """How often something may be said: once in `seconds` for this key."""

    key: str
    seconds: float
    lasting: bool = False
    """Kept in the store, so that a restart does not reset the time."""


def once_in_chat(chat: ChatId, what: str) -> OncePer:
    """Return the limit for showing the same refusal once a minute in each chat."""
    return OncePer(f"{what} in {chat}", IN_CHAT_SECONDS)


def once_per_hour(what: str, chat: ChatId) -> OncePer:
    """Return the limit for showing the same thing once an hour in each chat, also across restarts."""
    return OncePer(f"{what} in {chat}", REFUSED_AGAIN_AFTER, lasting=True)


def once_per_person(what: str, person: str, seconds: float) -> OncePer:
    """Return the limit for telling each person the same thing once in so many seconds, also across restarts."""
    return OncePer(f"{what} {person}", seconds, lasting=True)


def may_be_told(chat: ChatId, person: str) -> OncePer:
    """Return the limit for telling each person, once an hour in each chat, that something is not theirs to do."""
    return once_per_person(f"not yours {chat}", person, REFUSED_AGAIN_AFTER)


class Once:
    """Counts what was already said; one for the process."""

    def __init__(self, kept: Callable[[str, float], Awaitable[bool]], clock: Clock) -> None:
        """
        Args:
            kept: `store.access.once`, for keys that outlive the process.
        """
        self._kept = kept
        self._clock = clock
        self._until: dict[str, float] = {}

    async def claim(self, per: OncePer) -> bool:
        """Return True at most once in `per.seconds` for `per.key`.

        Raises:
            StoreError: the key is kept in the store, which fails now.
        """
        if per.lasting:
            return await self._kept(per.key, per.seconds)
        now = self._clock.monotonic()
        if len(self._until) >= MOST_REMEMBERED:
            self._until = {key: until for key, until in self._until.items() if now < until}
        if len(self._until) >= MOST_REMEMBERED or now < self._until.get(per.key, now):
            return False
        self._until[per.key] = now + per.seconds
        return True
