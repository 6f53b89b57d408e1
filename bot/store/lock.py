"""Let only one process at a time use a database; the lock ends with the process, however that ends."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bot.contract import SettingsError
from bot.store.location import real_path
from bot.store.opening import make_place

_HOLDER = re.compile(rb"(\d{1,10}) ([\w.-]{1,200})\n")
_LOCKED_BYTE = 1 << 20
"""Where Windows locks: beyond what the holder writes about itself, because there nobody may read what is locked."""


@contextmanager
def lock_database(url: str, command: str) -> Iterator[None]:
    """Keep every other process from running `parley COMMAND` on the database of a `DATABASE_URL`.

    The lock is a file beside the database, found from every path and symbolic link that leads there. The system frees
    it when the process ends, also by `kill -9`; the file stays. Programs started meanwhile do not inherit it.

    Raises:
        SettingsError: another process has it, or there can be no such file.
    """
    path = real_path(url)
    make_place(path)
    place = path.with_name(f"{path.name}.{command}.lock")
    try:
        # Not through a link: what is opened here is written to.
        opened = os.open(place, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        raise SettingsError(
            f"The database {str(path)!r} of DATABASE_URL needs the file {place.name!r} beside it, which cannot be "
            f"written: {error.strerror}."
        ) from error
    try:
        if not _take(opened):
            raise SettingsError(
                f"The database {str(path)!r} of DATABASE_URL is in use by another `parley {command}`{_holder(opened)}, "
                "and both would answer everything. End that one, or give this one a DATABASE_URL of its own."
            )
        _sign(opened)
        yield
    finally:
        os.close(opened)


def _take(opened: int) -> bool:
    """Lock the file; return False at once if another process holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(opened, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(opened, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            # Not `lockf`: its locks end when the process closes any descriptor of the file, whoever opened it.
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise SettingsError(
            f"The file system of the database cannot lock files ({error.strerror}); put it on a local disk."
        ) from error
    return True


def _sign(opened: int) -> None:
    """Write the holder into the lock file, for messages; a full disk is no error."""
    try:
        os.ftruncate(opened, 0)
        os.lseek(opened, 0, os.SEEK_SET)
        os.write(opened, f"{os.getpid()} {platform.node() or 'localhost'}\n".encode("ascii", "replace"))
    except OSError:
        return


def _holder(opened: int) -> str:
    """Return the holder as the end of a sentence; empty if unknown."""
    os.lseek(opened, 0, os.SEEK_SET)
    found = _HOLDER.match(os.read(opened, 300))
    if found is None:
        return ""
    process, host = found[1].decode(), found[2].decode()
    return f" (process {process})" if host == platform.node() else f" (process {process} on {host})"
