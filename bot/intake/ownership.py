"""Which process serves which place: the seam behind which several processes share one database.

A place is a channel with all its threads (`str(chat.place)`). One process at a time serves it, so everything that looks
at running turns (the queue, joins, `/stop`, presses, edits) finds them in its own memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from enum import StrEnum
from math import inf
from typing import Protocol

from bot.store import Connection

LOOK_SECONDS = 1.0
"""How often a process looks for what another one stored: the most that a lost hint costs."""


class Role(StrEnum):
    """What a process does of receiving and answering."""

    ALL = "all"
    INTAKE = "intake"
    """It receives and stores; other processes answer."""
    TURNS = "turns"
    """It answers; other processes receive."""

    @classmethod
    def of(cls, text: str) -> Role:
        """Return the role of that name. One that only a later version knows is taken for all."""
        return cls(text) if text in list(cls) else cls.ALL

    @property
    def receives(self) -> bool:
        return self is not Role.TURNS

    @property
    def answers(self) -> bool:
        return self is not Role.INTAKE


class Ownership(Protocol):
    """Gives places to processes; one object for the process."""

    @property
    def shared(self) -> bool:
        """Return True if other processes serve places too: what is stored here may be theirs to handle."""
        ...

    @property
    def answered_since(self) -> float:
        """Return the wall-clock time since which there has always been a process that answers: what came later waited
        for its turn, and not for a start. Infinite where the starts of this process are all there is."""
        ...

    def fence(self, db: Connection) -> None:
        """Let a transaction write that begins. Where another process has taken over, this one ends here."""
        ...

    async def living(self) -> Collection[str] | None:
        """Return the names under which the processes that are alive hold something; None: there is this one alone.

        Raises:
            StoreError: that cannot be known now.
        """
        ...

    async def gone(self) -> None:
        """Return when another process has ended since this was called last."""
        ...

    def ensure(self, db: Connection, place: str, row: int) -> bool:
        """See to it that some process serves the place, in the transaction that stores inbox row `row` of it.

        Returns:
            True if this process does so already.
        """
        ...

    async def run(self, serve: Callable[[str], Awaitable[None]], hint: Callable[[str], object]) -> None:
        """Serve each place that is given to this process, until `hand_over`. What it raises ends the program.

        Args:
            serve: serves a place. It returns when the place has been idle for a while; then the place is given up, in
                a transaction that succeeds only while none of its inbox rows is new or running (`is_idle` of
                `bot.store.intake`), and served on where that fails: a row stored between the last look and the end
                would wait for ever. Cancelled, it ends the place's turns, each after its next stored stage; then the
                place is given to another process.
            hint: called with a place that this process serves when another one told of something new there.
        """
        ...

    async def tell(self, place: str, row: int) -> None:
        """Hint at a new inbox row to the process that serves the place. Never raises; a hint may be lost."""
        ...

    def owns(self, place: str) -> bool:
        """Return True if this process serves the place now, as far as it heard within the last second."""
        ...

    def is_heard(self) -> bool:
        """Return True if no other process can have replaced this one: while it is False, no platform is called."""
        ...

    async def hand_over(self) -> None:
        """Take no more places, and give those that this process serves to others, each as soon as `serve` has ended
        there: a turn in the midst of a long pass keeps no other place. Before an orderly end."""
        ...


class Locks(Protocol):
    """Work that one process at a time does."""

    async def while_held(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Wait until no other process holds the lock `name`, hold it, and do `work` until that returns.

        Where the lock is lost (the database was out of reach), the work is cancelled, and begun again when this
        process has the lock again.
        """
        ...


class Sessions(Protocol):
    """What processes tell each other: which bot they are, and what the one that receives leaves to the next."""

    async def claim(self, platform: str, identity: str) -> None:
        """Be this bot on a platform.

        Raises:
            OtherBot: another process is another one.
            StoreError: that cannot be known now.
        """
        ...

    async def recall(self, name: str) -> str:
        """Return what was left under a name; empty where nothing was.

        Raises:
            StoreError: that cannot be known now.
        """
        ...

    async def leave(self, name: str, session: str) -> None:
        """Leave something under a name.

        Raises:
            StoreError: it may not have been written.
        """
        ...


class Alone:
    """The one process on its database: it owns every place and holds every lock, and writes nothing about it."""

    shared = False
    answered_since = inf

    def fence(self, db: Connection) -> None:
        """Do nothing: nobody takes over."""

    async def living(self) -> None:
        """Return None."""

    async def gone(self) -> None:
        """Return at once: nobody waits for it."""

    def ensure(self, db: Connection, place: str, row: int) -> bool:
        return True

    async def run(self, serve: Callable[[str], Awaitable[None]], hint: Callable[[str], object]) -> None:
        """Wait: what is stored is handled by who stored it, and the rest at the login of its platform."""
        await asyncio.Future()

    async def tell(self, place: str, row: int) -> None:
        """Do nothing: nobody else is there."""

    def owns(self, place: str) -> bool:
        return True

    def is_heard(self) -> bool:
        return True

    async def hand_over(self) -> None:
        """Do nothing: the next start goes on."""

    async def while_held(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        await work()
