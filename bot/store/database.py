"""A SQLite connection on a thread of its own, which does in one trip what belongs together.

The trip to a thread and back costs more than most statements, so it is made for a function and not for a statement.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


class Database:
    """An open connection; `async with` closes it."""

    def __init__(self, db: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        self._db = db
        self._thread = thread
        self._closed = False

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run_together(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on the connection's thread and return what it returned; it raises what `work` raises.

        `work` keeps to the connection it is given: nothing of SQLite's may leave the thread, a cursor neither.
        Cancelled once it has begun, it is done all the same.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._db)

    async def close(self) -> None:
        """Close the connection behind the work under way, and end its thread; closing twice is no error."""
        if self._closed:
            return
        self._closed = True
        try:
            await self.run_together(sqlite3.Connection.close)
        finally:
            self._thread.shutdown(wait=False)


async def open_database(place: Path | str, *, uri: bool = False, timeout: float) -> Database:
    """Open a connection that commits when it is told to, and waits `timeout` seconds for a lock."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite")
    connect = partial(sqlite3.connect, place, uri=uri, timeout=timeout, isolation_level=None, cached_statements=256)
    try:
        return Database(await asyncio.get_running_loop().run_in_executor(thread, connect), thread)
    except BaseException:
        thread.shutdown(wait=False)
        raise
