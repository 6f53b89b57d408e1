"""Read Chinese numerals: 三十五 → 35, 两百零八 → 208, 1.5亿 stays to its reader."""

from __future__ import annotations

import re

DIGITS = {char: number for number, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_SMALL = {"十": 10, "百": 100, "千": 1000}
_LARGE = {"万": 10_000, "亿": 100_000_000}
RUN = re.compile(r"[零〇一二两三四五六七八九十百千万亿]+")


def read(run: str) -> int | None:
    """Return the integer that `run` spells; None if malformed, as 万万 or 十两."""
    if run and all(char in DIGITS for char in run):
        return int("".join(str(DIGITS[char]) for char in run))
    total = part = digit = 0
    given = False
    for char in run:
        if char in DIGITS:
            if given and digit:
                return None
            digit, given = DIGITS[char], True
        elif char in _SMALL:
            if not given and char != "十":
                return None
            part += (digit if given else 1) * _SMALL[char]
            digit, given = 0, False
        elif char in _LARGE:
            if not part and not digit and not total:
                return None
            total = (total + part + digit) * _LARGE[char] if char == "亿" else total + (part + digit) * _LARGE[char]
            part, digit, given = 0, 0, False
        else:
            return None
    return total + part + digit if run else None
