"""Back up the database while it is in use, and replace it with a backup."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.contract import Clock, SettingsError, StoreError
from bot.store.beside import COMPANIONS, free_name, move_aside, path_beside, size_of
from bot.store.copying import sync_folder, write_copy
from bot.store.database import database_error
from bot.store.faults import Fault, store_error
from bot.store.intake import count_unfinished
from bot.store.lock import lock_files, lock_out
from bot.store.opening import refuse_foreign, why_foreign
from bot.store.schema import STEPS
from bot.store.shape import check_shape

_PATIENCE = 60.0
"""Seconds to wait for another program's lock."""
_CHATS = 2
"""The schema that brought chats and turns."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a complete database of ours."""

    schema: int
    chats: int
    turns: int
    last_at: float
    """When somebody last asked; 0 if nobody did."""
    unfinished: int
    """Questions that wait or were being answered."""
    bytes: int

    @property
    def older(self) -> bool:
        """The next start upgrades it."""
        return self.schema < len(STEPS)


def back_up(path: Path, place: Path, *, overwrite: bool = False) -> Contents:
    """Write the present database at `path` to `place`: one file, complete and checked, readable by its owner only.

    A running bot continues meanwhile. `place` appears complete, or not at all.

    Raises:
        SettingsError: there is no database of ours, or `place` cannot be written so.
        StoreError: the database is damaged, or the copy cannot be written.
    """
    refuse_foreign(path)
    if not size_of(path):
        raise SettingsError(f"There is no database {str(path)!r} yet, so nothing was backed up.")
    if place in [*(path_beside(path, suffix) for suffix in COMPANIONS), *lock_files(path)]:
        raise SettingsError(f"{str(place)!r} belongs to the database itself; name another file.")
    if place.is_dir():
        raise SettingsError(f"{str(place)!r} is a folder; add a file name.")
    if not place.parent.is_dir():
        raise SettingsError(f"There is no folder {str(place.parent)!r} for the backup.")
    if place.exists() and not place.is_file():
        raise SettingsError(f"{str(place)!r} is not a regular file; name another one.")
    try:
        with _open_to_read(path) as db:
            contents = _look_into(db, f"The database {str(path)!r}", path)
            write_copy(db, place, overwrite=overwrite)
    except FileExistsError:
        raise SettingsError(f"{str(place)!r} exists already; name another file, or add --overwrite.") from None
    except OSError as error:
        raise StoreError(f"The backup {str(place)!r} cannot be written: {error.strerror}.") from error
    except sqlite3.Error as error:
        raise _explain(error, path, f"no backup was made, and {str(place)!r} is as it was") from error
    return contents


def examine_backup(file: Path, path: Path) -> Contents:
    """Return the contents of a backup. It is read from beginning to end.

    Args:
        path: the database that it is to replace.

    Raises:
        SettingsError: it is not a complete database of ours, or it is `path` itself.
        StoreError: it cannot be read now.
    """
    if not file.exists():
        raise SettingsError(f"There is no file {str(file)!r}.")
    if path.exists() and file.samefile(path):
        raise SettingsError(f"{str(file)!r} is the database itself, not a backup of it.")
    if why := why_foreign(file):
        raise SettingsError(f"{str(file)!r} {why}, so it is no backup of this program's.")
    try:
        with _open_to_read(file, at_rest=True) as db:
            contents = _look_into(db, f"The backup {str(file)!r}", file)
            [said] = db.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.Error as error:
        if database_error(error).fault is not Fault.CORRUPT:
            raise store_error(database_error(error)) from error
        said = str(error)
    if said != "ok":
        raise SettingsError(f"The backup {str(file)!r} is damaged ({said.splitlines()[-1]}); take another one.")
    if not contents.schema:
        raise SettingsError(f"The backup {str(file)!r} holds nothing.")
    return contents


