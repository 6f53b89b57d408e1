"""The interface of a read-only database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Cell: TypeAlias = "str | None"
"""A value as text; None is the database's NULL."""

MOST_COUNTED = 100_000
"""Rows of a result that are counted; beyond it a result has "more than" so many."""


class Refused(Exception):
    """The database refused; the text is for the model, without URL or password."""

    def __init__(self, text: str, *, retry: bool = True, unknown_table: bool = False) -> None:
        super().__init__(text)
        self.retry = retry
        self.unknown_table = unknown_table


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one query."""

    rows: int
    """Rows that are fetched."""
    cell: int
    """Characters of one value."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Rows:
    """The result of a query."""

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
    """One database, opened for each query. Every method raises `Refused`."""

    async def tables(self, limits: Limits) -> Sequence[str]:
        """Return the names of tables and views, quoted as in a query."""
        ...

    async def columns(self, table: str, limits: Limits) -> Sequence[Column]:
        """Return the columns of a table; empty if there is no such table."""
        ...

    async def select(self, sql: str, limits: Limits) -> Rows:
        """Run one SELECT."""
        ...
