"""What the process that reads a SQLite file answers, and what it does not do."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import RawJson
from tools.databases import sqlite_reader

Ask = Callable[..., RawJson]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tea 100%.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(
            "CREATE TABLE teas (id INTEGER PRIMARY KEY, name TEXT NOT NULL, raw BLOB);"
            "CREATE TABLE cups (id INTEGER PRIMARY KEY, tea INTEGER NOT NULL REFERENCES teas);"
        )
        db.executemany("INSERT INTO teas (name, raw) VALUES (?, ?)", [(f"tea {n}", bytes([n] * n)) for n in range(40)])
    return path


@pytest.fixture
def ask(file: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask as the tool does; this process is left as large as it is."""

    def ask(do: str = "select", *, path: Path | None = None, **question: object) -> RawJson:
        asked = {"do": do, "path": str(path or file), "seconds": 5.0, "rows": 3, "cell": 20, "counted": 1000}
        written, read = io.BytesIO(), io.BytesIO(json.dumps({**asked, **question}).encode())
        monkeypatch.setattr(sqlite_reader, "_confine", lambda seconds: None)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=read))
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=written))
        sqlite_reader.main()
        return json.loads(written.getvalue())

    return ask


def test_tables_and_columns_are_told_with_what_they_refer_to(ask: Ask) -> None:
    assert ask("tables") == {"tables": ["cups", "teas"]}
    assert ask("columns", table="cups")["columns"] == [
        ["id", "INTEGER", "primary key"],
        ["tea", "INTEGER", "not null, refers to teas"],
    ]
    assert ask("columns", table='no "such" table')["columns"] == []


def test_rows_are_cut_counted_and_read_by_a_person(ask: Ask) -> None:
    found = ask(sql="SELECT id, name || ' and a long name' AS n, NULL AS none, raw FROM teas WHERE id > 15")

    assert found["columns"] == ["id", "n", "none", "raw"] and (found["count"], found["complete"]) == (25, True)
    assert found["rows"][0] == ["16", "tea 15 and a long n…", None, "x'" + "0f" * 15 + "'"]
    assert found["rows"][2][3] == "x'" + "11" * 16 + "…' (17 bytes)" and len(found["rows"]) == 3


def test_a_count_without_end_is_broken_off(ask: Ask) -> None:
    found = ask(sql="SELECT 1 FROM teas a, teas b, teas c", counted=100)

    assert (len(found["rows"]), found["count"], found["complete"]) == (3, 100, False)


def test_what_came_in_time_is_told_once_it_is_all_that_is_shown(ask: Ask) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"

    many = ask(sql=endless, seconds=0.05, counted=10**9)
    few = ask(sql=f"{endless} WHERE i = 1 OR i % 1000000000 = 0", seconds=0.05)

    assert many["rows"] == [["1"], ["2"], ["3"]] and not many["complete"]
    assert few == {"kind": "slow", "error": "interrupted"}


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("DELETE FROM teas", "denied"),
        ("CREATE TABLE other (a)", "denied"),
        ("PRAGMA journal_mode = DELETE", "denied"),
        ("ATTACH 'x.db' AS x", "denied"),
        ("SELECT load_extension('x')", "denied"),
        ("SELECT 1; SELECT 2", "several"),
        ("SELECT * FROM milk", "table"),
        ("SELEC", "wrong"),
        ("SELECT zeroblob(20000000)", "big"),
        ("-- nothing", "denied"),
    ],
)
def test_what_does_more_than_read_is_refused_by_its_kind(ask: Ask, file: Path, sql: str, kind: str) -> None:
    before = file.read_bytes()

    assert ask(sql=sql)["kind"] == kind
    assert file.read_bytes() == before


def test_its_structure_may_be_asked_for(ask: Ask) -> None:
    assert ask(sql="PRAGMA table_info(teas)")["rows"][0][1] == "id"


def test_a_file_that_cannot_be_read_is_told_by_its_kind(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("This is a letter, not a database.\n" * 100)

    assert ask("tables", path=tmp_path / "none.db")["kind"] == "closed"
    assert ask("tables", path=tmp_path / "letter")["kind"] == "closed"


def test_what_needs_too_much_memory_is_told(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(path: str) -> sqlite3.Connection:
        raise MemoryError

    monkeypatch.setattr(sqlite_reader, "_opened", exhausted)

    assert ask("tables") == {"kind": "big", "error": "it needs too much memory"}


def test_a_database_at_rest_where_nobody_may_write_is_read(ask: Ask, tmp_path: Path) -> None:
    """Here something that cannot be opened stands in the place of its journal."""
    path = tmp_path / "rest.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE quiet (a)")
    Path(f"{path}-journal").mkdir()
    assert ask("tables", path=path) == {"tables": ["quiet"]}

    Path(f"{path}-wal").mkdir()
    assert ask("tables", path=path)["error"], "with a log that cannot be read it is not at rest"
