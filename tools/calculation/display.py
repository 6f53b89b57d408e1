"""A quantity → the answer a person reads: exact where it is, and plainly marked where it is rounded."""

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
        sign, text = _answer(value, form, digits)
        echo = parser.echo()
    head = echo if len(echo) <= _LONGEST_ECHO else "The result"
    notes = "".join(f"\nNote: {note}" for note in parser.notes)
    return f"{head} {sign} {text}{notes}"


def _answer(value: Quantity, form: Form | None, digits: int) -> tuple[str, str]:
    """The sign (= or ≈) and what stands behind it."""
    if form is not None and form.base is not None:
        return _in_base(quantities.bare(value, "what is shown in this form"), form.base, digits)
    if form is not None and len(form.units) > 1:
        return _mixed(value, form.units, digits)
    if form is not None and form.label:
        if len(form.units) == 1 and form.units[0].offset:
            number = quantities.on_scale(value, form.units[0])
        else:
            number = numbers.divide(value.number, form.scale)
        sign, text = number_text(number, digits, fraction=False)
        return sign, f"{text} {form.label}".replace(" °", "°" if form.label == "°" else " °")
    if value.percent:
        sign, text = number_text(numbers.multiply(value.number, Fraction(100)), digits, fraction=False)
        return sign, f"{text}% ({number_text(value.number, digits, fraction=False)[1]})"
    if value.point is not None:
        sign, text = number_text(quantities.on_scale(value, value.point), digits, fraction=False)
        return sign, f"{text} {value.point.symbol}"
    if not value.units:
        return number_text(value.number, digits)
    units = quantities.merged(value.units, ())
    if not units:
        return number_text(value.number, digits)
    sign, text = number_text(numbers.divide(value.number, quantities.scale_of(units)), digits, fraction=False)
    label = quantities.written(units)
    return sign, f"{text}{'' if label == '°' else ' '}{label}{_named(value, units, digits)}"


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


def _named(value: Quantity, units: quantities.Units, digits: int) -> str:
    """What several units come to in the unit named for it: kg·m/s² is N."""
    name = _NAMED.get(value.dimension)
    if name is None or len(units) < 2:
        return ""
    unit = find(name)
    assert unit is not None
    sign, text = number_text(numbers.divide(value.number, unit.factor), digits, fraction=False)
    return f" ({sign} {text} {name})"


def _mixed(value: Quantity, units: tuple[Unit, ...], digits: int) -> tuple[str, str]:
    """5 ft 3 in: whole numbers but for the last unit."""
    parts: list[str] = []
    left, sign = numbers.magnitude(value.number), "="
    for unit in units[:-1]:
        count = numbers.floor(numbers.divide(left, unit.factor))
        left = numbers.subtract(left, numbers.multiply(count, unit.factor))
        parts.append(f"{number_text(count, digits)[1]} {unit.symbol}")
    sign, text = number_text(numbers.divide(left, units[-1].factor), digits, fraction=False)
    return sign, ("-" if value.number < 0 else "") + " ".join([*parts, f"{text} {units[-1].symbol}"])


def _in_base(number: Number, base: int, digits: int) -> tuple[str, str]:
    if base == 100:
        sign, text = number_text(numbers.multiply(number, Fraction(100)), digits, fraction=False)
        return sign, f"{text}%"
    if base == 1:
        if not isinstance(number, Fraction):
            raise CalculationError("this is no exact number, so it has no fraction")
        return "=", _whole_text(number.numerator) + (
            f"/{_whole_text(number.denominator)}" if number.denominator > 1 else ""
        )
    if base == 0:
        return "≈", _scientific(Context(prec=digits).plus(numbers.decimal(number)))
    if base == 10:
        return number_text(number, digits, fraction=False)
    whole = numbers.whole(number)
    name, letter = _BASES[base]
    if whole is None:
        raise CalculationError(f"only whole numbers are shown in {name}")
    return "=", f"{whole:#{letter}}"


def number_text(value: Number, digits: int = DIGITS, *, fraction: bool = True) -> tuple[str, str]:
    """`=` with the whole number or decimal, or `≈` with one of `digits` digits and, for a fraction, the exact one."""
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return _whole(value.numerator, digits)
        ending = _ending(value)
        if ending is not None:
            return "=", ending
        near = _plain(Context(prec=digits).plus(numbers.decimal(value)))
        exact = f"{_whole_text(value.numerator)}/{_whole_text(value.denominator)}"
        return "≈", f"{near} (exactly {exact})" if fraction and len(exact) <= _LONGEST_EXACT else near
    value = numbers.settled(value)
    rounded = Context(prec=digits, Emax=10**9, Emin=-(10**9)).plus(value)
    return "=" if rounded == value and value.adjusted() < MOST_DIGITS else "≈", _plain(rounded)


def _whole(value: int, digits: int) -> tuple[str, str]:
    text = _whole_text(value)
    if len(text) <= _LONGEST_WHOLE:
        return "=", text
    near = Context(prec=digits).plus(Decimal(value))
    return "≈", f"{_scientific(near)} ({len(text.lstrip('-'))} digits)"


def _whole_text(value: int) -> str:
    # str(int) refuses more than 4,300 digits.
    return format(Decimal(value), "f")


def _ending(value: Fraction) -> str | None:
    """The decimal of a fraction when it ends soon enough."""
    below = value.denominator
    if below.bit_length() > 200:
        return None
    twos = fives = 0
    while below % 2 == 0:
        below, twos = below // 2, twos + 1
    while below % 5 == 0:
        below, fives = below // 5, fives + 1
    if below != 1 or len(_whole_text(value.numerator)) > 2 * _LONGEST_EXACT:
        return None
    places = max(twos, fives)
    digits = Decimal(value.numerator * 10**places // value.denominator)
    if len(digits.as_tuple().digits) > _LONGEST_EXACT:
        return None
    return _plain(Context(prec=200).scaleb(digits, -places))


def _plain(value: Decimal) -> str:
    """Digits written out, or with an exponent where that would be long."""
    if not value:
        return "0"
    if -7 <= value.adjusted() < 25:
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return _scientific(value)


def _scientific(value: Decimal) -> str:
    if not value:
        return "0"
    exponent = value.adjusted()
    digits = "".join(map(str, value.as_tuple().digits)).rstrip("0") or "0"
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{'-' if value < 0 else ''}{mantissa}e{exponent}"
