"""Where one stands in an expression, what stands there, and how it was understood."""

from __future__ import annotations

from tools.calculation import numbers, units
from tools.calculation.functions import CONSTANTS, FUNCTIONS
from tools.calculation.numbers import CalculationError
from tools.calculation.reader import Token, squared
from tools.calculation.units import Unit

_ECHOED = {"*": "×", "/": "/", "+": "+", "-": "-", "^": "^", "%": "%"}


class Cursor:
    """A place among tokens that moves on."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._opened: list[int] = []
        """Tokens before and after which the echo shows a bracket, because they were read as one value."""
        self._closed: list[int] = []

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _expect(self, text: str) -> None:
        token = self._peek()
        if token is None:
            raise CalculationError(f"a {text!r} is missing", self._here())
        if token.text != text:
            raise self._unexpected()
        self._at += 1

    def _here(self) -> int:
        if self._at < len(self._tokens):
            return self._tokens[self._at].at
        return self._tokens[-1].at + len(self._tokens[-1].text) if self._tokens else 0

    def _unexpected(self) -> CalculationError:
        token = self._tokens[self._at]
        if token.kind == "number":
            return CalculationError(f"an operator is missing before {token.text!r}", token.at)
        if token.kind == "word":
            return CalculationError(f"{token.text!r} is no function, constant or unit that is known", token.at)
        if token.text == ",":
            return CalculationError("a comma parts the values of a function; write decimals with a point", token.at)
        shown = {"convert": "the conversion"}.get(token.text, repr(token.text))
        return CalculationError(f"{shown} is not expected here", token.at)

    def _is_whole(self, at: int) -> bool:
        return at < len(self._tokens) and self._tokens[at].kind == "number" and self._tokens[at].text.isdecimal()

    def _slash(self, at: int) -> bool:
        """Whether `/ 2` stands here."""
        return at < len(self._tokens) and self._tokens[at].text == "/" and self._is_whole(at + 1)

    def _is_convert(self, at: int) -> bool:
        if not 0 <= at < len(self._tokens):
            return False
        token = self._tokens[at]
        return (token.kind == "op" and token.text == "convert") or (token.kind == "word" and token.text == "in")

    def _operand(self, at: int) -> bool:
        """Whether a value begins here, so that % before it is a remainder."""
        if at >= len(self._tokens):
            return False
        token = self._tokens[at]
        if token.kind == "word":
            return (
                token.text != "in"
                and self._unit_at(at) is None
                and (token.text in FUNCTIONS or token.text in CONSTANTS)
            )
        return token.kind == "number" or token.text == "("

    def _calls(self, at: int) -> bool:
        """Whether the word at a token is a function with its arguments in brackets."""
        if self._tokens[at].text not in FUNCTIONS:
            return False
        return at + 1 < len(self._tokens) and self._tokens[at + 1].text == "("

    def _turns(self, token: Token) -> bool:
        """Whether the argument names pi, and so is meant in radians."""
        start = self._tokens.index(token)
        return any(one.text in ("pi", "π", "tau", "τ", "圆周率") for one in self._tokens[start : self._at])

    def _unit_at(self, at: int, *, after_number: bool = False) -> tuple[Unit, int, int] | None:
        """The unit at a token: itself, its exponent by its name, how many tokens it takes."""
        if not 0 <= at < len(self._tokens) or self._tokens[at].kind != "word":
            return None
        word = self._tokens[at].text
        if word == "in":
            inch = units.find("inch")
            return (inch, 1, 1) if inch and self._is_inch(at, after_number) else None
        if word in CONSTANTS or self._calls(at):
            return None
        exponent = squared(word)
        if exponent:
            inner = self._unit_at(at + 1)
            return (inner[0], exponent, 1 + inner[2]) if inner is not None and inner[1] == 1 else None
        unit = units.find(word)
        if unit is not None:
            return unit, 1, 1
        if word[-1] in "23" and (unit := units.find(word[:-1])) is not None and not unit.plain:
            return unit, int(word[-1]), 1
        return None

    def _is_inch(self, at: int, after_number: bool) -> bool:
        """Whether `in` is the unit: 72 in to cm, but not 72 cm in ft."""
        following = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        if following is None:
            return after_number or at == 0 or self._is_convert(at - 1) or self._tokens[at - 1].text in ("ft", "'")
        return after_number and (
            (following.kind == "op" and following.text not in ("(", "%")) or following.text == "in"
        )

    def _exponent(self) -> int:
        """The whole exponent behind a unit: ^2, ^-1, ²."""
        token = self._peek()
        if token is None or token.text != "^":
            return 1
        at = self._at + 1
        sign = 1
        if at < len(self._tokens) and self._tokens[at].text in ("-", "+"):
            sign = -1 if self._tokens[at].text == "-" else 1
            at += 1
        value = numbers.whole(self._tokens[at].value) if self._is_whole(at) else None
        if value is None or value > 99:
            raise CalculationError("a unit takes a whole exponent below 100", token.at)
        self._at = at + 1
        return sign * value

    def echo(self) -> str:
        """The expression as it was understood."""
        text = ""
        for index, token in enumerate(self._tokens):
            shown = _ECHOED.get(token.text) or token.shown or {"convert": "to"}.get(token.text, token.text)
            if index in self._opened:
                shown = f"({shown}"
            if index in self._closed:
                shown = f"{shown})"
            text += ("" if not index or self._tight(index) else " ") + shown
        return text

    def _tight(self, index: int) -> bool:
        """Whether no space stands before a token in the echo."""
        here, last = self._tokens[index], self._tokens[index - 1]
        if here.text in (")", ",", "!", "^", "%", "°", "'", '"') or last.text in ("(", "^", "~", "√", "∛"):
            return not (here.text == "%" and (last.text in ("convert", "in") or self._operand(index + 1)))
        if "/" in (here.text, last.text):
            slash = index if here.text == "/" else index - 1
            return self._unit_at(slash - 1) is not None and self._unit_at(slash + 1) is not None
        if here.text == "(":
            return last.kind == "word" and last.text in FUNCTIONS
        before = self._tokens[index - 2] if index > 1 else None
        signed = before is None or (before.kind == "op" and before.text not in (")", "!", "%"))
        return last.kind == "op" and last.text in "+-" and signed
