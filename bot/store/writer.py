"""The one connection that writes: operations that wait are committed together.

A commit waits for the disk; meanwhile the next group collects, so an operation takes less time the more there are. One
that fails undoes only its own work.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Generic, TypeAlias

from bot.contract import Clock, StoreError
from bot.store.faults import DatabaseError, Fault, settle, store_error
from bot.store.sql import OpenDatabase, Session, T

Operation: TypeAlias = Callable[[Session], T]
"""Statements that belong together, run on the connection's thread. May run again after a failure, so it keeps nothing
outside the database."""

_PATIENCE = 60.0
"""Seconds an operation waits for another program's lock before its awaiter hears of it."""
_PATIENCE_CLOSING = 3.0
"""The same once the store closes: a process that must end in 10 seconds cannot wait out another's lock."""
_RETRY = 0.05
"""SQLite waits for a lock by itself (`busy_timeout`), but not in every case."""
_TOGETHER = 128
"""Operations in one commit; the first of them waits for the last."""
_WAITING = 4096
"""Operations that may wait; who comes then waits for room."""
_LAST = "~"
"""The order of `run_last`; a place begins with a letter."""
_BY_ORDER = attrgetter("order")
_COMPLAINT = 60.0
"""Seconds between two lines about the same trouble in the operator's log."""

