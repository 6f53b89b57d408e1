"""Classify SQLite errors by what helps, each with a sentence for the operator."""

from __future__ import annotations

import asyncio
import enum
import sqlite3
from typing import Any

from bot.contract import StoreError


class Fault(enum.Enum):
    """Why a statement failed; the value is the sentence for the operator."""

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


_FAULTS = {
    sqlite3.SQLITE_BUSY: Fault.LOCKED,
    sqlite3.SQLITE_LOCKED: Fault.LOCKED,
    sqlite3.SQLITE_FULL: Fault.FULL,
    sqlite3.SQLITE_READONLY: Fault.READONLY,
    sqlite3.SQLITE_CANTOPEN: Fault.UNREACHABLE,
    sqlite3.SQLITE_PERM: Fault.UNREACHABLE,
    sqlite3.SQLITE_IOERR: Fault.IO,
    sqlite3.SQLITE_CORRUPT: Fault.CORRUPT,
    sqlite3.SQLITE_NOTADB: Fault.CORRUPT,
}


_CHANGED = ("no such table", "no such column", "no such index")
"""How SQLite begins what it says of a statement about something that is not there; it has no code for it."""


class FileMovedError(sqlite3.OperationalError):
    """A file of the database is no longer the one that was opened."""


def fault_of(error: sqlite3.Error) -> Fault:
    """Classify an error by its primary result code; errors of the Python binding have none."""
    if isinstance(error, FileMovedError):
        return Fault.MOVED
    if str(error).startswith(_CHANGED):
        return Fault.CHANGED
    code = getattr(error, "sqlite_errorcode", None)
    return Fault.OTHER if code is None else _FAULTS.get(code & 0xFF, Fault.OTHER)


def store_error(error: sqlite3.Error) -> StoreError:
    """Translate a SQLite error into a `StoreError`; raise it `from error`."""
    fault = fault_of(error)
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return StoreError(f"{fault.value[0].upper()}{fault.value[1:]} ({name}: {error}).")


def settle(done: asyncio.Future[Any], outcome: Any) -> None:
    """Resolve a future with a result or an error, SQLite errors translated."""
    if done.done():  # whoever waited was cancelled meanwhile
        return
    match outcome:
        case sqlite3.Error():
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
