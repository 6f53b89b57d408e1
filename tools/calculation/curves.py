"""Trigonometric, hyperbolic and factorial functions to 60 digits, computed by mpmath; angles are radians.

Powers, exponentials and logarithms stay with `decimal`: it is compiled, and its exponents are those of `numbers`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, Overflow
from fractions import Fraction
from typing import Any, TypeAlias

from mpmath import MPContext

from tools.calculation.numbers import CONTEXT, CalculationError, Number, is_less, magnitude, negate, power, to_decimal

Real: TypeAlias = Any
"""A number of mpmath, which has no type annotations."""

_LARGEST_ANGLE = Fraction(10**30)
_LARGEST = 10**10
"""Its factorial and its exponential have more digits than the exponent of a decimal can count."""
_EXACT_FACTORIAL = 1_700
_BITS = 280
_MP = MPContext()
_MP.prec = _BITS
_BLUR = _MP.mpf(10) ** -54
"""The relative error of an angle after a few inexact steps."""


def _to_real(value: Number) -> Real:
    """`value` as a number of mpmath. The exponent of a decimal is not expanded into digits."""
    if isinstance(value, Fraction):
        return _MP.mpf(value.numerator) / value.denominator
    exponent = value.adjusted()
    return _MP.mpf(format(value.scaleb(-exponent, CONTEXT), "f")) * _MP.mpf(10) ** exponent


def _to_decimal(value: Real) -> Decimal:
    """`value` rounded to a decimal of 60 digits. Raises Overflow."""
    return CONTEXT.create_decimal(_MP.nstr(value, 65))


PI: Decimal = _to_decimal(_MP.pi)
E: Decimal = _to_decimal(_MP.e)


def sine(angle: Number) -> Number:
    return _evaluate_at_angle(_MP.sin, angle)


def cosine(angle: Number) -> Number:
    return _evaluate_at_angle(_MP.cos, angle)


def tangent(angle: Number) -> Number:
    below = cosine(angle)
    if not below:
        raise CalculationError("the tangent has no value at this angle")
    return CONTEXT.divide(to_decimal(sine(angle)), to_decimal(below))


def _evaluate_at_angle(function: Callable[[Real], Real], angle: Number) -> Number:
    """A sine or cosine; 0, ±1/2 and ±1 exactly where only the rounding of pi makes a difference."""
    if is_less(_LARGEST_ANGLE, magnitude(angle)):
        raise CalculationError("the angle is too large to be told from its neighbours")
    x = _to_real(angle)
    value, blur = function(x), abs(x) * _BLUR
    for exact in (Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-1, 2)):
        if abs(value - _to_real(exact)) <= blur:
            return exact
    return _to_decimal(value)


def arctangent(value: Number) -> Number:
    return _to_decimal(_MP.atan(_to_real(value)))


def arcsine(value: Number) -> Number:
    if is_less(Fraction(1), magnitude(value)):
        raise CalculationError("the arcsine needs a number from -1 to 1")
    return _to_decimal(_MP.asin(_to_real(value)))


def arccosine(value: Number) -> Number:
    if is_less(Fraction(1), magnitude(value)):
        raise CalculationError("the arccosine needs a number from -1 to 1")
    return _to_decimal(_MP.acos(_to_real(value)))


def arctangent2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y)."""
    if not x and not y:
        raise CalculationError("the point (0, 0) has no angle")
    return _to_decimal(_MP.atan2(_to_real(y), _to_real(x)))


def exponential(value: Number) -> Number:
    return Fraction(1) if not value else CONTEXT.exp(to_decimal(value))


def logarithm(value: Number, base: Number | None = None) -> Number:
    """The logarithm, natural without a base; exact where it is an integer."""
    if value <= 0:
        raise CalculationError("a logarithm needs a number above zero")
    if value == 1:
        return Fraction(0)
    if base is None:
        return CONTEXT.ln(to_decimal(value))
    if base <= 0 or base == 1:
        raise CalculationError("the base of a logarithm must be above zero, and not 1")
    if base == 10:
        found = CONTEXT.log10(to_decimal(value))
    else:
        found = CONTEXT.divide(CONTEXT.ln(to_decimal(value)), CONTEXT.ln(to_decimal(base)))
    near = found.to_integral_value() if found.adjusted() < 9 else None
    if near is not None and power(base, Fraction(int(near))) == value:
        return Fraction(int(near))
    return found


def hyperbolic_sine(value: Number) -> Number:
    return _evaluate_hyperbolic(_MP.sinh, value)


def hyperbolic_cosine(value: Number) -> Number:
    return _evaluate_hyperbolic(_MP.cosh, value)


def hyperbolic_tangent(value: Number) -> Number:
    if is_less(Fraction(100), magnitude(value)):
        return Fraction(1 if value > 0 else -1)
    return _evaluate_hyperbolic(_MP.tanh, value)


def _evaluate_hyperbolic(function: Callable[[Real], Real], value: Number) -> Number:
    if not value:
        return Fraction(int(function(0)))
    if is_less(Fraction(_LARGEST), magnitude(value)):
        raise Overflow
    return _to_decimal(function(_to_real(value)))


def factorial(number: int) -> Number:
    if number < 0:
        raise CalculationError("the factorial needs a number that is not negative")
    if number <= _EXACT_FACTORIAL:
        return Fraction(math.factorial(number))
    _check_countable(number)
    return _to_decimal(_MP.factorial(number))


def combinations(total: int, chosen: int) -> Number:
    """The number of ways to choose, order aside."""
    if total < 0 or chosen < 0:
        raise CalculationError("combinations need numbers that are not negative")
    if chosen > total:
        return Fraction(0)
    few = min(chosen, total - chosen)
    if few * max(1, total.bit_length()) <= 16_000:
        return Fraction(math.comb(total, few))
    return _to_decimal(_count_permutations(total, few) / _MP.factorial(few))


def permutations(total: int, chosen: int) -> Number:
    """The number of ordered ways to choose."""
    if total < 0 or chosen < 0:
        raise CalculationError("permutations need numbers that are not negative")
    if chosen > total:
        return Fraction(0)
    if chosen * max(1, total.bit_length()) <= 16_000:
        return Fraction(math.perm(total, chosen))
    return _to_decimal(_count_permutations(total, chosen))


def _count_permutations(total: int, chosen: int) -> Real:
    """The number of permutations, as a number of mpmath: its exponent has no limit."""
    _check_countable(chosen)
    if total.bit_length() > _BITS:
        # So much larger than `chosen` that every factor equals `total` in all digits kept.
        return _MP.mpf(total) ** chosen
    # Twice the precision: the two logarithms may agree in as many digits as `total` has.
    whole, rest = (_MP.loggamma(number + 1, prec=2 * _BITS) for number in (total, total - chosen))
    return _MP.exp(whole - rest)


def _check_countable(number: int) -> None:
    if number > _LARGEST:
        raise Overflow


def real_root(value: Number, degree: int) -> Number:
    """The real root of `degree`, of a negative number too where that is odd."""
    if value < 0 and degree % 2:
        return negate(power(negate(value), Fraction(1, degree)))
    return power(value, Fraction(1, degree))
