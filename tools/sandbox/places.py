"""One live interpreter for each tool scope: locked while it is used, and ended when nobody uses it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

IDLE_SECONDS = 600.0
SESSIONS = 8
_REMEMBERED = 1024

S = TypeVar("S")


@dataclass(slots=True)
class Place(Generic[S]):
    """One chat's interpreter, if any, and its lock."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    session: S | None = None
    used: float = 0.0
    """When a cell last ended in it, by the clock of its owner."""
    waiting: int = 0
    lost: str = ""
    """Why the variables of its earlier cells are gone, until the next cell has said so."""
    paid_until: float = 0.0
    """Monotonic time until which its interpreters are paid for, if they are."""

    def take_notes(self) -> tuple[str, ...]:
        """Return once the notes for a model about a lost interpreter."""
        lost, self.lost = self.lost, ""
        return (f"This is a new interpreter, variables of earlier cells are gone: {lost}.",) if lost else ()


class Places(ABC, Generic[S]):
    """The common work of every backend with an interpreter per scope."""

    def __init__(self, now: Callable[[], float], *, idle: float = IDLE_SECONDS, sessions: int = SESSIONS) -> None:
        self._now = now
        self._idle = idle
        self._sessions = sessions
        self._places: OrderedDict[str, Place[S]] = OrderedDict()

    @abstractmethod
    async def _end(self, session: S) -> object:
        """End an interpreter."""

    @property
    def live(self) -> int:
        """The number of interpreters."""
        return sum(place.session is not None for place in self._places.values())

    def held_scopes(self) -> list[str]:
        return [scope for scope, place in self._places.items() if place.session is not None]

    def paid_seconds(self, scope: str, seconds: float) -> float:
        return 0.0

    async def sweep(self) -> None:
        """End idle interpreters."""
        for place in list(self._places.values()):
            if not place.waiting:
                await self._drop_idle(place)

    @asynccontextmanager
    async def _use(self, scope: str) -> AsyncIterator[Place[S]]:
        """Wait for this scope's earlier cells, and keep its place meanwhile."""
        place = self._places.setdefault(scope, Place())
        self._places.move_to_end(scope)
        place.waiting += 1
        try:
            async with place.lock:
                yield place
        finally:
            place.waiting -= 1
            while len(self._places) > _REMEMBERED and not next(iter(self._places.values())).waiting:
                _, oldest = self._places.popitem(last=False)
                await self._drop(oldest, "")

    async def _make_room(self) -> None:
        """End the least recently used interpreter if the limit is reached."""
        while self.live >= self._sessions:
            idle = [place for place in self._places.values() if place.session is not None and not place.waiting]
            if not idle:
                return
            await self._drop(min(idle, key=lambda place: place.used), "too many other chats ran code")

    async def _drop_idle(self, place: Place[S]) -> None:
        if place.used <= self._now() - self._idle:
            await self._drop(place, f"nothing was run for {self._idle / 60:g} minutes")

    async def _drop_all(self) -> None:
        for place in list(self._places.values()):
            await self._drop(place, "the bot was stopped")

    async def _drop(self, place: Place[S], reason: str) -> None:
        session, place.session = place.session, None
        if session is not None:
            place.lost = reason
            await self._end(session)