_REOPEN = frozenset({Fault.READONLY, Fault.UNREACHABLE, Fault.IO, Fault.CORRUPT})
"""After these the connection may be at fault, or is lost: SQLite decides at its opening whether a file is writable."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Job(Generic[T]):
    operation: Operation[T]
    done: asyncio.Future[T]
    queued_at: float
    apart: bool
    order: str


_Outcomes: TypeAlias = list[tuple[_Job[Any], Any]]
"""What each operation returned, or the exception it raised with its work undone."""


class _NotYetError(Exception):
    """Another program holds the write lock, or the server is away; nothing was written yet."""

    def __init__(self, error: DatabaseError) -> None:
        super().__init__(error)
        self.error = error


class _LostAnswerError(Exception):
    """The connection was lost in a commit, so the commit may or may not have been made."""

    def __init__(self, error: DatabaseError, landed: Callable[[Session], bool | None], outcomes: _Outcomes) -> None:
        super().__init__(error)
        self.error = error
        self.landed = landed
        self.outcomes = outcomes


@dataclass(eq=False, repr=False)
class Writer:
    """Runs operations one after the other and answers each after its commit."""

    db: OpenDatabase | None
    """What it writes through; None: it failed."""
    connect: Callable[[], Awaitable[OpenDatabase]]
    """Opens another when that one fails."""
    _: KW_ONLY
    clock: Clock
    check: Callable[[], None] = lambda: None
    """Raises a `DatabaseError` where the operation's data would be lost."""
    lock: int = 1
    """Number of the lock of `run_last`; another writer of a process has another."""

    def __post_init__(self) -> None:
        self._waiting: deque[_Job[Any]] = deque()
        self._room = asyncio.Semaphore(_WAITING)
        self._wake = asyncio.Event()
        self._closing = False
        self._complained_at = float("-inf")
        self.trouble = ""
        """Why the last write failed, in a sentence for the operator, if the reason is not the statement's own: locked,
        full, read-only, damaged; else empty."""
        self._complained = False
        """The trouble is in the log; its end will be."""
        self.traces = True
        """What was deleted may still be in the write-ahead log, at first that of a process that was killed; see
        bot/store/forgetting.py."""
        self.traces_told = False
        """It is in the log, and the operator has been informed."""
        self.commits = 0
        """Transactions committed since the store was opened."""
        self._task = asyncio.create_task(self._work(), name="store writer")

    @property
    def in_trouble(self) -> bool:
        """The last write failed; see `trouble`."""
        return bool(self.trouble)

    @property
    def waiting(self) -> int:
        """Operations that wait to be written."""
        return len(self._waiting)

    async def close(self) -> None:
        """Finish what waits, then close the connection."""
        self._closing = True
        self._wake.set()
        try:
            await asyncio.wait({self._task})
        finally:
            self._task.cancel()  # it has ended, unless we were cancelled ourselves
            await self._drop()

    async def run(self, operation: Operation[T], *, apart: bool = False, order: str = "") -> T:
        """Run `work` in a transaction and return its result after the commit.

        Cancelled before its turn came, it is not run; cancelled later, it is as a rule committed all the same.

        Args:
            apart: see `run_apart`.
            order: sorts the operations of one transaction. Those that take rows which another process may take too
                need the same order there: two transactions would else wait for each other in a circle.

        Raises:
            StoreError: nothing of it was written.
            Exception: whatever the operation raised; nothing of it was written either.
        """
        async with self._room:
            if self._closing:
                raise StoreError("The store is closed, so nothing more can be written.")
            done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            self._waiting.append(_Job(operation, done, self.clock.monotonic(), apart, order))
            self._wake.set()
            return await done

    async def run_apart(self, operation: Operation[T]) -> T:
        """Run `work` alone and outside any transaction, as some PRAGMAs need. Raises as `run`."""
        return await self.run(operation, apart=True)

    async def run_last(self, operation: Operation[T]) -> T:
        """Run `work` after the other operations of its transaction, and after those of other processes that are run
        like this: they change the same rows, in any order. Raises as `run`."""

        def work(db: Session) -> T:
            db.one_by_one(self.lock)
            return operation(db)

        return await self.run(work, order=_LAST)

    async def execute(self, sql: str, parameters: Iterable[Any] = ()) -> int:
        """Run one statement and return how many rows it changed. Raises as `run`."""
        values = tuple(parameters)
        return await self.run(lambda db: db.execute(sql, values).rowcount)

    async def _work(self) -> None:
        try:
            while self._waiting or not self._closing:
                if not self._waiting:
                    self._wake.clear()
                    await self._wake.wait()
                else:
                    await self._settle(self._next_group())  # not held here: it would stay until the next one
        finally:
            self._closing = True
            for job in self._waiting:
                settle(job.done, StoreError("The store stopped before this could be written."))

    def _next_group(self) -> list[_Job[Any]]:
        group: list[_Job[Any]] = []
        while self._waiting and len(group) < _TOGETHER:
            if self._waiting[0].apart and group:
                break
            job = self._waiting.popleft()
            if job.done.done():
                continue
            group.append(job)
            if job.apart:
                break
        group.sort(key=_BY_ORDER)
        return group

    async def _settle(self, group: list[_Job[Any]]) -> None:
        """Write a group and answer its awaiters."""
        try:
            outcomes = await self._commit(group)
        except DatabaseError as error:
            await self._clean_up(error)
            if len(group) > 1:
                # The whole transaction is gone, maybe for one operation's sake: each gets its own.
                for job in group:
                    await self._settle([job])
                return
            outcomes = [(group[0], error)]
        except BaseException:
            for job in group:
                settle(job.done, StoreError("The store stopped before this could be written."))
            raise
        else:
            failed = [outcome for _, outcome in outcomes if isinstance(outcome, DatabaseError)]
            for one in failed:
                if one.fault is not Fault.OTHER:
                    self._complain(one)
            if self.trouble and outcomes and not failed:
                self._report_recovery()
        for job, outcome in outcomes:
            settle(job.done, outcome)

    async def _commit(self, group: list[_Job[Any]]) -> _Outcomes:
        """Write a group, waiting while another program holds the lock; empty if every caller has given up."""
        lost: _LostAnswerError | None = None
        while any(not job.done.done() for job in group):
            try:
                db = self.db or await self._reconnect()
                if lost is not None:
                    if await db.run_together(partial(_find_out, lost)):
                        self.commits += 1
                        return lost.outcomes
                    lost = None
                if group[0].apart:
                    return await db.run_together(partial(_alone, group[0], self.check))
                outcomes = await db.run_together(partial(_transaction, group, self.check))
            except _LostAnswerError as unsure:
                lost = unsure
                self._complain(unsure.error)
                await self._drop()
            except _NotYetError as late:
                if late.error.fault is not Fault.AGAIN:
                    self._complain(late.error)
                if late.error.fault in _REOPEN:
                    await self._drop()
                now = self.clock.monotonic()
                for job in (*group, *self._waiting):
                    if now - job.queued_at >= (_PATIENCE_CLOSING if self._closing else _PATIENCE):
                        settle(job.done, late.error)
                await self.clock.sleep(_RETRY)
            else:
                self.commits += 1
                return outcomes
        return []

    async def _reconnect(self) -> OpenDatabase:
        self.check()  # or a new file would be made where the database was
        try:
            self.db = db = await self.connect()
        except DatabaseError as error:
            raise _told_apart(error) from error
        return db

    async def _clean_up(self, error: DatabaseError) -> None:
        """Leave the connection usable after a transaction that failed."""
        self._complain(error)
        if self.db is None or error.fault in _REOPEN:
            await self._drop()
            return
        try:
            await self.db.run_together(lambda db: db.rollback())
        except DatabaseError:
            await self._drop()

    async def _drop(self) -> None:
        db, self.db = self.db, None
        if db is not None:
            with suppress(DatabaseError):
                await db.close()

    def _complain(self, error: DatabaseError) -> None:
        self.trouble = str(store_error(error))
        now = self.clock.monotonic()
        if now - self._complained_at >= _COMPLAINT:
            self._complained_at = now
            self._complained = True
            _log.error("the store cannot write: %s", self.trouble)

    def _report_recovery(self) -> None:
        self.trouble = ""
        if self._complained:
            self._complained = False
            _log.warning("the store writes again")


