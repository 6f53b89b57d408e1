"""New databases for tests, at once: a copy of one that took every step of the schema, and no wait for a disk.

The steps cost more than most tests of what is kept, and each commit waits for the disk, which no killed process needs:
what it wrote is in the system's memory. `tests/bot/store/test_durability.py` looks at one that waits.
"""

from __future__ import annotations

import sqlite3
import tempfile
from functools import cache
from pathlib import Path

from bot.store import latersteps, opening, schema, store

SET_BOTH = opening._set_both
"""What the program does with each connection."""


@cache
def _image() -> bytes:
    """A new database, as the program makes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new.db"
        made, image = sqlite3.connect(path, isolation_level=None), sqlite3.connect(":memory:")
        try:
            opening._set_writer(path, made)
            schema.upgrade(made)
            # A database in memory has no write-ahead log.
            made.execute("PRAGMA journal_mode = DELETE")
            made.backup(image)
            return image.serialize()
        finally:
            made.close()
            image.close()


def _copy(db: sqlite3.Connection, steps: tuple[latersteps.Step, ...] = schema.STEPS) -> None:
    """Do what `upgrade` does."""
    if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] and not db.in_transaction:
        image = sqlite3.connect(":memory:")
        try:
            image.deserialize(_image())
            image.backup(db)
        finally:
            image.close()
    schema.upgrade(db, steps)


def quicken() -> None:
    """Have every store of this process open so, and of those that it forks."""

    def set_all(db: sqlite3.Connection) -> None:
        SET_BOTH(db)
        db.execute("PRAGMA synchronous = OFF")

    _image()
    opening._set_both = set_all
    store.upgrade = _copy  # type: ignore[attr-defined]  # not what others may use
