"""Computes while it reads: tokens → a quantity, and the form in which it is asked for.

From weak to strong: | xor & << >>, then + -, then × / mod of, a sign, ^, and what stands behind a value (! %).
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
"""How long one expression may take; everything it can do is bounded, this bounds their number."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a result is to be shown: in units, or in a base (see `reader.BASES`)."""

    base: int | None = None
    units: tuple[Unit, ...] = ()
    """More than one: a mixed form, as hours and minutes."""
    scale: Number = Fraction(1)
    label: str = ""


class Parser(Cursor):
    """One expression being computed."""

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
        value = self._bits()
        form: Form | None = None
        while self._is_convert(self._at):
            at = self._tokens[self._at].at
            self._at += 1
            if self._at == len(self._tokens):
                break
            value, form = self._form(value, at)
        if self._at < len(self._tokens):
            raise self._unexpected()
        return value, form

    # What each strength of operator joins

    def _bits(self) -> Quantity:
        return self._joined(self._shifts, {"|": bits.either, "xor": bits.one_only, "&": bits.both})

    def _shifts(self) -> Quantity:
        return self._joined(self._sum, {"<<": bits.shifted_left, ">>": bits.shifted_right})

    def _sum(self) -> Quantity:
        return self._joined(self._product, {"+": quantities.add, "-": quantities.subtract})

    def _joined(
        self, part: Callable[[], Quantity], operators: dict[str, Callable[[Quantity, Quantity], Quantity]]
    ) -> Quantity:
        left = part()
        while (token := self._peek()) is not None and token.kind == "op" and token.text in operators:
            self._at += 1
            left = self._apply(operators[token.text], token, left, part())
        return left

    def _product(self) -> Quantity:
        operators = {
            "*": quantities.multiply,
            "of": quantities.multiply,
            "/": quantities.divide,
            "//": _quotient,
            "mod": quantities.modulo,
            "%": quantities.modulo,
            "off": _reduced,
        }
        left = self._signed()
        while (token := self._peek()) is not None:
            if token.kind == "op" and token.text in operators:
                self._at += 1
                left = self._apply(operators[token.text], token, left, self._signed())
            elif self._unit_at(self._at) is not None:
                left = self._apply(_in_units, token, left, self._units())
            elif token.text == "(" or (token.kind == "word" and self._operand(self._at)):
                left = self._apply(quantities.multiply, token, left, self._power())
            else:
                break
        return left

    def _signed(self) -> Quantity:
        signs: list[Token] = []
        while (token := self._peek()) is not None and token.kind == "op" and token.text in "+-~":
            signs.append(token)
            self._at += 1
        value = self._power()
        for sign in reversed(signs):
            if sign.text != "+":
                value = self._apply(quantities.negative if sign.text == "-" else bits.inverted, sign, value)
        return value

    def _power(self) -> Quantity:
        self._depth += 1
        if self._depth > DEEPEST:
            raise CalculationError(f"it is nested more than {DEEPEST} deep", self._here())
        value = self._behind(self._primary())
        token = self._peek()
        if token is not None and token.text == "^":
            self._at += 1
            value = self._apply(quantities.power, token, value, self._raised())
        self._depth -= 1
        return value

    def _raised(self) -> Quantity:
        """An exponent. A unit behind its number belongs to the whole power: 3 × 10^8 m/s."""
        minus = False
        while (token := self._peek()) is not None and token.kind == "op" and token.text in "+-":
            minus ^= token.text == "-"
            self._at += 1
        value = self._bare_power() if token is not None and token.kind == "number" else self._power()
        return self._apply(quantities.negative, token, value) if minus and token is not None else value

    def _bare_power(self) -> Quantity:
        """A number without units, with what stands behind it and its own exponent."""
        value = self._behind(plain(self._tokens[self._at].value), skip=1)
        following = self._peek()
        if following is not None and following.text == "^":
            self._depth += 1
            if self._depth > DEEPEST:
                raise CalculationError(f"it is nested more than {DEEPEST} deep", following.at)
            self._at += 1
            value = self._apply(quantities.power, following, value, self._raised())
            self._depth -= 1
        return value

    def _behind(self, value: Quantity, *, skip: int = 0) -> Quantity:
        """Take what stands behind a value: ! and %."""
        self._at += skip
        while (token := self._peek()) is not None and token.kind == "op":
            if token.text == "!":
                value = self._apply(lambda one: FUNCTIONS["factorial"].compute([one]), token, value)
            elif token.text == "%" and not self._operand(self._at + 1):
                value = self._apply(_percent, token, value)
            elif token.text in ("root2", "root3"):
                function = FUNCTIONS["sqrt" if token.text == "root2" else "cbrt"]
                value = self._apply(lambda one, function=function: function.compute([one]), token, value)
            else:
                break
            self._at += 1
        return value

    # Values

    def _primary(self) -> Quantity:
        token = self._peek()
        if token is None:
            raise CalculationError("it ends where a number is expected", self._here())
        if token.kind == "number":
            return self._number()
        if token.text == "(":
            self._at += 1
            value = self._bits()
            self._expect(")")
            return value
        if token.kind == "word":
            unit = self._unit_at(self._at)
            if unit is None or self._calls(self._at):
                function = FUNCTIONS.get(token.text)
                if function is not None:
                    return self._call(function, token)
            if token.text in CONSTANTS:
                self._at += 1
                return plain(CONSTANTS[token.text])
            if unit is not None:
                return self._units()
            raise CalculationError(f"{token.text!r} is no function, constant or unit that is known", token.at)
        raise self._unexpected()

    def _number(self) -> Quantity:
        """A number with what belongs to it: a fraction, units, smaller units (3 h 20 min)."""
        token = self._tokens[self._at]
        value = token.value
        self._at += 1
        first = self._at - 1
        if self._is_whole(first) and self._is_whole(self._at) and self._slash(self._at + 1):
            # 1 1/2
            above, below = self._tokens[self._at].value, self._tokens[self._at + 2].value
            if numbers.less(above, below):
                value = numbers.add(value, numbers.divide(above, below))
                self._opened.append(first)
                self._closed.append(self._at + 2)
                self._at += 3
        elif self._is_whole(first) and self._slash(self._at) and self._unit_at(self._at + 2) is not None:
            # 1/2 cup is half a cup
            below = self._tokens[self._at + 1].value
            if below:
                value = numbers.divide(value, below)
                self._opened.append(first)
                self._closed.append(self._at + 1)
                self._at += 2
        if self._unit_at(self._at, after_number=True) is None:
            return plain(value)
        found = _in_units(plain(value), self._units(after_number=True))
        while (follower := self._smaller(found)) is not None:
            found = self._apply(quantities.add, token, found, follower)
        return found

    def _smaller(self, value: Quantity) -> Quantity | None:
        """The `20 min` of `3 h 20 min`."""
        token = self._peek()
        if token is None or token.kind != "number" or value.point is not None:
            return None
        there = self._unit_at(self._at + 1, after_number=True)
        if there is None or there[0].dimension != value.dimension or there[1] != 1:
            return None
        self._at += 1
        return _in_units(plain(token.value), self._units(after_number=True, single=True))

    def _units(self, *, after_number: bool = False, single: bool = False) -> Quantity:
        """One of the units that stand here, multiplied: kg m, m^2, square metres."""
        found: Units = ()
        product: Number = Fraction(1)
        while (here := self._unit_at(self._at, after_number=after_number and not found)) is not None:
            unit, exponent, length = here
            token = self._tokens[self._at]
            self._at += length
            exponent *= self._exponent()
            note = units.NOTES.get(unit.symbol)
            if note and note not in self.notes:
                self.notes.append(note)
            if unit.plain:
                product = numbers.multiply(product, numbers.power(unit.factor, Fraction(exponent)))
            elif exponent:
                found = quantities.merged(found, ((unit, exponent),)) if found else ((unit, exponent),)
                product = self._apply_number(product, unit, exponent, token)
            if single:
                break
        return Quantity(product, found)

    def _apply_number(self, product: Number, unit: Unit, exponent: int, token: Token) -> Number:
        try:
            return numbers.multiply(product, numbers.power(unit.factor, Fraction(exponent)))
        except DecimalException as error:
            raise CalculationError("this unit's power is too large", token.at) from error

    # Functions

    def _call(self, function: Function, token: Token) -> Quantity:
        bracketed = self._calls(self._at)
        self._at += 1
        values: list[Quantity] = []
        if bracketed:
            self._at += 1
            while (here := self._peek()) is not None and here.text != ")":
                values.append(self._bits())
                here = self._peek()
                if here is None or here.text != ",":
                    break
                self._at += 1
            self._expect(")")
        else:
            values.append(self._power())
        if not function.least <= len(values) <= function.most:
            wanted = str(function.least) if function.least == function.most else f"{function.least} or more"
            raise CalculationError(f"{function.name} takes {wanted} value(s), not {len(values)}", token.at)
        if function.angle and not values[0].units and values[0].number not in (0,) and not self._turns(token):
            self._note(f"The angle was taken as radians; write {function.name}(30°) for degrees.")
        return self._apply(lambda *given: function.compute(given), token, *values)

    # The form of the result

    def _form(self, value: Quantity, at: int) -> tuple[Quantity, Form]:
        token = self._tokens[self._at]
        if token.text == "%":
            self._at += 1
            following = self._peek()
            if following is not None and following.text == "of":
                self._at += 1
                value = self._apply(quantities.divide, following, value, self._sum())
            quantities.bare(value, "what is shown in percent")
            return value, Form(base=100)
        if token.text in BASES:
            self._at += 1
            return value, Form(base=BASES[token.text])
        listed = self._listed(value)
        if listed:
            return value, Form(units=listed)
        start = self._at
        target = self._product()
        if not target.units:
            if (
                self._is_convert(start - 1)
                and self._tokens[start - 1].text == "convert"
                and target.number == value.number
            ):
                return value, Form()
            raise CalculationError("a unit or a form (hex, binary, fraction, %) is expected here", token.at)
        return _fitted(value, target, at), self._unit_form(value, target, start)

    def _unit_form(self, value: Quantity, target: Quantity, start: int) -> Form:
        label = quantities.written(target.units)
        if quantities.scale_of(target.units) != target.number:
            label = " ".join(token.text for token in self._tokens[start : self._at]).replace(" / ", "/")
        one = (target.units[0][0],) if len(target.units) == 1 and target.units[0][1] == 1 else ()
        return Form(units=one, scale=target.number, label=label)

    def _listed(self, value: Quantity) -> tuple[Unit, ...]:
        """Several units for one value: to h and min."""
        found: list[Unit] = []
        at = self._at
        while (here := self._unit_at(at)) is not None and here[1] == 1:
            found.append(here[0])
            at += here[2]
        if len(found) < 2 or at < len(self._tokens) or any(unit.dimension != value.dimension for unit in found):
            return ()
        self._at = at
        return tuple(sorted(found, key=lambda unit: -numbers.decimal(unit.factor)))

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _apply(self, operation: Callable[..., Quantity], token: Token, *values: Quantity) -> Quantity:
        """Compute one step; its errors get the place where they arose."""
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


