"""Statements are written once, for SQLite and for PostgreSQL: none has a form that only one of them knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

STORE = Path(__file__).parents[3] / "bot" / "store"
OF_ONE_DATABASE = (
    *("backup", "beside", "copying", "database", "inspection", "location", "lock", "opening", "presence", "privacy"),
    *("schema", "latersteps", "shape", "upgrading", "postgres", "postgres_schema", "server"),
)
"""Modules about SQLite's file, or a PostgreSQL server."""
OWN_INDEX = "_best"
"""The search for facts, in an SQLite database in memory whatever the store is."""
SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|REPLACE|FROM|WHERE|RETURNING|PRAGMA)\b")
FORMS = {
    "a function of SQLite's": (
        r"\b(json\w*|substr|instr|ifnull|iif|date|datetime|strftime|unixepoch|printf|group_concat|total|hex|glob"
        r"|char|typeof|last_insert_rowid|changes)\("
    ),
    "a row's number": r"\browid\b",
    "another name of an upsert": r"\bREPLACE INTO\b|\bOR (IGNORE|REPLACE|ABORT)\b",
    "a conflict without its columns": r"\bON CONFLICT DO UPDATE\b",
    "an insert without its columns": r"\bINTO \w+ (VALUES|SELECT)\b",
    "IS as a comparison": r"\bIS (?!(NOT )?NULL\b)",
    "a maximum of two values": r"\b(max|min)\([^()]*,",
    "a number as a truth": r"\bNOT [a-z_.]+\b|\(:\w+ (OR|AND)\b|\b(AND|OR|WHERE) [a-z_.]+( AND| OR|$|\))",
    "a kind of SQLite's": r"\bAS (BLOB|INTEGER|REAL|TEXT)\b",
    "no limit": r"\bLIMIT -1\b",
    "SQLite's own words": r"\b(MATCH|GLOB|NOCASE|INDEXED BY)\b|==",
}


def statements(source: str) -> Iterator[str]:
    """What is SQL in a module, with ` HOLE ` where something is put in."""
    tree = ast.parse(source)
    skipped = {
        id(node)
        for one in ast.walk(tree)
        if isinstance(one, ast.FunctionDef) and one.name == OWN_INDEX
        for node in ast.walk(one)
    }
    skipped |= {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else " HOLE " for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if id(node) not in skipped and SQL.search(text) and not text.startswith("PRAGMA "):
            yield " ".join(text.split())


def found_in(statement: str) -> list[str]:
    """Which forms of one database are in it; what is in quotes is a value."""
    bare = re.sub(r"BETWEEN \S+ AND \S+", "= 1", re.sub(r"'[^']*'", "'x'", statement))
    return [name for name, form in FORMS.items() if re.search(form, bare)]


@pytest.mark.parametrize("module", sorted(path.stem for path in STORE.glob("*.py") if path.stem not in OF_ONE_DATABASE))
def test_no_statement_has_a_form_that_one_database_alone_knows(module: str) -> None:
    source = (STORE / f"{module}.py").read_text()

    assert {said: forms for said in statements(source) if (forms := found_in(said))} == {}
    assert "lastrowid" not in source


@pytest.mark.parametrize(
    ("statement", "form"),
    [
        ("SELECT json_extract(incoming, '$.text') FROM inbox", "a function of SQLite's"),
        ("DELETE FROM turns WHERE rowid IN (SELECT id FROM turns)", "a row's number"),
        ("REPLACE INTO roles (id) VALUES (?)", "another name of an upsert"),
        ("INSERT OR IGNORE INTO once (key) VALUES (?)", "another name of an upsert"),
        ("INSERT INTO once (key) VALUES (?) ON CONFLICT DO UPDATE SET until = 0", "a conflict without its columns"),
        ("INSERT INTO once VALUES (?, ?)", "an insert without its columns"),
        ("SELECT id FROM turns WHERE superseded_by IS NOT id", "IS as a comparison"),
        ("UPDATE inbox SET attempts = max(0, attempts - 1) WHERE id = ?", "a maximum of two values"),
        ("SELECT id FROM timers WHERE due < ? AND NOT paused", "a number as a truth"),
        ("SELECT id FROM inbox WHERE (:whole OR command = 'x')", "a number as a truth"),
        ("SELECT id FROM inbox WHERE paused AND due < ?", "a number as a truth"),
        ("SELECT length(CAST(body AS BLOB)) FROM bodies", "a kind of SQLite's"),
        ("SELECT id FROM turns LIMIT -1 OFFSET 5", "no limit"),
        ("SELECT id FROM words WHERE words MATCH ?", "SQLite's own words"),
    ],
)
def test_forms_of_one_database_are_noticed(statement: str, form: str) -> None:
    [said] = statements(f"QUERY = {statement!r}")

    assert form in found_in(said)
    assert found_in("SELECT max(id), 'a rowid' FROM turns WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1)") == []
