"""What the store uses of a database, whichever it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]
Values: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""Values for `?`, or values by name for `:name`."""


class Cursor(Protocol):
    """What a statement came to."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    @property
    def description(self) -> Sequence[Any] | None:
        """The columns of its rows, each beginning with its name."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


def by_name(found: Cursor) -> list[dict[str, Any]]:
    """Return the rows that were found, each by the names of its columns."""
    rows = found.fetchall()
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in rows]


class Connection(Protocol):
    """What operations use of an open connection, on its own thread. Statements are written once for every database."""

    def execute(self, sql: str, values: Values = ..., /) -> Cursor: ...

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> Cursor:
        """Run a statement for each row of values; `rowcount` is the sum."""


Fence: TypeAlias = Callable[[Connection], None]
"""Lets a transaction write that begins; ends the process where another one has taken over what it served."""


class Session(Connection, Protocol):
    """An open connection as the writer and the readers use it."""

    @property
    def in_transaction(self) -> bool: ...

    def begin(self) -> None:
        """Begin a transaction that may write. Until `finish`, what a statement came to may be known only when its
        result is asked for, and an error be raised by a later one."""

    def finish(self) -> None:
        """Wait for all statements of the transaction so far; raise the first error of theirs."""

    def one_by_one(self, lock: int) -> None:
        """Wait until no other process is in a transaction in which this was called with the same number, and keep
        others waiting until the end of this one: for what reads first and then writes by what it read."""

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def explain(self, error: Exception) -> Exception:
        """Return an error of the database as a `DatabaseError`, and any other as it is."""

    def last_id(self, table: str) -> int:
        """Return the last id that a table gave out, 0 if none."""

    def set_last_id(self, table: str, id: int) -> None:
        """Let a table give out only ids after this one."""

    def give_back(self) -> int:
        """Return some free pages to the disk, inside a transaction; the number of those that are left."""

    def wipe_log(self) -> bool:
        """Empty the log of what was written, outside of any transaction; False while somebody reads what it holds."""


class OpenDatabase(Protocol):
    """A connection on a thread of its own."""

    async def run_together(self, work: Callable[[Session], T], /) -> T:
        """Run `work` on the connection's thread and return what it returned; it raises what `work` raises, errors of
        the database as `DatabaseError`."""

    async def close(self) -> None:
        """Close the connection behind the work under way, and end its thread; closing twice is no error."""
