"""What works on the bits of whole numbers."""

from __future__ import annotations

from fractions import Fraction

from tools.calculation import numbers, quantities
from tools.calculation.numbers import CalculationError
from tools.calculation.quantities import Quantity, plain


def _integer(value: Quantity) -> int:
    number = numbers.whole(quantities.bare(value, "what works on bits"))
    if number is None:
        raise CalculationError("operations on bits need whole numbers")
    return number


def both(left: Quantity, right: Quantity) -> Quantity:
    return plain(_integer(left) & _integer(right))


def either(left: Quantity, right: Quantity) -> Quantity:
    return plain(_integer(left) | _integer(right))


def one_only(left: Quantity, right: Quantity) -> Quantity:
    return plain(_integer(left) ^ _integer(right))


def inverted(value: Quantity) -> Quantity:
    return plain(~_integer(value))


def shifted_left(value: Quantity, places: Quantity) -> Quantity:
    count = _integer(places)
    if not 0 <= count <= numbers.MOST_BITS:
        raise CalculationError(f"numbers are shifted by 0 to {numbers.MOST_BITS} places")
    return plain(numbers.bounded(Fraction(_integer(value) << count)))


def shifted_right(value: Quantity, places: Quantity) -> Quantity:
    count = _integer(places)
    if count < 0:
        raise CalculationError("numbers are shifted by 0 places or more")
    return plain(_integer(value) >> min(count, 10 * numbers.MOST_BITS))
