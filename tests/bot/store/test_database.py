"""A connection and its thread begin and end together."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from bot.store.database import open_database
from bot.store.faults import DatabaseError


def threads() -> set[threading.Thread]:
    """Those of connections."""
    return {one for one in threading.enumerate() if "_connection_worker_thread" in one.name}


async def test_a_connection_is_closed_behind_the_work_under_way_and_its_thread_ends(tmp_path: Path) -> None:
    before = threads()
    opened = await open_database(tmp_path / "parley.db", timeout=1.0)
    [own] = threads() - before
    begun, go_on = threading.Event(), threading.Event()

    def work(db: sqlite3.Connection) -> None:
        begun.set()
        assert go_on.wait(10)
        db.execute("CREATE TABLE leaves (name TEXT)")

    under_way = asyncio.create_task(opened.run_together(work))
    assert await asyncio.to_thread(begun.wait, 10)
    under_way.cancel()
    closing = asyncio.create_task(opened.close())
    go_on.set()
    await closing
    await opened.close()
    await asyncio.to_thread(own.join, 10)

    assert not own.is_alive()
    with sqlite3.connect(tmp_path / "parley.db") as db:
        assert db.execute("SELECT name FROM sqlite_schema").fetchall() == [("leaves",)]
    db.close()


async def test_a_database_that_cannot_be_opened_leaves_no_thread(tmp_path: Path) -> None:
    before = threads()

    with pytest.raises(DatabaseError, match="unable to open"):
        await open_database(tmp_path / "none" / "parley.db", timeout=1.0)

    for own in threads() - before:
        await asyncio.to_thread(own.join, 10)
    assert threads() <= before
