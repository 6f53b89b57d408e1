"""Where a text can be cut without splitting a character that a person sees as one."""

from __future__ import annotations

from functools import lru_cache
from itertools import takewhile
from typing import Any

_LOOKBACK = 64
"""Characters examined before a place. Nobody writes longer graphemes: https://unicode.org/reports/tr15 allows thirty
marks in a row."""

_FLAG_HALVES = "".join(map(chr, range(0x1F1E6, 0x1F200)))


@lru_cache(maxsize=1)
def _cluster() -> Any:
    # Loaded for the first text that needs it: most cuts are between two ASCII letters.
    import regex

    return regex.compile(r"\X")


def is_boundary(text: str, position: int) -> bool:
    """Return True if a cut before `text[position]` splits no grapheme (emoji sequence, flag, combining mark)."""
    if position <= 0 or position >= len(text):
        return True
    return boundary_before(text, position) == position


def boundary_before(text: str, position: int, floor: int = 0) -> int:
    """Return the last grapheme border in `floor..position`; `floor` itself if there is none between."""
    if position >= len(text):
        return len(text)
    start = position
    least = max(floor, position - _LOOKBACK)
    # An ASCII character begins a grapheme, except after characters of rare scripts; at the place itself this must be
    # certain.
    while start > least and not (text[start].isascii() and (start < position or _apart(text, start))):
        start -= 1
    if start > floor and text[start] in _FLAG_HALVES:
        # A flag is two of these, so every other border counts.
        head = text[floor:start]
        start -= (len(head) - len(head.rstrip(_FLAG_HALVES))) % 2
    if start == position:
        return position
    ends = (found.end() for found in _cluster().finditer(text, start, position + _LOOKBACK))
    return max(takewhile(lambda end: end <= position, ends), default=start)


def _apart(text: str, position: int) -> bool:
    """Two ASCII characters that are not together one line end."""
    return text[position - 1].isascii() and text[position - 1 : position + 1] != "\r\n"
