"""Copy a database whole: consistent while others write, checked, and never half a file under its name."""

from __future__ import annotations

import glob
import os
import sqlite3
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

_LEFT = 86_400.0
"""Seconds after which an unfinished copy is surely nobody's: its process was killed."""


def write_copy(db: sqlite3.Connection, place: Path, *, overwrite: bool = False) -> None:
    """Write what the database holds now into a file that only its owner can read.

    Nothing that was deleted is in it. Other connections may read and write meanwhile.

    Raises:
        FileExistsError: `place` exists, and may not be overwritten.
        OSError, sqlite3.Error: it cannot be written; nothing is left of it.
        sqlite3.DatabaseError: the database is damaged, or what arrived on the disk is.
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
    """Delete what killed processes left of copies to this place: it holds conversations, and takes up the disk."""
    with suppress(OSError):
        for left in place.parent.glob(f".{glob.escape(place.name)}.*.partial*"):
            if time.time() - left.stat().st_mtime > _LEFT:
                left.unlink()


def _put(written: Path, place: Path, *, overwrite: bool) -> None:
    """Give the file its name, in one step; without `overwrite` never another file's."""
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
    """Put the names in a folder on the disk, where the system can."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
