"""Reading databases that the operator names, and everything that must not be possible there."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.base import Json, ToolCall, ToolContext, ToolResult, Unavailable
from tools.databases import parse
from tools.query_database import QueryDatabase, open_tool
from tools.registry import ToolRegistry
from tools.settings import DatabaseSettings


async def ask(tool: QueryDatabase, **arguments: Json) -> ToolResult:
    registry = ToolRegistry([tool])
    return await registry.run(ToolCall("1", "query_database", arguments), ToolContext(scope=os.urandom(4).hex()))


def named(databases: str, seconds: float = 5.0) -> QueryDatabase:
    return open_tool(DatabaseSettings(databases=databases, database_seconds=seconds))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sales 100% #1.db"
    with sqlite3.connect(path) as db:
        db.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT);"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers, amount REAL);"
            "CREATE VIEW rich AS SELECT name FROM customers WHERE id < 3;"
        )
        db.executemany(
            "INSERT INTO customers VALUES (?, ?, ?)",
            [(n, f"Person {n}", "NO" if n % 2 else None) for n in range(1, 1001)],
        )
        db.execute("INSERT INTO orders VALUES (1, 1, 9.5)")
    db.close()
    return path


@pytest.fixture
def sales(file: Path) -> QueryDatabase:
    return named(f"sales=sqlite:///{file}")


async def test_tables_columns_and_rows_are_read(sales: QueryDatabase) -> None:
    assert (await ask(sales)).text == "Tables of sales: customers, orders, rich."

    described = (await ask(sales, table="orders")).text
    assert described == (
        "Columns of orders:\n- id INTEGER (primary key)\n- customer INTEGER (refers to customers)\n- amount REAL"
    )

    found = await ask(sales, sql="SELECT id, name, country FROM customers ORDER BY id LIMIT 2;")
    assert found.text == (
        "| id | name | country |\n|---|---|---|\n| 1 | Person 1 | NO |\n| 2 | Person 2 | NULL |\n\n2 rows."
    )
    assert found.untrusted


async def test_a_big_result_says_how_many_of_how_many_rows_are_shown(sales: QueryDatabase) -> None:
    found = await ask(sales, sql="SELECT * FROM customers", rows=10)

    assert found.text.endswith("The first 10 of 1000 rows are shown. Aggregate or filter to see the rest.")
    assert found.text.count("Person") == 10


async def test_a_long_value_and_a_pipe_do_not_break_the_table(sales: QueryDatabase) -> None:
    found = await ask(
        sales, sql="SELECT replace(hex(zeroblob(500)), '0', 'x') AS long, 'a|b\nc' AS odd, x'0102' AS raw"
    )

    row = found.text.splitlines()[2]
    assert row.endswith("… | a\\|b c | x'0102' |")
    assert len(row) < 260


async def test_a_wrong_name_is_answered_with_the_right_ones(sales: QueryDatabase, file: Path) -> None:
    for arguments in ({"sql": "SELECT * FROM costumers"}, {"table": "costumers"}):
        found = await ask(sales, **arguments)
        assert not found.ok
        assert "customers, orders, rich" in found.text
    assert "no such column" in (await ask(sales, sql="SELECT nope FROM customers")).text
    assert "There are: sales." in (await ask(sales, database="crm")).text
    two = named(f"sales=sqlite:///{file},old=sqlite:///{file}")
    assert "Say which database: sales, old." in (await ask(two)).text


WRITES = [
    "INSERT INTO customers VALUES (2000, 'x', 'y')",
    "UPDATE customers SET name = 'x'",
    "DELETE FROM customers",
    "DROP TABLE customers",
    "CREATE TABLE more (a)",
    "CREATE TEMP TABLE more AS SELECT 1",
    "ALTER TABLE customers RENAME TO gone",
    "REINDEX",
    "ANALYZE",
    "VACUUM",
    "VACUUM INTO '{folder}/copy.db'",
    "ATTACH '{folder}/other.db' AS other",
    "DETACH main",
    "BEGIN IMMEDIATE",
    "PRAGMA query_only = OFF",
    "PRAGMA journal_mode = WAL",
    "PRAGMA user_version = 7",
    "PRAGMA writable_schema = ON",
    "SELECT load_extension('{folder}/x.so')",
    "SELECT writefile('{folder}/written', 'x')",
    "SELECT readfile('/etc/hostname')",
    "SELECT fts3_tokenizer('simple', x'00')",
    "SELECT 1; DROP TABLE customers",
    "SELECT 1); DROP TABLE customers; --",
    "WITH gone AS (DELETE FROM customers RETURNING *) SELECT * FROM gone",
    "WITH a AS (SELECT 1) INSERT INTO customers SELECT 3000, 'x', 'y'",
    "INSERT INTO customers VALUES (2000, 'x', 'y') RETURNING id",
    "EXPLAIN DELETE FROM customers; DELETE FROM customers",
    "",
]


@pytest.mark.parametrize("sql", WRITES[:-1])
async def test_nothing_can_be_written_to_sqlite(sales: QueryDatabase, file: Path, sql: str) -> None:
    before = hashlib.sha256(file.read_bytes()).digest()

    found = await ask(sales, sql=sql.replace("{folder}", str(file.parent)))

    assert not found.ok, found.text
    assert hashlib.sha256(file.read_bytes()).digest() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert str(file.parent) not in found.text or sql.count("{folder}")


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n",
        "SELECT count(*) FROM customers a, customers b, customers c, customers d",
        "SELECT instr(zeroblob(8000000), zeroblob(4000000) || x'01')",
    ],
)
async def test_an_endless_query_is_ended_in_time_and_the_bot_goes_on_meanwhile(file: Path, sql: str) -> None:
    tool = named(f"sales=sqlite:///{file}", seconds=0.2)
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    heart = asyncio.create_task(beat())
    found = await ask(tool, sql=sql)
    heart.cancel()

    assert "stopped after 0.2 s" in found.text
    assert beats > 3


async def test_a_query_that_makes_huge_values_is_refused(sales: QueryDatabase) -> None:
    found = await ask(sales, sql="SELECT hex(zeroblob(100000000))")

    assert "too large" in found.text


async def test_a_database_in_use_in_wal_mode_is_read(tmp_path: Path) -> None:
    path = tmp_path / "wal.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE notes (text)")
    writer.execute("INSERT INTO notes VALUES ('fresh')")
    try:
        assert "| fresh |" in (await ask(named(f"db=sqlite:///{path}"), sql="SELECT * FROM notes")).text
    finally:
        writer.close()


async def test_a_missing_file_is_one_sentence_without_its_path(tmp_path: Path) -> None:
    found = await ask(named(f"db=sqlite:///{tmp_path}/none.db"), sql="SELECT 1")

    assert "cannot be opened" in found.text
    assert str(tmp_path) not in found.text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "sales", "sales=mysql://x/y", "a=sqlite:///x,a=sqlite:///y", "1=sqlite:///x"])
def test_without_a_rightly_named_database_the_tool_is_not_offered(text: str) -> None:
    with pytest.raises(Unavailable, match="DATABASES"):
        named(text)


def test_a_comma_in_a_password_separates_nothing_and_is_never_shown() -> None:
    urls = parse("a=sqlite:////x.db, crm=postgresql://u:p,b=c@h/d")

    assert urls == {"a": "sqlite:////x.db", "crm": "postgresql://u:p,b=c@h/d"}
    with pytest.raises(ValueError) as told:
        parse("crm=mysql://u:secret@h/d")
    assert "secret" not in str(told.value)


# PostgreSQL: a real server of this machine, on loopback, as a user who is not root.

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/local/bin", "/usr/bin", "/opt/homebrew/bin")


def _program(name: str) -> str | None:
    for place in _PLACES:
        for path in sorted(Path("/").glob(f"{place[1:]}/{name}"), reverse=True):
            return str(path)
    return shutil.which(name)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    pytest.importorskip("asyncpg", reason="asyncpg is not installed (the extra postgres)")
    initdb, server = _program("initdb"), _program("postgres")
    if sys.platform == "win32" or initdb is None or server is None:
        pytest.skip("no PostgreSQL server is installed on this machine")
    import pwd
    import tempfile

    more: dict[str, Any] = {}
    folder = Path(tempfile.mkdtemp(prefix="parley-postgres-"))
    if os.getuid() == 0:
        try:
            other = pwd.getpwnam("postgres")
        except KeyError:
            other = pwd.getpwnam("nobody")
        os.chown(folder, other.pw_uid, other.pw_gid)
        more = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **more}
    data = folder / "data"
    subprocess.run(
        [initdb, "-D", str(data), "-U", "owner", "--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync"],
        check=True,
        **quiet,
    )
    process = subprocess.Popen([server, "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", "", "-F"], **quiet)
    try:
        asyncio.run(_fill(port))
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


async def _fill(port: int) -> None:
    import asyncpg

    for _ in range(400):
        try:
            db = await asyncpg.connect(f"postgresql://owner@127.0.0.1:{port}/postgres")
            break
        except (OSError, asyncpg.PostgresError):
            await asyncio.sleep(0.05)
    await db.execute(
        "CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, tags text[], born date);"
        "INSERT INTO customers SELECT n, 'Person ' || n, ARRAY['a','b'], '1990-01-01' FROM generate_series(1,1000) n;"
        "CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES customers, amount numeric(10,2));"
        "CREATE SEQUENCE counter;"
        "CREATE FUNCTION sly() RETURNS int LANGUAGE sql AS 'DELETE FROM customers RETURNING 1';"
        "CREATE ROLE app LOGIN PASSWORD 'open-sesame-42';"
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO app; GRANT ALL ON SEQUENCE counter TO app;"
        "GRANT ALL ON SCHEMA public TO app"
    )
    await db.close()


@pytest.fixture
async def crm(postgres: str) -> AsyncIterator[QueryDatabase]:
    yield named(f"crm=postgresql://app:open-sesame-42@{postgres}/postgres")


async def test_postgres_tables_columns_and_rows_are_read(crm: QueryDatabase) -> None:
    assert (await ask(crm)).text == "Tables of crm: customers, orders."
    assert "- customer integer (refers to customers)" in (await ask(crm, table="orders")).text

    found = await ask(
        crm, sql="SELECT id, tags, born, NULL AS none, id FROM customers ORDER BY id DESC -- the last", rows=2
    )

    assert found.text.splitlines() == [
        "| id | tags | born | none | id |",
        "|---|---|---|---|---|",
        "| 1000 | {a,b} | 1990-01-01 | NULL | 1000 |",
        "| 999 | {a,b} | 1990-01-01 | NULL | 999 |",
        "",
        "The first 2 of 1000 rows are shown. Aggregate or filter to see the rest.",
    ]
    for more in ("WITH a AS (SELECT 1 AS x) SELECT x FROM a", "VALUES (1)", "TABLE orders"):
        assert (await ask(crm, sql=more)).ok
    assert "| xxx" in (await ask(crm, sql="SELECT repeat('x', 50000000)")).text


async def test_postgres_names_the_tables_after_a_wrong_one(crm: QueryDatabase) -> None:
    for arguments in ({"sql": "SELECT * FROM costumers"}, {"table": "costumers"}):
        found = await ask(crm, **arguments)
        assert not found.ok
        assert "customers, orders" in found.text


@pytest.mark.parametrize(
    "sql",
    [
        *(one for one in WRITES if one and "PRAGMA" not in one and "{folder}" not in one),
        "WITH gone AS (DELETE FROM customers RETURNING *) SELECT * FROM gone",
        "SELECT * INTO copied FROM customers",
        "SELECT sly()",
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
        "EXPLAIN ANALYZE DELETE FROM customers",
    ],
)
async def test_nothing_can_be_written_to_postgres(crm: QueryDatabase, sql: str) -> None:
    found = await ask(crm, sql=sql)

    assert not found.ok, found.text
    assert "| 1000 |" in (await ask(crm, sql="SELECT count(*) FROM customers")).text
    assert (await ask(crm)).text == "Tables of crm: customers, orders."


async def test_what_a_function_makes_in_postgres_is_rolled_back(crm: QueryDatabase) -> None:
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
    ],
)
async def test_postgres_ends_an_endless_query(postgres: str, sql: str) -> None:
    tool = named(f"crm=postgresql://app:open-sesame-42@{postgres}/postgres", seconds=0.3)

    assert "stopped after 0.3 s" in (await ask(tool, sql=sql)).text


async def test_a_role_that_no_transaction_confines_is_refused(postgres: str) -> None:
    found = await ask(named(f"crm=postgresql://owner@{postgres}/postgres"), sql="SELECT 1")

    assert "must name a role that may only read" in found.text


async def test_an_unreachable_postgres_tells_nobody_its_password(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("asyncpg")
    found = await ask(named("crm=postgresql://app:open-sesame-42@127.0.0.1:9/x"), sql="SELECT 1")

    assert "cannot be reached" in found.text
    assert "sesame" not in found.text + caplog.text
