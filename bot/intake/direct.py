"""Parts of the direct connection: a waker for its thread, and locks.

A lock is held by one process at a time; the server frees it when that process dies.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection

KEY = "hashtextextended('parley ' || %s, 0)"
"""The lock for a name, which is the statement's value."""
_TAKE = f"""
SELECT name FROM unnest(CAST(%s AS text[])) AS name WHERE pg_try_advisory_lock({KEY.replace("%s", "name")})"""


class Waker:
    """Wakes a thread that waits for it with `select`."""

    def __init__(self) -> None:
        self._woken, self._wakes = socket.socketpair()
        for end in (self._woken, self._wakes):
            end.setblocking(False)

    def fileno(self) -> int:
        """Return what `select` waits for."""
        return self._woken.fileno()

    def wake(self) -> None:
        """Wake it; called from any thread."""
        with suppress(BlockingIOError):  # it is already awake
            self._wakes.send(b".")

    def drain(self) -> None:
        """Reset the waker."""
        with suppress(BlockingIOError):
            self._woken.recv(4096)

    def close(self) -> None:
        self._woken.close()
        self._wakes.close()


class Lock:
    """One lock that this process holds or waits for; the connection's thread takes and releases it."""

    def __init__(self, name: str) -> None:
        self.taken = False
        self.held = asyncio.Event()
        self.lost = asyncio.Event()
        self.name = name

    def give_back(self, db: Connection[Any]) -> None:
        if self.taken:
            db.execute(f"SELECT pg_advisory_unlock({KEY})", [self.name])


def take(db: Connection[Any], locks: Iterable[Lock]) -> list[Lock]:
    """Take the free locks among those that this process waits for; return them."""
    wanted = {lock.name: lock for lock in locks if not lock.taken}
    if not wanted:
        return []
    taken = [wanted[name] for (name,) in db.execute(_TAKE.encode(), [list(wanted)]).fetchall()]
    for lock in taken:
        lock.taken = True
    return taken
