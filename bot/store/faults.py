"""Errors of a database, classified by their remedy, each with a sentence for the operator."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from typing import Any

from bot.contract import StoreError
from bot.store.sql import Connection


class Fault(enum.Enum):
    """Why a statement failed; the value is the sentence for the operator."""

    AGAIN = "other processes keep writing to the same rows"
    LOCKED = "another program is writing to the database and does not let go; close it, or wait"
    FULL = "the disk is full; free some space, and the bot goes on by itself"
    READONLY = "the database cannot be written; give its file and folder back to the bot's user"
    UNREACHABLE = "the database file cannot be opened; check that its folder exists and belongs to the bot's user"
    IO = "the disk reported an error while the database was read or written; check the disk and its free space"
    CORRUPT = (
        "the database file is damaged; stop the bot and restore a backup (parley restore FILE), or restart: then it is "
        "moved aside and an empty one begun"
    )
    MOVED = (
        "the database was moved away, replaced or deleted while the bot runs, so nothing is answered; put the same "
        "file back, or stop the bot and restore a backup (parley restore FILE)"
    )
    CHANGED = (
        "another program changed the tables of the database; stop the bot and restore a backup (parley restore FILE)"
    )
    OTHER = "the database refused a statement"


class DatabaseError(Exception):
    """A database's error message with its class."""

    def __init__(self, fault: Fault, said: str, name: str = "", *, sentence: str = "") -> None:
        """
        Args:
            name: the database's own name of it.
            sentence: for the operator, if the fault's own does not suit this database.
        """
        super().__init__(said)
        self.fault = fault
        self.name = name
        self.sentence = sentence or fault.value
        self.again = False
        """Certainly nothing was written, and a retry may succeed."""
        self.landed: Callable[[Connection], bool | None] | None = None
        """Set if the answer to a commit was lost: checks over another connection whether it was made, and gets None
        while that is undecided."""


class FileMovedError(DatabaseError):
    """A file of the database is no longer the one that was opened."""

    def __init__(self, said: str) -> None:
        super().__init__(Fault.MOVED, said, type(self).__name__)


def store_error(error: DatabaseError) -> StoreError:
    """Translate a database's error into a `StoreError`; raise it `from error`."""
    return StoreError(f"{error.sentence[0].upper()}{error.sentence[1:]} ({error.name}: {error}).")


def settle(done: asyncio.Future[Any], outcome: Any) -> None:
    """Resolve a future with a result or an error; database errors are translated."""
    if done.done():  # the waiting caller was cancelled meanwhile
        return
    match outcome:
        case DatabaseError():
            error = store_error(outcome)
            error.__cause__ = outcome
            done.set_exception(error)
        case StopIteration():  # a future cannot hold it
            broken = RuntimeError("an operation ended an iteration that it did not begin")
            broken.__cause__ = outcome
            done.set_exception(broken)
        case Exception():
            done.set_exception(outcome)
        case _:
            done.set_result(outcome)
