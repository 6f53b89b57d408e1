"""What an exception was that a tool should not have raised, on one line for an operator."""

from __future__ import annotations

import traceback
from pathlib import Path

_CHARS = 300


def describe_crash(error: BaseException) -> str:
    """The exception's kind and words, and the line that raised it: `ValueError: no number (roll_dice.py, line 22)`."""
    words = " ".join(str(error).split())[:_CHARS]
    text = f"{type(error).__name__}: {words}" if words else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else text
