"""Copy a database completely: consistent while others write, checked, and never half a file under its name."""

from __future__ import annotations

import glob
import os
import sqlite3
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

_LEFT = 86_400.0
"""Seconds after which an unfinished copy is certainly abandoned: its process was killed."""


def write_copy(db: sqlite3.Connection, place: Path, *, overwrite: bool = False) -> None:
    """Write the present database into a file that only its owner can read.

    It contains nothing that was deleted. Other connections may read and write meanwhile.

    Raises:
        FileExistsError: `place` exists, and may not be overwritten.
        OSError, sqlite3.Error: it cannot be written; no part of it is left.
        sqlite3.DatabaseError: the database or the written copy is damaged.
    """
    if not overwrite and os.path.lexists(place):
        raise FileExistsError(place)
    _sweep(place)
    opened, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".partial", dir=place.parent)  # mode 600
    try:
        db.execute("VACUUM INTO ?", (name,))
        with closing(sqlite3.connect(name, isolation_level=None)) as written:
            [said] = written.execute("PRAGMA quick_check(1)").fetchone()
        if said != "ok":
            raise sqlite3.DatabaseError(said)
        os.fsync(opened)  # VACUUM INTO leaves that to us
        os.close(opened)
        opened = -1
        _put(Path(name), place, overwrite=overwrite)
    finally:
        if opened >= 0:
            os.close(opened)
        Path(name).unlink(missing_ok=True)


def _sweep(place: Path) -> None:
    """Delete unfinished copies of killed processes at this place: they contain conversations, and take up the disk."""
    with suppress(OSError):
        for left in place.parent.glob(f".{glob.escape(place.name)}.*.partial*"):
            if time.time() - left.stat().st_mtime > _LEFT:
                left.unlink()


def _put(written: Path, place: Path, *, overwrite: bool) -> None:
    """Give the file its name, in one step; without `overwrite` never replacing another file."""
    if overwrite:
        written.replace(place)
    else:
        try:
            os.link(written, place)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if os.path.lexists(place):
                raise FileExistsError(place) from None
            written.replace(place)
    sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, if the system can."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