# What follows runs on the connection's thread.


def _alone(job: _Job[Any], check: Callable[[], None], db: Session) -> _Outcomes:
    check()
    try:
        return [(job, job.operation(db))]
    except Exception as error:
        told = db.explain(error)
        if isinstance(told, DatabaseError):
            raise told from error
        return [(job, error)]


def _transaction(group: Sequence[_Job[Any]], check: Callable[[], None], db: Session) -> _Outcomes:
    _begin(db)
    begun: list[_Job[Any]] = []
    outcomes: _Outcomes = []
    try:
        for job in group:
            if not job.done.done():
                begun.append(job)
                outcomes.append((job, job.operation(db)))
        db.finish()
    except Exception as error:
        told = db.explain(error)
        _raise_if_again(told, db)
        if not db.in_transaction and isinstance(told, DatabaseError):
            raise told from error  # SQLite took back the whole transaction (disk full, I/O error)
        # One of them failed: all are taken back and done again, each in a savepoint, so that the others keep
        # theirs. Savepoints from the start would double what every write costs, for what hardly ever happens.
        db.rollback()
        _begin(db)
        outcomes = [(job, _one(job, db)) for job in group if job in begun or not job.done.done()]
    check()
    try:
        db.commit()
    except Exception as error:
        told = db.explain(error)
        if isinstance(told, DatabaseError) and told.landed is not None:
            raise _LostAnswerError(told, told.landed, outcomes) from error
        _raise_if_again(told, db)
        raise told from error
    return outcomes


def _find_out(lost: _LostAnswerError, db: Session) -> bool:
    """Return True if a commit was made whose answer was lost."""
    try:
        landed = lost.landed(db)
    except Exception as error:
        raise _told_apart(db.explain(error)) from error
    if landed is None:
        raise _NotYetError(lost.error)
    return landed


def _begin(db: Session) -> None:
    try:
        db.begin()
    except Exception as error:
        raise _told_apart(db.explain(error)) from error


def _told_apart(error: Exception) -> Exception:
    """Return `_NotYetError` for another program's lock, and for whatever may go well the next time."""
    if isinstance(error, DatabaseError) and (error.again or error.fault is Fault.LOCKED):
        return _NotYetError(error)
    return error


def _raise_if_again(error: Exception, db: Session) -> None:
    """Take the whole transaction back if another may go well, and raise `_NotYetError`."""
    if isinstance(error, DatabaseError) and error.again:
        with suppress(Exception):  # the connection may be lost, and the transaction with it
            db.rollback()
        raise _NotYetError(error)


def _one(job: _Job[Any], db: Session) -> Any:
    """Run one operation in a savepoint; return its result, or its exception with its work undone."""
    db.execute("SAVEPOINT operation")
    try:
        outcome = job.operation(db)
        db.finish()
    except Exception as error:  # it goes to the caller who waits for this operation
        told = db.explain(error)
        _raise_if_again(told, db)
        if not db.in_transaction:  # SQLite took back the whole transaction (disk full, I/O error)
            if isinstance(told, DatabaseError):
                raise told from error
            raise DatabaseError(Fault.OTHER, "the transaction was taken back") from error
        db.execute("ROLLBACK TO operation")
        outcome = told
    db.execute("RELEASE operation")
    return outcome
