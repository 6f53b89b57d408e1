"""Open a store on a PostgreSQL server, keep a second bot from it, and inspect it for `parley doctor`."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.contract import BotError, Clock, SettingsError
from bot.store.faults import DatabaseError, Fault, store_error
from bot.store.intake import count_unfinished, is_idle
from bot.store.readers import COUNT, Readers
from bot.store.spending import usual_prompt
from bot.store.sql import Connection, Fence
from bot.store.writer import Writer

if TYPE_CHECKING:
    import psycopg

    from bot.store.postgres import PostgresConnection, PostgresDatabase

_COMMANDS = {"run": 1, "chat": 2}
"""The commands that answer from a database, with the number of each one's lock."""


@dataclass(frozen=True, slots=True)
class Process:
    """A `parley run` on the database."""

    name: str
    role: str
    version: str
    listens: str
    """The platforms that it receives from."""
    configuration: str
    """The settings that all must share, as `NAME=digest` separated by spaces."""
    heard: float
    """Seconds since it last showed that it is alive."""
    ahead: float
    """Seconds by which its machine's clock is ahead of the database's."""
    since: float
    """Wall-clock time since which, as far as it knows, some process has always been answering."""


@dataclass(frozen=True, slots=True)
class ServerInspection:
    """The findings about a database on a server."""

    version: str
    bytes: int
    schema: int
    """Its version; 0 while it is empty."""
    older: bool
    """The next start upgrades it."""
    unfinished: Mapping[str, int]
    """Platform → how many deliveries wait or are being answered there."""
    processes: tuple[Process, ...]
    connections: int
    """Open connections on the whole server."""
    allowed: int
    """The most that an ordinary role can open there."""
    ahead: float
    """The least number of seconds by which this machine's clock is ahead of the database's."""
    prompt: int = 0
    """The tokens of a usual question's prompt; 0: no question was answered yet."""


@asynccontextmanager
async def open_server(
    url: str, *, clock: Clock, fence: Fence | None = None
) -> AsyncIterator[tuple[Writer, Writer, Readers]]:
    """Open the database of a `postgresql://` address, and create or upgrade its tables if needed.

    The second writer is for what all processes count together: such an operation waits for those of other processes
    (`Writer.run_last`), and on the first one everything else would wait with it.

    Raises:
        SettingsError: psycopg is missing, or the server or its database cannot be used as they are.
        StoreError: it cannot be used now.
    """
    refuse_without_driver()
    from bot.store.postgres import open_postgres
    from bot.store.postgres_schema import bring_up_to_date

    async def connect() -> PostgresDatabase:
        return await open_postgres(url, write=True, fence=fence)

    async with AsyncExitStack() as stack:
        try:
            db = await connect()
            stack.push_async_callback(db.close)
            await db.run_together(lambda opened: bring_up_to_date(opened, clock.wall()))
            counts = await connect()
            stack.push_async_callback(counts.close)
            connections = []
            for _ in range(COUNT):
                connections.append(await open_postgres(url, write=False))
                stack.push_async_callback(connections[-1].close)
        except DatabaseError as error:
            raise _explain(error) from error
        writer, counter = Writer(db, connect, clock=clock), Writer(counts, connect, clock=clock, lock=2)
        readers = Readers(connections, clock)
        for part in (counter, writer, readers):
            stack.push_async_callback(part.close)
        yield writer, counter, readers


@contextmanager
def lock_server(url: str, command: str) -> Iterator[None]:
    """Keep every other process from running `parley COMMAND` on the database of a `postgresql://` address.

    The server frees the lock when the process ends, however it ends.

    Raises:
        SettingsError: another process has it, or the database cannot be used.
    """
    with _connected(url) as db:
        import psycopg

        from bot.store.postgres_schema import LOCK

        key = (LOCK + _COMMANDS[command],)
        if db.execute("SELECT pg_try_advisory_lock(?)", key).fetchone() != (True,):
            raise SettingsError(
                f"The database of DATABASE_URL is in use by another `parley {command}`, and both would answer "
                "everything. End that one, or give this one a DATABASE_URL of its own."
            )
        try:
            yield
        finally:
            # A busy server notices the end of a connection only after a while, and would refuse the next start.
            with suppress(psycopg.Error):
                db.execute("SELECT pg_advisory_unlock(?)", key)


def refuse_running(url: str) -> None:
    """
    Raises:
        SettingsError: a bot answers from the database of a `postgresql://` address, or the database cannot be used.
    """
    with _connected(url) as db:
        if db.execute("SELECT to_regclass('workers')").fetchone() == (None,):
            return
        query = "SELECT name FROM workers WHERE seen_at > clock_timestamp() - interval '5 s' ORDER BY name"
        if running := [name for (name,) in db.execute(query).fetchall()]:
            raise SettingsError(f"A bot answers from this database (process {', '.join(running)}). End it first.")


