"""Bring an older database up to date, with a copy beside it first and a line in the log."""

from __future__ import annotations

import logging
from pathlib import Path

from bot.contract import Clock, SettingsError, StoreError
from bot.store.beside import free_name
from bot.store.copying import write_copy
from bot.store.database import Database
from bot.store.faults import DatabaseError, Fault, store_error
from bot.store.lock import running_elsewhere
from bot.store.schema import STEPS, known_version, upgrade

_log = logging.getLogger(__name__)


async def bring_up_to_date(db: Database, path: Path, clock: Clock) -> None:
    """Bring the tables to the newest version. Of a database that holds something a copy is made first.

    Raises:
        SettingsError: another process answers from it, of the version that it has.
        StoreError: the copy cannot be made, or a step failed; the database is as it was.
        DatabaseError: another program keeps the file locked; try again.
    """
    version = await db.run_together(known_version)
    kept = None
    began = clock.monotonic()
    if 0 < version < len(STEPS):
        wanted = f"The database {str(path)!r} is of schema {version} and has to be upgraded to {len(STEPS)}"
        if other := running_elsewhere(path):
            raise SettingsError(f"{wanted}, but is in use by {other}. End that one first, then start the new version.")
        kept = free_name(path, "before-upgrade", clock)
        try:
            await db.run_together(lambda opened: write_copy(opened, kept))
        except (OSError, DatabaseError) as error:
            if isinstance(error, DatabaseError) and error.fault is Fault.LOCKED:
                raise
            why = store_error(error) if isinstance(error, DatabaseError) else f"{error.strerror}."
            raise StoreError(f"{wanted}, but the copy of it that is kept beside it cannot be made: {why}") from error
    await db.run_together(upgrade)
    if kept is not None:
        _log.warning(
            "the database %s was upgraded from schema %d to %d in %.1f s; a copy from before is kept as %s: "
            "an earlier version of the program needs it, and it can be deleted when all is well",
            path,
            version,
            len(STEPS),
            clock.monotonic() - began,
            kept,
        )
