"""Check and restrict who can read the database files."""

from __future__ import annotations

import glob
import logging
import os
from pathlib import Path

from bot.store.beside import COMPANIONS, KEPT, path_beside

_PRIVATE = 0o600
_MEANT = 0o777 if os.name == "posix" else 0
"""Elsewhere a file's mode does not say who can read it."""
_OTHERS = 0o077 & _MEANT
_ALL_READ_OR_WRITE = 0o006 & _MEANT
_ALL_ENTER = 0o001
_GROUP_READ_OR_WRITE = 0o066 & _MEANT
_GROUP_ENTER = 0o011

_log = logging.getLogger(__name__)


def open_to_all(path: Path, *, group: bool = False) -> str:
    """Return the file's mode ("644") if every user of this machine can read or change it; else empty.

    A file in a folder that nobody else can enter is private.

    Args:
        group: the file's group counts as others, too.
    """
    read, enter = (_GROUP_READ_OR_WRITE, _GROUP_ENTER) if group else (_ALL_READ_OR_WRITE, _ALL_ENTER)
    try:
        real = path.resolve()
        mode = real.stat().st_mode
        reached = all(folder.stat().st_mode & enter for folder in real.parents)
    except OSError:
        return ""
    return f"{mode & 0o777:o}" if mode & read and reached else ""


def database_files(path: Path) -> list[Path]:
    """Return the existing files of a database: itself, its logs, and its copies under other names."""
    found = [*(path_beside(path, suffix) for suffix in COMPANIONS), *kept_files(path)]
    return [one for one in found if one.exists()]


def kept_files(path: Path) -> list[Path]:
    """Return the copies of a database under other names: damaged, before an upgrade, before a restore."""
    # Not `Path.glob`: the name may contain characters of patterns.
    patterns = [f"{glob.escape(str(path))}.{why}-*" for why in KEPT]
    return [Path(name) for pattern in patterns for name in sorted(glob.glob(pattern))]  # noqa: PTH207


def make_private(path: Path) -> None:
    """Restrict a database and its files to their owner.

    Another user's file stays as it is, with a log line.
    """
    for file in database_files(path):
        try:
            mode = file.stat().st_mode & 0o777
            if mode & _OTHERS:
                file.chmod(_PRIVATE)
                _log.warning("%s could be read by others (mode %o); now only its owner can", file, mode)
        except FileNotFoundError:
            continue
        except OSError as error:
            _log.warning("%s can be read by others, which could not be changed: %s", file, error.strerror)