_PROCESSES = """
SELECT name, role, version, listens, configuration,
    CAST(extract(epoch FROM clock_timestamp() - seen_at) AS double precision), ahead, since
FROM workers WHERE EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (CAST(classid AS bigint) << 32 | CAST(objid AS bigint)) = id
) ORDER BY started_at, name"""
"""Each holds a lock on its id while it lives; a row may belong to a dead one."""
_SERVER = """
SELECT current_setting('server_version'), pg_database_size(current_database()),
    (SELECT count(datid) FROM pg_stat_activity),
    CAST(current_setting('max_connections') AS int) - CAST(current_setting('superuser_reserved_connections') AS int),
    CAST(extract(epoch FROM clock_timestamp()) AS double precision)"""
_FROZEN_SECONDS = 3.0
"""A process that wrote nothing for this time is replaced by the others."""


def processes_on_server(db: psycopg.Connection[Any]) -> tuple[Process, ...]:
    """Return the living processes, over an open connection of somebody else."""
    from bot.store.postgres import BorrowedConnection

    return _read_processes(BorrowedConnection(db))


def _read_processes(db: Connection) -> tuple[Process, ...]:
    found = (Process(*row) for row in db.execute(_PROCESSES))
    return tuple(process for process in found if process.heard < _FROZEN_SECONDS)


def list_processes(url: str) -> tuple[Process, ...]:
    """Return the processes on the database of a `postgresql://` address, and change nothing.

    Raises:
        SettingsError: psycopg is missing, or the server or its database cannot be used as they are.
        StoreError: it cannot be used now.
    """
    with _connected(url, write=True) as db:
        from bot.store.postgres_schema import PROCESSES, check_server, find_version, steps

        check_server(db)
        return _read_processes(db) if find_version(db) > steps().index(PROCESSES) else ()


def inspect_server(url: str, clock: Clock) -> ServerInspection:
    """Inspect the database of a `postgresql://` address, and change nothing.

    Raises:
        SettingsError: it cannot be used as it is.
        StoreError: it cannot be used now.
    """
    with _connected(url, write=True) as db:
        from bot.store.postgres_schema import PROCESSES, check_server, find_version, steps

        check_server(db)
        schema = find_version(db)
        before = clock.wall()
        [(version, size, connections, allowed, now)] = db.execute(_SERVER).fetchall()
        after = clock.wall()
        # It was asked at some time between the two.
        ahead = before - now if before > now else min(0.0, after - now)
        unfinished = count_unfinished(db) if schema else {}
        processes = _read_processes(db) if schema > steps().index(PROCESSES) else ()
        older = 0 < schema < len(steps())
        prompt = usual_prompt(db) if schema and not older else 0
        return ServerInspection(
            version, int(size), schema, older, unfinished, processes, connections, allowed, ahead, prompt
        )


def prepare_server(url: str, now: float) -> None:
    """Create or upgrade the tables in the database of a `postgresql://` address.

    Raises:
        SettingsError: psycopg is missing, or the server or its database cannot be used as they are.
        StoreError: it cannot be used now.
    """
    with _connected(url, write=True) as db:
        from bot.store.postgres_schema import bring_up_to_date

        bring_up_to_date(db, now)


@contextmanager
def _connected(url: str, *, write: bool = False) -> Iterator[PostgresConnection]:
    refuse_without_driver()
    from bot.store.postgres import connect_postgres

    try:
        opened = connect_postgres(url, write=write)
    except DatabaseError as error:
        raise _explain(error) from error
    with closing(opened):
        try:
            yield opened
        except Exception as error:
            told = opened.explain(error)
            if not isinstance(told, DatabaseError):
                raise
            raise _explain(told) from told


def refuse_without_driver() -> None:
    """
    Raises:
        SettingsError: a package for PostgreSQL is not installed.
    """
    for package in ("psycopg", "dbos"):
        if importlib.util.find_spec(package) is None:
            raise SettingsError(
                f"DATABASE_URL names a PostgreSQL server, for which {package} is missing: install the extra `postgres` "
                "(pip install 'psycopg[binary]' dbos)."
            )


def is_idle_on_server(db: psycopg.Connection[Any], place: str) -> bool:
    """Return True if no inbox row of the place is new or running, over an open connection of somebody else."""
    from bot.store.postgres import BorrowedConnection

    return is_idle(BorrowedConnection(db), place)


def _explain(error: DatabaseError) -> BotError:
    """Return the error of a start that cannot continue: a lasting fault is the setting's."""
    match error.fault:
        case Fault.UNREACHABLE | Fault.OTHER:
            return SettingsError(f"The PostgreSQL database of DATABASE_URL cannot be used: {error}.")
        case Fault.READONLY:
            return SettingsError(f"The role of DATABASE_URL may not make or change tables in its database: {error}.")
        case _:
            return store_error(error)
