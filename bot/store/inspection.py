"""Inspect a database without changing it, for `parley doctor`."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.contract import Clock
from bot.store.beside import path_beside, size_of
from bot.store.database import open_database
from bot.store.faults import DatabaseError, store_error
from bot.store.intake import count_unfinished
from bot.store.opening import damage_of, refuse_foreign, refuse_missing_folder
from bot.store.privacy import kept_files
from bot.store.schema import STEPS, known_version
from bot.store.spending import usual_prompt

_PATIENCE = 2.0
"""Seconds that another program's lock is waited for."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """The findings about a database."""

    bytes: int
    wal_bytes: int
    """The bytes in the write-ahead log."""
    journal: str
    writable: bool
    damage: str
    """The damage that was found; empty if none."""
    unfinished: Mapping[str, int]
    """Platform → how many deliveries wait or are being answered there."""
    schema: int = 0
    """Its version; 0 when it is empty or damaged."""
    kept_bytes: int = 0
    """The bytes of copies kept under other names."""
    prompt: int = 0
    """The tokens of a usual question's prompt; 0: no question was answered yet."""

    @property
    def older(self) -> bool:
        """The next start upgrades it."""
        return 0 < self.schema < len(STEPS)


async def inspect(path: Path, clock: Clock) -> Inspection | None:
    """Inspect the database at `path`; return None if it does not exist yet and the start creates it.

    Raises:
        SettingsError: it cannot be opened, belongs to another program or to a later version of this one.
        StoreError: another program keeps it locked.
    """
    refuse_foreign(path)
    sizes = _sizes(path)
    if sizes is None:
        refuse_missing_folder(path)
        return None
    damage = await damage_of(path, clock, _PATIENCE)
    journal, schema, prompt = "", 0, 0
    unfinished: Mapping[str, int] = {}
    if not damage:
        try:
            async with await open_database(f"{path.as_uri()}?mode=ro", uri=True, timeout=_PATIENCE) as opened:
                journal, schema, unfinished, prompt = await opened.run_together(_look)
        except DatabaseError as error:
            raise store_error(error) from error
    return Inspection(
        bytes=sizes[0],
        wal_bytes=sizes[1],
        journal=journal,
        writable=os.access(path, os.W_OK) and os.access(path.parent, os.W_OK),
        damage=damage,
        unfinished=unfinished,
        schema=schema,
        kept_bytes=sum(size_of(file) for file in kept_files(path)),
        prompt=prompt,
    )


def _look(db: sqlite3.Connection) -> tuple[str, int, Mapping[str, int], int]:
    [journal] = db.execute("PRAGMA journal_mode").fetchone()
    schema = known_version(db)
    prompt = usual_prompt(db) if schema == len(STEPS) else 0
    return journal, schema, count_unfinished(db) if schema else {}, prompt


def _sizes(path: Path) -> tuple[int, int] | None:
    """Return the bytes of the file and of its write-ahead log."""
    return (size_of(path), size_of(path_beside(path, "-wal"))) if path.exists() else None
