"""Describe an exception that a tool should not have raised, on one line for an operator."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

_CHARS = 300
_PASSED = ("__init__.py", "function.py", "plugins.py", "registry.py")


def describe_crash(error: BaseException) -> str:
    """Return the exception, and the tool's line that led to it: `ValueError: no number (roll_dice.py, line 22)`.

    This is the last line in a file of `tools/`, or of a plug-in, outside Python's own library.
    """
    words = " ".join(str(error).split())[:_CHARS]
    text = f"{type(error).__name__}: {words}" if words else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(__file__).parents[1] in Path(frame.filename).parents]
    # The last of our lines except the registry's and `@tool`'s, which every call passes.
    ours = [frame for frame in ours if Path(frame.filename).name not in _PASSED]
    theirs = [frame for frame in frames if not _is_library(frame.filename)]
    last = next(reversed(ours or theirs or frames), None)
    if last is None or isinstance(error, SyntaxError):  # which names its own line
        return text
    return f"{text} ({Path(last.filename).name}, line {last.lineno})"


def _is_library(file: str) -> bool:
    library = Path(sysconfig.get_path("stdlib"))
    parts = Path(file).relative_to(library).parts if library in Path(file).parents else ("site-packages",)
    return file.startswith("<") or parts[0] != "site-packages"
