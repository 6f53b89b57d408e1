"""Names that were probably meant: of anything, and of an operator's file or folder."""

from __future__ import annotations

import itertools
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

_MOST_FILES: Final = 2000
"""Names of a folder that are compared."""


Kind = Literal["file", "folder"]


def closest(word: str, known: Iterable[str], most: int = 1, alike: float = 0.6) -> list[str]:
    """Return the names that are nearly `word`, the nearest first.

    Args:
        alike: how much of both must agree, from 0 to 1.
    """
    import difflib  # used where something is wrong

    return difflib.get_close_matches(word, list(known), most, alike)


def find_path_fault(path: Path, kind: Kind) -> str:
    """Return a clause about why `path` leads to no file or folder; empty if it does.

    `Path.is_file` and `Path.is_dir` raise if a parent folder is closed to this user.
    """
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        return explain_path_error(path, error, kind)
    if is_folder == (kind == "folder"):
        return ""
    return f"{path} is a folder: add the file's name" if is_folder else f"{path} is a file and no folder"


def explain_path_error(path: Path, error: OSError, kind: Kind = "file") -> str:
    """Return a clause about why `path` could not be opened, with the one that was probably meant."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"there is no {kind} {path}{suggest(path)}"
    if isinstance(error, IsADirectoryError):
        return f"{path} is a folder: add the file's name"
    return f"{path} cannot be read: {error.strerror or type(error).__name__}"


def suggest(path: Path) -> str:
    """Return "; did you mean …?" with the nearest existing path; empty if there is none."""
    near = nearest_file(path)
    return f"; did you mean {near}?" if near else ""


def nearest_file(path: Path) -> str:
    """Return the existing path that differs from `path` by a typo in one name; empty if there is none.

    Empty for an existing path, too: it is meant, and something else is wrong with it.
    """
    if _exists(path):
        return ""
    for folder in path.parents:
        if _exists(folder):
            below = path.relative_to(folder).parts
            try:
                names = [entry.name for entry in itertools.islice(folder.iterdir(), _MOST_FILES)]
            except OSError:
                return ""
            for name in closest(below[0], names, 3, 0.7):
                if _exists(folder.joinpath(name, *below[1:])):
                    return str(folder.joinpath(name, *below[1:]))
            return ""
    return ""


def _exists(path: Path) -> bool:
    """Return True if `path` exists, as far as this user can see; `Path.exists` raises in a closed folder."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True
