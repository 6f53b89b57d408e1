"""Where a text may be cut without tearing a character that a person sees as one."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_LOOKBACK = 256


@lru_cache(maxsize=1)
def _cluster() -> Any:
    # Loaded at the first text that needs it: most cuts fall between two ASCII letters.
    import regex  # type: ignore[import-untyped]  # ships no types

    return regex.compile(r"\X")


def is_boundary(text: str, position: int) -> bool:
    """Tell whether a cut before `text[position]` tears no grapheme (emoji sequence, flag, combining mark)."""
    if position <= 0 or position >= len(text):
        return True
    if text[position - 1].isascii() and text[position].isascii():
        return not (text[position] == "\n" and text[position - 1] == "\r")
    return boundary_before(text, position) == position


def boundary_before(text: str, position: int, floor: int = 0) -> int:
    """Find the last grapheme border in `floor..position`; `floor` itself when there is none between."""
    if position >= len(text):
        return len(text)
    start = position
    while start > floor and not (text[start].isascii() and text[start - 1].isascii()):
        start -= 1
        if position - start > _LOOKBACK and text[start].isalnum() and text[start - 1].isalnum():
            break  # two letters side by side are a border too, but for rare scripts; a long run needs an end
    at = start
    for found in _cluster().finditer(text, start, min(len(text), position + 64)):
        if found.end() > position:
            break
        at = found.end()
    return at
