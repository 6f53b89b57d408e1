"""What somebody who named a file that does not exist probably meant."""

from __future__ import annotations

import difflib
import itertools
from pathlib import Path
from typing import Final

_MOST_FILES: Final = 2000
"""Names of a folder that are compared."""


def suggest(path: Path) -> str:
    """Return "; did you mean …?" with the nearest existing path; empty if there is none."""
    near = nearest_file(path)
    return f"; did you mean {near}?" if near else ""


def nearest_file(path: Path) -> str:
    """Return the existing path that differs from `path` in one name by a slip; empty if there is none.

    Empty for one that exists, too: it is meant, and something else is wrong with it.
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
            for name in difflib.get_close_matches(below[0], names, 3, 0.7):
                if _exists(folder.joinpath(name, *below[1:])):
                    return str(folder.joinpath(name, *below[1:]))
            return ""
    return ""


def _exists(path: Path) -> bool:
    """Whether there is something at `path`, as far as this user can see; `Path.exists` raises in a closed folder."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True
