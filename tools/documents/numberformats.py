"""Show a value of a workbook as its number format shows it.

A format has up to four sections (positive, negative, zero, text), each made of digits' places (`0 # ?`), date letters,
and text that stands as it is. Where a format leaves the order of a date to the reader's own country, the date is
written as 2026-03-04.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

_LONGEST: Final = 255
"""Characters of a format, by the file format's own limit."""
_MOST_PLACES: Final = 30
_DAY: Final = "yyyy-mm-dd"
_BY_VALUE: Final = "by value"
"""A format that is a date in one country and a time in another: the value tells."""
LOCAL: Final = {
    14: _DAY,
    22: f"{_DAY} hh:mm",
    **dict.fromkeys((*range(27, 32), 36, *range(50, 55), 57, 58), _DAY),
    32: "h:mm",
    33: "h:mm:ss",
    **dict.fromkeys((34, 35, 55, 56), _BY_VALUE),
}
"""Built-in formats by number that look different from country to country; the file does not say for which it is."""
_TOKEN: Final = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.|\[(?P<bracket>[^\]]*)\]|(?P<general>General|G/通用格式)'
    r"|(?P<half>AM/PM|A/P|上午/下午)|(?P<exponent>E[+-])|(?P<date>y+|m+|d+|h+|s+|a{3,4}|e+|g+)"
    r"|(?P<place>[0#?])|(?P<sign>[.,%/@;])|(?P<plain>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION: Final = re.compile(r"\s*(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)\s*")
