"""A PostgreSQL connection behind the same protocol as SQLite's, on a thread of its own (psycopg, the extra `postgres`).

The statements are SQLite's; the differences between the two are handled here: placeholders, types of values, errors.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo, pq
from psycopg.adapt import Dumper, Loader
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumperUnknown

from bot.contract import SettingsError
from bot.store.faults import DatabaseError, Fault
from bot.store.sql import Connection, Fence

T = TypeVar("T")
_Buffer = bytes | bytearray | memoryview

_CONNECTING = {
    "application_name": "parley",
    "client_encoding": "UTF8",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
"""Defaults that a `DATABASE_URL` can override. A server that disappears silently is noticed within half a minute."""
_ONE_BY_ONE = 0x5041524D
"""The first number of the advisory locks of `one_by_one`."""
_NUMBER = "SELECT CAST(pg_current_xact_id() AS text)"
_END = "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE backend_xid = xid(CAST(? AS xid8))"
"""The server may not know yet that nobody waits for a transaction any more."""
_LOCK_TIMEOUT = "SET lock_timeout = '5s'"
_READ_ONLY = "SET default_transaction_read_only = on"
_MARKS = re.compile(r"'(?:[^']|'')*'|\?|:([a-z_]+)")
"""Matches quoted text, `?`, and a name after a colon."""

_AGAIN = {"40001", "40P01", "55P03"}
_FAULTS = {
    **dict.fromkeys(_AGAIN, Fault.AGAIN),
    "25006": Fault.READONLY,
    "42501": Fault.READONLY,
    "42P01": Fault.CHANGED,
    "42703": Fault.CHANGED,
    "57014": Fault.OTHER,  # an operator, or a limit of the server's, ended this statement alone
    "58030": Fault.IO,
}
_CLASSES = {"08": Fault.UNREACHABLE, "57": Fault.UNREACHABLE, "53": Fault.FULL, "58": Fault.IO, "XX": Fault.CORRUPT}
"""Faults by the first two characters of SQLSTATE."""
_SENTENCES = {
    Fault.AGAIN: "other processes keep writing to the same rows of the database, so nothing was written",
    Fault.FULL: "the database server has no disk, memory or connection left; free some, and the bot goes on by itself",
    Fault.READONLY: "the database is read-only for the bot's role; give it the right to write, or name another server",
    Fault.UNREACHABLE: "the database server does not answer; the bot goes on by itself as soon as it does",
    Fault.IO: "the database server reported an error of its disk or files; look into its log",
    Fault.CORRUPT: "the database server reported damage; look into its log, and restore a backup",
    Fault.CHANGED: "another program changed the tables of the database; restore them, or a backup",
}


class _Int8(Int8Dumper):
    """Reads whole numbers of any size as one type; a truth value is 0 or 1."""

    def dump(self, obj: Any) -> _Buffer:
        return str(int(obj)).encode()


class _Text(StrDumperUnknown):
    """Removes NUL characters from texts, which PostgreSQL refuses; also from ids and the like, which `to_plain` does
    not cover."""

    def dump(self, obj: str) -> _Buffer:
        return str(obj).replace("\0", "").encode()


class _Whole(Loader):
    """Reads sums of whole numbers, the only numbers of this type in statements."""

    def load(self, data: _Buffer) -> int:
        return int(bytes(data))


_DUMPERS: dict[type, type[Dumper]] = {int: _Int8, bool: _Int8, str: _Text, StrEnum: _Text}


@lru_cache(1024)
def translate(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a statement with PostgreSQL's placeholders, and the names of its values in order; no names for `?`."""
    names: dict[str, int] = {}
    count = 0

    def number(found: re.Match[str]) -> str:
        nonlocal count
        if found[0] == "?":
            count += 1
            return f"${count}"
        return f"${names.setdefault(found[1], len(names) + 1)}" if found[1] else found[0]

    return _MARKS.sub(number, sql).encode(), tuple(names)


def postgres_error(error: psycopg.Error, *, lost: bool = False) -> DatabaseError:
    """Classify an error by its SQLSTATE; one without is the connection's own.

    Args:
        lost: the connection is broken.
    """
    state = error.sqlstate or ""
    fault = _FAULTS.get(state) or _CLASSES.get(state[:2], Fault.OTHER)
    if lost or (not state and isinstance(error, psycopg.OperationalError)):
        fault = Fault.UNREACHABLE
    said = " ".join(str(error).split())
    told = DatabaseError(fault, said, state or type(error).__name__, sentence=_SENTENCES.get(fault, ""))
    told.again = fault in (Fault.AGAIN, Fault.UNREACHABLE)
    told.__cause__ = error
    return told


