"""Sines, logarithms and their kin to 60 digits; the angles are radians."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

from tools.calculation.numbers import CONTEXT, CalculationError, Number, decimal, less, magnitude, negative, power

_WIDE = Context(prec=100, Emax=10**9, Emin=-(10**9))
_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"
)
_LARGEST_ANGLE = Decimal("1e30")
_PLACES = Decimal("1e-55")
PI: Decimal = CONTEXT.plus(_PI)
E: Decimal = CONTEXT.exp(Decimal(1))
_EXACT_FACTORIAL = 1_700
_STIRLING = (
    *(Fraction(1, 12), Fraction(-1, 360), Fraction(1, 1260), Fraction(-1, 1680), Fraction(1, 1188)),
    *(Fraction(-691, 360360), Fraction(1, 156), Fraction(-3617, 122400), Fraction(43867, 244188)),
)
"""Coefficients of Stirling's series; with n over 1,700 the error lies beyond the 60th digit."""


def sine(angle: Number) -> Number:
    return _shortened(_sine(_reduced(angle)))


def cosine(angle: Number) -> Number:
    return _shortened(_sine(_WIDE.add(_reduced(angle), _WIDE.divide(_PI, Decimal(2)))))


def tangent(angle: Number) -> Number:
    below = cosine(angle)
    if not below:
        raise CalculationError("the tangent has no value at this angle")
    return CONTEXT.divide(decimal(sine(angle)), decimal(below))


def arctangent(value: Number) -> Number:
    x = decimal(value)
    if x.adjusted() > 200:
        return CONTEXT.divide(PI.copy_sign(x), Decimal(2))
    # Halving the angle four times makes the series short.
    for _ in range(4):
        x = _WIDE.divide(x, _WIDE.add(1, _WIDE.sqrt(_WIDE.add(1, _WIDE.multiply(x, x)))))
    square, term, total, number = _WIDE.multiply(x, x), x, x, 1
    while term and term.adjusted() > total.adjusted() - 80:
        number += 2
        term = _WIDE.minus(_WIDE.multiply(term, square))
        total = _WIDE.add(total, _WIDE.divide(term, Decimal(number)))
    return CONTEXT.multiply(total, Decimal(16))


def arcsine(value: Number) -> Number:
    if less(Fraction(1), magnitude(value)):
        raise CalculationError("the arcsine needs a number from -1 to 1")
    if magnitude(value) == 1:
        return CONTEXT.divide(PI if value > 0 else CONTEXT.minus(PI), Decimal(2))
    x = decimal(value)
    return arctangent(_WIDE.divide(x, _WIDE.sqrt(_WIDE.subtract(1, _WIDE.multiply(x, x)))))


def arccosine(value: Number) -> Number:
    if less(Fraction(1), magnitude(value)):
        raise CalculationError("the arccosine needs a number from -1 to 1")
    return CONTEXT.subtract(CONTEXT.divide(PI, Decimal(2)), decimal(arcsine(value)))


