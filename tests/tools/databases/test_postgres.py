"""Reading a real PostgreSQL server, and everything that must not be possible there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from tests.patience import PATIENCE, slowed
from tests.postgres import Postgres
from tools.calling.registry import ToolRegistry
from tools.contract.base import Json, ToolCall, ToolContext, ToolError, ToolResult
from tools.contract.findings import Finding
from tools.query_database import QueryDatabase, open_tool
from tools.settings import DatabaseSettings

pytestmark = pytest.mark.real


async def ask(tool: QueryDatabase, **arguments: Json) -> ToolResult:
    registry = ToolRegistry([tool])
    return await registry.run(ToolCall("1", "query_database", arguments), ToolContext(scope=os.urandom(4).hex()))


def named(address: str, seconds: float = PATIENCE) -> QueryDatabase:
    return open_tool(DatabaseSettings(databases=SecretStr(f"crm={address}")), seconds=seconds)


@pytest.fixture
async def crm(postgres: Postgres) -> AsyncIterator[QueryDatabase]:
    yield named(postgres.address("reader"))


async def test_tables_columns_and_rows_are_read(crm: QueryDatabase) -> None:
    assert (await ask(crm)).text == "Tables of crm: customers, orders."
    assert "- customer integer (refers to customers)" in (await ask(crm, table="orders")).text

    found = await ask(
        crm, sql="SELECT id, tags, born, mood, NULL AS none, id FROM customers ORDER BY id DESC -- the last", rows=2
    )

    assert found.text.splitlines() == [
        "| id | tags | born | mood | none | id |",
        "|---|---|---|---|---|---|",
        "| 1000 | {a,b} | 1990-01-01 | well | NULL | 1000 |",
        "| 999 | {a,b} | 1990-01-01 | well | NULL | 999 |",
        "",
        "The first 2 of 1000 rows are shown. Aggregate or filter to see the rest.",
    ]
    for more in ("WITH a AS (SELECT 1 AS x) SELECT x FROM a", "VALUES (1)", "TABLE orders"):
        assert (await ask(crm, sql=more)).ok
    assert "| xxx" in (await ask(crm, sql="SELECT repeat('x', 50000000)")).text


async def test_the_tables_are_named_after_a_wrong_one(crm: QueryDatabase) -> None:
    for arguments in ({"sql": "SELECT * FROM costumers"}, {"table": "costumers"}):
        found = await ask(crm, **arguments)
        assert not found.ok
        assert "customers, orders" in found.text


WRITES = [
    "INSERT INTO customers VALUES (2000, 'x')",
    "UPDATE customers SET name = 'x'",
    "DELETE FROM customers",
    "DROP TABLE customers",
    "CREATE TABLE more (a int)",
    "CREATE TEMP TABLE more AS SELECT 1",
    "ALTER TABLE customers RENAME TO gone",
    "REINDEX TABLE customers",
    "ANALYZE",
    "VACUUM",
    "BEGIN",
    "SELECT 1; DROP TABLE customers",
    "SELECT 1); DROP TABLE customers; --",
    "WITH gone AS (DELETE FROM customers RETURNING *) SELECT * FROM gone",
    "INSERT INTO customers VALUES (2000, 'x') RETURNING id",
    "EXPLAIN ANALYZE DELETE FROM customers",
    "SELECT * INTO copied FROM customers",
    # These run with the rights of the owner: only the transaction stands in their way.
    "SELECT sly()",
    "SELECT slyer()",
    "SELECT nextval('counter')",
    "SELECT * FROM customers FOR UPDATE",
    "SET TRANSACTION READ WRITE",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "COPY customers TO '/tmp/parley-copied'",
    "COPY (SELECT 1) TO PROGRAM 'touch /tmp/parley-touched'",
    "DO $$ BEGIN DELETE FROM customers; END $$",
    "CALL nothing()",
    "COMMIT",
    "SELECT 1; COMMIT; DELETE FROM customers",
    "SELECT 1) AS asked (c0); COMMIT; DELETE FROM customers; --",
    "SELECT pg_read_file('/etc/hostname')",
    "SELECT lo_import('/etc/hostname')",
    "SELECT query_to_xml('select pg_read_file(''/etc/hostname'')', true, true, '')",
    "SELECT query_to_xml('delete from customers', true, true, '')",
]


@pytest.mark.parametrize("sql", WRITES)
async def test_nothing_can_be_written(crm: QueryDatabase, sql: str) -> None:
    found = await ask(crm, sql=sql)

    assert not found.ok, found.text
    assert "| 1000 |" in (await ask(crm, sql="SELECT count(*) FROM customers")).text
    assert (await ask(crm)).text == "Tables of crm: customers, orders."


async def test_what_a_function_makes_is_rolled_back(crm: QueryDatabase) -> None:
    """Old servers let a read-only transaction make large objects; nothing of it may stay."""
    await ask(crm, sql="SELECT lo_from_bytea(0, 'x')")

    assert "| 0 |" in (await ask(crm, sql="SELECT count(*) FROM pg_largeobject_metadata")).text


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT pg_sleep(60)",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n",
        "SELECT count(*) FROM customers a, customers b, customers c, customers d",
        "SELECT set_config('statement_timeout', '0', false), pg_sleep(60)",
        "SELECT unlimited(), pg_sleep(60)",
    ],
)
async def test_an_endless_query_is_ended(postgres: Postgres, sql: str) -> None:
    tool = named(postgres.address("reader"), seconds=(limit := slowed(0.3)))

    assert f"stopped after {limit:g} s" in (await ask(tool, sql=sql)).text


async def test_counting_is_ended_too_when_the_query_lifts_the_limit_of_time(postgres: Postgres) -> None:
    """The rows shown are there at once, and lift it for what comes after them."""
    tool = named(postgres.address("reader"), seconds=slowed(0.3))
    sql = """SELECT set_config('statement_timeout', '0', false) UNION ALL
             SELECT CASE WHEN n > 1 THEN pg_sleep(60)::text END FROM generate_series(1, 9) n"""

    async with asyncio.timeout(PATIENCE):
        found = await ask(tool, sql=sql, rows=2)

    assert "The first 2 of more than 3 rows are shown" in found.text


POWERS = {
    "a superuser": ("SUPERUSER", "whole_superuser"),
    "one that makes roles": ("CREATEROLE", "whole_createrole"),
    "one that replicates": ("REPLICATION", "whole_replication"),
    "one that sees behind policies": ("BYPASSRLS", "whole_bypassrls"),
    "files are read": ("IN ROLE pg_read_server_files", "pg_read_server_files"),
    "files are written": ("IN ROLE pg_write_server_files", "pg_write_server_files"),
    "programs are run": ("IN ROLE pg_execute_server_program", "pg_execute_server_program"),
    "everything is written": ("IN ROLE pg_write_all_data", "pg_write_all_data"),
    "others are ended": ("IN ROLE pg_signal_backend", "pg_signal_backend"),
}


@pytest.mark.parametrize("name", POWERS)
@pytest.mark.parametrize("inherits", ["INHERIT", "NOINHERIT"])
async def test_a_role_that_can_become_a_strong_one_is_refused(name: str, inherits: str, postgres: Postgres) -> None:
    power, named_as = POWERS[name]
    number = f"{list(POWERS).index(name)}_{inherits.lower()}"
    strong = f"whole_{power.lower()}_{number}" if power.isalpha() else f"between_{number}"
    member = f"member_{number}"
    postgres.run(f"CREATE ROLE {strong} {power}; CREATE ROLE {member} LOGIN {inherits} IN ROLE {strong}")

    found = await ask(named(postgres.address(member)), sql="SELECT 1")

    assert not found.ok
    assert named_as in found.text and "must name a role that may only read" in found.text


async def test_a_superuser_and_the_owner_of_the_database_are_refused(postgres: Postgres) -> None:
    postgres.run("CREATE ROLE landlord LOGIN")
    postgres.run("CREATE DATABASE house OWNER landlord")

    for address in (postgres.address("owner"), postgres.address("landlord", "house")):
        found = await ask(named(address), sql="SELECT 1")
        assert "must name a role that may only read" in found.text


ATTACKS = [
    "SELECT query_to_xml('select pg_read_file(''/etc/hostname'')', true, true, '') "
    "FROM set_config('role', 'strong', true)",
    "SELECT query_to_xml('select lo_export(lo_from_bytea(0, ''x''), ''{folder}/written'')', true, true, '') "
    "FROM set_config('role', 'strong', true)",
    "SELECT query_to_xml('select lo_import(''/etc/hostname'')', true, true, '') "
    "FROM set_config('role', 'strong', true)",
    "SELECT set_config('role', 'strong', false)",
    "SELECT pg_reload_conf() FROM set_config('role', 'strong', true)",
]


@pytest.mark.parametrize("sql", ATTACKS)
async def test_a_member_of_a_strong_role_reaches_nothing_of_the_server(postgres: Postgres, sql: str) -> None:
    postgres.run(
        "DO $$ BEGIN CREATE ROLE strong SUPERUSER; CREATE ROLE weak LOGIN NOINHERIT IN ROLE strong; "
        "EXCEPTION WHEN duplicate_object THEN END $$"
    )
    before = sorted(path.name for path in postgres.folder.iterdir())

    found = await ask(named(postgres.address("weak")), sql=sql.replace("{folder}", str(postgres.folder)))

    assert not found.ok and "strong" in found.text
    assert sorted(path.name for path in postgres.folder.iterdir()) == before


@pytest.mark.parametrize(
    ("right", "words"),
    [
        ("INSERT ON customers", "customers"),
        ("UPDATE (name) ON customers", "customers"),
        ("TRUNCATE ON orders", "orders"),
        ("EXECUTE ON FUNCTION pg_read_file(text)", "pg_read_file"),
        ("EXECUTE ON FUNCTION lo_import(text)", "lo_import"),
        ("EXECUTE ON FUNCTION lo_export(oid, text)", "lo_export"),
    ],
)
async def test_a_role_that_may_do_more_than_read_is_refused(right: str, words: str, postgres: Postgres) -> None:
    role = "more_" + "".join(sign if sign.isalnum() else "_" for sign in right.lower())
    postgres.run(f"CREATE ROLE {role} LOGIN; GRANT {right} TO {role}")

    found = await ask(named(postgres.address(role)), sql="SELECT 1")

    assert not found.ok
    assert words in found.text and "must name a role that may only read" in found.text


@pytest.mark.parametrize("role", ["pg_read_all_data", "pg_read_all_stats", "pg_read_all_settings"])
async def test_a_role_that_may_read_everything_may_ask(role: str, postgres: Postgres) -> None:
    postgres.run(f"CREATE ROLE with_{role} LOGIN IN ROLE {role}")

    assert (await ask(named(postgres.address(f"with_{role}")), sql="SELECT 1")).ok


def extended(postgres: Postgres, *extensions: str) -> str:
    """A database with these extensions; where it is, for the role that may only read."""
    import psycopg

    name = "with_" + "_".join(one.replace("-", "") for one in extensions)
    postgres.run(f"CREATE DATABASE {name}")
    try:
        postgres.run("; ".join(f'CREATE EXTENSION "{one}"' for one in extensions), name)
    except psycopg.errors.FeatureNotSupported:
        pytest.skip(f"{', '.join(extensions)} is not installed on this machine (package postgresql-contrib)")
    return postgres.address("reader", name)


async def test_where_dblink_is_installed_nobody_dials_out(postgres: Postgres) -> None:
    tool = named(extended(postgres, "dblink"))
    sql = (
        f"SELECT * FROM dblink('host=127.0.0.1 port={postgres.port} user=owner dbname=postgres', "
        "'DELETE FROM orders; DELETE FROM customers RETURNING 1') AS gone (x int)"
    )

    found = await ask(tool, sql=sql)

    assert not found.ok
    assert "dblink" in found.text and "REVOKE" in found.text
    crm = named(postgres.address("reader"))
    assert "| 1000 |" in (await ask(crm, sql="SELECT count(*) FROM customers")).text


async def test_a_function_of_a_language_that_nothing_confines_is_refused(postgres: Postgres) -> None:
    postgres.run("CREATE DATABASE unconfined")
    postgres.run(
        "CREATE LANGUAGE plunconfined HANDLER plpgsql_call_handler;"
        "CREATE FUNCTION get_page(text) RETURNS text LANGUAGE plunconfined STABLE AS 'BEGIN RETURN $1; END'",
        "unconfined",
    )

    found = await ask(named(postgres.address("reader", "unconfined")), sql="SELECT get_page('https://evil.example')")

    assert not found.ok and "it can call get_page(text)" in found.text


async def test_dblink_that_the_role_cannot_call_is_no_reason(postgres: Postgres) -> None:
    address = extended(postgres, "dblink", "hstore")
    postgres.run("CREATE SCHEMA apart; ALTER EXTENSION dblink SET SCHEMA apart", "with_dblink_hstore")

    assert (await ask(named(address), sql="SELECT 1")).ok


async def test_extensions_that_stay_inside_are_no_reason(postgres: Postgres) -> None:
    usual = ("pg_trgm", "pgcrypto", "uuid-ossp", "tablefunc", "hstore", "citext", "unaccent", "pg_stat_statements")

    assert (await ask(named(extended(postgres, *usual)), sql="SELECT gen_random_uuid()")).ok


async def test_the_operator_is_told_which_databases_are_asked(postgres: Postgres) -> None:
    assert await named(postgres.address("reader")).check() == Finding.ok("read-only databases: crm answers")
    with pytest.raises(ToolError, match=r"crm: .*owner.*must name a role that may only read"):
        await named(postgres.address("owner")).check()
    with pytest.raises(ToolError, match="crm: The database cannot be reached"):
        await named("postgresql://reader@127.0.0.1:9/x").check()


async def test_a_hundred_questions_at_once_are_answered_through_a_pooler(
    pooler: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool has three connections, each handed to another client after every transaction."""
    monkeypatch.setattr("tools.databases.postgres._CONNECT_SECONDS", 60.0)
    tool = named(pooler.address("reader"), seconds=60)

    found = await asyncio.gather(
        *(
            ask(tool, sql=f"SELECT id, tags, mood FROM customers WHERE id = {number}") if number % 4 else ask(tool)
            for number in range(1, 101)
        )
    )

    assert [one.text for one in found if not one.ok] == []
    assert all(f"| {number} | {{a,b}} | well |" in found[number - 1].text for number in range(1, 101) if number % 4)