class _Cursor(psycopg.RawCursor[Any]):
    """A statement's result; reading it waits for it."""

    @property
    def rowcount(self) -> int:
        if self.pgresult is None and (pipeline := getattr(self.connection, "sent_ahead", None)) is not None:
            pipeline.sync()
        return int(super().rowcount)


class _Line(psycopg.Connection[Any]):
    """A connection that knows which statements it sent ahead."""

    sent_ahead: psycopg.Pipeline | None = None


class _Many:
    """The result of a statement that was run for several rows of values."""

    def __init__(self, each: Sequence[psycopg.Cursor[Any]]) -> None:
        self._each = each

    @property
    def rowcount(self) -> int:
        return sum(one.rowcount for one in self._each)


class PostgresConnection:
    """See `bot.store.sql.Session`. A read-only connection that was lost is reopened at the next statement."""

    def __init__(self, address: str, *, write: bool, fence: Fence | None = None) -> None:
        """
        Args:
            fence: called at the beginning of each transaction.

        Raises:
            psycopg.Error: it cannot be opened.
        """
        self._address = address
        self._write = write
        self._fence = fence
        self._db = self._open()
        self._numbered: psycopg.Cursor[Any]
        """Reads the number of the transaction."""
        self._ahead = ExitStack()
        """Left when the statements sent ahead are waited for."""

    def _open(self) -> _Line:
        db = _Line.connect(self._address, autocommit=True, cursor_factory=_Cursor)
        try:
            for kind, dumper in _DUMPERS.items():
                db.adapters.register_dumper(kind, dumper)
            db.adapters.register_loader("numeric", _Whole)
            db.execute(_LOCK_TIMEOUT if self._write else _READ_ONLY)
        except BaseException:
            db.close()
            raise
        return db

    @property
    def info(self) -> psycopg.ConnectionInfo:
        return self._db.info

    @property
    def in_transaction(self) -> bool:
        with suppress(psycopg.Error):
            self.finish()
        return self._db.info.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)

    def execute(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> psycopg.Cursor[Any]:
        if self._db.closed and not self._write:
            self._db = self._open()
        statement, names = translate(sql)
        # With an empty list of values a statement is sent like one with values.
        return self._db.execute(statement, _in_order(values, names) or None)

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> Any:
        return _Many([self.execute(sql, row) for row in values])

    def one_by_one(self, lock: int) -> None:
        # Only one in a transaction: several would need an order.
        self._db.execute(b"SELECT pg_advisory_xact_lock(%d, %d)" % (_ONE_BY_ONE, lock))

    def begin(self) -> None:
        """Statements are sent ahead from here on: most results are not read, and each would be a round trip."""
        self._db.sent_ahead = self._ahead.enter_context(self._db.pipeline())
        self._db.execute("BEGIN")
        self._numbered = self._db.execute(_NUMBER)
        if self._fence is not None:
            self._fence(self)

    def finish(self) -> None:
        self._db.sent_ahead = None
        self._ahead.close()

    def commit(self) -> None:
        """
        Raises:
            DatabaseError: it is not committed; if the connection was lost meanwhile, `landed` finds out.
        """
        self.finish()
        if self._db.info.transaction_status is pq.TransactionStatus.INERROR:
            self.rollback()  # PostgreSQL would report it as committed
            raise DatabaseError(Fault.OTHER, "the transaction was taken back", "InFailedSqlTransaction")
        [(transaction,)] = self._numbered.fetchall()
        try:
            self._db.execute("COMMIT")
        except psycopg.Error as error:
            told = postgres_error(error, lost=self._db.closed)
            told.again = error.sqlstate in _AGAIN
            if told.fault is Fault.UNREACHABLE:
                told.landed = partial(_has_landed, transaction)
            raise told from error

    def rollback(self) -> None:
        if self.in_transaction:
            # Not as a statement: the library forgets here what it took for prepared, and the server left out.
            self._db.rollback()

    def explain(self, error: Exception) -> Exception:
        return postgres_error(error, lost=self._db.closed) if isinstance(error, psycopg.Error) else error

    def last_id(self, table: str) -> int:
        [(last,)] = self.execute(
            "SELECT coalesce(pg_sequence_last_value(CAST(pg_get_serial_sequence(?, 'id') AS regclass)), 0)", (table,)
        ).fetchall()
        return int(last)

    def set_last_id(self, table: str, id: int) -> None:
        self.execute(
            "SELECT setval(CAST(pg_get_serial_sequence(?, 'id') AS regclass), greatest(CAST(? AS bigint), 1), ? > 0)",
            (table, id, id),
        )

    def give_back(self) -> int:
        return 0  # its own vacuum does it

    def wipe_log(self) -> bool:
        return True  # its log is its operator's business

    def close(self) -> None:
        self._db.close()


def _has_landed(transaction: str, db: Connection) -> bool | None:
    """Return whether a transaction was committed; None while it is still ending, which is hurried."""
    try:
        [(status,)] = db.execute("SELECT pg_xact_status(CAST(? AS xid8))", (transaction,)).fetchall()
    except psycopg.DataError:
        return False  # the server was restored to a state before it
    if status != "in progress":
        return bool(status == "committed")
    with suppress(psycopg.Error):
        db.execute(_END, (transaction,))
    return None


def _in_order(values: Sequence[Any] | Mapping[str, Any], names: tuple[str, ...]) -> Sequence[Any]:
    return [values[name] for name in names] if isinstance(values, Mapping) else values


class PostgresDatabase:
    """See `bot.store.sql.OpenDatabase`."""

    def __init__(self, connection: PostgresConnection, thread: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._thread = thread
        self._closed = False

    async def run_together(self, work: Callable[[PostgresConnection], T], /) -> T:
        """Run `work` on the connection's thread; see `OpenDatabase`. A cancelled call is completed."""
        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._thread, _run, work, self._connection))

    async def close(self) -> None:
        """Close the connection after the present work, and end its thread; closing twice is not an error."""
        if not self._closed:
            self._closed = True
            try:
                await self.run_together(PostgresConnection.close)
            finally:
                self._thread.shutdown(wait=False)


