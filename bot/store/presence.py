"""Notice that a file of the open database was moved away, replaced, overwritten or deleted."""

from __future__ import annotations

import os
from pathlib import Path

from bot.store.beside import path_beside
from bot.store.faults import FileMovedError

_OPEN = ("", "-wal", "-shm")
"""The files that stay in place as long as a connection is open."""
_FORM, _COUNTER = slice(0, 24), slice(24, 28)
"""The header's format, which stays while a write-ahead log is kept, and its change counter, which only grows."""


class Presence:
    """The files that were opened. SQLite keeps writing to them wherever they are, and reports nothing.

    Close it after every connection: closing any descriptor of the file ends SQLite's locks on it.
    """

    def __init__(self, path: Path) -> None:
        self._files = [str(path_beside(path, suffix)) for suffix in _OPEN]
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._seen: dict[str, tuple[int, int]] = {}
        self._header = b""

    def close(self) -> None:
        os.close(self._file)

    def check(self) -> None:
        """Remember new files, and check whether the others are still there; takes ten microseconds.

        Raises:
            FileMovedError: one is not the file that was opened.
        """
        for file in self._files:
            try:
                status = os.stat(file)  # noqa: PTH116 - each commit looks: a `Path` takes longer than the system
                found = (status.st_dev, status.st_ino)
            except OSError:
                found = None
            if file in self._seen and self._seen[file] != found:
                raise FileMovedError(f"{file} is {'another file now' if found else 'gone'}")
            if found:
                self._seen[file] = found
        os.lseek(self._file, 0, os.SEEK_SET)
        header = os.read(self._file, _COUNTER.stop)
        if self._header and (header[_FORM] != self._header[_FORM] or header[_COUNTER] < self._header[_COUNTER]):
            raise FileMovedError(f"{self._files[0]} was overwritten")
        self._header = header