async def test_behind_a_pooler_a_query_has_its_limit_of_time_and_leaves_nothing(pooler: Postgres) -> None:
    """Each is limited alone: what is quick has time also where the one before had little."""
    hurried, tool = named(pooler.address("reader"), seconds=slowed(0.3)), named(pooler.address("reader"))

    assert "The query was stopped after" in (await ask(hurried, sql="SELECT pg_sleep(600)")).text
    assert (await ask(tool, sql="SELECT set_config('statement_timeout', '1', false), pg_advisory_lock(7)")).ok
    for _ in range(8):
        left = "SELECT current_setting('statement_timeout'), count(*) FROM pg_locks WHERE locktype = 'advisory'"
        assert "| 2min | 0 |" in (await ask(tool, sql=left)).text
    assert "Only reading is possible here" in (await ask(tool, sql="SELECT sly()")).text


async def test_a_pooler_without_a_free_connection_is_not_waited_for_for_ever(
    pooler: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncpg

    monkeypatch.setattr("tools.databases.postgres._CONNECT_SECONDS", 0.5)
    async with asyncio.timeout(PATIENCE):
        busy = [await asyncpg.connect(pooler.address("reader"), statement_cache_size=0) for _ in range(3)]
        for one in busy:
            await one.execute("BEGIN")

        found = await ask(named(pooler.address("reader"), seconds=0.3), sql="SELECT 1")

        for one in busy:
            await one.close()
    assert "cannot be reached" in found.text
