"""Temporary folders that the next start removes if their process was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "parley-run-"
_YOUNG: Final = 60.0
"""Seconds in which a folder may not be locked yet."""


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Make a folder for the block. Until it ends, this process holds a lock on the folder, which ends with the process,
    however that ends: process ids say nothing between containers that share the folder."""
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        held = _lock(folder)
        try:
            yield folder
        finally:
            if held is not None:
                os.close(held)


def sweep_folders() -> int:
    """Remove the folders whose process is dead; return how many. Other people's are left alone."""
    swept, own = 0, getattr(os, "getuid", lambda: None)()
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            found = path.lstat()
            if found.st_uid != own or time.time() - found.st_mtime < _YOUNG:
                continue
            held = _lock(str(path))
            if held is None:
                continue
            try:
                shutil.rmtree(path, ignore_errors=True)
                swept += 1
            finally:
                os.close(held)
    return swept


def _lock(folder: str) -> int | None:
    """Return a descriptor that holds the lock on a folder; None if another has it, or the system has no such locks."""
    try:
        import fcntl

        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (ImportError, AttributeError, OSError):
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened
