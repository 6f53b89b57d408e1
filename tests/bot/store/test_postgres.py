"""What is PostgreSQL's own: its address, its tables, its errors, and what happens while it is away.

Everything else that a store does is tested on both databases. Where no server is installed, what is asked of one is
skipped.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, closing, suppress
from types import SimpleNamespace
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import pq

from bot.contract.clock import SystemClock
from bot.contract.errors import SettingsError, StoreError
from bot.contract.messages import ChatId
from bot.contract.transcript import Usage
from bot.store import Amount, Limit, Reserved, Store, lock_database, postgres
from bot.store.faults import DatabaseError, Fault, store_error
from bot.store.postgres import PostgresConnection, connect_postgres, open_postgres, postgres_error, translate
from bot.store.postgres_schema import bring_up_to_date, check_server, find_version, for_postgres, steps
from bot.store.queries import in_place, place_range
from bot.store.schema import upgrade
from bot.store.server import inspect_server
from bot.store.sql import Session
from bot.store.states import UNFINISHED, TurnState
from tests.bot.store.conftest import HandClock, Message, taken_in
from tests.conftest import RawJson
from tests.patience import PATIENCE
from tests.postgres import Postgres, free_port, own_server


@pytest.mark.parametrize(
    ("written", "sent", "names"),
    [
        ("SELECT ? FROM inbox WHERE id = ?", "SELECT $1 FROM inbox WHERE id = $2", ()),
        ("UPDATE turns SET a = :a, b = :b, c = :a", "UPDATE turns SET a = $1, b = $2, c = $1", ("a", "b")),
        ("SELECT '?' , ':no', 'it''s :x ?' WHERE a = ?", "SELECT '?' , ':no', 'it''s :x ?' WHERE a = $1", ()),
        ("SELECT '100%' LIKE ?", "SELECT '100%' LIKE $1", ()),
    ],
)
def test_values_of_a_statement_are_found_by_place_or_by_name(written: str, sent: str, names: tuple[str, ...]) -> None:
    assert translate(written) == (sent.encode(), names)


@pytest.mark.parametrize(
    ("state", "fault", "again"),
    [
        ("40001", Fault.AGAIN, True),
        ("40P01", Fault.AGAIN, True),
        ("55P03", Fault.AGAIN, True),
        ("53100", Fault.FULL, False),
        ("25006", Fault.READONLY, False),
        ("42501", Fault.READONLY, False),
        ("08006", Fault.UNREACHABLE, True),
        ("57P01", Fault.UNREACHABLE, True),
        ("57014", Fault.OTHER, False),
        ("58030", Fault.IO, False),
        ("XX001", Fault.CORRUPT, False),
        ("42P01", Fault.CHANGED, False),
        ("23505", Fault.OTHER, False),
    ],
)
def test_an_error_of_the_server_is_told_by_what_helps(state: str, fault: Fault, again: bool) -> None:
    error = postgres_error(psycopg.errors.lookup(state)("so it is\nLINE 1"))

    assert (error.fault, error.again, error.name) == (fault, again, state)
    told = str(store_error(error))
    assert f"({state}: so it is LINE 1)" in told and "its file and folder" not in told


def test_an_error_without_a_code_is_the_connections_own() -> None:
    assert postgres_error(psycopg.OperationalError("server closed the connection")).fault is Fault.UNREACHABLE
    assert postgres_error(psycopg.ProgrammingError("no such thing")).fault is Fault.OTHER
    assert postgres_error(psycopg.errors.lookup("40001")(), lost=True).fault is Fault.UNREACHABLE


@pytest.mark.parametrize(
    "url", ["postgresql://me:s3cret@[::1", "postgresql://me:s3cret@host/db?nonsense=1", "postgres://me:s3cret@h:x%zz/d"]
)
async def test_an_address_that_is_none_is_told_without_its_password(url: str, clock: HandClock) -> None:
    with pytest.raises(SettingsError, match="DATABASE_URL") as told:
        async with Store.open(url, clock=clock):
            pass
    assert "s3cret" not in str(told.value)
    chain = [told.value.__cause__, told.value.__context__ if not told.value.__suppress_context__ else None]
    assert chain == [None, None], "nor in a traceback"


async def test_a_server_that_does_not_answer_is_one_sentence_before_anything_else(clock: HandClock) -> None:
    url = f"postgresql://me:s3cret@127.0.0.1:{free_port()}/parley"

    for opening in (Store.open(url, clock=clock), _locked(url)):
        with pytest.raises(SettingsError, match=r"of DATABASE_URL cannot be used: .*127\.0\.0\.1") as told:
            async with opening:
                pass
        assert "s3cret" not in str(told.value)
    with pytest.raises(SettingsError, match="cannot be used"):
        inspect_server(url, clock)


class _locked:
    """`lock_database` as the start uses it."""

    def __init__(self, url: str) -> None:
        self._held = lock_database(url, "run")

    async def __aenter__(self) -> None:
        self._held.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self._held.__exit__(None, None, None)


async def test_without_psycopg_the_start_names_the_extra(clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.server.importlib.util.find_spec", lambda name: None)

    with pytest.raises(SettingsError, match=r"pip install 'psycopg\[binary\]' dbos"):
        async with Store.open("postgresql://localhost/parley", clock=clock):
            pass


class Said:
    """A connection that answers as it was told, for what no server here says."""

    def __init__(self, settings: Mapping[str, str], rows: Mapping[str, list[RawJson]]) -> None:
        self._rows: dict[str, list[RawJson]] = {
            "pg_settings": [*{**_GOOD, **settings}.items()],
            "current_schema()": [("public",)],
            "obj_description": [],
            "FROM steps": [(len(steps()),)],
            "has_table_privilege": [],
            **rows,
        }
        self.ran: list[str] = []
        self.in_transaction = False

    def execute(self, sql: str, values: object = (), /) -> RawJson:
        self.ran.append(sql)
        found = [rows for part, rows in self._rows.items() if part in sql]
        return _Rows(found[-1] if found else [])

    def executemany(self, sql: str, values: Iterable[Sequence[object]], /) -> RawJson:
        raise AssertionError("nothing here needs it")

    def one_by_one(self, lock: int) -> None: ...

    def last_id(self, table: str) -> int:
        raise NotImplementedError

    def set_last_id(self, table: str, id: int) -> None: ...

    def begin(self) -> None:
        self.ran.append("BEGIN")

    def finish(self) -> None:
        self.ran.append("finish")

    def commit(self) -> None:
        self.ran.append("COMMIT")

    def rollback(self) -> None:
        self.ran.append("ROLLBACK")

    def explain(self, error: Exception) -> Exception:
        return error

    def give_back(self) -> int:
        return 0

    def wipe_log(self) -> bool:
        return True


class _Rows(list[RawJson]):
    rowcount = 0

    def fetchall(self) -> list[RawJson]:
        return list(self)

    def fetchone(self) -> RawJson:
        return self[0] if self else None


_GOOD = {
    "server_version_num": "150004",
    "server_version": "15.4",
    "server_encoding": "UTF8",
    "transaction_read_only": "off",
}
_STEPS = ("steps", "The schema of Parley")


@pytest.mark.parametrize(
    ("settings", "rows", "sentence"),
    [
        (
            {"server_version_num": "140011", "server_version": "14.11"},
            {},
            "PostgreSQL of version 14.11; .* 15 or later",
        ),
        ({"server_encoding": "SQL_ASCII"}, {}, "encoding SQL_ASCII, which cannot hold every text"),
        ({"transaction_read_only": "on"}, {}, "is read-only"),
        ({}, {"current_schema()": [(None,)]}, "no schema to keep tables in"),
        ({}, {"obj_description": [("customers", None)]}, r"another program's tables \(customers\), and was left"),
        ({}, {"obj_description": [("steps", None)]}, "another program's tables"),
        ({}, {"obj_description": [_STEPS], "FROM steps": [(99,)]}, "later version of this program .its schema is 99"),
        (
            {},
            {"obj_description": [_STEPS], "has_table_privilege": [("inbox", "UPDATE")]},
            "may not UPDATE in the table inbox",
        ),
    ],
)
def test_a_database_that_cannot_be_used_is_left_as_it_is(
    settings: Mapping[str, str], rows: Mapping[str, list[RawJson]], sentence: str
) -> None:
    db = Said(settings, rows)

    with pytest.raises(SettingsError, match=sentence):
        bring_up_to_date(db, 0.0)

    assert not [sql for sql in db.ran if sql.startswith(("CREATE", "INSERT", "COMMENT"))]


def test_the_steps_are_taken_once_in_one_transaction() -> None:
    done: list[str] = []
    fresh = Said({}, {})
    known = Said({}, {"obj_description": [_STEPS, ("report", None)]})

    bring_up_to_date(fresh, 5.0, (*steps(), (lambda db: done.append("filled"),)))
    bring_up_to_date(known, 5.0)

    made = [sql for sql in fresh.ran if sql.lstrip().startswith("CREATE TABLE")]
    assert len(made) > 15 and done == ["filled"] and fresh.ran.count("BEGIN") == fresh.ran.count("COMMIT") == 1
    assert not [sql for sql in known.ran if sql.lstrip().startswith("CREATE")]
    assert (find_version(fresh), find_version(known)) == (0, len(steps()))
    check_server(known)


async def test_a_process_of_an_earlier_version_goes_on_beside_a_later_one_and_starts_no_more(
    postgres_server: Postgres, message: Message, clock: HandClock
) -> None:
    """Also where its connections are cut meanwhile, and made again."""
    url = postgres_server.make_database("later_version")
    later = ("ALTER TABLE inbox ADD COLUMN later TEXT NOT NULL DEFAULT ''", "CREATE TABLE later (id INTEGER)")
    async with Store.open(url, clock=clock) as store:
        await taken_in(store, message("before"))
        with closing(connect_postgres(url, write=True)) as newer:
            bring_up_to_date(newer, 1.0, (*steps(), later))
        await taken_in(store, message("after"))
        with psycopg.connect(url, autocommit=True) as other:
            cut = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() "
            other.execute(cut.encode() + b"AND pid <> pg_backend_pid()")
        await taken_in(store, message("after a cut"))
        assert [row.incoming.delivery for row in await store.intake.list_waiting()] == [
            "before",
            "after",
            "after a cut",
        ]

    with pytest.raises(SettingsError, match=rf"its schema is {len(steps()) + 1}, known are {len(steps())}\)"):
        async with Store.open(url, clock=clock):
            pass
    postgres_server.run("DROP DATABASE later_version WITH (FORCE)")


@pytest.mark.parametrize("number", range(1, len(steps())))
def test_a_step_takes_nothing_away_from_processes_of_an_earlier_version(number: int) -> None:
    """They go on while a later version starts beside them. An index is no matter of theirs."""
    may = r"\s*(CREATE (UNLOGGED )?TABLE |CREATE INDEX |DROP INDEX |ALTER TABLE \w+ ADD COLUMN [^,]* DEFAULT [^,]+$)"

    assert [work for work in steps()[number] if isinstance(work, str) and not re.match(may, work)] == []


@pytest.mark.parametrize(
    ("sqlite", "postgres"),
    [
        (
            "CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL, text TEXT NOT NULL) STRICT",
            "CREATE TABLE a (id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, at DOUBLE PRECISION, "
            'text TEXT COLLATE "C" NOT NULL)',
        ),
        (
            "CREATE TABLE b (turn INTEGER PRIMARY KEY REFERENCES a (id), content BLOB) STRICT, WITHOUT ROWID\n    ",
            "CREATE TABLE b (turn BIGINT PRIMARY KEY REFERENCES a (id), content BYTEA)",
        ),
        ("CREATE INDEX c ON d (start + seconds)", "CREATE INDEX c ON d ((start + seconds))"),
        (
            "ALTER TABLE e ADD COLUMN f INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE e ADD COLUMN f BIGINT NOT NULL DEFAULT 0",
        ),
    ],
)
def test_tables_are_written_once_for_both(sqlite: str, postgres: str) -> None:
    assert for_postgres(sqlite) == postgres


class Line:
    """What `psycopg.connect` returns, as far as a connection of ours looks at it."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.closed = False
        self.sent_ahead: object = None
        self.adapters = SimpleNamespace(register_dumper=lambda *_: None, register_loader=lambda *_: None)
        self.info = SimpleNamespace(transaction_status=pq.TransactionStatus.IDLE, status=pq.ConnStatus.OK)

    def execute(self, statement: bytes | str, values: object = None) -> Line:
        self.said.append(statement if isinstance(statement, str) else statement.decode())
        return self

    def fetchall(self) -> list[tuple[str]]:
        return [("7",)]

    def rollback(self) -> None:
        self.said.append("ROLLBACK")

    def pipeline(self) -> ExitStack:
        return ExitStack()

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[Line]:
    """The connections that were opened."""
    opened: list[Line] = []

    def connect(*_: object, **__: object) -> Line:
        opened.append(Line())
        return opened[-1]

    monkeypatch.setattr("bot.store.postgres._Line.connect", connect)
    return opened


