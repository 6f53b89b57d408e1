"""The files beside a database: its logs, and copies kept under other names."""

from __future__ import annotations

import datetime
from pathlib import Path

from bot.contract import Clock

COMPANIONS = ("", "-wal", "-shm", "-journal")
"""Suffixes of a database's name: the file itself, its write-ahead log, that log's index, and a rollback journal."""
KEPT = ("damaged", "before-upgrade", "before-restore")
"""Reasons for keeping a database under another name; each is followed by the time."""


def path_beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def free_name(path: Path, why: str, clock: Clock) -> Path:
    """Return a free name beside the database: `parley.db.damaged-20270115T080000`."""
    assert why in KEPT
    stamp = datetime.datetime.fromtimestamp(clock.wall(), datetime.UTC).strftime("%Y%m%dT%H%M%S")
    first = kept = path_beside(path, f".{why}-{stamp}")
    number = 1
    while any(path_beside(kept, suffix).exists() for suffix in COMPANIONS):
        number += 1
        kept = path_beside(first, f"-{number}")
    return kept


def move_aside(path: Path, kept: Path) -> None:
    """Rename a database with its logs. Raises `OSError`."""
    for suffix in COMPANIONS:
        if path_beside(path, suffix).exists():
            path_beside(path, suffix).rename(path_beside(kept, suffix))
