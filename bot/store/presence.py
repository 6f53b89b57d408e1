"""Notice that a file of the open database was moved away, replaced or deleted."""

from __future__ import annotations

from pathlib import Path

from bot.store.beside import path_beside
from bot.store.faults import FileMovedError

_OPEN = ("", "-wal", "-shm")
"""What stays in place as long as a connection is open."""


class Presence:
    """The files that were opened. SQLite goes on writing to them wherever they are, and says nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: dict[str, tuple[int, int]] = {}

    def check(self) -> None:
        """Remember the files that are new, and look whether the others are still there; costs a few microseconds.

        Raises:
            FileMovedError: one is not the file that was opened.
        """
        for suffix in _OPEN:
            file = path_beside(self._path, suffix)
            try:
                status = file.stat()
                found = (status.st_dev, status.st_ino)
            except OSError:
                found = None
            if suffix in self._seen and self._seen[suffix] != found:
                raise FileMovedError(f"{file} is {'another file now' if found else 'gone'}")
            if found:
                self._seen[suffix] = found
