"""Numbers: exact fractions while they stay small enough, else decimals of 60 digits. Every operation is bounded.

A result of more than 5,000 digits becomes a decimal, whose exponent may reach a thousand million: 9^9^9 is answered at
once, and a larger one is an error, never a long wait.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = Fraction | Decimal

PRECISION = 60
SETTLED = 45
"""Digits that are right even after many inexact steps."""
MOST_BITS = 16_610
"""Bits of the longest exact numerator or denominator: 5,000 digits."""
CONTEXT = Context(
    prec=PRECISION,
    Emax=10**9,
    Emin=-(10**9),
    traps=[Overflow, InvalidOperation, DivisionByZero],
    rounding=ROUND_HALF_UP,
)
_SETTLING = Context(prec=SETTLED, Emax=10**9, Emin=-(10**9), rounding=ROUND_HALF_UP)


class CalculationError(Exception):
    """An expression has no value. `at` is the character at which the reason is, if it has a place."""

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


def to_decimal(value: Number) -> Decimal:
    if isinstance(value, Decimal):
        return value
    return CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))


def settle(value: Decimal) -> Decimal:
    """Round away the digits that earlier rounding has made uncertain: 1.999…9 becomes 2."""
    return _SETTLING.plus(value)


def bound(value: Fraction) -> Number:
    """Convert `value` to a decimal if it is too long to be kept exact."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
        return to_decimal(value)
    return value


def add(left: Number, right: Number) -> Number:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return bound(left + right)
    one, other = to_decimal(left), to_decimal(right)
    total = CONTEXT.add(one, other)
    # The difference of two inexact numbers that cancel is rounding, not a result.
    if total and total.adjusted() < max(one.adjusted(), other.adjusted()) - SETTLED:
        return Fraction(0)
    return total


def negate(value: Number) -> Number:
    return -value if isinstance(value, Fraction) else CONTEXT.minus(value)


def subtract(left: Number, right: Number) -> Number:
    return add(left, negate(right))


def multiply(left: Number, right: Number) -> Number:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return bound(left * right)
    return CONTEXT.multiply(to_decimal(left), to_decimal(right))


def divide(left: Number, right: Number) -> Number:
    if not right:
        raise CalculationError("division by zero")
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return bound(left / right)
    return CONTEXT.divide(to_decimal(left), to_decimal(right))


def modulo(left: Number, right: Number) -> Number:
    """The remainder with the sign of the divisor: -7 mod 3 = 2.

    Raises:
        CalculationError: the numbers are inexact and so far apart that nothing of the remainder is known.
    """
    quotient = divide(left, right)
    if isinstance(quotient, Decimal) and quotient.adjusted() >= SETTLED // 2:
        raise CalculationError("the number is too large for its remainder to be known")
    return subtract(left, multiply(right, floor(quotient)))


def floor(value: Number) -> Number:
    if isinstance(value, Fraction):
        return Fraction(math.floor(value))
    value = settle(value)
    return Fraction(math.floor(value)) if value.adjusted() < SETTLED else value


def ceiling(value: Number) -> Number:
    return negate(floor(negate(value)))


def round_places(value: Number, places: int = 0) -> Number:
    """Round to `places` decimals, halves away from zero: 2.5 becomes 3, and -2.5 becomes -3."""
    scale = Fraction(10) ** places
    size = floor(add(multiply(magnitude(value), scale), Fraction(1, 2)))
    size = divide(size, scale)
    return negate(size) if value < 0 else size


def magnitude(value: Number) -> Number:
    return negate(value) if value < 0 else value


def as_integer(value: Number) -> int | None:
    """`value` as an integer, or None if it is not one or too long to be known exactly."""
    if isinstance(value, Decimal):
        value = settle(value)
        if value.adjusted() >= SETTLED or value != value.to_integral_value():
            return None
        return int(value)
    return value.numerator if value.denominator == 1 else None


def is_less(left: Number, right: Number) -> bool:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left < right
    return to_decimal(left) < to_decimal(right)


def power(base: Number, exponent: Number) -> Number:
    """`base` to the `exponent`, exactly where possible. A negative base has real roots of odd degree only."""
    if not base:
        if exponent < 0:
            raise CalculationError("zero to a negative power is a division by zero")
        return Fraction(0 if exponent else 1)
    if isinstance(exponent, Decimal):
        exact = as_integer(exponent)
        exponent = exponent if exact is None else Fraction(exact)
    if isinstance(exponent, Fraction) and isinstance(base, Fraction):
        found = _try_exact_power(base, exponent)
        if found is not None:
            return found
    if base < 0:
        return _raise_negative(base, exponent)
    return CONTEXT.power(to_decimal(base), to_decimal(exponent))


def _try_exact_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if abs(base) == 1 and exponent.denominator == 1:
        return base if exponent.numerator % 2 else Fraction(1)
    if not exponent:
        return Fraction(1)
    if exponent.denominator > 1:
        if exponent.denominator > 64 or (base < 0 and exponent.denominator % 2 == 0):
            return None
        above = _find_exact_root(abs(base.numerator), exponent.denominator)
        below = _find_exact_root(base.denominator, exponent.denominator)
        if above is None or below is None:
            return None
        base = Fraction(above if base > 0 else -above, below)
    bits = math.log2(max(abs(base.numerator), base.denominator))
    # Ten million is more than the smallest base can be raised to, and keeps the product a float.
    if abs(exponent.numerator) > 10**7 or abs(exponent.numerator) * bits > MOST_BITS:
        return None
    return base**exponent.numerator


def _raise_negative(base: Number, exponent: Number) -> Number:
    if not isinstance(exponent, Fraction) or exponent.denominator % 2 == 0:
        raise CalculationError("an even root or a broken power of a negative number is not real")
    size = power(negate(base), exponent)
    return negate(size) if exponent.numerator % 2 else size


def _find_exact_root(value: int, degree: int) -> int | None:
    """The integer root of `value`, or None if it has none."""
    if degree == 2:
        root = math.isqrt(value)
    else:
        root = 1 << -(-value.bit_length() // degree)
        while True:
            closer = ((degree - 1) * root + value // root ** (degree - 1)) // degree
            if closer >= root:
                break
            root = closer
    return root if root**degree == value else None
