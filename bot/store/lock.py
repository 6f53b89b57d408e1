"""Let only one process at a time use a database; the lock ends with the process, however that ends."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bot.contract import SettingsError
from bot.store.location import is_server, real_path
from bot.store.opening import make_place

_HOLDER = re.compile(rb"(\d{1,10}) ([\w.-]{1,200})\n")
_COMMANDS = ("run", "chat")
"""The commands that answer from a database."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_LOCKED_BYTE = 1 << 20
"""Where Windows locks: after the holder's own text, because nobody may read a locked range there."""


@contextmanager
def lock_database(url: str, command: str) -> Iterator[None]:
    """Keep every other process from running `parley COMMAND` on the database of a `DATABASE_URL`.

    The lock is a file beside the database, found from every path and symbolic link that leads there. The system frees
    it when the process ends, also by `kill -9`; the file stays. Programs started meanwhile do not inherit it.

    Raises:
        SettingsError: another process has it, or the file cannot be created.
    """
    if is_server(url):
        from bot.store.server import lock_server

        with lock_server(url, command):
            yield
        return
    path = real_path(url)
    make_place(path)
    advice = ", and both would answer everything. End that one, or give this one a DATABASE_URL of its own."
    with _hold(path, command, advice):
        yield


@contextmanager
def lock_out(path: Path) -> Iterator[None]:
    """Keep every process from answering from the database, which need not exist.

    Raises:
        SettingsError: one already does, or the lock cannot be created.
    """
    with ExitStack() as stack:
        for command in _COMMANDS:
            stack.enter_context(_hold(path, command, ". End that one first."))
        yield


def lock_files(path: Path) -> list[Path]:
    """Return the names of the lock files beside a database."""
    return [_place(path, command) for command in _COMMANDS]


def running_elsewhere(path: Path) -> str:
    """Return the name of another process that answers from the database, as part of a sentence; empty if there is
    none."""
    for command in _COMMANDS:
        try:
            opened = os.open(_place(path, command), os.O_RDWR | _NO_LINK)
        except OSError:
            continue
        try:
            if not _take(opened) and _read_holder(opened) != (str(os.getpid()), _machine()):
                return f"`parley {command}`{_holder(opened)}"
        finally:
            os.close(opened)
    return ""


def _place(path: Path, command: str) -> Path:
    return path.with_name(f"{path.name}.{command}.lock")


@contextmanager
def _hold(path: Path, command: str, advice: str) -> Iterator[None]:
    place = _place(path, command)
    try:
        # Not through a link: the file opened here is written.
        opened = os.open(place, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
    except OSError as error:
        raise SettingsError(
            f"The database {str(path)!r} of DATABASE_URL needs the file {place.name!r} beside it, which cannot be "
            f"written: {error.strerror}."
        ) from error
    try:
        if not _take(opened):
            raise SettingsError(
                f"The database {str(path)!r} of DATABASE_URL is in use by another `parley {command}`{_holder(opened)}"
                f"{advice}"
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
    """Write the holder into the lock file, for messages; a full disk is not an error."""
    try:
        os.ftruncate(opened, 0)
        os.lseek(opened, 0, os.SEEK_SET)
        os.write(opened, f"{os.getpid()} {_machine()}\n".encode("ascii", "replace"))
    except OSError:
        return


def _holder(opened: int) -> str:
    """Return the holder as the end of a sentence; empty if unknown."""
    process, host = _read_holder(opened)
    if not process:
        return ""
    return f" (process {process})" if host == _machine() else f" (process {process} on {host})"


def _read_holder(opened: int) -> tuple[str, str]:
    """Return the holder's process id and machine; empty if unknown."""
    os.lseek(opened, 0, os.SEEK_SET)
    found = _HOLDER.match(os.read(opened, 300))
    return ("", "") if found is None else (found[1].decode(), found[2].decode())


def _machine() -> str:
    return platform.node() or "localhost"
