"""Databases that may be read and never written: what is asked of them, and how they are named in `DATABASES`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Cell: TypeAlias = "str | None"
"""A value as text; None is the database's NULL."""

MOST_COUNTED = 100_000
"""Rows of a result that are counted; beyond it a result has "more than" so many."""
_NAME = re.compile(r"[A-Za-z][\w-]{0,40}")
_SCHEMES = ("sqlite", "postgresql", "postgres")


class Refused(Exception):
    """The database did not do it; the text is for the model and holds no address and no password."""

    def __init__(self, text: str, *, retry: bool = True, unknown_table: bool = False) -> None:
        super().__init__(text)
        self.retry = retry
        self.unknown_table = unknown_table


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one question may cost."""

    rows: int
    """Rows that are fetched."""
    cell: int
    """Characters of one value."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Rows:
    """What a question came to."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """The first ones."""
    count: int
    """How many there are, counted up to `MOST_COUNTED`."""
    complete: bool = True
    """`count` is all of them."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    type: str
    notes: str = ""
    """Key, not null, what it refers to."""


class Database(Protocol):
    """One database, opened anew for each question. Every method raises `Refused`."""

    async def tables(self, limits: Limits) -> Sequence[str]:
        """The names of tables and views, as a query writes them."""
        ...

    async def columns(self, table: str, limits: Limits) -> Sequence[Column]:
        """The columns of a table; none where there is no such table."""
        ...

    async def select(self, sql: str, limits: Limits) -> Rows:
        """Run one SELECT."""
        ...


def parse(text: str) -> dict[str, str]:
    """Read `name=url,name=url`, as `DATABASES` is written.

    Raises:
        ValueError: it is not of this form; the sentence shows no URL, which may hold a password.
    """
    found: dict[str, str] = {}
    # A comma may stand in a password or a query, so only one before a new name separates.
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


def open_database(url: str) -> Database:
    """The database at an address that `parse` accepted."""
    if url.lower().startswith("sqlite:"):
        from tools.databases.sqlite import SqliteDatabase

        return SqliteDatabase(url)
    from tools.databases.postgres import PostgresDatabase

    return PostgresDatabase(url)
