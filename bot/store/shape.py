"""Compare the tables of a database with those of its version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import cache

from bot.contract import SettingsError
from bot.store.schema import STEPS, known_version, take_step

_SHOWN = 3
"""Missing parts named in a sentence."""


def check_shape(db: sqlite3.Connection, name: str) -> int:
    """Return the version of a database of ours whose tables are those of that version. Changes nothing.

    Args:
        name: the beginning of an error's sentence, as "The database of DATABASE_URL".

    Raises:
        SettingsError: another program's, of a later version, or with tables unlike its version's.
    """
    version = known_version(db, name=name)
    shapes = _shapes()
    found = _shape(db) & frozenset[str]().union(*shapes)  # an operator's additions do not matter
    if found == shapes[version]:
        return version
    others = [number for number, shape in enumerate(shapes) if shape == found and number]
    if others:
        raise SettingsError(
            f"{name} has the tables of schema {others[-1]}, but its version number (PRAGMA user_version) is {version}. "
            f"If you changed that number, set it to {others[-1]} again; otherwise restore a backup "
            "(parley restore FILE). Nothing was changed."
        )
    missing, later = shapes[version] - found, found - shapes[version]
    wrong = f"lacks {_list(missing)}" if missing else f"has {_list(later)}, which a later version adds"
    raise SettingsError(
        f"{name} says that its schema is {version}, but {wrong}. Restore a backup (parley restore FILE), or name "
        "another database. Nothing was changed."
    )


def _shape(db: sqlite3.Connection) -> frozenset[str]:
    """Return the names of all tables, columns and indexes, without SQLite's own."""
    rows = db.execute(
        """
        SELECT 'table ' || name FROM pragma_table_list
        WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
        UNION ALL
        SELECT 'column ' || t.name || '.' || c.name FROM pragma_table_list t, pragma_table_info(t.name) c
        WHERE t.schema = 'main' AND t.type IN ('table', 'virtual') AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
        UNION ALL
        SELECT 'index ' || name FROM sqlite_schema WHERE type = 'index' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
        """
    )
    return frozenset(str(name) for (name,) in rows)


@cache
def _shapes() -> tuple[frozenset[str], ...]:
    """Return the shape of each version, from 0 (nothing) to the newest."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        shapes = [_shape(db)]
        for _ in STEPS:
            take_step(db)
            shapes.append(_shape(db))
    return tuple(shapes)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the newest schema."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    counts: bool
    """It gives out ids, never the same one again."""


@cache
def newest_tables() -> tuple[Table, ...]:
    """Return all tables, each after those it refers to: in the order in which they were made."""
    found = []
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for _ in STEPS:
            take_step(db)
        made = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall()
        for name, sql in made:
            if not name.startswith("sqlite_"):
                columns = db.execute(f"PRAGMA table_info({name})").fetchall()
                key = sorted((place, column) for _, column, _, _, _, place in columns if place)
                names = tuple(column for _, column, *_ in columns)
                found.append(Table(name, names, tuple(column for _, column in key), "AUTOINCREMENT" in sql))
    return tuple(found)


def _list(names: frozenset[str]) -> str:
    """List the first names: for a missing table, its columns and indexes are left out."""
    shown = sorted(name for name in names if name.startswith("table ")) or sorted(names)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return "the " + ", the ".join(shown[:_SHOWN]) + more
