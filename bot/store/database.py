"""A SQLite connection on its own thread, which does in one trip what belongs together.

The trip to a thread and back costs more than most statements, so it is made once for a function and not for each
statement. aiosqlite has no public call for that: its private ones are used here and nowhere else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import aiosqlite

from bot.store.faults import DatabaseError, Fault

T = TypeVar("T")

_ROWS_A_STEP = 64
"""aiosqlite's own default, for cursors that are read step by step."""
_VACUUM_PAGES = 64
"""Pages returned to the disk in one step."""
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
"""The beginnings of SQLite's messages about missing objects; it has no code for them."""


def database_error(error: sqlite3.Error) -> DatabaseError:
    """Classify an error by its primary result code; errors of the Python binding have none."""
    code = getattr(error, "sqlite_errorcode", None)
    fault = Fault.OTHER if code is None else _FAULTS.get(code & 0xFF, Fault.OTHER)
    if str(error).startswith(_CHANGED):
        fault = Fault.CHANGED
    told = DatabaseError(fault, str(error), getattr(error, "sqlite_errorname", type(error).__name__))
    told.__cause__ = error
    return told


class SqliteConnection(sqlite3.Connection):
    """See `bot.store.sql.Session`."""

    def begin(self) -> None:
        # A deferred transaction that reads first can fail at its first write, at once and whatever the timeout.
        self.execute("BEGIN IMMEDIATE")

    def finish(self) -> None:
        """Each statement is waited for."""

    def explain(self, error: Exception) -> Exception:
        return database_error(error) if isinstance(error, sqlite3.Error) else error

    def one_by_one(self, lock: int) -> None:
        """Do nothing: SQLite runs writing transactions one by one."""

    def last_id(self, table: str) -> int:
        row = self.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        return 0 if row is None else int(row[0])

    def set_last_id(self, table: str, id: int) -> None:
        self.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        self.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, id))

    def give_back(self) -> int:
        self.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()
        [(left,)] = self.execute("PRAGMA freelist_count").fetchall()
        return int(left)

    def wipe_log(self) -> bool:
        """Merge the write-ahead log into the file and empty it; return False while somebody reads an older state.

        SQLite would wait for them as long as for a lock, and nobody could write meanwhile.
        """
        [(waits,)] = self.execute("PRAGMA busy_timeout").fetchall()
        self.execute("PRAGMA busy_timeout = 0")
        try:
            [(busy, _, _)] = self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            self.execute(f"PRAGMA busy_timeout = {waits}").fetchall()
        return not busy


class Database:
    """An open connection; `async with` closes it."""

    def __init__(self, db: aiosqlite.Connection) -> None:
        self._db = db
        self._closed = False

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run_together(self, work: Callable[[SqliteConnection], T]) -> T:
        """Run `work` on the connection's thread and return its result; it raises what `work` raises, SQLite's errors as
        `DatabaseError`.

        `work` keeps to the connection it is given: no object of SQLite may leave the thread, not even a cursor. A
        cancelled call is completed.
        """
        try:
            done: T = await self._db._execute(work, self._db._conn)  # type: ignore[no-untyped-call]  # it has no types
        except sqlite3.Error as error:
            raise database_error(error) from error
        return done

    async def close(self) -> None:
        """Close the connection after the present work, and end its thread; closing twice is not an error."""
        if not self._closed:
            self._closed = True
            try:
                await self._db.close()
            except sqlite3.Error as error:
                raise database_error(error) from error


async def open_database(place: Path | str, *, uri: bool = False, timeout: float) -> Database:
    """Open a connection that commits on request, and waits `timeout` seconds for a lock.

    Raises:
        DatabaseError: it cannot be opened.
    """
    connect = partial(
        sqlite3.connect,
        place,
        uri=uri,
        timeout=timeout,
        isolation_level=None,
        cached_statements=256,
        factory=SqliteConnection,
    )
    try:
        return Database(await aiosqlite.Connection(connect, _ROWS_A_STEP))
    except sqlite3.Error as error:
        raise database_error(error) from error
