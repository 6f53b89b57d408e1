"""What is asked of a database, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Cell: TypeAlias = "str | None"
"""A value as text; None is the database's NULL."""

MOST_COUNTED = 100_000
"""Rows of a result that are counted; beyond it a result has "more than" so many."""


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
