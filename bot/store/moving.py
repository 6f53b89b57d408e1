"""Copy everything from one database into another of either kind, and compare the copy with the source."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial

from bot.contract import SettingsError, StoreError
from bot.store.shape import Table, newest_tables
from bot.store.sql import Connection, Row, Session
from bot.store.store import Store

_TOGETHER, _FEW = 500, 4
"""Rows in one transaction; fewer if each may have 16 MiB."""
_OF_PROCESSES = ("holdings", "allowances")
"""Tables of running processes' state, of which nothing is copied."""
_MARK = "a move of a store"
"""The key in `once` of a database whose copy is incomplete."""
_LARGE = "blobs"


@dataclass(frozen=True, slots=True)
class Moved:
    """How much was copied."""

    rows: int
    chats: int
    turns: int
    waiting: int
    """Deliveries that are not answered yet: the next start answers them."""


async def copy_store(source: Store, target: Store, tell: Callable[[int, int], None]) -> Moved:
    """Copy every row, and read both databases again to compare. A second call continues an interrupted copy.

    Nothing may write to either database meanwhile.

    Args:
        tell: called with the number of rows done, and of all; each is copied and compared.

    Raises:
        SettingsError: the target contains something else.
        StoreError: one of them cannot be used now, or a row differs from its source.
    """
    counts = {table.name: await _count(source, table.name) for table in _tables()}
    if not await target.writer.run(_is_marked):
        for table in _tables():
            if await _count(target, table.name):
                raise SettingsError(
                    f"What is moved to is not empty (there are rows in {table.name!r}): name a new file or an empty "
                    "database. Nothing was changed."
                )
        await target.writer.run(lambda db: db.execute("INSERT INTO once (key, until) VALUES (?, ?)", (_MARK, 1e18)))
    done, total = 0, 2 * sum(counts.values())
    for table in _tables():
        for work in (_copy, _compare):
            begun = done
            async for rows in work(source, target, table):
                done += rows
                tell(done, total)
            done = begun + counts[table.name]  # rows copied before count as done, too
            tell(done, total)
    await _pass_counters(source, target)
    await target.writer.run(lambda db: db.execute("DELETE FROM once WHERE key = ?", (_MARK,)))
    waiting = await target.intake.count_unfinished()
    return Moved(sum(counts.values()), counts["chats"], counts["turns"], sum(waiting.values()))


def _select(table: Table, after: Row | None) -> tuple[str, Row]:
    key = ", ".join(table.key)
    where = f"WHERE ({key}) > ({', '.join('?' * len(table.key))}) " if after is not None else ""
    # The mark alone means that there is nothing to copy.
    where += f"{'AND' if where else 'WHERE'} key <> '{_MARK}' " if table.name == "once" else ""
    limit = _FEW if table.name == _LARGE else _TOGETHER
    statement = f"SELECT {', '.join(table.columns)} FROM {table.name} {where}ORDER BY {key} LIMIT {limit}"
    return statement, () if after is None else after


def _key_of(table: Table, row: Row) -> Row:
    return tuple(row[table.columns.index(name)] for name in table.key)


def _tables() -> list[Table]:
    return [table for table in newest_tables() if table.name not in _OF_PROCESSES]


async def _count(store: Store, table: str) -> int:
    ours = f" WHERE key <> '{_MARK}'" if table == "once" else ""
    rows = await store.writer.run(lambda db: db.execute(f"SELECT count(*) FROM {table}{ours}").fetchall())
    return int(rows[0][0])


def _is_marked(db: Connection) -> bool:
    return db.execute("SELECT 1 FROM once WHERE key = ?", (_MARK,)).fetchone() is not None


async def _read(store: Store, table: Table, after: Row | None) -> list[Row]:
    statement, values = _select(table, after)
    return await store.writer.run(lambda db: [_same(row) for row in db.execute(statement, values).fetchall()])


def _same(row: Row) -> Row:
    """Return a row as either database gives it: PostgreSQL stores no NUL characters in texts."""
    return tuple(one.replace("\0", "") if isinstance(one, str) else one for one in row)


async def _copy(source: Store, target: Store, table: Table) -> AsyncIterator[int]:
    """Copy the rows after the last one that arrived before."""
    key = ", ".join(f"{column} DESC" for column in table.key)
    marked = f"WHERE key <> '{_MARK}' " if table.name == "once" else ""
    newest = f"SELECT {', '.join(table.key)} FROM {table.name} {marked}ORDER BY {key} LIMIT 1"
    last = await target.writer.run(lambda db: db.execute(newest).fetchone())
    marks = ", ".join("?" * len(table.columns))
    insert = f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({marks})"
    while rows := await _read(source, table, None if last is None else tuple(last)):
        await target.writer.run(partial(_insert, statement=insert, rows=rows))
        last = _key_of(table, rows[-1])
        yield len(rows)


async def _compare(source: Store, target: Store, table: Table) -> AsyncIterator[int]:
    """Read both from the beginning.

    Raises:
        StoreError: they differ.
    """
    last: Row | None = None
    while True:
        there, arrived = await _read(source, table, last), await _read(target, table, last)
        if there != arrived:
            raise StoreError(
                f"What arrived is not what was there (table {table.name!r}, behind {last}). Empty what is moved to, "
                "and begin anew."
            )
        if not there:
            return
        last = _key_of(table, there[-1])
        yield len(there)


async def _pass_counters(source: Store, target: Store) -> None:
    """Never give out an id again that the source gave out, even if its row is gone."""
    for table in _tables():
        if table.counts:
            last = await source.writer.run(partial(_last_id, table=table.name))
            await target.writer.run(partial(_set_last_id, table=table.name, id=last))


def _insert(db: Connection, statement: str, rows: list[Row]) -> int:
    return db.executemany(statement, rows).rowcount


def _last_id(db: Session, table: str) -> int:
    return db.last_id(table)


def _set_last_id(db: Session, table: str, id: int) -> None:
    db.set_last_id(table, id)
