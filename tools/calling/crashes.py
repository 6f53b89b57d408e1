"""What an exception was that a tool should not have raised, on one line for an operator."""

from __future__ import annotations

import traceback
from pathlib import Path

_CHARS = 300
_PASSED = ("__init__.py", "function.py", "registry.py")


def describe_crash(error: BaseException) -> str:
    """The exception, and the tool's line that led to it: `ValueError: no number (roll_dice.py, line 22)`.

    Where no file of `tools/` is on its way, it is the line that raised it.
    """
    words = " ".join(str(error).split())[:_CHARS]
    text = f"{type(error).__name__}: {words}" if words else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(__file__).parents[1] in Path(frame.filename).parents]
    # The last of ours but the registry's and `@tool`'s, which every call passes.
    ours = [frame for frame in ours if Path(frame.filename).name not in _PASSED]
    last = next(reversed(ours or frames), None)
    return f"{text} ({Path(last.filename).name}, line {last.lineno})" if last is not None else text
