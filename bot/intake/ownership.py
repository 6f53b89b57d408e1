"""Which process serves which place: the interface behind which several processes share one database.

A place is a channel with all its threads (`str(chat.place)`). One process at a time serves it, so everything that looks
for running turns (the queue, joins, `/stop`, presses, edits) finds them in its own memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from enum import StrEnum
from math import inf
from typing import Protocol

from bot.store import Connection

LOOK_SECONDS = 1.0
"""How often a process looks for rows that another one stored: the most that a lost hint costs."""


class Role(StrEnum):
    """The half of the work that a process does."""

    ALL = "all"
    INTAKE = "intake"
    """It receives and stores; other processes answer."""
    TURNS = "turns"
    """It answers; other processes receive."""

    @classmethod
    def of(cls, text: str) -> Role:
        """Return the role of that name. A name that only a later version knows counts as all."""
        return cls(text) if text in list(cls) else cls.ALL

    @property
    def receives(self) -> bool:
        return self is not Role.TURNS

    @property
    def answers(self) -> bool:
        return self is not Role.INTAKE


class Ownership(Protocol):
    """Assigns places to processes; one object for the process."""

    @property
    def shared(self) -> bool:
        """Return True if other processes serve places, too: what is stored here may be theirs to handle."""
        ...

    @property
    def answered_since(self) -> float:
        """Return the wall-clock time since which some process has always been answering: later messages waited for
        their turn, and not for a start. Infinite if only this process's own start counts."""
        ...

    def fence(self, db: Connection) -> None:
        """Let a new transaction write. If another process has taken over, this one ends here."""
        ...

    async def living(self) -> Collection[str] | None:
        """Return the store names of the living processes; None: only this one exists.

        Raises:
            StoreError: it cannot be determined now.
        """
        ...

    async def gone(self) -> None:
        """Return when another process has ended since the last call."""
        ...

    def ensure(self, db: Connection, place: str, row: int) -> bool:
        """Request that some process serves the place, in the transaction that stores its inbox row `row`.

        Returns:
            True if this process already does.
        """
        ...

    async def run(self, serve: Callable[[str], Awaitable[None]], hint: Callable[[str], object]) -> None:
        """Serve each place assigned to this process, until `hand_over`. Its exceptions end the program.

        Args:
            serve: serves a place. It returns when the place has been idle for a while. The place is then given up in a
                transaction that succeeds only if none of its inbox rows is new or running (`is_idle` of
                `bot.store.intake`), and is served on if that fails: otherwise a row stored in between would wait for
                ever. If cancelled, it ends the place's turns, each after its next stored stage; then the place is
                assigned to another process.
            hint: called with a place that this process serves when another one announced something new there.
        """
        ...

    async def tell(self, place: str, row: int) -> None:
        """Announce a new inbox row to the process that serves the place. Never raises; a hint can be lost."""
        ...

    def owns(self, place: str) -> bool:
        """Return True if this process serves the place now, as far as it knew within the last second."""
        ...

    def is_heard(self) -> bool:
        """Return True if no other process can have replaced this one: while it is False, no platform is called."""
        ...

    async def hand_over(self) -> None:
        """Accept no more places, and hand this process's places to others, each as soon as `serve` has ended there: a
        turn in the middle of a long pass holds up no other place. Used before an orderly end."""
        ...


class Locks(Protocol):
    """Work that one process at a time does."""

    async def while_held(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Wait until no other process holds the lock `name`, hold it, and do `work` until it returns.

        If the lock is lost (the database was out of reach), the work is cancelled, and restarted when this process has
        the lock again.
        """
        ...


class Sessions(Protocol):
    """What processes tell each other: their bot's identity, and the receiver's session for the next receiver."""

    async def claim(self, platform: str, identity: str) -> None:
        """Declare this bot on a platform.

        Raises:
            OtherBot: another process is a different bot.
            StoreError: it cannot be determined now.
        """
        ...

    async def recall(self, name: str) -> str:
        """Return the value left under a name; empty if there is none.

        Raises:
            StoreError: it cannot be determined now.
        """
        ...

    async def leave(self, name: str, session: str) -> None:
        """Leave a value under a name.

        Raises:
            StoreError: it may not have been written.
        """
        ...


class Alone:
    """The one process on its database: it owns every place and holds every lock, and stores nothing about it."""

    shared = False
    answered_since = inf

    def fence(self, db: Connection) -> None:
        """Do nothing: no process takes over."""

    async def living(self) -> None:
        """Return None."""

    async def gone(self) -> None:
        """Return at once: nobody waits for it."""

    def ensure(self, db: Connection, place: str, row: int) -> bool:
        return True

    async def run(self, serve: Callable[[str], Awaitable[None]], hint: Callable[[str], object]) -> None:
        """Wait: deliveries are handled by this process when they are stored, and the rest at its platform's login."""
        await asyncio.Future()

    async def tell(self, place: str, row: int) -> None:
        """Do nothing: there is no other process."""

    def owns(self, place: str) -> bool:
        return True

    def is_heard(self) -> bool:
        return True

    async def hand_over(self) -> None:
        """Do nothing: the next start continues."""

    async def while_held(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        await work()
