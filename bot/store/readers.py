"""Read-only connections, which never wait for the writer and see what it has committed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

from bot.contract import Clock, StoreError
from bot.store.faults import DatabaseError, settle
from bot.store.sql import OpenDatabase, Row, Session, T, Values

_PATIENCE = 60.0
"""Seconds a read waits for a server that is away."""
_RETRY = 0.05
COUNT = 2
"""A read takes well under a millisecond, and each connection is a thread."""
_TOGETHER = 8
"""Reads that go to a connection's thread at once: the trip there and back costs more than most of them, and a slow one
holds up only these."""


@dataclass(slots=True, eq=False)
class _Read(Generic[T]):
    work: Callable[[Session], T]
    done: asyncio.Future[T]
    asked_at: float
    outcome: Any = None
    """Its return value, or the exception it raised."""


class Readers:
    """A small pool of read-only connections, each lent only for the reads waiting at one moment."""

    def __init__(self, connections: Iterable[OpenDatabase], clock: Clock) -> None:
        self._clock = clock
        self._all = tuple(connections)
        self._free = list(self._all)
        self._waiting: deque[_Read[Any]] = deque()
        self._lent: set[asyncio.Task[None]] = set()
        self._soon = False
        self._closed = False

    async def read(self, work: Callable[[Session], T]) -> T:
        """Do something that only reads, in one trip, and return its result. Reads requested in parallel, as with
        `asyncio.gather`, run one after another on the same connection.

        Raises:
            StoreError: the database cannot be read.
        """
        if self._closed:
            raise StoreError("The store is closed, so nothing more can be read.")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Read(work, done, self._clock.monotonic()))
        if not self._soon:
            self._lend_soon()
        return await done

    async def fetch_rows(self, sql: str, parameters: Iterable[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """Return all rows of a query. Raises as `read`."""
        values: Values = dict(parameters) if isinstance(parameters, Mapping) else tuple(parameters)
        return await self.read(lambda db: db.execute(sql, values).fetchall())

    async def fetch_row(self, sql: str, parameters: Iterable[Any] | Mapping[str, Any] = ()) -> Row | None:
        """Return the first row of a query, or None. Raises as `read`."""
        rows = await self.fetch_rows(sql, parameters)
        return rows[0] if rows else None

    async def close(self) -> None:
        """Wait for the reads under way, then close every connection."""
        self._closed = True
        while self._waiting or self._lent:
            await (asyncio.wait(self._lent) if self._lent else asyncio.sleep(0))
        for connection in self._all:
            with suppress(DatabaseError):
                await connection.close()

    def _lend_soon(self) -> None:
        """Lend a connection once everybody who is about to ask has asked."""
        if self._waiting and self._free and not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_soon(self._lend)

    def _lend(self) -> None:
        self._soon = False
        while self._waiting and self._free:
            group = [self._waiting.popleft() for _ in range(min(_TOGETHER, len(self._waiting)))]
            if group := [read for read in group if not read.done.done()]:
                lent = asyncio.create_task(self._read(self._free.pop(), group), name="store reader")
                self._lent.add(lent)
                lent.add_done_callback(self._lent.discard)

    async def _read(self, connection: OpenDatabase, group: list[_Read[Any]]) -> None:
        try:
            left = group
            while left:
                await connection.run_together(partial(_all, left))
                failed = [read for read in left if isinstance(read.outcome, DatabaseError) and read.outcome.again]
                if left := [read for read in failed if self._is_awaited(read)]:
                    await self._clock.sleep(_RETRY)
        except BaseException:
            for read in group:
                read.outcome = StoreError("The store stopped before this could be read.")
            raise
        finally:
            self._free.append(connection)
            for read in group:
                settle(read.done, read.outcome)
            # The thread keeps its last work until it gets another: this drops its result.
            group.clear()
            if self._waiting:
                self._lend_soon()

    def _is_awaited(self, read: _Read[Any]) -> bool:
        """Return True while somebody waits for a read that is still useful."""
        late = self._clock.monotonic() - read.asked_at >= _PATIENCE
        return not (late or self._closed or read.done.done())


def _all(group: Sequence[_Read[Any]], db: Session) -> None:
    """Runs on the connection's thread."""
    for read in group:
        try:
            read.outcome = read.work(db)
        except Exception as error:  # noqa: BLE001 - it goes to whoever waits for this read
            read.outcome = db.explain(error)
