"""Bitwise operations on integers: and, or, exclusive or, not, shifts."""

from __future__ import annotations

from fractions import Fraction

from tools.calculation import numbers, quantities
from tools.calculation.numbers import CalculationError
from tools.calculation.quantities import Quantity, plain


def _require_integer(value: Quantity) -> int:
    number = numbers.as_integer(quantities.require_plain(value, "what works on bits"))
    if number is None:
        raise CalculationError("operations on bits need whole numbers")
    return number


def bitwise_and(left: Quantity, right: Quantity) -> Quantity:
    return plain(_require_integer(left) & _require_integer(right))


def bitwise_or(left: Quantity, right: Quantity) -> Quantity:
    return plain(_require_integer(left) | _require_integer(right))


def bitwise_xor(left: Quantity, right: Quantity) -> Quantity:
    return plain(_require_integer(left) ^ _require_integer(right))


def invert(value: Quantity) -> Quantity:
    return plain(~_require_integer(value))


def shift_left(value: Quantity, places: Quantity) -> Quantity:
    count = _require_integer(places)
    if not 0 <= count <= numbers.MOST_BITS:
        raise CalculationError(f"numbers are shifted by 0 to {numbers.MOST_BITS} places")
    return plain(numbers.bound(Fraction(_require_integer(value) << count)))


def shift_right(value: Quantity, places: Quantity) -> Quantity:
    count = _require_integer(places)
    if count < 0:
        raise CalculationError("numbers are shifted by 0 places or more")
    return plain(_require_integer(value) >> min(count, 10 * numbers.MOST_BITS))
