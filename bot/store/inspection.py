"""Looking at a database without changing anything: what `parley doctor` says of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bot.clock import Clock
from bot.store.database import database
from bot.store.opening import beside, damage_of, size_of

_PATIENCE = 2.0
"""Seconds that another program's lock is waited for."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """A database as it was found."""

    bytes: int
    wal_bytes: int
    """What waits in the write-ahead log."""
    journal: str
    writable: bool
    damage: str
    """What is wrong with it; empty when nothing was found."""


async def inspect(path: Path, clock: Clock) -> Inspection | None:
    """Look at the database at `path`; None where there is none yet.

    Raises:
        SettingsError: it cannot be opened, belongs to another program or to a later version of this one.
        StoreError: another program keeps it locked.
    """
    sizes = _sizes(path)
    if sizes is None:
        return None
    damage = await damage_of(path, clock, _PATIENCE)
    journal = ""
    if not damage:
        async with database(f"{path.as_uri()}?mode=ro", uri=True, timeout=_PATIENCE) as opened:
            [[journal]] = await opened.execute_fetchall("PRAGMA journal_mode")
    return Inspection(
        bytes=sizes[0],
        wal_bytes=sizes[1],
        journal=journal,
        writable=os.access(path, os.W_OK) and os.access(path.parent, os.W_OK),
        damage=damage,
    )


def _sizes(path: Path) -> tuple[int, int] | None:
    """Bytes of the file and of its write-ahead log."""
    return (size_of(path), size_of(beside(path, "-wal"))) if path.exists() else None