def arctangent2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y)."""
    if not x:
        if not y:
            raise CalculationError("the point (0, 0) has no angle")
        return CONTEXT.divide(PI if y > 0 else CONTEXT.minus(PI), Decimal(2))
    angle = decimal(arctangent(CONTEXT.divide(decimal(y), decimal(x))))
    if x > 0:
        return angle
    return CONTEXT.add(angle, PI if y >= 0 else CONTEXT.minus(PI))


def exponential(value: Number) -> Number:
    return Fraction(1) if not value else CONTEXT.exp(decimal(value))


def logarithm(value: Number, base: Number | None = None) -> Number:
    """Natural without a base. Whole logarithms of exact numbers come out exact."""
    if value <= 0:
        raise CalculationError("a logarithm needs a number above zero")
    if value == 1:
        return Fraction(0)
    if base is None:
        return CONTEXT.ln(decimal(value))
    if base <= 0 or base == 1:
        raise CalculationError("the base of a logarithm must be above zero, and not 1")
    if base == 10:
        found = CONTEXT.log10(decimal(value))
    else:
        found = CONTEXT.divide(CONTEXT.ln(decimal(value)), CONTEXT.ln(decimal(base)))
    near = found.to_integral_value() if found.adjusted() < 9 else None
    if near is not None and power(base, Fraction(int(near))) == value:
        return Fraction(int(near))
    return found


def hyperbolic_sine(value: Number) -> Number:
    if not value:
        return Fraction(0)
    x = decimal(value)
    if x.adjusted() < -20:
        return CONTEXT.add(x, CONTEXT.divide(CONTEXT.power(x, Decimal(3)), Decimal(6)))
    return CONTEXT.divide(CONTEXT.subtract(_exp(x), _exp(CONTEXT.minus(x))), Decimal(2))


def hyperbolic_cosine(value: Number) -> Number:
    if not value:
        return Fraction(1)
    x = decimal(value)
    return CONTEXT.divide(CONTEXT.add(_exp(x), _exp(CONTEXT.minus(x))), Decimal(2))


def hyperbolic_tangent(value: Number) -> Number:
    if not value:
        return Fraction(0)
    if less(Fraction(100), magnitude(value)):
        return Fraction(1 if value > 0 else -1)
    return CONTEXT.divide(decimal(hyperbolic_sine(value)), decimal(hyperbolic_cosine(value)))


def factorial(number: int) -> Number:
    if number < 0:
        raise CalculationError("the factorial needs a number that is not negative")
    if number <= _EXACT_FACTORIAL:
        return Fraction(math.factorial(number))
    return CONTEXT.exp(_ln_factorial(number))


def combinations(total: int, chosen: int) -> Number:
    """How many ways there are to choose."""
    if total < 0 or chosen < 0:
        raise CalculationError("combinations need numbers that are not negative")
    if chosen > total:
        return Fraction(0)
    few = min(chosen, total - chosen)
    if few * max(1, total.bit_length()) <= 16_000:
        return Fraction(math.comb(total, few))
    logarithms = CONTEXT.subtract(_ln_factorial(total), _ln_factorial(few))
    return CONTEXT.exp(CONTEXT.subtract(logarithms, _ln_factorial(total - few)))


def permutations(total: int, chosen: int) -> Number:
    """How many ordered ways there are to choose."""
    if total < 0 or chosen < 0:
        raise CalculationError("permutations need numbers that are not negative")
    if chosen > total:
        return Fraction(0)
    if chosen * max(1, total.bit_length()) <= 16_000:
        return Fraction(math.perm(total, chosen))
    return CONTEXT.exp(CONTEXT.subtract(_ln_factorial(total), _ln_factorial(total - chosen)))


def _ln_factorial(number: int) -> Decimal:
    if number <= _EXACT_FACTORIAL:
        return CONTEXT.ln(Decimal(math.factorial(number)))
    n = Decimal(number)
    total = CONTEXT.subtract(CONTEXT.multiply(n, CONTEXT.ln(n)), n)
    turns = CONTEXT.ln(CONTEXT.multiply(CONTEXT.multiply(PI, Decimal(2)), n))
    total = CONTEXT.add(total, CONTEXT.divide(turns, Decimal(2)))
    for index, part in enumerate(_STIRLING):
        below = CONTEXT.power(n, Decimal(2 * index + 1))
        total = CONTEXT.add(total, CONTEXT.divide(decimal(part), below))
    return total


def _exp(value: Decimal) -> Decimal:
    return CONTEXT.exp(value)


def _reduced(angle: Number) -> Decimal:
    """The same angle between minus and plus half a turn."""
    x = _WIDE.divide(Decimal(angle.numerator), Decimal(angle.denominator)) if isinstance(angle, Fraction) else angle
    if abs(x) > _LARGEST_ANGLE:
        raise CalculationError("the angle is too large to be told from its neighbours")
    turn = _WIDE.multiply(_PI, Decimal(2))
    return _WIDE.subtract(x, _WIDE.multiply(turn, _WIDE.to_integral_value(_WIDE.divide(x, turn))))


def _sine(x: Decimal) -> Decimal:
    square, term, total, number = _WIDE.multiply(x, x), x, x, 1
    while term and term.adjusted() > -90:
        number += 2
        term = _WIDE.minus(_WIDE.divide(_WIDE.multiply(term, square), Decimal(number * (number - 1))))
        total = _WIDE.add(total, term)
    return total


def _shortened(value: Decimal) -> Number:
    """55 places: what lies below them is the rounding of pi, so that sin(180°) is 0."""
    short = value.quantize(_PLACES, context=_WIDE)
    for exact in (Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-1, 2)):
        if abs(short - decimal(exact)) <= 10 * _PLACES:
            return exact
    return CONTEXT.plus(short)


def absolute_power_root(value: Number, degree: int) -> Number:
    """The root of `degree`; of a negative number where it is real."""
    if value < 0 and degree % 2:
        return negative(power(negative(value), Fraction(1, degree)))
    return power(value, Fraction(1, degree))