def _in_units(value: Quantity, unit: Quantity) -> Quantity:
    """A number in a unit; on a temperature scale its zero counts."""
    if not value.units and len(unit.units) == 1:
        one, exponent = unit.units[0]
        if one.offset and exponent == 1 and unit.number == one.factor:
            return quantities.of(value.number, one)
    if not unit.units:
        return replace(value, number=numbers.multiply(value.number, unit.number), percent=False)
    return quantities.multiply(value, unit)


def _fitted(value: Quantity, target: Quantity, at: int) -> Quantity:
    """`value` as something that the target's unit can show; L/100 km and mpg are each other's inverse."""
    if value.dimension == target.dimension:
        return value
    if value.dimension != NONE and value.dimension == tuple(-part for part in target.dimension):
        return quantities.divide(plain(1), value)
    here, there = quantities.written(value.units), quantities.written(target.units)
    if not here:
        raise CalculationError(f"the value has no unit, so it cannot be shown in {there}; put its unit behind it", at)
    raise CalculationError(f"{here} cannot be converted to {there}: they measure different things", at)


def _percent(value: Quantity) -> Quantity:
    return Quantity(numbers.divide(quantities.bare(value, "what stands before %"), Fraction(100)), percent=True)


def _reduced(share: Quantity, value: Quantity) -> Quantity:
    """20% off 50."""
    return quantities.multiply(plain(numbers.subtract(Fraction(1), quantities.bare(share, "a discount"))), value)


def _quotient(left: Quantity, right: Quantity) -> Quantity:
    value = quantities.divide(left, right)
    return plain(numbers.floor(quantities.bare(value, "a whole quotient")))
