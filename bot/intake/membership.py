"""This process among those on one PostgreSQL: it shows that it is alive, and finds out which others are not.

Each process has a row in `workers` and one direct connection with its own thread, so a blocked event loop does not look
like a dead process. The connection holds an advisory lock on the row's id, which the server frees when the process
dies, and writes `seen_at` three times a second, which stops when it is frozen or cut off. A process that finds
another's lock free, or its time too old, deletes that row; a process without its row has been replaced, writes nothing
more, and ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import select
import selectors
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from math import inf
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from bot.contract import Clock, SettingsError, StoreError
from bot.intake.agreement import ClockWatch, refuse_differences, refuse_other_bots, tell_differences
from bot.intake.direct import KEY, Lock, Waker, take
from bot.intake.ownership import Role
from bot.store import processes_on_server
from tools.programs.cancelling import end_tasks

if TYPE_CHECKING:
    from psycopg import Connection

_Result = TypeVar("_Result")
log = logging.getLogger(__name__)

BEAT_SECONDS = 0.3
"""How often a process shows that it is alive, and checks the others."""
UNHEARD_SECONDS = 1.0
"""After this time without an answer a process sends nothing, and judges nobody: it may be the one that is cut off."""
HELD_SECONDS = 2.0
"""A frozen process holds nothing longer than this: its open transactions are then rolled back."""
FROZEN_SECONDS = 3.0
"""A process that wrote nothing for this time is frozen or cut off, even if its connection exists."""
SWEEP_SECONDS = 1.0
"""How often unserved places are searched."""
WAITING, GONE = "parley_places", "parley_gone"
"""The channels on which processes announce that a place waits to be served, and that a process has ended."""
ENDED = 70
"""The exit code of a replaced process. Its supervisor can restart it."""

_ENTER = """
INSERT INTO workers (id, name, version, configuration, role, since)
VALUES (%s, %s, %s, %s, %s, coalesce(%s, extract(epoch FROM clock_timestamp()))) RETURNING since"""
_LEAVE = f"""
WITH gone AS (DELETE FROM workers WHERE id = %s RETURNING id) SELECT pg_notify('{GONE}', '') FROM gone"""
_BEAT = """
UPDATE workers SET seen_at = clock_timestamp(), listens = %s, ahead = %s - extract(epoch FROM clock_timestamp())
WHERE id = %s RETURNING ahead"""
_OTHERS = """
SELECT id, name, pg_try_advisory_lock(id), seen_at < clock_timestamp() - make_interval(secs => %s)
FROM workers WHERE id <> %s"""


def end_at_once(sentence: str) -> NoReturn:
    """End the process before it does anything more: another one does its work now."""
    log.critical("%s", sentence)
    logging.shutdown()
    os._exit(ENDED)


def lock_entrance(db: Connection[Any]) -> None:
    """Make the processes compare themselves one after another, until the transaction ends."""
    db.execute(f"SELECT pg_advisory_xact_lock({KEY})", ["entering"])


class Membership:
    """The process's row, direct connection and locks."""

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        name: str,
        version: str = "",
        configuration: str = "",
        role: Role = Role.ALL,
        may_differ: bool = False,
    ) -> None:
        """
        Args:
            name: the process's name for the operator.
            configuration: what all processes must share, as `NAME=digest` separated by spaces.
            may_differ: other processes may have another configuration.
        """
        self.id = secrets.randbits(62)
        self.application = f"parley {self.id}"
        """The name of this process's connections, by which the others end them if it is frozen."""
        self.url = url
        self.clock = clock
        self.role = role
        self._may_differ = may_differ
        self._row = (self.id, name, version, configuration, role)
        self.listens = ""
        """The platforms from which this process receives, for the others to read."""
        self._clocks = ClockWatch()
        self.answered_since = inf
        self._loop = asyncio.get_running_loop()
        self._work: deque[tuple[Callable[[Connection[Any]], Any], Future[Any]]] = deque()
        self._waker = Waker()
        self._answered = self._steady_since = float("-inf")
        self._leaving = False
        self._locks: list[Lock] = []
        self._free = False
        """A lock that this process waits for may be free."""
        self._first: Connection[Any] | None = None
        self._thread = threading.Thread(target=self._attend, name="direct connection", daemon=True)
        self.on_hint: Callable[[str], None] = lambda _: None
        """Called in the event loop with a hint that another process sent by `tell`."""
        self.on_sweep: Callable[[Connection[Any]], None] = lambda _: None
        """Called within a transaction of the direct connection after the row of a dead process is deleted, and each
        second: releases unserved places."""
        self.on_waiting: Callable[[], None] = lambda: None
        """Called in the thread when a place may be waiting to be served."""
        self.gone = asyncio.Event()
        """Set when a process has ended."""
        self.end: Callable[[str], NoReturn] = end_at_once

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[Membership]:
        """Join the processes; leaving deletes the row, and releases this process's places.

        Raises:
            SettingsError: another process has another configuration, or the URL leads to a pooler, or its role cannot
                write.
            StoreError: the server cannot be reached.
        """
        try:
            self._first = await asyncio.to_thread(self._begin)
        except BaseException:
            self._waker.close()
            raise
        self._answered = self._steady_since = self.clock.monotonic()
        self._thread.start()
        try:
            yield self
        finally:
            self._leaving = True
            self._waker.wake()
            await asyncio.to_thread(self._thread.join)
            self._waker.close()

    def is_heard(self) -> bool:
        """Return True if the database answered within the last second: so long no process can have replaced this one.
        While it is False, nothing is sent to a platform and no paid call is made."""
        return self.clock.monotonic() - self._answered < UNHEARD_SECONDS

    async def do(self, work: Callable[[Connection[Any]], _Result]) -> _Result:
        """Do `work` in a transaction on the direct connection; it must be short, and wait for no lock.

        Raises:
            StoreError: the server is out of reach, or the work failed. It may have been done.
        """
        done: Future[_Result] = Future()
        self._work.append((work, done))
        self._waker.wake()
        return await asyncio.wrap_future(done)

    async def while_held(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` while only this process holds a lock; see `Locks`."""
        while True:
            lock = Lock(name)
            self._locks.append(lock)
            self._free = True
            self._waker.wake()
            try:
                await lock.held.wait()
                log.info("this process has %s now", name)
                working = asyncio.ensure_future(work())
                losing = asyncio.create_task(lock.lost.wait(), name=f"lock {name}")
                try:
                    await asyncio.wait((working, losing), return_when=asyncio.FIRST_COMPLETED)
                    if working.done():
                        return await working
                finally:
                    await end_tasks(losing, working)
                log.warning("this process has lost %s: the database was out of reach", name)
            finally:
                self._locks.remove(lock)
                self._work.append((lock.give_back, Future()))
                self._waker.wake()

    def connecting(self) -> dict[str, str | int]:
        """How every connection of this process is made, so that the other processes can end it together with this
        process."""
        return {
            "application_name": self.application,
            "connect_timeout": 2,
            "keepalives_idle": 1,
            "keepalives_interval": 1,
            "keepalives_count": 3,
            "tcp_user_timeout": 3000,
        }

    def connect(self, options: str = "") -> Connection[Any]:
        import psycopg

        address = psycopg.conninfo.make_conninfo(self.url, options=options, **self.connecting())
        return psycopg.connect(address, autocommit=True)

    # All below runs in the thread, or before it.

    def _begin(self) -> Connection[Any]:
        import psycopg

        try:
            db = self._open()
            try:
                if db.execute("SELECT pg_backend_pid()").fetchone() != (db.info.backend_pid,):
                    raise SettingsError(
                        "DATABASE_URL must lead to PostgreSQL itself, not to a pooler: "
                        "several processes know each other by what one connection holds"
                    )
                with db.transaction():
                    # One after another: of two that start at once, the second sees the first.
                    db.execute("SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = '10s'")
                    lock_entrance(db)
                    agree = tell_differences if self._may_differ else refuse_differences
                    refuse_other_bots(self._row[3], others := processes_on_server(db))
                    agree(self._row[3], others)
                    since = min((one.since for one in others if Role.of(one.role).answers), default=None)
                    (self.answered_since,) = db.execute(_ENTER, (*self._row, since)).fetchone() or (inf,)
            except BaseException:
                db.close()
                raise
        except psycopg.errors.InsufficientPrivilege as error:
            raise SettingsError(f"DATABASE_URL names a role that cannot write to its tables: {error}") from error
        except psycopg.Error as error:
            raise StoreError(f"PostgreSQL cannot be reached: {error}") from error
        return db

    def _open(self) -> Connection[Any]:
        """The direct connection, with its lock."""
        held = int(HELD_SECONDS * 1000)
        limits = f"-c lock_timeout=300 -c statement_timeout={held} -c idle_in_transaction_session_timeout={held}"
        # Whether it was alive in the last instant before the server stopped is not worth waiting for a disk.
        db = self.connect(options=f"{limits} -c synchronous_commit=off")
        try:
            # If the network was cut, the server may still keep the previous connection, with its lock.
            db.execute(
                "SELECT pg_terminate_backend(pid, 1000) FROM pg_locks "
                "WHERE locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint) = %s AND objsubid = 1 "
                "AND pid IN (SELECT pid FROM pg_stat_activity WHERE application_name = %s) AND pid <> pg_backend_pid()",
                [self.id, self.application],
            )
            db.execute("SELECT pg_advisory_lock(%s)", [self.id])
            for channel in (f"parley_{self.id}", WAITING, GONE):
                db.execute(f'LISTEN "{channel}"'.encode())
        except BaseException:
            db.close()
            raise
        return db

    def _attend(self) -> None:
        """Maintain the direct connection, until `_leaving`."""
        import psycopg

        db, lost = self._first, False
        while not self._leaving:
            try:
                db, lost = db or self._open(), False
                self._keep(db)
            except psycopg.Error as error:
                if db is not None and not db.broken:
                    log.exception("PostgreSQL refused a statement of the direct connection")
                    self._waker.drain()
                    select.select([self._waker], [], [], BEAT_SECONDS)
                    continue
                if not lost:  # ten tries a second may follow
                    log.warning("the direct connection to PostgreSQL is lost, and made again: %s", str(error).strip())
                lost = True
                self._lose(error)
                db = None
                select.select([self._waker], [], [], 0.1)
                self._waker.drain()
        self._leave(db)

    def _keep(self, db: Connection[Any]) -> None:
        """Beat, check the others, and do requested work, until `_leaving`."""
        beat_at = swept_at = float("-inf")
        # Notifications that came while nobody listened.
        for channel in (WAITING, GONE):
            self._hear(channel, "")
        with selectors.DefaultSelector() as selector:
            selector.register(db, selectors.EVENT_READ)
            selector.register(self._waker, selectors.EVENT_READ)
            while not self._leaving:
                if (now := self.clock.monotonic()) >= beat_at + BEAT_SECONDS:
                    beat_at, self._free = now, True
                    self._beat(db)
                    if self._judge(db) or now >= swept_at + SWEEP_SECONDS:
                        swept_at = now
                        self._sweep(db)
                if self._free:
                    self._take_locks(db)
                self._do_work(db)
                # Notifications that came with the answer to a statement do not wake a `select`.
                if not self._hear_all(db):
                    selector.select(max(0.0, beat_at + BEAT_SECONDS - self.clock.monotonic()))
                    self._waker.drain()

    def _hear_all(self, db: Connection[Any]) -> bool:
        """Receive the notifications of other processes; return True if there were any."""
        notes = list(db.notifies(timeout=0))
        for note in notes:
            self._hear(note.channel, note.payload)
        return bool(notes)

    def _hear(self, channel: str, payload: str) -> None:
        if channel == WAITING:
            self.on_waiting()
        elif channel == GONE:
            self._free = True
            self._tell_loop(self.gone.set)
        else:
            self._tell_loop(self.on_hint, payload)

    def _beat(self, db: Connection[Any]) -> None:
        asked = self.clock.monotonic()
        ahead = db.execute(_BEAT, [self.listens, self.clock.wall(), self.id]).fetchone()
        if ahead is None:
            self.end("another process has taken over this one's places, as it did not answer: this one ends")
        else:
            self._clocks.look(ahead[0], self.clock.monotonic() - asked)
        # An answer does not prove how long it took: a process that was frozen meanwhile has been replaced.
        if asked - self._answered >= UNHEARD_SECONDS:
            self._steady_since = asked
        self._answered = asked

    def _judge(self, db: Connection[Any]) -> bool:
        """Delete the rows of dead processes; return True if there were any.

        A process that was itself unheard a second ago judges nobody: after a restart of the server all come back, each
        in its time.
        """
        if self._answered - self._steady_since < UNHEARD_SECONDS:
            return False
        buried = False
        for id, name, dead, frozen in db.execute(_OTHERS, [FROZEN_SECONDS, self.id]).fetchall():
            if frozen and not dead:
                log.warning("process %s is frozen or cut off; its connections are ended", name)
                self._end_connections(db, id)
                dead = db.execute("SELECT pg_try_advisory_lock(%s)", [id]).fetchone() == (True,)
            if dead:
                try:
                    self._bury(db, id, name)
                finally:
                    db.execute("SELECT pg_advisory_unlock(%s)", [id])
                buried = True
        return buried

    def _bury(self, db: Connection[Any], id: int, name: str) -> None:
        """Delete the row of a dead process whose lock is held, and release its places."""
        import psycopg

        try:
            self._end_connections(db, id)
            with db.transaction():
                db.execute("SET LOCAL synchronous_commit = on")
                # What that process is storing right now is stored first: it holds its row until then.
                if db.execute(_LEAVE, [id]).rowcount:
                    log.warning("process %s has died; others continue its work", name)
                self.on_sweep(db)
        except psycopg.Error:
            if db.broken:
                raise
            log.exception("process %s has died; its places wait for the next check", name)

    def _sweep(self, db: Connection[Any]) -> None:
        with db.transaction():
            db.execute("SET LOCAL synchronous_commit = on")
            self.on_sweep(db)

    def _end_connections(self, db: Connection[Any], id: int) -> None:
        db.execute(
            "SELECT pg_terminate_backend(pid, 200) FROM pg_stat_activity WHERE application_name = %s", [f"parley {id}"]
        )

    def _take_locks(self, db: Connection[Any]) -> None:
        self._free = False
        for lock in take(db, list(self._locks)):
            self._tell_loop(lock.held.set)

    def _do_work(self, db: Connection[Any]) -> None:
        import psycopg

        while self._work:
            work, done = self._work.popleft()
            if not done.set_running_or_notify_cancel():
                continue
            try:
                with db.transaction():
                    db.execute("SET LOCAL synchronous_commit = on")
                    result = work(db)
            except psycopg.OperationalError as error:
                done.set_exception(StoreError(f"PostgreSQL: {error}"))
                if db.broken:
                    raise
            except Exception as error:  # noqa: BLE001  # handed to who asked
                done.set_exception(error)
            else:
                done.set_result(result)

    def _lose(self, error: Exception) -> None:
        """Forget what this process holds."""
        self._answered = float("-inf")
        while self._work:
            _, done = self._work.popleft()
            if done.set_running_or_notify_cancel():
                done.set_exception(StoreError(f"PostgreSQL is out of reach: {error}"))
        for lock in list(self._locks):
            if lock.taken:
                self._tell_loop(lock.lost.set)

    def _leave(self, db: Connection[Any] | None) -> None:
        import psycopg

        try:
            if db is not None:
                with db, db.transaction():
                    db.execute(_LEAVE, [self.id])
                    self.on_sweep(db)
        except psycopg.Error as error:
            log.warning("the other processes will notice that this one has ended: %s", str(error).strip())
        self._lose(StoreError("this process has left"))

    def _tell_loop(self, call: Callable[..., object], *values: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call, *values)
