"""A connection that runs several statements in one trip to its thread.

aiosqlite carries every statement to its connection's thread and every result back; that way costs more than most
statements. What belongs together goes there once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

T = TypeVar("T")

_ROWS_A_STEP = 64
"""aiosqlite's own default, for cursors that are read step by step."""


class Database(aiosqlite.Connection):
    """An `aiosqlite.Connection`; `await` or `async with` opens it."""

    def __await__(self) -> Generator[Any, None, Database]:
        yield from super().__await__()
        return self

    async def __aenter__(self) -> Database:
        return await self

    async def together(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on the connection's thread and return what it returned; it raises what `work` raises.

        `work` keeps to the connection it is given: nothing of SQLite's may leave the thread, a cursor neither.
        Cancelled, it is done all the same.
        """
        done: T = await self._execute(work, self._conn)  # type: ignore[no-untyped-call]  # aiosqlite types it not
        return done


def database(place: Path | str, *, uri: bool = False, timeout: float) -> Database:
    """A connection to `place` that commits when it is told to, and waits `timeout` seconds for a lock."""
    connector = partial(sqlite3.connect, place, uri=uri, timeout=timeout, isolation_level=None, cached_statements=256)
    return Database(connector, _ROWS_A_STEP)