_ELAPSED: Final = re.compile(r"h+|m+|s+", re.IGNORECASE)
_CURRENCY: Final = re.compile(r"\$([^-]*)(?:-([0-9A-F]+))?", re.IGNORECASE)
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HAN_DAYS: Final = "一二三四五六日"
_EXACT: Final = Context(prec=400)
_LAST_DAY: Final = 2_958_466
"""The first serial number that is no date any more: the year 10000."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a section: `kind` is text, place, sign, date, elapsed, half, exponent, general."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class _Section:
    parts: tuple[_Part, ...]
    condition: tuple[str, float] | None
    is_date: bool

    def has(self, kind: str, text: str = "") -> bool:
        return any(part.kind == kind and text in ("", part.text) for part in self.parts)


def show(value: object, code: str, *, from_1904: bool = False) -> str:
    """The value of a cell as its format shows it."""
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float() | Decimal():
            exact = Decimal(repr(value) if isinstance(value, float) else value)
            try:
                return _number(exact, code, from_1904)
            except (ArithmeticError, ValueError):  # a format that no number of this size fits in
                return _general(exact)
        case datetime.datetime() if value.time() == datetime.time():
            return value.date().isoformat()
        case datetime.datetime():
            return value.isoformat(" ", "seconds")
        case _:
            return _text(str(value), code)


def _text(value: str, code: str) -> str:
    sections = parse(code)
    holder = next((one for one in sections[3:] or sections[-1:] if one.has("sign", "@")), None)
    if holder is None:
        # A fourth section without a place for the text hides it.
        return value if len(sections) < 4 else "".join(part.text for part in sections[3].parts if part.kind == "text")
    return "".join(value if part.text == "@" else part.text for part in holder.parts if part.kind in ("text", "sign"))


def _number(value: Decimal, code: str, from_1904: bool) -> str:
    if not value.is_finite():
        return str(value)
    if code == _BY_VALUE:
        day, rest = divmod(value, 1)
        code = " ".join([*([_DAY] if day else []), *(["h:mm:ss"] if rest or not day else [])])
    section, value = _choose(parse(code), value)
    if section is None:
        return _general(value)
    if section.is_date:
        return _date(value, section, from_1904)
    if section.has("general") or (section.has("sign", "@") and not section.has("place")):
        shown = _general(abs(value))
        made = "".join(shown if part.kind == "general" or part.text == "@" else part.text
                       for part in section.parts if part.kind in ("text", "general", "sign"))  # fmt: skip
    elif section.has("place"):
        made = _digits(abs(value), section.parts)
    else:
        return "".join(part.text for part in section.parts if part.text != ",").strip()
    return f"-{made}" if value < 0 and re.search("[1-9]|E", made) else made.strip()


def _choose(sections: tuple[_Section, ...], value: Decimal) -> tuple[_Section | None, Decimal]:
    """The section for a number, and the number with the sign that is still to be shown."""
    numeric = sections[:3]
    if any(one.condition for one in numeric):
        for one in numeric:
            if one.condition is None or _holds(value, *one.condition):
                below = one.condition is not None and one.condition[0] in ("<", "<=") and one.condition[1] <= 0
                return one, abs(value) if below else value
        return None, value
    if len(numeric) == 1 or value > 0:
        return numeric[0], value
    if value < 0:
        return numeric[1], abs(value)
    return (numeric[2] if len(numeric) == 3 else numeric[0]), value


def _holds(value: Decimal, sign: str, bound: float) -> bool:
    other = Decimal(repr(bound))
    return {
        "<": value < other, "<=": value <= other, ">": value > other, ">=": value >= other,
        "=": value == other, "<>": value != other,
    }[sign]  # fmt: skip


def _general(value: Decimal) -> str:
    """A number without a format. A narrow column would show fewer digits."""
    if value == value.to_integral_value() and abs(value) < 10**15:
        return str(int(value))
    if abs(value.adjusted()) > 300:
        return str(value)
    return f"{float(value):.15g}".replace("e", "E")


@lru_cache(maxsize=1000)
def parse(code: str) -> tuple[_Section, ...]:
    """The sections of a format; a single empty one (`General`) where it is none that a program could have written."""
    if not code or len(code) > _LONGEST:
        code = "General"
    sections, parts = list[_Section](), list[_Part]()
    condition: tuple[str, float] | None = None
    for found in _TOKEN.finditer(code):
        kind, text = found.lastgroup or "", found[0]
        if kind == "sign" and text == ";":
            sections.append(_section(parts, condition))
            parts, condition = [], None
        elif kind == "bracket":
            inner = found["bracket"]
            if fits := _CONDITION.fullmatch(inner):
                condition = fits[1], float(fits[2])
            elif _ELAPSED.fullmatch(inner):
                parts.append(_Part("elapsed", inner.lower()))
            elif currency := _CURRENCY.fullmatch(inner):
                parts += [_Part("text", currency[1])] if currency[1] else []
        elif kind in ("quoted", "escaped", "plain"):
            parts.append(_Part("text", found[kind]))
        elif kind:
            parts.append(_Part(kind, text.lower() if kind == "date" else text))
    return (*sections, _section(parts, condition))


def _section(parts: list[_Part], condition: tuple[str, float] | None) -> _Section:
    is_date = any(part.kind in ("date", "elapsed", "half") for part in parts)
    return _Section(tuple(parts), condition, is_date)


# Numbers


def _digits(value: Decimal, parts: tuple[_Part, ...]) -> str:
    """A number, not below zero, in the places of a section."""
    places = [place for place, part in enumerate(parts) if part.kind == "place"]
    if len(places) > _MOST_PLACES:
        return _general(value)
    if any(part.text == "/" for part in parts if part.kind == "sign"):
        return _fraction(value, parts)
    value = value.scaleb(2 * sum(part.text == "%" for part in parts if part.kind == "sign"), _EXACT)
    point = next((place for place, part in enumerate(parts) if part.kind == "sign" and part.text == "."), len(parts))
    power = next((place for place, part in enumerate(parts) if part.kind == "exponent"), len(parts))
    point = min(point, power)
    whole = [place for place in places if place < point]
    decimals = [place for place in places if point < place < power]
    commas = [place for place, part in enumerate(parts) if part.text == "," and part.kind == "sign"]
    # A comma behind the last place divides by a thousand, one between places groups the digits.
    last = max((place for place in (*whole, *decimals)), default=-1)
    behind_whole = whole[-1] if whole else last
    scaling = [place for place in commas if place > last or behind_whole < place < point]
    grouped = any(whole and whole[0] < place < whole[-1] for place in commas)
    value = value.scaleb(-3 * len(scaling), _EXACT)
    exponent = 0
    if power < len(parts):
        value, exponent = _mantissa(value, max(1, len(whole)), len(decimals))
    rounded = value.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP, _EXACT)
    before, _, after = f"{rounded:f}".partition(".")
    made = _whole(before.lstrip("0"), parts[:point], grouped)
    made += _decimals(after, parts[point:power])
    if power < len(parts):
        made += _power(exponent, parts[power:])
    return made


def _mantissa(value: Decimal, width: int, decimals: int) -> tuple[Decimal, int]:
    """The number that stands before the exponent, and the exponent, a multiple of `width`."""
    if not value:
        return value, 0
    exponent = value.adjusted() // width * width
    made = value.scaleb(-exponent, _EXACT)
    if made.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, _EXACT).adjusted() >= width:
        exponent += width
        made = value.scaleb(-exponent, _EXACT)
    return made, exponent


def _whole(digits: str, parts: tuple[_Part, ...], grouped: bool) -> str:
    """The digits before the point, from right to left; the first place takes all that are left."""
    made: list[str] = []
    first = next((place for place, part in enumerate(parts) if part.kind == "place"), -1)
    written = 0

    def write(digit: str) -> None:
        nonlocal written
        if grouped and written and written % 3 == 0:
            made.append(",")
        made.append(digit)
        written += 1

    for place in range(len(parts) - 1, -1, -1):
        part = parts[place]
        if part.kind == "text" or part.text == "%":
            made.append(part.text[::-1])
        elif part.kind == "place":
            if digits:
                write(digits[-1])
                digits = digits[:-1]
            elif part.text == "0":
                write("0")
            elif part.text == "?":
                made.append(" ")
            while place == first and digits:
                write(digits[-1])
                digits = digits[:-1]
    return ("" if first >= 0 else digits) + "".join(made)[::-1]


def _decimals(digits: str, parts: tuple[_Part, ...]) -> str:
    """The point and the digits behind it, with what stands among and behind them."""
    needed = [part.text for part in parts if part.kind == "place"]
    while needed and digits.endswith("0") and needed[-1] != "0":
        needed.pop()
        digits = digits[:-1]
    made: list[str] = []
    left = iter(digits)
    for part in parts:
        if part.kind == "place":
            made.append(next(left, ""))
        elif part.kind == "text" or part.text in ("%", "."):
            made.append(part.text)
    return "".join(made)


def _power(exponent: int, parts: tuple[_Part, ...]) -> str:
    width = sum(part.kind == "place" for part in parts)
    sign = "-" if exponent < 0 else "+" if parts[0].text.endswith("+") else ""
    behind = "".join(part.text for part in parts if part.kind == "text")
    return f"E{sign}{abs(exponent):0{width}d}{behind}"


def _fraction(value: Decimal, parts: tuple[_Part, ...]) -> str:
    """A number as a fraction (`# ?/?`, `# ?/8`), its whole part before it where the format has a place for it."""
    slash = next(place for place, part in enumerate(parts) if part.text == "/" and part.kind == "sign")
    above = slash
    while above and parts[above - 1].kind == "place":
        above -= 1
    below = "".join(part.text for part in parts[slash + 1 :] if part.kind in ("place", "text"))
    fixed = re.match(r"\s*([1-9]\d{0,5})", below)
    width = len(below) - len(below.lstrip("0#?"))
    has_whole = any(part.kind == "place" for part in parts[:above])
    whole = int(value) if has_whole else 0
    rest = Fraction(value) - whole
    if fixed:
        over = int(fixed[1])
        top = int(rest * over + Fraction(1, 2))
    else:
        near = rest.limit_denominator(10 ** min(max(width, 1), 7) - 1)
        top, over = near.numerator, near.denominator
    if has_whole and top == over:
        whole, top = whole + 1, 0
    first = next((place for place, part in enumerate(parts) if part.kind == "place"), 0)
    before = "".join(part.text for part in parts[:first] if part.kind == "text")
    if has_whole and not top:
        return f"{before}{whole}"
    return f"{before}{f'{whole} ' if has_whole and whole else ''}{top}/{over}"


# Dates


def _date(value: Decimal, section: _Section, from_1904: bool) -> str:
    """A serial number of days as a date, a time or a duration."""
    negative = value < 0
    if abs(value) >= _LAST_DAY or (negative and not section.has("elapsed")):
        return _general(value)
    digits = _second_digits(section.parts)
    ticks = int((abs(value) * 86_400).scaleb(digits, _EXACT).to_integral_value(ROUND_HALF_UP, _EXACT))
    seconds, fraction = divmod(ticks, 10**digits)
    day, clock = divmod(seconds, 86_400)
    # The programs count a 29th of February 1900, the day 60.
    start = datetime.date(1904, 1, 1) if from_1904 else datetime.date(1899, 12, 30 if day > 60 else 31)
    try:
        at = start + datetime.timedelta(day)
    except OverflowError:
        return _general(value)
    made: list[str] = ["-"] if negative else []
    half = section.has("half")
    for place, part in enumerate(section.parts):
        made.append(_date_part(section.parts, place, part, at, clock, seconds, half))
        if part.kind == "place" and digits and section.parts[place - 1].text == ".":
            made.append(f"{fraction:0{digits}d}")
    return "".join(made).strip()


def _second_digits(parts: tuple[_Part, ...]) -> int:
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
    parts: tuple[_Part, ...], place: int, part: _Part, at: datetime.date, clock: int, seconds: int, half: bool
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


def _is_minute(parts: tuple[_Part, ...], place: int) -> bool:
    """True where `m` stands for minutes: behind hours or before seconds."""
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
