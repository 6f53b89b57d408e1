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
    """Return the existing path that differs from `path` in one name by a slip; empty if there is none."""
    for folder in path.parents:
        if folder.is_dir():
            below = path.relative_to(folder).parts
            try:
                names = [entry.name for entry in itertools.islice(folder.iterdir(), _MOST_FILES)]
            except OSError:
                return ""
            for name in difflib.get_close_matches(below[0], names, 3, 0.7):
                if folder.joinpath(name, *below[1:]).exists():
                    return str(folder.joinpath(name, *below[1:]))
            return ""
    return ""