def test_a_connection_that_is_lost_at_its_first_statement_is_closed(
    lines: list[Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: object) -> None:
        raise psycopg.OperationalError("server closed the connection")

    monkeypatch.setattr(Line, "execute", lose)
    with pytest.raises(DatabaseError):
        connect_postgres("postgresql://db/parley", write=True)

    assert [line.closed for line in lines] == [True]


def test_what_only_reads_is_opened_anew_and_what_writes_is_not(lines: list[Line]) -> None:
    reader, writer = (connect_postgres("postgresql://db/parley", write=write) for write in (False, True))
    for line in lines:
        line.closed = True

    reader.execute("SELECT 1")
    writer.execute("SELECT 1")

    assert [line.said[-1] for line in lines] == ["SET default_transaction_read_only = on", "SELECT 1", "SELECT 1"]
    assert not writer.in_transaction and (writer.give_back(), writer.wipe_log()) == (0, True)
    mistake = KeyError("a mistake")
    assert writer.explain(mistake) is mistake


def test_a_failed_transaction_is_never_called_committed(lines: list[Line]) -> None:
    """PostgreSQL answers such a COMMIT with no error at all."""
    db = connect_postgres("postgresql://db/parley", write=True)
    [line] = lines
    line.said.clear()

    db.rollback()
    db.begin()
    line.info.transaction_status = pq.TransactionStatus.INTRANS
    db.executemany("INSERT INTO once (key) VALUES (?)", [("a",)])
    db.executemany("INSERT INTO once (key) VALUES (?)", [("a",), ("b",)])
    db.commit()
    line.info.transaction_status = pq.TransactionStatus.INERROR
    with pytest.raises(DatabaseError, match="taken back"):
        db.commit()

    insert = "INSERT INTO once (key) VALUES ($1)"
    number = "SELECT CAST(pg_current_xact_id() AS text)"
    assert line.said == ["BEGIN", number, insert, insert, insert, "COMMIT", "ROLLBACK"]


async def test_a_connection_is_closed_once_with_its_thread(lines: list[Line]) -> None:
    db = await open_postgres("postgresql://db/parley", write=True)
    for _ in range(2):
        await db.close()
    assert lines[0].closed


def test_a_connection_is_closed_that_opens_after_the_event_loop_has_ended(
    lines: list[Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    answered, closed, connect = threading.Event(), threading.Event(), postgres._Line.connect

    def connect_late(*_: object, **__: object) -> object:
        assert answered.wait(PATIENCE)
        return connect()

    monkeypatch.setattr("bot.store.postgres._Line.connect", connect_late)
    monkeypatch.setattr(Line, "close", lambda _: closed.set())

    async def give_up() -> None:
        opening = asyncio.create_task(open_postgres("postgresql://db/parley", write=True))
        await asyncio.sleep(0)
        opening.cancel()

    asyncio.run(give_up())
    answered.set()

    assert closed.wait(PATIENCE)


@pytest.mark.parametrize(
    ("state", "kind", "sentence"),
    [
        ("08006", SettingsError, "cannot be used: so it is"),
        ("42501", SettingsError, "may not make or change tables"),
        ("53300", StoreError, "no disk, memory or connection left"),
    ],
)
async def test_a_start_that_is_refused_names_the_setting_or_the_trouble(
    state: str, kind: type[Exception], sentence: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_: object, **__: object) -> Line:
        raise psycopg.errors.lookup(state)("so it is")

    monkeypatch.setattr("bot.store.postgres._Line.connect", connect)
    with pytest.raises(kind, match=sentence):
        async with Store.open("postgresql://db/parley", clock=clock):
            pass


# With a server.


async def test_both_databases_have_the_same_tables(postgres_url: str, clock: HandClock) -> None:
    async with Store.open(postgres_url, clock=clock):
        pass
    with psycopg.connect(postgres_url) as db:
        found = db.execute(
            "SELECT table_name, column_name, is_nullable, collation_name FROM information_schema.columns "
            "WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position"
        ).fetchall()
        indexes = {
            name for (name,) in db.execute("SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()")
        }
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db_:
        upgrade(db_)
        columns = db_.execute(
            "SELECT t.name, c.name, c.type, c.pk FROM pragma_table_list t, pragma_table_info(t.name) c "
            "WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite%' ORDER BY t.name, c.cid"
        ).fetchall()
        wanted = {name for (name,) in db_.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql <> ''")}

    ours = {table for table, *_ in columns}
    assert [(table, column) for table, column, *_ in found if table in ours] == [row[:2] for row in columns]
    kinds = {(table, column): kind for table, column, kind, _ in columns}
    assert {collation for table, column, _, collation in found if kinds.get((table, column)) == "TEXT"} == {"C"}
    assert wanted <= indexes


async def test_what_is_unfinished_in_a_place_is_found_without_looking_at_all_that_is(
    postgres_url: str, clock: HandClock, message: Message
) -> None:
    async with Store.open(postgres_url, clock=clock) as store:
        await store.writer.run(
            lambda db: db.execute(
                "INSERT INTO inbox (chat, incoming, received_at, state) "
                "SELECT 'telegram:42/' || n % 500, '{}', 1, CASE WHEN n % 2 = 0 THEN 'new' ELSE 'done' END "
                "FROM generate_series(1, 5000) AS n"
            )
        )
        await store.writer.run(lambda db: db.execute("ANALYZE inbox"))
        await taken_in(store, message("1", where=ChatId("telegram", "42", "7", "9")))

        sql = f"EXPLAIN SELECT id FROM inbox WHERE {UNFINISHED} AND {in_place('chat')}"
        plan = await store.writer.run(lambda db: db.execute(sql, place_range("telegram:42/7")).fetchall())

        said = "\n".join(line for (line,) in plan)
        assert said.count("Index Scan on inbox_waiting") == said.count("Index Cond: ") == 2


async def test_several_that_start_at_once_take_the_steps_once(clock: HandClock) -> None:
    with own_server() as server:
        url = server.make_database("together")

        async def start() -> int:
            async with Store.open(url, clock=clock) as store:
                return await store.turns.find_newest()

        assert await asyncio.gather(*(start() for _ in range(4))) == [0] * 4
        with psycopg.connect(url) as db:
            assert db.execute("SELECT count(*) FROM steps").fetchall() == [(len(steps()),)]

        # What a server says of a database that is not there, or is not ours to use.
        server.run("CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA public TO reader", "together")
        named_alike = server.make_database("alike")
        server.run("CREATE TABLE workers (id int)", "alike")
        theirs = server.make_database("theirs")
        server.run("CREATE TABLE customers (id int); CREATE ROLE guest LOGIN", "theirs")
        standby = server.make_database("standby")
        server.run("ALTER DATABASE standby SET default_transaction_read_only = on")
        empty = server.make_database("empty")
        for wrong, sentence in (
            (server.address(database="nowhere"), "cannot be used: .*nowhere"),
            (server.address("reader", "together"), "may not SELECT|permission denied"),
            (theirs, r"another program's tables \(customers\)"),
            (named_alike, r"another program's tables \(workers\)"),
            (standby, "is read-only"),
            (server.address("guest", "empty"), "may not make or change tables"),
        ):
            with pytest.raises(SettingsError, match=sentence):
                async with Store.open(wrong, clock=clock):
                    pass
        for wrong in (server.address("reader", "together"), theirs):
            with pytest.raises(SettingsError):
                inspect_server(wrong, clock)
        with psycopg.connect(theirs) as db:
            assert db.execute("SELECT relname FROM pg_stat_user_tables").fetchall() == [("customers",)]
        # An extension's tables, and those that an operator keeps beside ours, are no concern of the bot's.
        shared = server.make_database("shared")
        server.run("CREATE ROLE bot LOGIN; GRANT CREATE ON SCHEMA public TO bot", "shared")
        with psycopg.connect(shared) as db:
            known = db.execute("SELECT name FROM pg_available_extensions WHERE name = 'pg_stat_statements'").fetchall()
        for (extension,) in known:
            server.run(f"CREATE EXTENSION {extension}", "shared")
        for _ in range(2):
            async with Store.open(server.address("bot", "shared"), clock=clock) as store:
                await store.access.set_role("telegram:1", "owner")
            server.run("CREATE TABLE IF NOT EXISTS report (id int)", "shared")
        assert (inspect_server(empty, clock).schema, inspect_server(url, clock).schema) == (0, len(steps()))


async def test_while_the_server_restarts_nothing_is_lost_and_everybody_waits(message: Message) -> None:
    with own_server() as server:
        async with Store.open(server.address(), clock=SystemClock()) as store:
            await taken_in(store, message("before"))
            await asyncio.to_thread(server.control, "stop", "-m", "fast")
            writing = [asyncio.create_task(store.intake.take_in(message(str(number)))) for number in range(20)]
            reading = [asyncio.create_task(store.intake.list_waiting()) for _ in range(5)]
            async with asyncio.timeout(PATIENCE):
                while not store.writer.in_trouble:
                    await asyncio.sleep(0.01)
            await asyncio.to_thread(
                server.control, "start", "-o", f"-p {server.port}", "-l", str(server.folder / "log")
            )

            assert None not in await asyncio.gather(*writing)
            assert all(rows[0].incoming.delivery == "before" for rows in await asyncio.gather(*reading))
            assert len(await store.intake.list_waiting()) == 21


class Cable:
    """A way to the server that breaks at the next COMMIT: before it, behind it, or without the server noticing."""

    def __init__(self, url: str) -> None:
        self._server = urlsplit(url)
        self.breaks = ""
        self._open: list[asyncio.StreamWriter] = []

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ahead, on = await asyncio.open_connection(self._server.hostname, self._server.port)
        self._open += [writer, on]
        back = asyncio.create_task(self._pass(ahead, writer))
        while data := await reader.read(65_536):
            if b"COMMIT" in data and self.breaks:
                how, self.breaks = self.breaks, ""
                if how == "behind":
                    back.cancel()
                    await asyncio.wait((back,))
                    on.write(data)
                    await ahead.read(65_536)  # the answer
                if how != "unnoticed":
                    on.close()
                writer.close()
                return
            on.write(data)
        on.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
        writer.close()

    def close(self) -> None:
        for writer in self._open:
            writer.close()


@pytest.mark.parametrize("breaks", ["before", "behind", "unnoticed"])
async def test_a_commit_whose_answer_is_lost_writes_once(
    breaks: str, postgres_url: str, clock: HandClock, message: Message
) -> None:
    """Whether it was made, and where the server still waits for more of the transaction."""
    cable = Cable(postgres_url)
    server = await asyncio.start_server(cable.accept, "127.0.0.1", 0)
    port, address = server.sockets[0].getsockname()[1], urlsplit(postgres_url)
    url = urlunsplit(address._replace(netloc=f"{address.username}:{address.password}@127.0.0.1:{port}"))
    async with Store.open(url, clock=clock) as store:
        cable.breaks = breaks
        add = "INSERT INTO once (key, until) VALUES ('count', 1) ON CONFLICT (key) DO UPDATE SET until = once.until + 1"
        async with asyncio.timeout(PATIENCE):
            first, _, second = await asyncio.gather(
                store.intake.take_in(message("1")), store.writer.execute(add), store.intake.take_in(message("2"))
            )

        assert not cable.breaks
        assert await store.history._readers.fetch_rows("SELECT until FROM once") == [(1.0,)]
        assert [row.id for row in await store.intake.list_waiting()] == [first, second]
    server.close()
    cable.close()


async def test_a_connection_that_was_cut_is_opened_anew_and_nobody_notices(
    postgres_url: str, clock: HandClock, message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    async with Store.open(postgres_url, clock=clock) as store:
        for number in range(3):
            with psycopg.connect(postgres_url, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            await taken_in(store, message(str(number)))
            rows = await asyncio.gather(store.intake.list_waiting(), store.intake.list_waiting())
            assert [len(found) for found in rows] == [number + 1] * 2
    assert "writes again" in caplog.text


async def test_what_another_process_holds_up_is_run_again(
    postgres_url: str, clock: HandClock, message: Message
) -> None:
    """A deadlock takes back the whole transaction: the operations beside it are run again as well."""
    tries: list[int] = []

    def stuck(db: Session) -> int:
        tries.append(1)
        if len(tries) < 4:
            db.execute("DO $$ BEGIN RAISE EXCEPTION 'stuck' USING ERRCODE = '40P01'; END $$")
        return len(tries)

    def mistaken(db: Session) -> None:
        raise KeyError("a mistake")

    async with Store.open(postgres_url, clock=clock) as store:
        first, failed, second, third = await asyncio.gather(
            store.intake.take_in(message("1")),
            store.writer.run(mistaken),
            store.writer.run(stuck),
            store.intake.take_in(message("2")),
            return_exceptions=True,
        )
        assert isinstance(failed, KeyError) and second == 4
        assert [row.id for row in await store.intake.list_waiting()] == [first, third]


async def test_what_never_goes_well_is_told_after_a_minute(postgres_url: str, clock: HandClock) -> None:
    def stuck(db: Session) -> None:
        db.execute("DO $$ BEGIN RAISE EXCEPTION 'stuck' USING ERRCODE = '40001'; END $$")

    async with Store.open(postgres_url, clock=clock) as store:
        with pytest.raises(StoreError, match="Other processes keep writing to the same rows"):
            await store.writer.run(stuck)
        assert not await store.access.has_owner() and 60 <= clock.passed < 62


async def test_a_commit_that_is_refused_is_no_commit(postgres_url: str, clock: HandClock) -> None:
    """A rule that is looked at only at the end; and a mistake that an operation keeps to itself."""
    async with Store.open(postgres_url, clock=clock) as store:
        await store.writer.execute("CREATE TEMPORARY TABLE late (id BIGINT PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)")

        def twice(db: Session) -> None:
            db.executemany("INSERT INTO late (id) VALUES (?)", [(1,), (1,)])

        def hidden(db: Session) -> None:
            with suppress(psycopg.Error):
                db.execute("SELECT nothing")

        for wrong, sentence in ((twice, "23505"), (hidden, "nothing")):
            with pytest.raises(StoreError, match=sentence):
                await store.writer.run(wrong)
        await store.access.set_role("telegram:1", "owner")
        assert await store.access.has_owner()


def test_a_statement_that_was_to_be_prepared_in_a_failed_transaction_works_in_the_next(postgres_url: str) -> None:
    """The library takes it for prepared from when it sent that, though the server left out all after the failure."""
    with closing(connect_postgres(postgres_url, write=True)) as db:
        # One taken back before anything is prepared: the library looks at the first of each statement alone.
        db.begin()
        db.rollback()
        for number in range(20):  # at the sixth time a statement is prepared
            db.begin()
            kept = db.execute("SELECT CAST(? AS bigint)", (number,))
            db.commit()
            assert kept.fetchall() == [(number,)]
            if number == 4:
                with pytest.raises(psycopg.errors.DivisionByZero):
                    db.begin()
                    # The failure comes when the next is sent already.
                    db.execute("SELECT 1 / (CAST(? AS bigint) - length(CAST(pg_sleep(0.1) AS text)))", (0,))
                    db.execute("SELECT CAST(? AS bigint)", (number,))
                    db.commit()
                db.rollback()


async def test_a_reader_writes_nothing(postgres_url: str, clock: HandClock) -> None:
    async with Store.open(postgres_url, clock=clock) as store:
        with pytest.raises(StoreError, match="read-only for the bot's role"):
            await store.intake._readers.fetch_rows("DELETE FROM inbox RETURNING id")


async def test_signs_that_postgresql_refuses_are_dropped_from_whatever_comes(store: Store, message: Message) -> None:
    chat = ChatId("telegram", "42", "7\0")
    id = await taken_in(store, message("a\0b", "torn \ud83d\0", where=chat, message_id="m\0"))
    await store.turns.open(id, chat, "telegram:1\0")
    await store.settings.set(chat, "model", "m\0")

    assert await store.intake.take_in(message("a\0b", where=chat)) is None
    assert await store.settings.get(chat, "model") == "m"
    found = await store.intake.find_question(chat, "m")
    assert found is not None and found[0] == id and found[1].text == "torn \ufffd"


async def test_while_another_process_counts_what_all_share_nothing_else_waits(
    postgres_url: str, clock: HandClock, message: Message
) -> None:
    limit = Limit("*", 60, Amount(tokens=100))
    async with Store.open(postgres_url, clock=clock, worker="1") as store:
        with closing(connect_postgres(postgres_url, write=True)) as other:
            other.begin()
            other.one_by_one(2)
            other.finish()  # statements are sent ahead: only now does it hold the lock
            counting = asyncio.create_task(store.spending.count([limit], Amount(tokens=1)))
            sharing = asyncio.create_task(store.allowances.exchange([]))
            async with asyncio.timeout(PATIENCE):
                await taken_in(store, message(text="hello"))
            assert not counting.done()
            assert not sharing.done()
            other.commit()
        async with asyncio.timeout(PATIENCE):
            assert isinstance(await counting, Reserved)
            assert await sharing == []


async def test_processes_that_count_what_all_share_never_wait_for_each_other_in_a_circle(
    postgres_url: str, clock: HandClock
) -> None:
    """Each transaction holds several of these operations, in any order: the server would notice a circle after a
    second, and take one of them back."""
    limits = [Limit(key, 86_400, Amount(tokens=10_000)) for key in ("*", "telegram:1")]

    async def spend(store: Store) -> None:
        for round in range(20):
            kept = [await store.spending.reserve(limits, Amount(tokens=1)) for _ in range(2)]
            reserved = [one for one in kept if isinstance(one, Reserved)]
            await asyncio.gather(
                store.spending.settle((reserved[0], Amount(tokens=1))),
                store.spending.count(limits, Amount(messages=1)),
                store.allowances.exchange([]),
                store.allowances.bury(f"dead {round}"),
                store.spending.settle((reserved[1], Amount())),
                store.spending.reserve(limits, Amount(tokens=1)),
                store.spending.settle_killed(f"dead {round}"),
                store.spending.prune(),
            )

    async with AsyncExitStack() as stack:
        stores = [
            await stack.enter_async_context(Store.open(postgres_url, clock=clock, worker=str(n))) for n in range(3)
        ]
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*map(spend, stores))
        [spent, _] = await stores[0].spending.list_used([limit.key for limit in limits], 86_400)
        assert spent.messages == 60


async def test_only_one_bot_answers_from_a_database(postgres_url: str) -> None:
    with lock_database(postgres_url, "run"):
        with pytest.raises(SettingsError, match="in use by another `parley run`"), lock_database(postgres_url, "run"):
            pass
        with lock_database(postgres_url, "chat"):
            pass
    with lock_database(postgres_url, "run"):
        pass


async def test_a_database_is_free_though_the_server_has_not_noticed_yet_that_its_holder_has_left(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[PostgresConnection] = []
    with monkeypatch.context() as patched:
        patched.setattr(PostgresConnection, "close", lambda connection: left.append(connection))
        for _ in range(2):
            with lock_database(postgres_url, "run"):
                pass
    for connection in left:
        connection.close()


async def test_who_gives_up_while_it_is_opened_leaves_no_connection(postgres_url: str) -> None:
    opening = asyncio.create_task(open_postgres(postgres_url, write=True))
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening

    async with asyncio.timeout(PATIENCE):
        with closing(connect_postgres(postgres_url, write=False)) as other:
            count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            while other.execute(count).fetchone() != (1,):
                await asyncio.sleep(0.01)
    with pytest.raises(DatabaseError, match="nowhere"):
        await open_postgres(postgres_url.rpartition("/")[0] + "/nowhere", write=True)


async def test_processes_that_answer_the_same_people_never_wait_for_each_other_in_a_circle(
    postgres_url: str, clock: HandClock, message: Message
) -> None:
    """What is new reaches all of them in any order, and the turns of a transaction are of any person and platform."""
    orders = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]]

    async def answer(store: Store, process: int) -> list[int | None]:
        ids = list[int | None]()
        for round in range(20):
            order = orders[(process + round) % 3]
            new = [message(f"{round} {n}", where=ChatId("slack", "T1", f"{round} {n}")) for n in order]
            ids += await asyncio.gather(*map(store.intake.take_in, new))
            turns = []
            for n in order:
                where = ChatId(("telegram", "slack", "discord")[n % 3], f"{process}", f"{n}")
                turns.append((await taken_in(store, message(f"{process} {round} {n}", where=where)), where, n))
            await asyncio.gather(*(store.turns.open(turn, where, f"{where.platform}:{n}") for turn, where, n in turns))
            await asyncio.gather(
                *(
                    store.turns.close(
                        turn, TurnState.DONE, [], visible="", reasoning="", model=f"m{n}", usage=Usage(), dollars=0.0
                    )
                    for turn, _, n in turns
                )
            )
        return ids

    async with AsyncExitStack() as stack:
        stores = [
            await stack.enter_async_context(Store.open(postgres_url, clock=clock, worker=str(n))) for n in range(3)
        ]
        async with asyncio.timeout(PATIENCE):
            taken = await asyncio.gather(*(answer(store, process) for process, store in enumerate(stores)))
        assert len([id for ids in taken for id in ids if id is not None]) == 20 * 4
