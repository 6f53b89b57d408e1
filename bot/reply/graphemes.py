"""Where a text may be cut without tearing a character that a person sees as one."""

from __future__ import annotations

from functools import lru_cache
from itertools import takewhile
from typing import Any

_LOOKBACK = 64
"""Characters that are looked at before a place. Nobody writes longer graphemes: https://unicode.org/reports/tr15 allows
thirty marks in a row."""

_FLAG_HALVES = "".join(map(chr, range(0x1F1E6, 0x1F200)))


@lru_cache(maxsize=1)
def _cluster() -> Any:
    # Loaded at the first text that needs it: most cuts fall between two ASCII letters.
    import regex

    return regex.compile(r"\X")


def is_boundary(text: str, position: int) -> bool:
    """Tell whether a cut before `text[position]` tears no grapheme (emoji sequence, flag, combining mark)."""
    if position <= 0 or position >= len(text):
        return True
    return boundary_before(text, position) == position


def boundary_before(text: str, position: int, floor: int = 0) -> int:
    """Find the last grapheme border in `floor..position`; `floor` itself when there is none between."""
    if position >= len(text):
        return len(text)
    start = position
    least = max(floor, position - _LOOKBACK)
    # An ASCII character begins a grapheme, but after signs of rare scripts; at the place itself that has to be sure.
    while start > least and not (text[start].isascii() and (start < position or _apart(text, start))):
        start -= 1
    if start > floor and text[start] in _FLAG_HALVES:
        # A flag is two of these: the border is before every other one.
        head = text[floor:start]
        start -= (len(head) - len(head.rstrip(_FLAG_HALVES))) % 2
    if start == position:
        return position
    ends = (found.end() for found in _cluster().finditer(text, start, position + _LOOKBACK))
    return max(takewhile(lambda end: end <= position, ends), default=start)


def _apart(text: str, position: int) -> bool:
    """Two ASCII characters that are not one end of a line."""
    return text[position - 1].isascii() and text[position - 1 : position + 1] != "\r\n"
