"""A SQLite connection on a thread of its own, which does in one trip what belongs together.

The trip to a thread and back costs more than most statements, so it is made for a function and not for a statement.
aiosqlite has no public call for that: its private ones are used here and nowhere else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import aiosqlite

T = TypeVar("T")

_ROWS_A_STEP = 64
"""aiosqlite's own default, for cursors that are read step by step."""


class Database:
    """An open connection; `async with` closes it."""

    def __init__(self, db: aiosqlite.Connection) -> None:
        self._db = db
        self._closed = False

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run_together(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on the connection's thread and return what it returned; it raises what `work` raises.

        `work` keeps to the connection it is given: nothing of SQLite's may leave the thread, a cursor neither.
        Cancelled, it is done all the same.
        """
        done: T = await self._db._execute(work, self._db._conn)  # type: ignore[no-untyped-call]  # it has no types
        return done

    async def close(self) -> None:
        """Close the connection behind the work under way, and end its thread; closing twice is no error."""
        if not self._closed:
            self._closed = True
            await self._db.close()


async def open_database(place: Path | str, *, uri: bool = False, timeout: float) -> Database:
    """Open a connection that commits when it is told to, and waits `timeout` seconds for a lock."""
    connect = partial(sqlite3.connect, place, uri=uri, timeout=timeout, isolation_level=None, cached_statements=256)
    return Database(await aiosqlite.Connection(connect, _ROWS_A_STEP))
