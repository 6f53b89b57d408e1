"""A PostgreSQL database, asked in a read-only transaction through asyncpg (the extra `postgres`).

The statement becomes a sub-select inside `DECLARE … CURSOR FOR SELECT …`, sent by the protocol that takes one statement
only: anything but a SELECT is a syntax error there, and a transaction that has begun reading cannot be made writable.
`powers.py` finds what a transaction does not confine, and refuses a role that could use it. Every role can end other
sessions of its own, so the role should be this bot's alone.

All settings are made inside the transaction, so that a pooler (pgbouncer) may be in between: it hands each transaction
to another connection, and takes no settings when a session starts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tools.contract.credentials import accounts, hidden
from tools.databases.base import MOST_COUNTED, Cell, Column, Limits, Refused, Rows
from tools.databases.powers import powers_query

if TYPE_CHECKING:
    import asyncpg

log = logging.getLogger(__name__)

_CONNECT_SECONDS = 8.0
_TABLES = """
    SELECT CASE WHEN pg_table_is_visible(c.oid) THEN quote_ident(c.relname)
        ELSE quote_ident(n.nspname) || '.' || quote_ident(c.relname) END AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
        AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname NOT LIKE 'pg\\_temp%'
        AND has_table_privilege(c.oid, 'SELECT')
    ORDER BY name LIMIT 1000
"""
_COLUMNS = """
    SELECT a.attname, format_type(a.atttypid, a.atttypmod), concat_ws(', ',
        CASE WHEN EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary
            AND a.attnum = ANY (i.indkey)) THEN 'primary key' WHEN a.attnotnull THEN 'not null' END,
        (SELECT 'refers to ' || k.confrelid::regclass FROM pg_constraint k
            WHERE k.conrelid = a.attrelid AND k.contype = 'f' AND a.attnum = ANY (k.conkey) LIMIT 1))
    FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""

_CUT = "CASE WHEN length({name}::text) > {most} THEN left({name}::text, {less}) || '…' ELSE {name}::text END"
"""A value as text, cut where it is: a gigabyte never travels."""