@contextmanager
def keep_bots_away(path: Path) -> Iterator[None]:
    """Keep bots from the database at `path`, which need not exist, while it is replaced.

    Raises:
        SettingsError: a bot is using it, or it is another program's or another user's file.
    """
    if size_of(path) or not size_of(path_beside(path, "-wal")):  # a log whose database is lost is put aside, too
        refuse_foreign(path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = (path if path.exists() else path.parent).stat().st_uid
    except OSError as error:
        raise SettingsError(f"The folder of the database {str(path)!r} cannot be used: {error.strerror}.") from error
    if os.name == "posix" and owner != os.geteuid():
        # If they became ours, the bot could open neither the database nor the lock.
        raise SettingsError(
            f"The database {str(path)!r} belongs to another user (id {owner}); restore it as that user, for example "
            f"with: sudo -u '#{owner}' parley restore …"
        )
    with lock_out(path):
        yield


def look_at(path: Path) -> Contents | None:
    """Return the contents of the database; None if there is none.

    Raises:
        SettingsError, StoreError: it cannot be read.
    """
    if not size_of(path):
        return None
    try:
        with _open_to_read(path) as db:
            return _look_into(db, f"The database {str(path)!r}", path)
    except sqlite3.Error as error:
        raise StoreError(f"It is damaged or cannot be read ({error}).") from error


def put_back(file: Path, path: Path, clock: Clock) -> Path | None:
    """Replace the database with a backup; return the name under which the old one is kept.

    Call it under `keep_bots_away`. Whatever happens, the old database is in its place or kept under that name.

    Raises:
        StoreError: it cannot be written; the database is unchanged.
    """
    kept = free_name(path, "before-restore", clock)
    staged = path.with_name(f".{path.name}.restored")
    try:
        with _open_to_read(file, at_rest=True) as db:
            write_copy(db, staged, overwrite=True)
        held = any(size_of(path_beside(path, suffix)) for suffix in COMPANIONS)
        if held:
            _keep(path, kept)
        staged.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(f"The database {str(path)!r} cannot be replaced: {error.strerror}.") from error
    except sqlite3.Error as error:
        raise _explain(error, file, f"{str(path)!r} is as it was") from error
    finally:
        staged.unlink(missing_ok=True)
    return kept if held else None


def _keep(path: Path, kept: Path) -> None:
    """Keep the database under another name, and if possible under its own, too, until that is replaced."""
    if _is_sound(path):
        # The log is merged into the file. For a damaged database both are kept as they are.
        with closing(_connect(path, "rw")) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if path.exists() and not any(path_beside(path, suffix).exists() for suffix in COMPANIONS[1:]):
        try:
            os.link(path, kept)
        except OSError:  # a file system without hard links
            move_aside(path, kept)
    else:
        move_aside(path, kept)


def _is_sound(path: Path) -> bool:
    if not size_of(path):
        return False
    try:
        with _open_to_read(path) as db:
            return bool(db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.Error:
        return False


@contextmanager
def _open_to_read(path: Path, *, at_rest: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a database for reading, and change nothing.

    Args:
        at_rest: nobody writes to it. SQLite then creates nothing beside a file without a log, so the folder can be
            read-only.
    """
    alone = at_rest and not any(path_beside(path, suffix).exists() for suffix in COMPANIONS[1:])
    db = _connect(path, "ro&immutable=1" if alone else "ro")
    try:
        try:
            db.execute("PRAGMA schema_version").fetchone()
        except sqlite3.Error as error:
            if database_error(error).fault is not Fault.READONLY:
                raise
            db.close()
            db = _connect(path, "rw")  # a journal must still be played back
        yield db
    finally:
        db.close()


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_PATIENCE, isolation_level=None)


def _look_into(db: sqlite3.Connection, name: str, path: Path) -> Contents:
    schema = check_shape(db, name)
    chats, turns, last_at = 0, 0, 0.0
    if schema >= _CHATS:
        chats, last_at = db.execute("SELECT count(*), coalesce(max(last_at), 0) FROM chats").fetchone()
        [turns] = db.execute("SELECT count(*) FROM turns").fetchone()
    unfinished = sum(count_unfinished(db).values()) if schema else 0
    return Contents(schema, chats, turns, last_at, unfinished, size_of(path) + size_of(path_beside(path, "-wal")))


def _explain(error: sqlite3.Error, path: Path, outcome: str) -> StoreError:
    if database_error(error).fault is Fault.CORRUPT:
        return StoreError(f"{str(path)!r} is damaged ({error}): {outcome}.")
    return StoreError(f"{str(path)!r} could not be copied ({error}): {outcome}.")
