"""The numbers that Word shows before paragraphs: of lists and of headings. A paragraph does not hold its own number: it
follows from the paragraphs before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tools.documents.trees import attribute_of, is_on

LEVELS: Final = 9
_DEEPEST: Final = 20
"""Styles that are based on each other, and lists that are named by styles."""
_LONGEST: Final = 60
"""Characters of a number."""
_LARGEST: Final = 1_000_000
_PART: Final = re.compile(r"%([1-9])")


@dataclass(slots=True)
class _Level:
    """How one level of a list is numbered."""

    start: int = 1
    form: str = "decimal"
    text: str = ""
    style: str = ""
    """The style whose paragraphs are of this level."""
    restarts: bool = True
    """It begins anew where a level above goes on."""
    legal: bool = False
    """All numbers in it are written in digits."""
    joined: bool = False
    """No character separates the number from the text."""


@dataclass(slots=True)
class _List:
    """A list; several lists may be views that go on with the same numbers."""

    levels: dict[int, _Level] = field(default_factory=dict)
    style: str = ""
    """The style that says how it is numbered in its place."""
    counts: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _View:
    """What paragraphs name: a list, with levels that begin anew."""

    of: str
    starts: dict[int, int] = field(default_factory=dict)
    levels: dict[int, _Level] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Named:
    """The view and the level that a paragraph or a style names; None where it names none."""

    view: str | None = None
    level: int | None = None


class Numbering:
    """Gives the paragraphs of a document their numbers, in its order."""

    def __init__(self, numbering: Any, styles: Any) -> None:
        """
        Args:
            numbering, styles: the trees of these parts; None for a missing part.
        """
        self._lists: dict[str, _List] = {}
        self._views: dict[str, _View] = {}
        self._styles: dict[str, tuple[_Named, str]] = {}
        for one in _children(numbering, "abstractNum"):
            levels = {_number(level, "ilvl"): _read_level(level) for level in _children(one, "lvl")}
            self._lists[attribute_of(one, "abstractNumId")] = _List(levels, _value(one, "numStyleLink"))
        for one in _children(numbering, "num"):
            view = self._views[attribute_of(one, "numId")] = _View(_value(one, "abstractNumId"))
            for changed in _children(one, "lvlOverride"):
                place = _number(changed, "ilvl")
                if (start := _value(changed, "startOverride")).isdecimal():
                    view.starts[place] = _bounded(start)
                for level in _children(changed, "lvl"):
                    view.levels[place] = _read_level(level)
        for one in _children(styles, "style"):
            told = one.find("{*}pPr/{*}numPr")
            self._styles[attribute_of(one, "styleId")] = (_read_named(told), _value(one, "basedOn"))

    def take(self, paragraph: Any) -> tuple[str, str] | None:
        """Count a paragraph, and return its number and the separator behind it; None where it has no number."""
        properties = paragraph.find("{*}pPr")
        if properties is None:
            return None
        style = _value(properties, "pStyle")
        own, inherited = _read_named(properties.find("{*}numPr")), self._named_by(style)
        name = own.view if own.view is not None else inherited.view
        if not name or name == "0" or (found := self._resolve(name)) is None:
            return None
        view, held = found
        place = own.level if own.level is not None else inherited.level
        if place is None:
            place = next((number for number, level in held.levels.items() if style and level.style == style), 0)
        level = view.levels.get(place) or held.levels.get(place)
        if level is None or level.form == "bullet" or not 0 <= place < LEVELS:
            return None
        self._count(view, held, place, level)
        text = _PART.sub(lambda part: self._write(view, held, int(part[1]) - 1, legal=level.legal), level.text)
        text = "".join(text.split("\t")).strip()[:_LONGEST]
        return (text, "" if level.joined else " ") if text else None

    def _named_by(self, style: str) -> _Named:
        """Return what a style names, itself or by what it is based on."""
        view: str | None = None
        level: int | None = None
        for _ in range(_DEEPEST):
            named, style = self._styles.get(style, (_Named(), ""))
            view, level = view if view is not None else named.view, level if level is not None else named.level
        return _Named(view, level)

    def _resolve(self, name: str) -> tuple[_View, _List] | None:
        for _ in range(_DEEPEST):
            view = self._views.get(name)
            held = self._lists.get(view.of) if view is not None else None
            if view is None or held is None:
                return None
            if not held.style:
                return view, held
            name = self._styles.get(held.style, (_Named(), ""))[0].view or ""
        return None

    def _count(self, view: _View, held: _List, place: int, level: _Level) -> None:
        counts = held.counts
        start = view.starts.pop(place, None)
        if start is not None or place not in counts:
            counts[place] = level.start if start is None else start
        else:
            counts[place] += 1
        for deeper in [one for one in counts if one > place]:
            below = view.levels.get(deeper) or held.levels.get(deeper)
            if below is None or below.restarts:
                del counts[deeper]

    def _write(self, view: _View, held: _List, place: int, *, legal: bool) -> str:
        level = view.levels.get(place) or held.levels.get(place) or _Level()
        count = held.counts.get(place, level.start)
        return write_number(count, "decimal" if legal else level.form)


def write_number(count: int, form: str) -> str:
    """Return a number as Word shows it in a form of its own; in digits where the form is not known."""
    count = min(max(count, 0), _LARGEST)
    write = _FORMS.get(form)
    return str(count) if write is None else write(count)


def _roman(count: int) -> str:
    if not 0 < count < 4_000:
        return str(count)
    written = ""
    for value, sign in zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), _ROMAN, strict=True):
        written += sign * (count // value)
        count %= value
    return written


_ROMAN: Final = ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"]
_DIGITS: Final = "〇一二三四五六七八九"
_WIDE: Final = {ord("0") + digit: ord("０") + digit for digit in range(10)}
_STEMS: Final = "甲乙丙丁戊己庚辛壬癸"
_BRANCHES: Final = "子丑寅卯辰巳午未申酉戌亥"


def _letters(count: int) -> str:
    """A to Z, then AA to ZZ, as Word goes on."""
    return chr(ord("A") + (count - 1) % 26) * min((count - 1) // 26 + 1, _LONGEST) if count else "0"


def _counted(digits: str, places: str) -> Callable[[int], str]:
    """Return a function that writes numbers below 10,000 as they are spoken in Chinese."""

    def write(count: int) -> str:
        if not 0 < count < 10_000:
            return _one_by_one(count)
        written, gap = "", False
        for place in range(3, -1, -1):
            digit = count // 10**place % 10
            if digit:
                said = digits[digit] if digit > 1 or place != 1 or written or digits != _DIGITS else ""
                written += ("零" if gap and written else "") + said + (places[place - 1] if place else "")
            gap = not digit and bool(written)
        return written

    return write


def _one_by_one(count: int) -> str:
    return "".join(_DIGITS[int(digit)] for digit in str(count))


def _among(signs: str) -> Callable[[int], str]:
    return lambda count: signs[count - 1] if 0 < count <= len(signs) else str(count)


def _ordinal(count: int) -> str:
    ending = "th" if count // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
    return f"{count}{ending}"


_SAID: Final = _counted(_DIGITS, "十百千")
_FORMS: Final[Mapping[str, Callable[[int], str]]] = {
    "none": lambda _: "",
    "decimalZero": lambda count: f"{count:02}",
    "upperRoman": _roman,
    "lowerRoman": lambda count: _roman(count).lower(),
    "upperLetter": _letters,
    "lowerLetter": lambda count: _letters(count).lower(),
    "ordinal": _ordinal,
    "numberInDash": lambda count: f"- {count} -",
    **dict.fromkeys(("chineseCounting", "chineseCountingThousand", "japaneseCounting", "taiwaneseCounting"), _SAID),
    **dict.fromkeys(("taiwaneseCountingThousand", "koreanCounting"), _SAID),
    **dict.fromkeys(("ideographDigital", "japaneseDigitalTenThousand", "taiwaneseDigital"), _one_by_one),
    "chineseLegalSimplified": _counted("零壹贰叁肆伍陆柒捌玖", "拾佰仟"),
    "ideographLegalTraditional": _counted("零壹貳參肆伍陸柒捌玖", "拾佰仟"),
    "ideographTraditional": _among(_STEMS),
    "ideographZodiac": _among(_BRANCHES),
    **dict.fromkeys(
        ("decimalEnclosedCircle", "decimalEnclosedCircleChinese", "ideographEnclosedCircle"),
        _among("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"),
    ),
    "decimalEnclosedParen": _among("⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽⑾⑿⒀⒁⒂⒃⒄⒅⒆⒇"),
    "decimalEnclosedFullstop": _among("⒈⒉⒊⒋⒌⒍⒎⒏⒐⒑⒒⒓⒔⒕⒖⒗⒘⒙⒚⒛"),
    **dict.fromkeys(
        ("decimalFullWidth", "decimalFullWidth2"), lambda count: str(count).translate(_WIDE)
    ),
}  # fmt: skip


def _read_level(node: Any) -> _Level:
    restart = _value(node, "lvlRestart")
    return _Level(
        start=_bounded(_value(node, "start") or "1"),
        form=_value(node, "numFmt") or "decimal",
        text=_value(node, "lvlText"),
        style=_value(node, "pStyle"),
        restarts=restart != "0",
        legal=(legal := node.find("{*}isLgl")) is not None and is_on(legal),
        joined=_value(node, "suff") == "nothing",
    )


def _read_named(node: Any) -> _Named:
    if node is None:
        return _Named()
    level = _value(node, "ilvl")
    return _Named(_value(node, "numId") or None, int(level) if level.isdecimal() and len(level) < 4 else None)


def _children(node: Any, name: str) -> Iterable[Any]:
    return node.findall(f"{{*}}{name}") if node is not None else ()


def _value(node: Any, name: str) -> str:
    """The value of an element within another, or an empty text."""
    found = node.find(f"{{*}}{name}")
    return "" if found is None else attribute_of(found, "val")


def _number(node: Any, name: str) -> int:
    text = attribute_of(node, name)
    return int(text) if text.isdecimal() and len(text) < 4 else 0


def _bounded(text: str) -> int:
    return min(int(text), _LARGEST) if text.isdecimal() and len(text) < 10 else 1
