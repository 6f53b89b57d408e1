"""Quantities: numbers with units. Different dimensions are neither added nor compared.

By hand instead of pint 0.25: there a root of a fraction is a float, a decimal cannot be converted, 20 °C + 5 K is an
error, and a step takes ten times as long. See docs/decisions.md, 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tools.calculation import numbers
from tools.calculation.numbers import CalculationError, Number
from tools.calculation.units import NONE, Dimension, Unit

Units = tuple[tuple[Unit, int], ...]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in base units, and the units it is written in."""

    number: Number
    units: Units = ()
    percent: bool = False
    """Written with a percent sign; `240 + 15%` adds a share of the left side."""
    point: Unit | None = None
    """Set for a temperature on a scale with its own zero: 25 °C is not a difference of 25 K."""

    @property
    def dimension(self) -> Dimension:
        return dimension_of(self.units)

    @property
    def scale(self) -> Number:
        """The value of its unit in base units."""
        return scale_of(self.units)


def plain(number: Number | int) -> Quantity:
    """A number without a unit."""
    return Quantity(Fraction(number) if isinstance(number, int) else number)


def dimension_of(units: Units) -> Dimension:
    total = list(NONE)
    for unit, exponent in units:
        for index, part in enumerate(unit.dimension):
            total[index] += part * exponent
    a, b, c, d, e, f = total
    return (a, b, c, d, e, f)


def scale_of(units: Units) -> Number:
    product: Number = Fraction(1)
    for unit, exponent in units:
        product = numbers.multiply(product, numbers.power(unit.factor, Fraction(exponent)))
    return product


def format_units(units: Units) -> str:
    """The units as text: `km/h`, `kg·m/s²`."""
    above = [_format_power(unit, exponent) for unit, exponent in units if exponent > 0]
    below = [_format_power(unit, -exponent) for unit, exponent in units if exponent < 0]
    if not above:
        return "·".join(_format_power(unit, exponent) for unit, exponent in units)
    under = below[0] if len(below) == 1 else f"({'·'.join(below)})"
    return "·".join(above) + (f"/{under}" if below else "")


def _format_power(unit: Unit, exponent: int) -> str:
    digits = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return unit.symbol if exponent == 1 else unit.symbol + digits


def from_unit(number: Number, unit: Unit) -> Quantity:
    """The quantity of `number` in `unit`; a reading of the scale where the unit has its own zero."""
    if unit.plain:
        return Quantity(numbers.multiply(number, unit.factor))
    value = numbers.multiply(numbers.add(number, unit.offset), unit.factor)
    return Quantity(value, ((unit, 1),), point=unit if unit.offset else None)


def read_on_scale(value: Quantity, unit: Unit) -> Number:
    """The number that a scale in `unit` shows for `value`."""
    return numbers.subtract(numbers.divide(value.number, unit.factor), unit.offset)


def add(left: Quantity, right: Quantity) -> Quantity:
    """The sum; a percentage adds that share of the left side.

    Raises:
        CalculationError: they measure different things, or are two points on a temperature scale.
    """
    if right.percent and not left.percent:
        return multiply(left, plain(numbers.add(Fraction(1), right.number)))
    left, right = _require_same_dimension(left, right, "added")
    if left.point is not None and right.point is not None:
        raise CalculationError("two temperatures cannot be added; write the difference in K, as 20 °C + 5 K")
    number = numbers.add(left.number, right.number)
    point = left.point or right.point
    units = right.units if left.point is None and point is not None else left.units or right.units
    return Quantity(number, units, left.percent and right.percent, point)


def subtract(left: Quantity, right: Quantity) -> Quantity:
    """The difference; that of two temperatures is in kelvin or their common degrees."""
    if right.point is None:
        return add(left, replace(right, number=numbers.negate(right.number)))
    left, right = _require_same_dimension(left, right, "subtracted")
    if left.point is None:
        raise CalculationError("a temperature in °C or °F cannot be taken from a difference; write both in K")
    assert right.point is not None
    difference = numbers.subtract(left.number, right.number)
    symbol = {"°C": "K", "°F": "°F (difference)"}[right.point.symbol]
    return Quantity(difference, ((replace(right.point, symbol=symbol, offset=Fraction(0)), 1),))


def negate(value: Quantity) -> Quantity:
    if value.point is not None:
        return from_unit(numbers.negate(read_on_scale(value, value.point)), value.point)
    return replace(value, number=numbers.negate(value.number))


def multiply(left: Quantity, right: Quantity) -> Quantity:
    return Quantity(numbers.multiply(_as_factor(left), _as_factor(right)), merge_units(left.units, right.units))


def divide(left: Quantity, right: Quantity) -> Quantity:
    below = tuple((unit, -exponent) for unit, exponent in right.units)
    return Quantity(numbers.divide(_as_factor(left), _as_factor(right)), merge_units(left.units, below))


def power(base: Quantity, exponent: Quantity) -> Quantity:
    """`base` to the `exponent`, which has no unit. Exponents of units stay integers."""
    number = require_plain(exponent, "an exponent")
    if not base.units:
        return Quantity(numbers.power(base.number, number))
    units: list[tuple[Unit, int]] = []
    for unit, one in merge_units(base.units, ()):
        times = numbers.as_integer(numbers.multiply(number, Fraction(one)))
        if times is None or abs(times) > 99:
            raise CalculationError(f"{format_units(base.units)} to this power is no unit")
        if times:
            units.append((unit, times))
    return Quantity(numbers.power(_as_factor(base), number), tuple(units))


def modulo(left: Quantity, right: Quantity) -> Quantity:
    left, right = _require_same_dimension(left, right, "divided with a remainder")
    return Quantity(numbers.modulo(_as_factor(left), _as_factor(right)), left.units)


def require_plain(value: Quantity, what: str) -> Number:
    """The number of a value without a unit; `what` names it in the error.

    Raises:
        CalculationError: it has one.
    """
    if value.dimension != NONE:
        raise CalculationError(f"{what} must be a plain number, not one in {format_units(value.units)}")
    return value.number


def require_same_kind(values: Sequence[Quantity], what: str) -> Sequence[Quantity]:
    """Return `values` if all have one dimension, else raise CalculationError."""
    for value in values[1:]:
        _require_same_dimension(values[0], value, what)
    return values


def merge_units(left: Units, right: Units) -> Units:
    """The units of a product: one per dimension, without those that cancel or have no dimension."""
    found: list[tuple[Unit, int]] = []
    for unit, exponent in (*left, *right):
        for index, (other, count) in enumerate(found):
            if other.dimension == unit.dimension and (unit.dimension != NONE or unit == other):
                found[index] = (other, count + exponent)
                break
        else:
            found.append((unit, exponent))
    kept = tuple((unit, exponent) for unit, exponent in found if exponent)
    measuring = tuple((unit, exponent) for unit, exponent in kept if unit.dimension != NONE)
    if measuring and dimension_of(measuring) == NONE:
        return ()
    return measuring or (kept if len(kept) == 1 and kept[0][1] == 1 else ())


def _require_same_dimension(left: Quantity, right: Quantity, what: str) -> tuple[Quantity, Quantity]:
    if left.dimension != right.dimension:
        one, other = (format_units(value.units) or "a plain number" for value in (left, right))
        raise CalculationError(f"{one} and {other} measure different things and cannot be {what}")
    return left, right


def _as_factor(value: Quantity) -> Number:
    if value.point is not None:
        raise CalculationError(
            f"a temperature in {value.point.symbol} cannot be multiplied or divided; convert it to K first"
        )
    return value.number
