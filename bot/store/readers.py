"""Connections that only read: they never wait for the writer, and see what it has committed."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from bot.errors import StoreError
from bot.store.database import Database
from bot.store.faults import store_error

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]

COUNT = 2
"""A read takes well under a millisecond, and each connection is a thread."""


class Readers:
    """A small pool. A connection is lent for one piece of reading, so that no reader holds old pages for long."""

    def __init__(self, connections: Iterable[Database]) -> None:
        self._free: asyncio.LifoQueue[Database] = asyncio.LifoQueue()
        self._all = tuple(connections)
        self._closed = False
        for connection in self._all:
            self._free.put_nowait(connection)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do what only reads, in one go, and return what it returned.

        Raises:
            StoreError: the database cannot be read.
        """
        if self._closed:
            raise StoreError("The store is closed, so nothing more can be read.")
        connection = await self._free.get()
        try:
            return await connection.together(work)
        except sqlite3.Error as error:
            raise store_error(error) from error
        finally:
            self._free.put_nowait(connection)

    async def rows(self, sql: str, parameters: Iterable[Any] = ()) -> list[Row]:
        """Read all rows of a query. Raises as `read`."""
        values = tuple(parameters)
        return await self.read(lambda db: db.execute(sql, values).fetchall())

    async def row(self, sql: str, parameters: Iterable[Any] = ()) -> Row | None:
        """Read the first row of a query, or None. Raises as `read`."""
        rows = await self.rows(sql, parameters)
        return rows[0] if rows else None

    async def close(self) -> None:
        """Wait for the reads under way, then close every connection."""
        self._closed = True
        for _ in self._all:
            connection = await self._free.get()
            with suppress(sqlite3.Error):
                await connection.close()
