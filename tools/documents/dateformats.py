"""Show a number of days as a date, a time or a duration, as the parts of its number format say."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HAN_DAYS: Final = "一二三四五六日"
EXACT: Final = Context(prec=400)
"""Of the calculations: a number may have 300 digits."""
_LAST_DAY: Final = 2_958_466
"""The first serial number that is no date any more: the year 10000."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a section: `kind` is text, place, sign, date, elapsed, half, exponent, general."""

    kind: str
    text: str


def show(value: Decimal, parts: tuple[Part, ...], from_1904: bool) -> str | None:
    """A serial number of days as a date, a time or a duration; None where it is no day that the programs know."""
    kinds = {part.kind for part in parts}
    negative = value < 0
    if abs(value) >= _LAST_DAY or (negative and "elapsed" not in kinds):
        return None
    digits = _second_digits(parts)
    ticks = int((abs(value) * 86_400).scaleb(digits, EXACT).to_integral_value(ROUND_HALF_UP, EXACT))
    seconds, fraction = divmod(ticks, 10**digits)
    day, clock = divmod(seconds, 86_400)
    # The programs count a 29th of February 1900, the day 60.
    start = datetime.date(1904, 1, 1) if from_1904 else datetime.date(1899, 12, 30 if day > 60 else 31)
    try:
        at = start + datetime.timedelta(day)
    except OverflowError:
        return None
    made: list[str] = ["-"] if negative else []
    half = "half" in kinds
    for place, part in enumerate(parts):
        made.append(_date_part(parts, place, part, at, clock, seconds, half))
        if part.kind == "place" and digits and parts[place - 1].text == ".":
            made.append(f"{fraction:0{digits}d}")
    return "".join(made).strip()


def _second_digits(parts: tuple[Part, ...]) -> int:
    """How many decimals of a second are shown."""
    for place, part in enumerate(parts):
        if part.text == "." and part.kind == "sign":
            count = 0
            while place + 1 + count < len(parts) and parts[place + 1 + count].kind == "place" and count < 3:
                count += 1
            if count:
                return count
    return 0


def _date_part(
    parts: tuple[Part, ...], place: int, part: Part, at: datetime.date, clock: int, seconds: int, half: bool
) -> str:
    hour, minute, second = clock // 3600, clock // 60 % 60, clock % 60
    width = len(part.text)
    match part.kind:
        case "elapsed":
            total = seconds // {"h": 3600, "m": 60, "s": 1}[part.text[0]]
            return f"{total:0{width}d}"
        case "half":
            words = {"AM/PM": ("AM", "PM"), "A/P": ("A", "P")}.get(part.text.upper(), ("上午", "下午"))
            return words[hour >= 12]
        case "text":
            return part.text
        case "sign":
            return "" if part.text == "@" else part.text
        case "date" if part.text[0] == "m" and _is_minute(parts, place):
            return f"{minute:0{min(width, 2)}d}"
        case "date":
            return _letters(part.text, at, hour % 12 or 12 if half else hour, second)
    return ""


def _is_minute(parts: tuple[Part, ...], place: int) -> bool:
    """Return True where `m` means minutes: behind hours or before seconds."""
    if len(parts[place].text) > 2:
        return False
    before = next((part for part in reversed(parts[:place]) if part.kind in ("date", "elapsed")), None)
    behind = next((part for part in parts[place + 1 :] if part.kind in ("date", "elapsed")), None)
    return bool(before and before.text[0] in "hH") or bool(behind and behind.text[0] == "s")


def _letters(text: str, at: datetime.date, hour: int, second: int) -> str:
    width = len(text)
    match text[0]:
        case "y":
            return f"{at.year % 100:02d}" if width <= 2 else f"{at.year:04d}"
        case "e":
            return str(at.year)
        case "m":
            name = _MONTHS[at.month - 1]
            return {1: str(at.month), 2: f"{at.month:02d}", 3: name[:3], 5: name[:1]}.get(width, name)
        case "d":
            name = _DAYS[at.weekday()]
            return {1: str(at.day), 2: f"{at.day:02d}", 3: name[:3]}.get(width, name)
        case "a":
            return ("星期" if width == 4 else "") + _HAN_DAYS[at.weekday()]
        case "h":
            return f"{hour:0{min(width, 2)}d}"
        case "s":
            return f"{second:0{min(width, 2)}d}"
    return ""
