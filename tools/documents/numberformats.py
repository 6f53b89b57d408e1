"""Show a value of a workbook as its number format shows it.

A format has up to four sections (positive, negative, zero, text), each made of digits' places (`0 # ?`), date letters,
and literal text. Where a format leaves the order of a date to the reader's own country, the date is written as
2026-03-04.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from tools.documents.dateformats import EXACT, Part
from tools.documents.dateformats import show as show_date

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
_UNITS: Final = tuple(Decimal(1).scaleb(-places) for places in range(_MOST_PLACES + 1))


@dataclass(frozen=True, slots=True)
class _Plan:
    """How the digits of a number are placed in a section."""

    point: int
    """The part before which the whole digits come."""
    power: int
    """The part at which the exponent begins."""
    whole: int
    decimals: int
    """Places before and behind the point."""
    scale: int
    """The power of ten that the number is multiplied by: for percent signs, and commas behind the digits."""
    grouped: bool
    fraction: bool
    simple: tuple[str, int, str, str] | None
    """Text before the digits, how many of them are always shown, the point, and text behind; None where there is other
    text among the digits, or some of them are left out."""


@dataclass(frozen=True, slots=True)
class _Section:
    parts: tuple[Part, ...]
    condition: tuple[str, float] | None
    is_date: bool
    kinds: frozenset[str]
    for_text: bool
    """It has a place for text."""
    plan: _Plan


def show(value: object, code: str, *, from_1904: bool = False) -> str:
    """The value of a cell as its format shows it."""
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case int() if code == "General" and abs(value) < 10**15:
            return str(value)
        case str() if code == "General":
            return value
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
    holder = next((one for one in sections[3:] or sections[-1:] if one.for_text), None)
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
        shown = show_date(value, section.parts, from_1904)
        return _general(value) if shown is None else shown
    if "general" in section.kinds or (section.for_text and "place" not in section.kinds):
        shown = _general(abs(value))
        made = "".join(shown if part.kind == "general" or part.text == "@" else part.text
                       for part in section.parts if part.kind in ("text", "general", "sign"))  # fmt: skip
    elif "place" in section.kinds:
        made = _digits(abs(value), section.parts, section.plan)
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
    """The sections of a format; a single empty one (`General`) for a format that no program could have written."""
    if not code or len(code) > _LONGEST:
        code = "General"
    sections, parts = list[_Section](), list[Part]()
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
                parts.append(Part("elapsed", inner.lower()))
            elif currency := _CURRENCY.fullmatch(inner):
                parts += [Part("text", currency[1])] if currency[1] else []
        elif kind in ("quoted", "escaped", "plain"):
            parts.append(Part("text", found[kind]))
        elif kind:
            parts.append(Part(kind, text.lower() if kind == "date" else text))
    return (*sections, _section(parts, condition))


def _section(parts: list[Part], condition: tuple[str, float] | None) -> _Section:
    kinds = frozenset(part.kind for part in parts)
    for_text = any(part.kind == "sign" and part.text == "@" for part in parts)
    is_date = bool(kinds & {"date", "elapsed", "half"})
    return _Section(tuple(parts), condition, is_date, kinds, for_text, _plan(parts))


def _plan(parts: list[Part]) -> _Plan:
    signs = {place: part.text for place, part in enumerate(parts) if part.kind == "sign"}
    places = [place for place, part in enumerate(parts) if part.kind == "place"]
    power = next((place for place, part in enumerate(parts) if part.kind == "exponent"), len(parts))
    dot = next((place for place, sign in signs.items() if sign == "."), len(parts))
    point = min(dot, power)
    whole = [place for place in places if place < point]
    decimals = [place for place in places if point < place < power]
    commas = [place for place, sign in signs.items() if sign == ","]
    # A comma behind the last place divides by a thousand, one between places groups the digits.
    last = max((*whole, *decimals), default=-1)
    behind_whole = whole[-1] if whole else last
    scaling = sum(place > last or behind_whole < place < point for place in commas)
    grouped = any(whole and whole[0] < place < whole[-1] for place in commas)
    scale = 2 * sum(sign == "%" for sign in signs.values()) - 3 * scaling
    fraction = "/" in signs.values()
    simple = None
    among = [part for part in parts[whole[0] if whole else 0 : last + 1] if part.kind != "place"]
    if whole and power == len(parts) and not fraction and all(part.text in (",", ".") for part in among):
        marks = "".join(parts[place].text for place in whole)
        if "?" not in marks and all(parts[place].text == "0" for place in decimals):
            before, behind = parts[: whole[0]], [part for part in parts[last + 1 :] if part.text not in (",", ".")]
            dotted = "." if dot < len(parts) else ""
            simple = _said(before), marks.count("0"), dotted, _said(behind)
    return _Plan(point, power, len(whole), len(decimals), scale, grouped, fraction, simple)


def _said(parts: list[Part]) -> str:
    return "".join(part.text for part in parts if part.kind == "text" or part.text == "%")


# Numbers


def _digits(value: Decimal, parts: tuple[Part, ...], plan: _Plan) -> str:
    """A number, not below zero, in the places of a section."""
    if plan.whole + plan.decimals > _MOST_PLACES:
        return _general(value)
    if plan.fraction:
        return _fraction(value, parts)
    value = value.scaleb(plan.scale, EXACT)
    exponent = 0
    if plan.power < len(parts):
        value, exponent = _mantissa(value, max(1, plan.whole), plan.decimals)
    rounded = value.quantize(_UNITS[plan.decimals], ROUND_HALF_UP, EXACT)
    if plan.simple is not None:
        begin, shown, dot, end = plan.simple
        before, _, after = (f"{rounded:,f}" if plan.grouped else f"{rounded:f}").partition(".")
        before = before.zfill(shown) if shown > 1 and not plan.grouped else before
        if plan.grouped and shown > len(before.replace(",", "")):
            before = _whole(before.replace(",", "").lstrip("0"), parts[: plan.point], True).removeprefix(begin)
        elif not shown and before == "0":
            before = ""
        return f"{begin}{before}{dot}{after}{end}"
    before, _, after = f"{rounded:f}".partition(".")
    made = _whole(before.lstrip("0"), parts[: plan.point], plan.grouped)
    made += _decimals(after, parts[plan.point : plan.power])
    if plan.power < len(parts):
        made += _power(exponent, parts[plan.power :])
    return made


def _mantissa(value: Decimal, width: int, decimals: int) -> tuple[Decimal, int]:
    """The number before the exponent, and the exponent, a multiple of `width`."""
    if not value:
        return value, 0
    exponent = value.adjusted() // width * width
    made = value.scaleb(-exponent, EXACT)
    if made.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, EXACT).adjusted() >= width:
        exponent += width
        made = value.scaleb(-exponent, EXACT)
    return made, exponent


def _whole(digits: str, parts: tuple[Part, ...], grouped: bool) -> str:
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


def _decimals(digits: str, parts: tuple[Part, ...]) -> str:
    """The point and the digits behind it, with the text among and behind them."""
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


def _power(exponent: int, parts: tuple[Part, ...]) -> str:
    width = sum(part.kind == "place" for part in parts)
    sign = "-" if exponent < 0 else "+" if parts[0].text.endswith("+") else ""
    behind = "".join(part.text for part in parts if part.kind == "text")
    return f"E{sign}{abs(exponent):0{width}d}{behind}"


def _fraction(value: Decimal, parts: tuple[Part, ...]) -> str:
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
