"""Compute tokens to a quantity while reading them, and find the form in which it is asked for.

Precedence from weak to strong: | xor &, << >>, + -, × / mod of, a sign, ^, the suffixes ! and %.
A unit binds to the number before it more tightly than any operator: 8 L/100 km is 8 L divided by 100 km.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import DecimalException, Overflow
from fractions import Fraction

from tools.calculation import bits, numbers, quantities, units
from tools.calculation.cursor import Cursor
from tools.calculation.functions import CONSTANTS, FUNCTIONS, Function
from tools.calculation.numbers import CalculationError, Number
from tools.calculation.quantities import Quantity, Units, plain
from tools.calculation.reader import BASES, Token
from tools.calculation.units import NONE, Unit

DEEPEST = 40
SECONDS = 1.0
"""Time limit of an expression. Each step is bounded; this bounds their number."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the result is to be written: in units, or in a base (see `reader.BASES`)."""

    base: int | None = None
    units: tuple[Unit, ...] = ()
    """More than one for a mixed form, as hours and minutes."""
    scale: Number = Fraction(1)
    label: str = ""


class Parser(Cursor):
    """Computes one expression."""

    def __init__(self, tokens: list[Token], *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(tokens)
        self._depth = 0
        self._clock = clock
        self._until = clock() + SECONDS
        self.notes: list[str] = []

    def run(self) -> tuple[Quantity, Form | None]:
        """The value, and the form asked for.

        Raises:
            CalculationError: it has none.
        """
        if not self._tokens:
            raise CalculationError("there is nothing to compute")
        value = self._parse_bits()
        form: Form | None = None
        while self._is_convert(self._at):
            at = self._tokens[self._at].at
            self._at += 1
            if self._at == len(self._tokens):
                break
            value, form = self._parse_form(value, at)
        if self._at < len(self._tokens):
            raise self._unexpected_token()
        return value, form

    # Operators, from weak to strong

    def _parse_bits(self) -> Quantity:
        return self._parse_operators(
            self._parse_shifts, {"|": bits.bitwise_or, "xor": bits.bitwise_xor, "&": bits.bitwise_and}
        )

    def _parse_shifts(self) -> Quantity:
        return self._parse_operators(self._parse_sum, {"<<": bits.shift_left, ">>": bits.shift_right})

    def _parse_sum(self) -> Quantity:
        return self._parse_operators(self._parse_product, {"+": quantities.add, "-": quantities.subtract})

    def _parse_operators(
        self, part: Callable[[], Quantity], operators: dict[str, Callable[[Quantity, Quantity], Quantity]]
    ) -> Quantity:
        left = part()
        while (token := self._peek()) is not None and token.kind == "op" and token.text in operators:
            self._at += 1
            left = self._apply(operators[token.text], token, left, part())
        return left

    def _parse_product(self) -> Quantity:
        operators = {
            "*": quantities.multiply,
            "of": quantities.multiply,
            "/": quantities.divide,
            "//": _divide_whole,
            "mod": quantities.modulo,
            "%": quantities.modulo,
            "off": _discount,
        }
        left = self._parse_signed()
        while (token := self._peek()) is not None:
            if token.kind == "op" and token.text in operators:
                self._at += 1
                left = self._apply(operators[token.text], token, left, self._parse_signed())
            elif self._find_unit(self._at) is not None:
                left = self._apply(_attach_units, token, left, self._parse_units())
            elif token.text == "(" or (token.kind == "word" and self._is_operand(self._at)):
                left = self._apply(quantities.multiply, token, left, self._parse_power())
            else:
                break
        return left

    def _parse_signed(self) -> Quantity:
        signs: list[Token] = []
        while (token := self._peek()) is not None and token.kind == "op" and token.text in "+-~":
            signs.append(token)
            self._at += 1
        value = self._parse_power()
        for sign in reversed(signs):
            if sign.text != "+":
                value = self._apply(quantities.negate if sign.text == "-" else bits.invert, sign, value)
        return value

    def _parse_power(self) -> Quantity:
        self._depth += 1
        if self._depth > DEEPEST:
            raise CalculationError(f"it is nested more than {DEEPEST} deep", self._position())
        value = self._parse_suffixes(self._parse_primary())
        token = self._peek()
        if token is not None and token.text == "^":
            self._at += 1
            value = self._apply(quantities.power, token, value, self._parse_exponent())
        self._depth -= 1
        return value

    def _parse_exponent(self) -> Quantity:
        """Read an exponent. A unit behind it belongs to the whole power: 3 × 10^8 m/s."""
        minus = False
        while (token := self._peek()) is not None and token.kind == "op" and token.text in "+-":
            minus ^= token.text == "-"
            self._at += 1
        value = self._parse_bare_power() if token is not None and token.kind == "number" else self._parse_power()
        return self._apply(quantities.negate, token, value) if minus and token is not None else value

    def _parse_bare_power(self) -> Quantity:
        """Read a number with its suffixes and exponent, but without units."""
        value = self._parse_suffixes(plain(self._tokens[self._at].value), skip=1)
        following = self._peek()
        if following is not None and following.text == "^":
            self._depth += 1
            if self._depth > DEEPEST:
                raise CalculationError(f"it is nested more than {DEEPEST} deep", following.at)
            self._at += 1
            value = self._apply(quantities.power, following, value, self._parse_exponent())
            self._depth -= 1
        return value

    def _parse_suffixes(self, value: Quantity, *, skip: int = 0) -> Quantity:
        """Apply the suffixes behind a value: ! and %."""
        self._at += skip
        while (token := self._peek()) is not None and token.kind == "op":
            if token.text == "!":
                value = self._apply(lambda one: FUNCTIONS["factorial"].compute([one]), token, value)
            elif token.text == "%" and not self._is_operand(self._at + 1):
                value = self._apply(_to_percent, token, value)
            elif token.text in ("root2", "root3"):
                function = FUNCTIONS["sqrt" if token.text == "root2" else "cbrt"]
                value = self._apply(lambda one, function=function: function.compute([one]), token, value)
            else:
                break
            self._at += 1
        return value

    # Values

    def _parse_primary(self) -> Quantity:
        token = self._peek()
        if token is None:
            raise CalculationError("it ends where a number is expected", self._position())
        if token.kind == "number":
            return self._parse_number()
        if token.text == "(":
            self._at += 1
            value = self._parse_bits()
            self._expect(")")
            return value
        if token.kind == "word":
            unit = self._find_unit(self._at)
            if unit is None or self._is_call(self._at):
                function = FUNCTIONS.get(token.text)
                if function is not None:
                    return self._parse_call(function, token)
            if token.text in CONSTANTS:
                self._at += 1
                return plain(CONSTANTS[token.text])
            if unit is not None:
                return self._parse_units()
            raise CalculationError(f"{token.text!r} is no function, constant or unit that is known", token.at)
        raise self._unexpected_token()

    def _parse_number(self) -> Quantity:
        """Read a number with its fraction, its units and smaller units (3 h 20 min)."""
        token = self._tokens[self._at]
        value = token.value
        self._at += 1
        first = self._at - 1
        if self._is_whole(first) and self._is_whole(self._at) and self._is_divisor(self._at + 1):
            # 1 1/2
            above, below = self._tokens[self._at].value, self._tokens[self._at + 2].value
            if numbers.is_less(above, below):
                value = numbers.add(value, numbers.divide(above, below))
                self._opened.append(first)
                self._closed.append(self._at + 2)
                self._at += 3
        elif self._is_whole(first) and self._is_divisor(self._at) and self._find_unit(self._at + 2) is not None:
            # 1/2 cup is half a cup
            below = self._tokens[self._at + 1].value
            if below:
                value = numbers.divide(value, below)
                self._opened.append(first)
                self._closed.append(self._at + 1)
                self._at += 2
        if self._find_unit(self._at, after_number=True) is None:
            return plain(value)
        found = _attach_units(plain(value), self._parse_units(after_number=True))
        while (follower := self._parse_smaller_unit(found)) is not None:
            found = self._apply(quantities.add, token, found, follower)
        return found

    def _parse_smaller_unit(self, value: Quantity) -> Quantity | None:
        """Read the `20 min` of `3 h 20 min`, if there is one."""
        token = self._peek()
        if token is None or token.kind != "number" or value.point is not None:
            return None
        there = self._find_unit(self._at + 1, after_number=True)
        if there is None or there[0].dimension != value.dimension or there[1] != 1:
            return None
        self._at += 1
        return _attach_units(plain(token.value), self._parse_units(after_number=True, single=True))

    def _parse_units(self, *, after_number: bool = False, single: bool = False) -> Quantity:
        """Read units and multiply them: kg m, m^2, square metres."""
        found: Units = ()
        product: Number = Fraction(1)
        while (here := self._find_unit(self._at, after_number=after_number and not found)) is not None:
            unit, exponent, length = here
            token = self._tokens[self._at]
            self._at += length
            exponent *= self._read_exponent()
            note = units.NOTES.get(unit.symbol)
            if note and note not in self.notes:
                self.notes.append(note)
            if unit.plain:
                product = numbers.multiply(product, numbers.power(unit.factor, Fraction(exponent)))
            elif exponent:
                found = quantities.merge_units(found, ((unit, exponent),)) if found else ((unit, exponent),)
                product = self._multiply_unit(product, unit, exponent, token)
            if single:
                break
        return Quantity(product, found)

    def _multiply_unit(self, product: Number, unit: Unit, exponent: int, token: Token) -> Number:
        try:
            return numbers.multiply(product, numbers.power(unit.factor, Fraction(exponent)))
        except DecimalException as error:
            raise CalculationError("this unit's power is too large", token.at) from error

    # Functions

    def _parse_call(self, function: Function, token: Token) -> Quantity:
        bracketed = self._is_call(self._at)
        self._at += 1
        values: list[Quantity] = []
        if bracketed:
            self._at += 1
            while (here := self._peek()) is not None and here.text != ")":
                values.append(self._parse_bits())
                here = self._peek()
                if here is None or here.text != ",":
                    break
                self._at += 1
            self._expect(")")
        else:
            values.append(self._parse_power())
        if not function.least <= len(values) <= function.most:
            wanted = str(function.least) if function.least == function.most else f"{function.least} or more"
            raise CalculationError(f"{function.name} takes {wanted} value(s), not {len(values)}", token.at)
        if function.angle and not values[0].units and values[0].number not in (0,) and not self._names_pi(token):
            self._add_note(f"The angle was taken as radians; write {function.name}(30°) for degrees.")
        return self._apply(lambda *given: function.compute(given), token, *values)

    # The form of the result

    def _parse_form(self, value: Quantity, at: int) -> tuple[Quantity, Form]:
        token = self._tokens[self._at]
        if token.text == "%":
            self._at += 1
            following = self._peek()
            if following is not None and following.text == "of":
                self._at += 1
                value = self._apply(quantities.divide, following, value, self._parse_sum())
            quantities.require_plain(value, "what is shown in percent")
            return value, Form(base=100)
        if token.text in BASES:
            self._at += 1
            return value, Form(base=BASES[token.text])
        listed = self._parse_unit_list(value)
        if listed:
            return value, Form(units=listed)
        start = self._at
        target = self._parse_product()
        if not target.units:
            if (
                self._is_convert(start - 1)
                and self._tokens[start - 1].text == "convert"
                and target.number == value.number
            ):
                return value, Form()
            raise CalculationError("a unit or a form (hex, binary, fraction, %) is expected here", token.at)
        return _fit_to_target(value, target, at), self._make_unit_form(value, target, start)

    def _make_unit_form(self, value: Quantity, target: Quantity, start: int) -> Form:
        label = quantities.format_units(target.units)
        if quantities.scale_of(target.units) != target.number:
            label = " ".join(token.text for token in self._tokens[start : self._at]).replace(" / ", "/")
        one = (target.units[0][0],) if len(target.units) == 1 and target.units[0][1] == 1 else ()
        return Form(units=one, scale=target.number, label=label)

    def _parse_unit_list(self, value: Quantity) -> tuple[Unit, ...]:
        """Read a list of units for one value (to h and min), the largest first."""
        found: list[Unit] = []
        at = self._at
        while (here := self._find_unit(at)) is not None and here[1] == 1:
            found.append(here[0])
            at += here[2]
        if len(found) < 2 or at < len(self._tokens) or any(unit.dimension != value.dimension for unit in found):
            return ()
        self._at = at
        return tuple(sorted(found, key=lambda unit: -numbers.to_decimal(unit.factor)))

    def _add_note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _apply(self, operation: Callable[..., Quantity], token: Token, *values: Quantity) -> Quantity:
        """Compute one step. Its error gets the place of `token`."""
        if self._clock() > self._until:
            raise CalculationError(f"it takes longer than {SECONDS:g} s to compute; ask for less at once", token.at)
        try:
            return operation(*values)
        except CalculationError as error:
            if error.at is None:
                error.at = token.at
            raise
        except Overflow as error:
            raise CalculationError("the result is too large: over a thousand million digits", token.at) from error
        except DecimalException as error:
            raise CalculationError("this has no real value", token.at) from error


def _attach_units(value: Quantity, unit: Quantity) -> Quantity:
    """Put a unit behind a number, which is a reading where the unit has its own zero."""
    if not value.units and len(unit.units) == 1:
        one, exponent = unit.units[0]
        if one.offset and exponent == 1 and unit.number == one.factor:
            return quantities.from_unit(value.number, one)
    if not unit.units:
        return replace(value, number=numbers.multiply(value.number, unit.number), percent=False)
    return quantities.multiply(value, unit)


def _fit_to_target(value: Quantity, target: Quantity, at: int) -> Quantity:
    """`value`, or its inverse where only that has the dimension of the target (L/100 km and mpg)."""
    if value.dimension == target.dimension:
        return value
    if value.dimension != NONE and value.dimension == tuple(-part for part in target.dimension):
        return quantities.divide(plain(1), value)
    here, there = quantities.format_units(value.units), quantities.format_units(target.units)
    if not here:
        raise CalculationError(f"the value has no unit, so it cannot be shown in {there}; put its unit behind it", at)
    raise CalculationError(f"{here} cannot be converted to {there}: they measure different things", at)


def _to_percent(value: Quantity) -> Quantity:
    return Quantity(
        numbers.divide(quantities.require_plain(value, "what stands before %"), Fraction(100)), percent=True
    )


def _discount(share: Quantity, value: Quantity) -> Quantity:
    """Reduce `value` by `share`: 20% off 50."""
    return quantities.multiply(
        plain(numbers.subtract(Fraction(1), quantities.require_plain(share, "a discount"))), value
    )


def _divide_whole(left: Quantity, right: Quantity) -> Quantity:
    value = quantities.divide(left, right)
    return plain(numbers.floor(quantities.require_plain(value, "a whole quotient")))
