"""Reading databases that the operator names, and everything that must not be possible there."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.patience import PATIENCE
from tools.calling.registry import ToolRegistry
from tools.contract.base import Json, ToolCall, ToolContext, ToolError, ToolResult, Unavailable
from tools.databases import parse
from tools.databases.base import Rows
from tools.query_database import QueryDatabase, open_tool, written
from tools.settings import DatabaseSettings


async def ask(tool: QueryDatabase, **arguments: Json) -> ToolResult:
    registry = ToolRegistry([tool])
    return await registry.run(ToolCall("1", "query_database", arguments), ToolContext(scope=os.urandom(4).hex()))


def named(databases: str, seconds: float = PATIENCE) -> QueryDatabase:
    return open_tool(DatabaseSettings(databases=SecretStr(databases)), seconds=seconds)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sales 100% #1.db"
    with closing(sqlite3.connect(path)) as db, db:
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


def test_a_table_is_cut_between_rows_and_never_within_one() -> None:
    rows = tuple((str(number), "tea " * 20) for number in range(50))

    shown = written(Rows(("id", "about"), rows, 50, True), 1000)

    lines = shown.splitlines()
    assert len(shown) < 1000 and all(line.endswith("|") for line in lines[:-2])
    assert lines[-1].startswith(f"The first {len(lines) - 4} of 50 rows are shown.")
    assert written(Rows((), (), 0, True), 1000) == "The query returned no columns."
    assert written(Rows(("id",), (), 0, True), 1000) == "No rows. Columns: id."
    with pytest.raises(ToolError, match="Not even one row fits"):
        written(Rows(("id", "about"), rows, 50, True), 150)


async def test_which_database_is_meant_has_to_be_said(file: Path) -> None:
    two = named(f"sales=sqlite:///{file},kept=sqlite:///{file}")

    assert (await ask(two, database="kept", sql="SELECT 1 AS one")).text.startswith("| one |")
    assert "Say which database: sales, kept." in (await ask(two, sql="SELECT 1")).text
    assert "There is no database 'gone'. There are: sales, kept." in (await ask(two, database="gone")).text


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
    (tmp_path / "gone.db").touch()
    tool = named(f"db=sqlite:///{tmp_path}/gone.db")
    (tmp_path / "gone.db").unlink()

    found = await ask(tool, sql="SELECT 1")

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


async def test_an_unreachable_postgres_tells_nobody_its_password(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("asyncpg")
    found = await ask(named("crm=postgresql://app:open-sesame-42@127.0.0.1:9/x"), sql="SELECT 1")

    assert "cannot be reached" in found.text
    assert "sesame" not in found.text + caplog.text
