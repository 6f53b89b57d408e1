"""The parser's position among the tokens, tests of the tokens there, and the echo of the expression as understood."""

from __future__ import annotations

from tools.calculation import numbers, units
from tools.calculation.functions import CONSTANTS, FUNCTIONS
from tools.calculation.numbers import CalculationError
from tools.calculation.reader import Token, dimension_of_word
from tools.calculation.units import Unit

_ECHOED = {"*": "×", "/": "/", "+": "+", "-": "-", "^": "^", "%": "%"}


class Cursor:
    """A position in a list of tokens."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._opened: list[int] = []
        """Tokens between which the echo shows brackets, because they were read as one value."""
        self._closed: list[int] = []

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _expect(self, text: str) -> None:
        token = self._peek()
        if token is None:
            raise CalculationError(f"a {text!r} is missing", self._position())
        if token.text != text:
            raise self._unexpected_token()
        self._at += 1

    def _position(self) -> int:
        if self._at < len(self._tokens):
            return self._tokens[self._at].at
        return self._tokens[-1].at + len(self._tokens[-1].text) if self._tokens else 0

    def _unexpected_token(self) -> CalculationError:
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

    def _is_divisor(self, at: int) -> bool:
        """Whether a slash and a whole number come at this token."""
        return at < len(self._tokens) and self._tokens[at].text == "/" and self._is_whole(at + 1)

    def _is_convert(self, at: int) -> bool:
        if not 0 <= at < len(self._tokens):
            return False
        token = self._tokens[at]
        return (token.kind == "op" and token.text == "convert") or (token.kind == "word" and token.text == "in")

    def _is_operand(self, at: int) -> bool:
        """Whether a value begins at this token, so that a % before it means the remainder."""
        if at >= len(self._tokens):
            return False
        token = self._tokens[at]
        if token.kind == "word":
            return (
                token.text != "in"
                and self._find_unit(at) is None
                and (token.text in FUNCTIONS or token.text in CONSTANTS)
            )
        return token.kind == "number" or token.text == "("

    def _is_call(self, at: int) -> bool:
        """Whether this token is a function with its arguments in brackets."""
        if self._tokens[at].text not in FUNCTIONS:
            return False
        return at + 1 < len(self._tokens) and self._tokens[at + 1].text == "("

    def _names_pi(self, token: Token) -> bool:
        """Whether the argument contains pi, so that it is certainly in radians."""
        start = self._tokens.index(token)
        return any(one.text in ("pi", "π", "tau", "τ", "圆周率") for one in self._tokens[start : self._at])

    def _find_unit(self, at: int, *, after_number: bool = False) -> tuple[Unit, int, int] | None:
        """The unit at this token, the exponent that its name implies, and the number of tokens it takes."""
        if not 0 <= at < len(self._tokens) or self._tokens[at].kind != "word":
            return None
        word = self._tokens[at].text
        if word == "in":
            inch = units.find("inch")
            return (inch, 1, 1) if inch and self._is_inch(at, after_number) else None
        if word in CONSTANTS or self._is_call(at):
            return None
        exponent = dimension_of_word(word)
        if exponent:
            inner = self._find_unit(at + 1)
            return (inner[0], exponent, 1 + inner[2]) if inner is not None and inner[1] == 1 else None
        unit = units.find(word)
        if unit is not None:
            return unit, 1, 1
        if word[-1] in "23" and (unit := units.find(word[:-1])) is not None and not unit.plain:
            return unit, int(word[-1]), 1
        return None

    def _is_inch(self, at: int, after_number: bool) -> bool:
        """Whether `in` is the unit inch, as in "72 in to cm", but not in "72 cm in ft"."""
        following = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        if following is None:
            return after_number or at == 0 or self._is_convert(at - 1) or self._tokens[at - 1].text in ("ft", "'")
        return after_number and (
            (following.kind == "op" and following.text not in ("(", "%")) or following.text == "in"
        )

    def _read_exponent(self) -> int:
        """Read the integer exponent behind a unit: ^2, ^-1, ²; 1 without one."""
        token = self._peek()
        if token is None or token.text != "^":
            return 1
        at = self._at + 1
        sign = 1
        if at < len(self._tokens) and self._tokens[at].text in ("-", "+"):
            sign = -1 if self._tokens[at].text == "-" else 1
            at += 1
        value = numbers.as_integer(self._tokens[at].value) if self._is_whole(at) else None
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
            text += ("" if not index or self._is_tight(index) else " ") + shown
        return text

    def _is_tight(self, index: int) -> bool:
        """Whether the echo puts no space before this token."""
        here, last = self._tokens[index], self._tokens[index - 1]
        if here.text in (")", ",", "!", "^", "%", "°", "'", '"') or last.text in ("(", "^", "~", "√", "∛"):
            return not (here.text == "%" and (last.text in ("convert", "in") or self._is_operand(index + 1)))
        if "/" in (here.text, last.text):
            slash = index if here.text == "/" else index - 1
            return self._find_unit(slash - 1) is not None and self._find_unit(slash + 1) is not None
        if here.text == "(":
            return last.kind == "word" and last.text in FUNCTIONS
        before = self._tokens[index - 2] if index > 1 else None
        signed = before is None or (before.kind == "op" and before.text not in (")", "!", "%"))
        return last.kind == "op" and last.text in "+-" and signed