class PostgresDatabase:
    """`Database` for `postgresql://user:password@host/database`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._secrets = [url, *(form for one in accounts(url) for form in (one, unquote(one)))]

    async def tables(self, limits: Limits) -> Sequence[str]:
        async with self._reading(limits) as connection:
            return [str(row[0]) for row in await connection.fetch(_TABLES)]

    async def columns(self, table: str, limits: Limits) -> Sequence[Column]:
        async with self._reading(limits) as connection:
            return [Column(*(str(value) for value in row)) for row in await connection.fetch(_COLUMNS, table)]

    async def select(self, sql: str, limits: Limits) -> Rows:
        sql = sql.strip().rstrip(";").rstrip()
        async with self._reading(limits) as connection:
            # Alone first: the statement must be whole by itself before ours is written around it.
            names = [one.name for one in (await connection.prepare(sql, name="")).get_attributes()]
            if not names:
                raise Refused("Only reading is possible here: write one SELECT. It was not run.")
            ours = [f"c{number}" for number in range(len(names))]
            cut = ", ".join(_CUT.format(name=one, most=limits.cell, less=limits.cell - 1) for one in ours)
            await connection.fetch(
                f"DECLARE question NO SCROLL CURSOR FOR SELECT {cut} FROM (\n{sql}\n) AS asked ({', '.join(ours)})"
            )
            await connection.execute(_timed(limits))
            found = await connection.fetch(f"FETCH FORWARD {limits.rows} FROM question")
            rows: list[tuple[Cell, ...]] = [tuple(row) for row in found]
            count, complete = len(rows), True
            if len(rows) == limits.rows:
                more, complete = await self._count(connection, limits)
                count += more
            return Rows(tuple(name[: limits.cell] for name in names), tuple(rows), count, complete)

    async def _count(self, connection: asyncpg.Connection, limits: Limits) -> tuple[int, bool]:
        """How many rows follow, and whether that is all."""
        import asyncpg

        try:
            await connection.execute(_timed(limits))
            moved = await connection.execute(f"MOVE FORWARD {MOST_COUNTED} FROM question")
        except asyncpg.QueryCanceledError:
            return 1, False
        more = int(moved.rpartition(" ")[2])
        return more, more < MOST_COUNTED

    @asynccontextmanager
    async def _reading(self, limits: Limits) -> AsyncIterator[asyncpg.Connection]:
        """A connection inside a read-only transaction that is rolled back at the end."""
        import asyncpg

        connection = await self._begun(limits)
        try:
            try:
                # The first query fixes the snapshot; from here on the transaction cannot be made writable.
                power = await connection.fetchval(powers_query(connection.get_server_version().major))
                if power is not None:
                    raise Refused(_too_powerful(str(power)), retry=False)
                yield connection
            finally:
                if not connection.is_closed():
                    # In one message, which a pooler gives to one connection: locks outlive the transaction.
                    await connection.execute("ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()")
        except asyncpg.QueryCanceledError as error:
            raise Refused(
                f"The query was stopped after {limits.seconds:g} s. Ask for less: filter, add a LIMIT, avoid joining "
                "all rows."
            ) from error
        except asyncpg.ReadOnlySQLTransactionError as error:
            raise Refused("Only reading is possible here: write one SELECT. It was not run.") from error
        except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError) as error:
            raise Refused(self._said(error), unknown_table=True) from error
        except asyncpg.PostgresSyntaxError as error:
            if "multiple commands" in str(error):
                raise Refused("Only one statement can be run at a time, and it was not run.") from error
            raise Refused(f"{self._said(error)} Only one SELECT can be run here.") from error
        except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise Refused(self._said(error)) from error
        except OSError as error:
            raise Refused("The connection to the database broke off. Try once more.") from error
        finally:
            await asyncio.shield(self._closed(connection))

    async def _begun(self, limits: Limits) -> asyncpg.Connection:
        """A connection in whose transaction nothing was asked yet."""
        import asyncpg

        connection: asyncpg.Connection | None = None
        try:
            # Statements that are kept on a connection would be looked for on another one.
            connection = await asyncpg.connect(
                self._url,
                timeout=_CONNECT_SECONDS,
                statement_cache_size=0,
                server_settings={"application_name": "parley"},
            )
            # A pooler answers at once, and lets the first statement wait until one of its connections is free.
            async with asyncio.timeout(_CONNECT_SECONDS):
                await connection.execute(f"BEGIN READ ONLY; {_timed(limits)}")
        except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            if connection is not None:
                connection.terminate()
            log.warning("query_database cannot connect (%s); DATABASES says where to", type(error).__name__)
            sentence = "The database cannot be reached now. Whoever runs this bot has to look at it."
            raise Refused(sentence, retry=False) from None
        except BaseException:
            if connection is not None:
                connection.terminate()
            raise
        return connection

    @staticmethod
    async def _closed(connection: asyncpg.Connection) -> None:
        try:
            await connection.close(timeout=1.0)
        except (TimeoutError, OSError):
            connection.terminate()

    def _said(self, error: Exception) -> str:
        text = " ".join(hidden(str(error), self._secrets).split())
        return f"PostgreSQL says: {text[:300].rstrip('.')}."


def _timed(limits: Limits) -> str:
    """Statements that limit the time of those after them; said again before each one, as a query may change it."""
    milliseconds = int(limits.seconds * 1000)
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    return "; ".join(f"SET LOCAL {name} = {milliseconds}" for name in names)


def _too_powerful(power: str) -> str:
    advice = ""
    if power.startswith("it can call"):
        advice = ", or REVOKE the right to EXECUTE this function from PUBLIC and from it"
    return (
        f"This database is not asked: its role can do more than read ({power}). Whoever runs this bot must name a role "
        f"that may only read{advice}."
    )