def _run(work: Callable[[PostgresConnection], T], connection: PostgresConnection) -> T:
    try:
        return work(connection)
    except psycopg.Error as error:
        raise postgres_error(error, lost=connection.info.status is pq.ConnStatus.BAD) from error


async def open_postgres(url: str, *, write: bool, fence: Fence | None = None) -> PostgresDatabase:
    """Open one connection to the database of a `DATABASE_URL`.

    Raises:
        DatabaseError: it cannot be opened.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="store postgres")
    opening = thread.submit(connect_postgres, url, write=write, fence=fence)
    try:
        return PostgresDatabase(await asyncio.shield(asyncio.wrap_future(opening)), thread)
    except BaseException:
        # After the opening, on its thread: the event loop may have ended by then.
        thread.submit(lambda: opening.result().close())
        thread.shutdown(wait=False)
        raise


class BorrowedConnection:
    """Somebody else's open connection, for statements of the store."""

    def __init__(self, db: psycopg.Connection[Any]) -> None:
        self._db = db

    def execute(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> psycopg.Cursor[Any]:
        statement, names = translate(sql)
        return psycopg.RawCursor(self._db).execute(statement, _in_order(values, names) or None)

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> psycopg.Cursor[Any]:
        statement, _ = translate(sql)
        cursor = psycopg.RawCursor(self._db)
        cursor.executemany(statement, list(values))
        return cursor


def connect_postgres(url: str, *, write: bool, fence: Fence | None = None) -> PostgresConnection:
    """Open a connection to the database of a `DATABASE_URL`, on this thread.

    Raises:
        SettingsError: it is not such an address.
        DatabaseError: it cannot be opened.
    """
    try:
        said = {name: str(value) for name, value in conninfo.conninfo_to_dict(url).items() if value is not None}
        address = conninfo.make_conninfo(**{**_CONNECTING, **said})
    except psycopg.Error:
        # libpq's message about an address may repeat it, with the password.
        raise SettingsError(
            "DATABASE_URL is no address of a PostgreSQL database: write postgresql://HOST:PORT/DATABASE with "
            "ROLE:PASSWORD@ before the host, and %XX for signs of a password that mean something in an address."
        ) from None
    try:
        return PostgresConnection(address, write=write, fence=fence)
    except psycopg.Error as error:
        raise postgres_error(error) from error
