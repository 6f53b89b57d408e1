"""Split an expression into tokens: numbers, operators and words, in English, full-width and Chinese notation.

Each token keeps its place in the original text, so that an error can point at it.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass, replace
from fractions import Fraction

from tools.calculation import units
from tools.calculation.functions import CONSTANTS, FUNCTIONS
from tools.calculation.numbers import CONTEXT, CalculationError, Number, bound
from tools.times import numerals

LONGEST = 1000
"""Characters of an expression."""


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of an expression."""

    kind: str
    """`number`, `word` or `op`."""
    text: str
    at: int
    value: Number = Fraction(0)
    shown: str = ""
    """The original spelling, where `text` differs from it."""


_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+", strict=True))
_VULGAR = {
    "½": Fraction(1, 2), "⅓": Fraction(1, 3), "⅔": Fraction(2, 3), "¼": Fraction(1, 4), "¾": Fraction(3, 4),
    "⅕": Fraction(1, 5), "⅖": Fraction(2, 5), "⅗": Fraction(3, 5), "⅘": Fraction(4, 5), "⅙": Fraction(1, 6),
    "⅚": Fraction(5, 6), "⅛": Fraction(1, 8), "⅜": Fraction(3, 8), "⅝": Fraction(5, 8), "⅞": Fraction(7, 8),
}  # fmt: skip
_SAME = {
    **dict.fromkeys("−–—‒﹣", "-"), **dict.fromkeys("×·⋅∙•✕✖∗", "*"), **dict.fromkeys("÷∕⁄", "/"),
    **dict.fromkeys("[{【〔", "("), **dict.fromkeys("]}】〕", ")"), **dict.fromkeys("、;；", ", "),
    **dict.fromkeys("“”″", '"'), **dict.fromkeys("‘’′", "'"), **dict.fromkeys("$€£¥￥₩₹", " "),
    "㎡": "m²", "㎥": "m³", "。": " ", "∶": "/", "⇒": "→", "º": "°", "˚": "°",
}  # fmt: skip
_BASES = ((re.compile(r"0[xX][0-9a-fA-F]+"), 16), (re.compile(r"0[bB][01]+"), 2), (re.compile(r"0[oO][0-7]+"), 8))
_NUMBER = re.compile(r"(?:\d+(?:_\d+)*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
_GROUPED = re.compile(r"\d{1,3}(?:([,'\u00a0\u2009\u202f])\d{3})(?:\1\d{3})*(?![\d])(?:\.\d+)?")
_WORD = re.compile(r"[A-Za-zµμΩωÅåπτφ°][A-Za-zµμΩωÅåπτφ°_]*\d*")
_IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")
_POWER = re.compile(rf"的?\s*(\d+|{numerals.RUN.pattern})\s*次方|的?(平方|立方)(?!根|\s*[\u3400-\u9fffA-Za-z])")
_SHARE = re.compile(rf"(百|千)分之\s*(\d+(?:\.\d+)?|{numerals.RUN.pattern})")
_OPERATORS = ("**", "//", "<<", ">>", "->", "=>", "==", *"+-*/^%‰!(),&|~=→√∛")
_CANONICAL = {"**": "^", "->": "convert", "=>": "convert", "=": "convert", "==": "convert", "→": "convert"}
_WORDS = {
    **dict.fromkeys(("times", "multiplied by", "乘以", "乘", "打"), "*"),
    **dict.fromkeys(("plus", "加上", "加"), "+"),
    **dict.fromkeys(("minus", "减去", "减"), "-"),
    **dict.fromkeys(("divided by", "over", "per", "除以", "每"), "/"),
    **dict.fromkeys(("to the power of", "to the power", "raised to"), "^"),
    **dict.fromkeys(("percent", "per cent", "pct", "percentage"), "%"),
    **dict.fromkeys(("mod", "modulo", "取余", "取模", "模"), "mod"),
    **dict.fromkeys(("的",), "of"),
    **dict.fromkeys(("as", "to", "into", "equals", "equal", "is", "are"), "convert"),
    **dict.fromkeys(("换算成", "换算为", "换算到", "转换成", "转换为", "转换到", "换成", "转成", "转为"), "convert"),
    **dict.fromkeys(("化成", "化为", "折合成", "折合", "等于多少", "是多少", "有多少", "相当于多少"), "convert"),
    **dict.fromkeys(("相当于", "等于", "是", "合", "成"), "convert"),
    **dict.fromkeys(("of", "off", "xor"), ""),
    **dict.fromkeys(("的平方根",), "root2"),
    **dict.fromkeys(("的立方根",), "root3"),
    **dict.fromkeys(("的阶乘",), "!"),
}  # fmt: skip
_FILLERS = (
    *(
        "convert",
        "calculate",
        "compute",
        "evaluate",
        "what is",
        "what's",
        "how much is",
        "how many",
        "how much",
        "what",
    ),
    *("a", "an", "the", "and", "请计算", "计算", "请问", "换算", "把", "多少", "几", "元", "美元", "块钱", "块", "又"),
)
_SQUARES = {"square": 2, "sq": 2, "cubic": 3, "cu": 3, "平方": 2, "立方": 3}
_END = re.compile(r"(?:\s|[=＝?？。！]|等于(?:多少|几)?|是(?:多少|几)|多少|equals?)+$")


def read(text: str) -> list[Token]:
    """The tokens of an expression.

    Raises:
        CalculationError: it is too long, or holds something that belongs to no expression.
    """
    if len(text) > LONGEST:
        raise CalculationError(f"the expression has {len(text)} characters, at most {LONGEST} are possible")
    trimmed = text[: len(text) - len(match[0])] if (match := _END.search(text)) and "!" not in match[0] else text
    return _Reader(*_normalize(trimmed)).read_all()


def dimension_of_word(word: str) -> int:
    """2 for a word as "square", 3 for one as "cubic", else 0."""
    return _SQUARES.get(word, 0) or _SQUARES.get(word.lower(), 0)


def is_known(word: str) -> bool:
    """Whether a word is a function, a constant or a unit."""
    return word in FUNCTIONS or word in CONSTANTS or units.find(word) is not None


class _Reader:
    def __init__(self, text: str, places: list[int]) -> None:
        self._text = text
        self._lower = text.lower()
        self._places = [*places, places[-1] + 1 if places else 0]
        self._at = 0
        self._tokens: list[Token] = []
        self._calls: list[bool] = []
        """For each open bracket: whether a comma without a space groups digits there."""

    def read_all(self) -> list[Token]:
        while self._at < len(self._text):
            if self._text[self._at].isspace():
                self._at += 1
            elif not (self._read_number() or self._read_operator() or self._read_word() or self._read_chinese()):
                raise CalculationError(f"{self._text[self._at]!r} means nothing here", self._places[self._at])
        return self._tokens

    def _add(self, kind: str, text: str, length: int, value: Number = Fraction(0)) -> bool:
        self._tokens.append(Token(kind, text, self._places[self._at], value))
        self._at += length
        return True

    def _follows_number(self) -> bool:
        return bool(self._tokens) and self._tokens[-1].kind == "number"

    def _read_number(self) -> bool:
        text, at = self._text, self._at
        if text[at] in _SUPERSCRIPTS and self._tokens:
            run = re.compile(f"[{''.join(map(re.escape, _SUPERSCRIPTS))}]+").match(text, at)
            assert run is not None
            digits = "".join(_SUPERSCRIPTS[char] for char in run[0])
            self._add("op", "^", 0)
            if digits.startswith(("-", "+")):
                self._add("op", digits[0], 0)
            if not digits.lstrip("-+").isdecimal():
                raise CalculationError("a raised sign needs a number", self._places[at])
            return self._add("number", digits.lstrip("-+"), len(run[0]), Fraction(int(digits.lstrip("-+"))))
        if text[at] in _VULGAR:
            return self._add("number", text[at], 1, _VULGAR[text[at]])
        for pattern, base in _BASES:
            match = pattern.match(text, at)
            if match:
                return self._add("number", match[0], len(match[0]), bound(Fraction(int(match[0], base))))
        match = (_GROUPED.match(text, at) if self._is_grouped(at) else None) or _NUMBER.match(text, at)
        if match is None:
            return False
        value = self._parse_value(re.sub(r"[^\d.eE+-]", "", match[0]))
        shown = re.sub(r"[,'\s_]", "", match[0])
        self._add("number", shown, len(match[0]), value)
        if self._at < len(text) and text[self._at] in _VULGAR:
            self._merge_fraction(text[self._at], 1, value if isinstance(value, Fraction) else Fraction(0), 1)
        self._apply_multipliers()
        return True

    def _is_grouped(self, at: int) -> bool:
        """Whether `1,000` is one number here. In a call only if its arguments are separated by ", "."""
        match = _GROUPED.match(self._text, at)
        return match is not None and (match[1] != "," or not self._calls or self._calls[-1])

    def _parse_value(self, digits: str) -> Number:
        mantissa, _, exponent = digits.lower().partition("e")
        power = int(exponent or 0) if len(exponent) < 12 else 10**12
        if abs(power) > 4000:
            if abs(power) >= 10**9:
                raise CalculationError("this number is too large or too small", self._places[self._at])
            return CONTEXT.create_decimal(digits)
        return bound(Fraction(mantissa if not mantissa.startswith(".") else f"0{mantissa}") * Fraction(10) ** power)

    def _merge_fraction(self, text: str, length: int, value: Fraction, sign: int) -> None:
        """Add a fraction sign to the number before it: 3½."""
        last = self._tokens[-1]
        self._tokens[-1] = Token("number", last.text + text, last.at, value + sign * _VULGAR[text])
        self._at += length

    def _apply_multipliers(self) -> None:
        """Multiply the last number by the 万, 亿 or 折 behind it, unless they begin a unit (3千米)."""
        run = re.compile("[十百千万亿]+").match(self._text, self._at)
        if run is None or len(_find_longest_word(self._text, self._at)) > 1:
            if self._at < len(self._text) and self._text[self._at] == "折" and self._tokens[-1].value > 0:
                last = self._tokens[-1]
                value = (
                    last.value * Fraction(1, 10 if last.value < 10 else 100)
                    if isinstance(last.value, Fraction)
                    else last.value
                )
                self._tokens[-1] = Token("number", f"{last.text}折", last.at, value)
                self._at += 1
            return
        last = self._tokens[-1]
        factor = 1
        for char in run[0]:
            factor *= {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}[char]
        if isinstance(last.value, Fraction) and len(run[0]) < 9:
            self._tokens[-1] = Token("number", last.text + run[0], last.at, last.value * factor)
            self._at += len(run[0])

    def _read_operator(self) -> bool:
        text = self._text
        if text[self._at] in "'\"" and self._follows_number():
            return self._add("word", text[self._at], 1)
        for operator in _OPERATORS:
            if text.startswith(operator, self._at):
                if operator == "(":
                    self._calls.append(self._has_spaced_commas(self._at) if self._follows_function() else True)
                elif operator == ")" and self._calls:
                    self._calls.pop()
                if operator == "‰":
                    self._add("op", "%", 0)
                    self._add("op", "/", 0)
                    return self._add("number", "10", 1, Fraction(10))
                if operator in "√∛":
                    return self._add("word", operator, 1)
                canonical = _CANONICAL.get(operator, operator)
                self._add("op", canonical, len(operator))
                if canonical == "convert":
                    self._tokens[-1] = replace(self._tokens[-1], shown=operator)
                return True
        return False

    def _follows_function(self) -> bool:
        return bool(self._tokens) and self._tokens[-1].kind == "word" and self._tokens[-1].text in FUNCTIONS

    def _begins_call(self, length: int) -> bool:
        """Whether a word begins a call, as mod(10, 3) does and 10 mod (3) does not."""
        last = self._tokens[-1] if self._tokens else None
        first = last is None or (last.kind == "op" and last.text not in (")", "!", "%"))
        return first and self._text[self._at + length : self._at + length + 1] == "("

    def _has_spaced_commas(self, at: int) -> bool:
        """Whether the arguments in this bracket are separated by commas with a space."""
        depth = 0
        for place in range(at, len(self._text)):
            char = self._text[place]
            depth += (char == "(") - (char == ")")
            if not depth:
                break
            if depth == 1 and char == "," and self._text[place + 1 : place + 2].isspace():
                return True
        return False

    def _read_word(self) -> bool:
        match = _WORD.match(self._text, self._at)
        if match is None:
            return False
        for phrase in _phrases():
            if self._lower.startswith(phrase, self._at):
                after = self._lower[self._at + len(phrase) : self._at + len(phrase) + 1]
                if not (after.isalnum() and after.isascii()):
                    return self._add_meaning(phrase, len(phrase))
        word = match[0]
        if word.lower() in ("x", "х") or (word[0] in "xX" and word[1:].isdecimal() and self._tokens):
            return self._add("op", "*", 1)
        if word.startswith("°") and len(word) > 1 and word[1] not in "CFcf":
            return self._add("word", "°", 1)
        if word[-1].isdecimal() and not is_known(word) and word.rstrip("0123456789_") in FUNCTIONS:
            bare = word.replace("_", "")
            if bare in FUNCTIONS:
                return self._add("word", bare, len(word))
            word = word.rstrip("0123456789")
        return self._add_meaning(word, len(word))

    def _read_chinese(self) -> bool:
        text, at = self._text, self._at
        if not _IDEOGRAPH.match(text, at) and text[at] != "〇":
            return False
        share = _SHARE.match(text, at)
        if share:
            number = self._parse_numeral(share[2])
            self._add("number", share[2], 0, number)
            self._add("op", "%", len(share[0]))
            if share[1] == "千":
                self._add("op", "/", 0)
                self._add("number", "10", 0, Fraction(10))
            return True
        power = _POWER.match(text, at)
        if power and self._tokens:
            self._add("op", "^", 0)
            exponent = self._parse_numeral(power[1]) if power[1] else Fraction(2 if power[2] == "平方" else 3)
            return self._add("number", str(exponent), len(power[0]), exponent)
        word = _find_longest_word(text, at)
        run = numerals.RUN.match(text, at)
        length = len(run[0]) if run else 0
        if run and length > 1 and run[0].endswith("两"):
            length -= 1
        if text[at] == "半" and not word:
            return self._add("number", "半", 1, Fraction(1, 2))
        if length and length >= len(word) and not (word == "两" and self._follows_number()):
            self._add("number", text[at : at + length], length, self._parse_numeral(text[at : at + length]))
            self._apply_multipliers()
            return True
        return self._add_meaning(word, len(word)) if word else False

    def _parse_numeral(self, run: str) -> Fraction:
        if run[0].isdecimal():
            return Fraction(run)
        value = numerals.read(run)
        if value is None:
            raise CalculationError(f"{run!r} is no number", self._places[self._at])
        return Fraction(value)

    def _add_meaning(self, word: str, length: int) -> bool:
        """Add the token that a word means."""
        folded = word.lower()
        if folded in ("squared", "cubed"):
            self._add("op", "^", 0)
            return self._add(
                "number", "2" if folded == "squared" else "3", length, Fraction(2 if folded == "squared" else 3)
            )
        if word in _FILLERS or (folded in _FILLERS and length > 1):
            self._at += length
            return True
        if folded in _WORDS and not (folded in FUNCTIONS and self._begins_call(length)):
            self._tokens.append(Token("op", _WORDS[folded] or folded, self._places[self._at], shown=word))
            self._at += length
            return True
        return self._add(
            "word", word if is_known(word) or dimension_of_word(word) else folded if is_known(folded) else word, length
        )


@functools.cache
def _phrases() -> list[str]:
    """All names of more than one word, the longest first."""
    every = {*FUNCTIONS, *_WORDS, *_FILLERS, *units.list_names()}
    return sorted(
        (
            one.lower()
            for one in every
            if (" " in one or "-" in one or "'" in one) and one[0].isascii() and len(one) > 1
        ),
        key=len,
        reverse=True,
    )


@functools.cache
def _vocabulary() -> dict[str, list[str]]:
    """All Chinese names by their first character, the longest first."""
    found: dict[str, list[str]] = {}
    for word in {*FUNCTIONS, *CONSTANTS, *_WORDS, *_FILLERS, *units.list_names(), *_SQUARES, *BASES}:
        if _IDEOGRAPH.match(word):
            found.setdefault(word[0], []).append(word)
    return {first: sorted(words, key=len, reverse=True) for first, words in found.items()}


BASES = {
    **dict.fromkeys(("hex", "hexadecimal", "十六进制"), 16), **dict.fromkeys(("binary", "bin", "二进制"), 2),
    **dict.fromkeys(("octal", "oct", "八进制"), 8), **dict.fromkeys(("decimal", "dec", "十进制", "小数"), 10),
    **dict.fromkeys(("fraction", "分数"), 1), **dict.fromkeys(("百分比", "百分数"), 100),
    **dict.fromkeys(("scientific", "科学计数法"), 0),
}  # fmt: skip
"""Forms in which a result can be asked for."""


def _find_longest_word(text: str, at: int) -> str:
    """The longest known Chinese name that begins at `at`, or nothing."""
    for word in _vocabulary().get(text[at : at + 1], ()):
        if text.startswith(word, at):
            return word
    return ""


def _normalize(text: str) -> tuple[str, list[int]]:
    """`text` with ASCII for full-width and typographic characters, and the original place of each."""
    found: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if char in _SUPERSCRIPTS or char in _VULGAR or char in "\u00a0\u2009\u202f":
            plain = char
        else:
            plain = (
                _SAME.get(char) or _SAME.get(unicodedata.normalize("NFKC", char)) or unicodedata.normalize("NFKC", char)
            )
        found.append(plain)
        places += [place] * len(plain)
    return "".join(found), places
