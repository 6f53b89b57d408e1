"""Names at a package's door whose files are loaded when one of them is first used.

Most programs use few of a room's parts: one without an address of its own needs no web server, one that answers copies
no database. A door that imports them all would load them all for everybody.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def load_late(package: str, files: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package: it imports a name from its file when the name is first used.

    Args:
        package: the package's `__name__`.
        files: each file, and the names that the package offers of it, separated by spaces.
    """
    file_of = {name: file for file, names in files.items() for name in names.split()}

    def look_up(name: str) -> object:
        if name not in file_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(importlib.import_module(f"{package}.{file_of[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return look_up
