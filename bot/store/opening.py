"""Open a database file: check it, move it aside if damaged, and connect with the store's settings."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import threading
from functools import partial
from pathlib import Path

from bot.contract import Clock, SettingsError, StoreError
from bot.store.beside import free_name, move_aside, path_beside, size_of
from bot.store.database import Database, open_database
from bot.store.faults import DatabaseError, Fault, store_error
from bot.store.schema import APPLICATION
from bot.store.shape import check_shape
from tools.contract.nearness import nearest_file

BUSY_TIMEOUT = 5.0
"""Seconds SQLite itself waits for another program's lock."""
_PATIENCE = 60.0
"""Seconds the start waits for that lock."""
_CHECK_SECONDS = 0.5
"""A check of a large file ends after this time, to keep the start short; damage beyond is reported when met."""
_OLDEST = (3, 37, 0)
"""STRICT tables; RETURNING and upserts are older."""
_MAGIC = b"SQLite format 3\0"
_ID = slice(68, 72)
"""The position of the application's id in the header."""
_NO_TABLES = b"\x0d\0\0\0\0"
"""The beginning of the page after the header while there are no tables."""

_log = logging.getLogger(__name__)


def make_place(path: Path) -> None:
    """Create the folder and an empty file that only its owner can read, if it does not exist.

    Raises:
        SettingsError: it cannot be created, or something that is not ours is there.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        wanted = ".".join(map(str, _OLDEST))
        raise SettingsError(
            f"Python was built with SQLite {sqlite3.sqlite_version}; the store needs {wanted} or later."
        )
    try:
        refuse_missing_folder(path)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        refuse_foreign(path)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        no_folder = isinstance(error, FileExistsError | NotADirectoryError)
        why = f"{path.parent} is a file and no folder" if no_folder else error.strerror
        raise SettingsError(f"The database {str(path)!r} of DATABASE_URL cannot be written: {why}.") from error


def refuse_missing_folder(path: Path) -> None:
    """Raise a `SettingsError` if more than the last folder of the path is missing: it is probably a mistake."""
    folder = path.absolute().parent.parent
    if not folder.is_dir():
        near = nearest_file(folder)
        hint = f"did you mean {near}?" if near else "make it, or write another"
        raise SettingsError(f"DATABASE_URL names {str(path)!r}, and there is no folder {folder}; {hint}")


def refuse_foreign(path: Path) -> None:
    """Refuse what is certainly not ours, without changing it or even its times.

    Raises:
        SettingsError: a folder, a device, a file that is not an SQLite database or is another program's, or a
            write-ahead log whose database is gone.
    """
    if _is_folder(path):
        raise SettingsError(f"DATABASE_URL names a folder, {str(path)!r}; add a file name.")
    log = path_beside(path, "-wal")
    if size_of(path):
        if why := why_foreign(path):
            raise SettingsError(
                f"The file {str(path)!r} of DATABASE_URL {why}, and was left as it is. Name another file; if this was "
                "the bot's database, move it away and restore a backup (parley restore FILE)."
            )
    elif path.exists() and not path.is_file():
        raise SettingsError(f"DATABASE_URL names {str(path)!r}, which is not a regular file.")
    elif size_of(log):
        # SQLite would delete the log of an empty file, and with it the newest messages.
        raise SettingsError(
            f"The database {str(path)!r} of DATABASE_URL is {'empty' if path.exists() else 'missing'}, but its "
            f"write-ahead log {log.name!r} is not. Put the database back beside its log, or move the log away to begin "
            "a new one, or restore a backup (parley restore FILE). Nothing was changed."
        )


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:  # for example in a folder that this user may not enter
        why = f"cannot be used by this user: {error.strerror}"
        raise SettingsError(f"The database {str(path)!r} of DATABASE_URL {why}") from error


def why_foreign(path: Path) -> str:
    """Return why an existing file cannot be a database of ours; empty if it may be. Only its first bytes are read.

    Raises:
        SettingsError: it cannot be read.
    """
    if not path.is_file():
        return "is not a regular file"
    try:
        with path.open("rb") as file:
            start = file.read(len(_NO_TABLES) + 100)
    except OSError as error:
        raise SettingsError(f"The file {str(path)!r} cannot be read: {error.strerror}.") from error
    if not start.startswith(_MAGIC):
        return "is not an SQLite database"
    # All our tables may still be in the log alone; then the file has no tables and no id.
    unmarked = start[_ID] == b"\0\0\0\0" and start.endswith(_NO_TABLES)
    if start[_ID] != APPLICATION.to_bytes(4, "big") and not unmarked:
        return "is another program's SQLite database"
    return ""


async def connect(path: Path, *, busy_timeout: float, write: bool) -> Database:
    """Open one connection with the settings every connection of the store has."""
    opened = await open_database(path, timeout=busy_timeout)
    try:
        await opened.run_together(partial(_set_writer if write else _set_reader, path))
    except BaseException:
        await opened.close()
        raise
    return opened


def _set_writer(path: Path, db: sqlite3.Connection) -> None:
    # auto_vacuum takes effect only in a file without tables, and must come before the journal's mode.
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    [mode] = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise SettingsError(
            f"The database {str(path)!r} cannot be kept with a write-ahead log (SQLite offers {mode!r}); "
            "put it on a local disk."
        )
    db.execute("PRAGMA journal_size_limit = 16777216")
    db.execute("PRAGMA secure_delete = ON")
    db.execute("PRAGMA foreign_keys = ON")
    _set_both(db)


def _set_reader(_: Path, db: sqlite3.Connection) -> None:
    db.execute("PRAGMA query_only = ON")
    # A reader uses a few pages, which the system keeps in memory anyway: a quarter of the usual cache.
    db.execute("PRAGMA cache_size = -512")
    _set_both(db)


def _set_both(db: sqlite3.Connection) -> None:
    add_functions(db)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA temp_store = MEMORY")


def add_functions(db: sqlite3.Connection) -> None:
    """Add an SQL function to a connection that SQLite itself has only since version 3.43."""
    if sqlite3.sqlite_version_info < (3, 43):
        db.create_function("octet_length", 1, _octet_length, deterministic=True)


def _octet_length(value: str | bytes | None) -> int | None:
    return len(value.encode() if isinstance(value, str) else value) if value is not None else None


async def move_aside_if_damaged(path: Path, *, clock: Clock, busy_timeout: float) -> None:
    """Check the file; a damaged database of ours is renamed and a new one begun.

    Raises:
        SettingsError: it cannot be opened, or is not ours.
        StoreError: another program keeps it locked.
    """
    damage = await damage_of(path, clock, busy_timeout)
    if not damage:
        return
    kept = free_name(path, "damaged", clock)
    try:
        move_aside(path, kept)
    except OSError as error:
        raise StoreError(f"The damaged database {str(path)!r} cannot be moved aside: {error.strerror}.") from error
    _log.critical(
        "the database %s is damaged (%s): it was kept as %s, and a new, empty one begins; "
        "chats, owners and settings in it are gone until a backup is restored (parley restore FILE)",
        path,
        damage,
        kept,
    )
    make_place(path)


async def damage_of(path: Path, clock: Clock, busy_timeout: float) -> str:
    """Return the damage of a database of ours; empty if none was found.

    Raises:
        SettingsError: it cannot be opened, is not ours, its tables are not those of its version, or it is intact but
            the write-ahead log beside it is another's.
        StoreError: another program keeps it locked.
    """
    refuse_foreign(path)
    if not size_of(path):
        return ""
    damage = await _find_damage(path, clock, busy_timeout)
    log = path_beside(path, "-wal")
    if damage and size_of(log) and not await _find_damage_without_log(path, busy_timeout):
        raise SettingsError(
            f"The database {str(path)!r} of DATABASE_URL is whole, but not together with its write-ahead log "
            f"{log.name!r} ({damage}): probably another file was copied over it while the bot ran. Move the log away "
            "to start with the file as it is, or restore a backup (parley restore FILE). Nothing was changed."
        )
    return damage


async def _find_damage_without_log(path: Path, busy_timeout: float) -> str:
    try:
        return await _quick_check(path, "ro&immutable=1", busy_timeout)
    except (DatabaseError, SettingsError) as error:
        return str(error)


async def _find_damage(path: Path, clock: Clock, busy_timeout: float) -> str:
    give_up = clock.monotonic() + _PATIENCE
    # The check must change nothing: the last writing connection merges the write-ahead log into the file as it closes,
    # and deletes the log.
    mode = "ro"
    while True:
        try:
            return await _quick_check(path, mode, busy_timeout)
        except DatabaseError as error:
            match error.fault:
                case Fault.CORRUPT:
                    return str(error)
                case Fault.LOCKED if clock.monotonic() < give_up:
                    await clock.sleep(0.05)
                case Fault.READONLY if mode == "ro":
                    mode = "rw"  # a start was interrupted so early that its rollback journal must still be played back
                case Fault.UNREACHABLE | Fault.READONLY:
                    raise SettingsError(
                        f"The database {str(path)!r} of DATABASE_URL cannot be opened: {error}."
                    ) from error
                case _:
                    raise store_error(error) from error


async def _quick_check(path: Path, mode: str, busy_timeout: float) -> str:
    def check(db: sqlite3.Connection) -> str:
        check_shape(db, f"The database {str(path)!r} of DATABASE_URL")
        late = threading.Event()

        def cut_off() -> None:
            late.set()
            db.interrupt()  # SQLite (before 3.41) calls no progress handler during its page check

        timer = threading.Timer(_CHECK_SECONDS, cut_off)
        timer.start()
        try:
            found = db.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.OperationalError:
            if not late.is_set():
                raise
            found = None
        finally:
            timer.cancel()
            timer.join()
        # A message from an interrupted check is not damage: it is about pages that were not reached.
        return str(found[0]) if found and not late.is_set() else "ok"

    async with await open_database(f"{path.as_uri()}?mode={mode}", uri=True, timeout=busy_timeout) as opened:
        said = await opened.run_together(check)
    return "" if said == "ok" else said.replace("\n", " ")
