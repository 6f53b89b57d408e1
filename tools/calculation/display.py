"""Write a computed quantity as text: `=` where it is exact, `≈` where it is rounded."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction

from tools.calculation import numbers, quantities, reader
from tools.calculation.numbers import CONTEXT, CalculationError, Number
from tools.calculation.parser import Form, Parser
from tools.calculation.quantities import Quantity
from tools.calculation.units import Unit, find

DIGITS = 15
MOST_DIGITS = 40
_LONGEST_EXACT = 40
"""Digits up to which a decimal that ends is written out."""
_LONGEST_WHOLE = 3000
_LONGEST_ECHO = 200
_BASES = {16: ("hexadecimal", "x"), 2: ("binary", "b"), 8: ("octal", "o")}


def compute(expression: str, digits: int = DIGITS) -> str:
    """The answer to an expression, with notes on how it was understood.

    Raises:
        CalculationError: it has no value; the error says why and where.
    """
    with localcontext(CONTEXT):
        parser = Parser(reader.read(expression))
        value, form = parser.run()
        sign, text = _format_answer(value, form, digits)
        echo = parser.echo()
    head = echo if len(echo) <= _LONGEST_ECHO else "The result"
    notes = "".join(f"\nNote: {note}" for note in parser.notes)
    return f"{head} {sign} {text}{notes}"


def _format_answer(value: Quantity, form: Form | None, digits: int) -> tuple[str, str]:
    """The sign (= or ≈) and the text behind it."""
    if form is not None and form.base is not None:
        return _format_in_base(quantities.require_plain(value, "what is shown in this form"), form.base, digits)
    if form is not None and len(form.units) > 1:
        return _format_mixed(value, form.units, digits)
    if form is not None and form.label:
        if len(form.units) == 1 and form.units[0].offset:
            number = quantities.read_on_scale(value, form.units[0])
        else:
            number = numbers.divide(value.number, form.scale)
        sign, text = format_number(number, digits, fraction=False)
        return sign, f"{text} {form.label}".replace(" °", "°" if form.label == "°" else " °")
    if value.percent:
        sign, text = format_number(numbers.multiply(value.number, Fraction(100)), digits, fraction=False)
        return sign, f"{text}% ({format_number(value.number, digits, fraction=False)[1]})"
    if value.point is not None:
        sign, text = format_number(quantities.read_on_scale(value, value.point), digits, fraction=False)
        return sign, f"{text} {value.point.symbol}"
    if not value.units:
        return format_number(value.number, digits)
    units = quantities.merge_units(value.units, ())
    if not units:
        return format_number(value.number, digits)
    sign, text = format_number(numbers.divide(value.number, quantities.scale_of(units)), digits, fraction=False)
    label = quantities.format_units(units)
    return sign, f"{text}{'' if label == '°' else ' '}{label}{_format_named_unit(value, units, digits)}"


_NAMED = {
    (0, 0, 1, 0, 0, 0): "s",
    (1, 0, 0, 0, 0, 0): "m",
    (0, 1, 0, 0, 0, 0): "kg",
    (0, 0, 0, 0, 0, 1): "B",
    (1, 1, -2, 0, 0, 0): "N",
    (-1, 1, -2, 0, 0, 0): "Pa",
    (2, 1, -2, 0, 0, 0): "J",
    (2, 1, -3, 0, 0, 0): "W",
    (2, 1, -3, 0, -1, 0): "V",
    (2, 1, -3, 0, -2, 0): "Ω",
}


def _format_named_unit(value: Quantity, units: quantities.Units, digits: int) -> str:
    """The value in the named unit that equals several units (kg·m/s² is N), in brackets; else nothing."""
    name = _NAMED.get(value.dimension)
    if name is None or len(units) < 2:
        return ""
    unit = find(name)
    assert unit is not None
    sign, text = format_number(numbers.divide(value.number, unit.factor), digits, fraction=False)
    return f" ({sign} {text} {name})"


def _format_mixed(value: Quantity, units: tuple[Unit, ...], digits: int) -> tuple[str, str]:
    """A value in several units, as 5 ft 3 in: integers except for the last unit."""
    parts: list[str] = []
    left, sign = numbers.magnitude(value.number), "="
    for unit in units[:-1]:
        count = numbers.floor(numbers.divide(left, unit.factor))
        left = numbers.subtract(left, numbers.multiply(count, unit.factor))
        parts.append(f"{format_number(count, digits)[1]} {unit.symbol}")
    sign, text = format_number(numbers.divide(left, units[-1].factor), digits, fraction=False)
    return sign, ("-" if value.number < 0 else "") + " ".join([*parts, f"{text} {units[-1].symbol}"])


def _format_in_base(number: Number, base: int, digits: int) -> tuple[str, str]:
    if base == 100:
        sign, text = format_number(numbers.multiply(number, Fraction(100)), digits, fraction=False)
        return sign, f"{text}%"
    if base == 1:
        if not isinstance(number, Fraction):
            raise CalculationError("this is no exact number, so it has no fraction")
        return "=", _write_integer(number.numerator) + (
            f"/{_write_integer(number.denominator)}" if number.denominator > 1 else ""
        )
    if base == 0:
        return "≈", _format_scientific(Context(prec=digits).plus(numbers.to_decimal(number)))
    if base == 10:
        return format_number(number, digits, fraction=False)
    whole = numbers.as_integer(number)
    name, letter = _BASES[base]
    if whole is None:
        raise CalculationError(f"only whole numbers are shown in {name}")
    return "=", f"{whole:#{letter}}"


def format_number(value: Number, digits: int = DIGITS, *, fraction: bool = True) -> tuple[str, str]:
    """`=` and the exact number, or `≈` and one of `digits` digits, with the fraction behind it if that is short."""
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return _format_integer(value.numerator, digits)
        ending = _format_terminating(value)
        if ending is not None:
            return "=", ending
        near = _format_decimal(Context(prec=digits).plus(numbers.to_decimal(value)))
        exact = f"{_write_integer(value.numerator)}/{_write_integer(value.denominator)}"
        return "≈", f"{near} (exactly {exact})" if fraction and len(exact) <= _LONGEST_EXACT else near
    value = numbers.settle(value)
    rounded = Context(prec=digits, Emax=10**9, Emin=-(10**9)).plus(value)
    return "=" if rounded == value and value.adjusted() < MOST_DIGITS else "≈", _format_decimal(rounded)


def _format_integer(value: int, digits: int) -> tuple[str, str]:
    text = _write_integer(value)
    if len(text) <= _LONGEST_WHOLE:
        return "=", text
    near = Context(prec=digits).plus(Decimal(value))
    return "≈", f"{_format_scientific(near)} ({len(text.lstrip('-'))} digits)"


def _write_integer(value: int) -> str:
    # str(int) refuses more than 4,300 digits.
    return format(Decimal(value), "f")


def _format_terminating(value: Fraction) -> str | None:
    """A fraction as a decimal, or None if that does not end within 40 digits."""
    below = value.denominator
    if below.bit_length() > 200:
        return None
    twos = fives = 0
    while below % 2 == 0:
        below, twos = below // 2, twos + 1
    while below % 5 == 0:
        below, fives = below // 5, fives + 1
    if below != 1 or len(_write_integer(value.numerator)) > 2 * _LONGEST_EXACT:
        return None
    places = max(twos, fives)
    digits = Decimal(value.numerator * 10**places // value.denominator)
    if len(digits.as_tuple().digits) > _LONGEST_EXACT:
        return None
    return _format_decimal(Context(prec=200).scaleb(digits, -places))


def _format_decimal(value: Decimal) -> str:
    """A decimal with all its digits, or with an exponent where that would be long."""
    if not value:
        return "0"
    if -7 <= value.adjusted() < 25:
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return _format_scientific(value)


def _format_scientific(value: Decimal) -> str:
    if not value:
        return "0"
    exponent = value.adjusted()
    digits = "".join(map(str, value.as_tuple().digits)).rstrip("0") or "0"
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{'-' if value < 0 else ''}{mantissa}e{exponent}"
