"""Read-only access to the databases in `DATABASES`."""

from __future__ import annotations

import re

from tools.contract.nearness import find_path_fault
from tools.databases.base import MOST_COUNTED, Cell, Column, Database, Limits, Refused, Rows

__all__ = [
    "MOST_COUNTED",
    "Cell",
    "Column",
    "Database",
    "Limits",
    "Refused",
    "Rows",
    "missing_file",
    "open_database",
    "parse",
]

_NAME = re.compile(r"[A-Za-z][\w-]{0,40}")
_SCHEMES = ("sqlite", "postgresql", "postgres")


def parse(text: str) -> dict[str, str]:
    """Read `name=url,name=url`, as `DATABASES` is written.

    Raises:
        ValueError: it is not of this form; the sentence shows no URL, which may hold a password.
    """
    found: dict[str, str] = {}
    # A password or a query may contain a comma, so only one before a new name separates.
    for part in re.split(r",\s*(?=[A-Za-z][\w-]{0,40}=\w+:/)", text.strip().strip(",")):
        if not part.strip():
            continue
        name, equals, url = part.strip().partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise ValueError("each database is written name=url, as sales=sqlite:////data/sales.db")
        scheme = url.partition(":")[0].lower()
        if scheme not in _SCHEMES or "://" not in url:
            raise ValueError(f"{name} must be sqlite:///path or postgresql://user:password@host/database")
        if name in found:
            raise ValueError(f"two databases are called {name}")
        found[name] = url
    return found


def missing_file(url: str) -> str:
    """Say why there is no file of a SQLite database; empty if there is one."""
    from tools.databases.sqlite import path_of

    return find_path_fault(path_of(url), "file")


def open_database(url: str) -> Database:
    """Return the database at a URL that `parse` accepted."""
    if url.lower().startswith("sqlite:"):
        from tools.databases.sqlite import SqliteDatabase

        return SqliteDatabase(url)
    from tools.databases.postgres import PostgresDatabase

    return PostgresDatabase(url)
