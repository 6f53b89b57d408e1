"""The calculator's functions and constants, by their English and Chinese names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key, reduce

from tools.calculation import curves, numbers, quantities
from tools.calculation.numbers import CONTEXT, CalculationError, Number
from tools.calculation.quantities import Quantity, plain
from tools.calculation.units import find

Computed = Callable[[Sequence[Quantity]], Quantity]


@dataclass(frozen=True, slots=True)
class Function:
    """One function: how it is computed, and how many arguments it takes."""

    name: str
    compute: Computed
    least: int = 1
    most: int = 1
    angle: bool = False
    """Takes an angle. A number without a unit means radians, and the answer says so."""


def _of_numbers(name: str, compute: Callable[..., Number], least: int = 1, most: int = 1) -> Function:
    """A function of numbers without units."""
    return Function(
        name,
        lambda values: plain(compute(*(quantities.require_plain(one, f"what {name} takes") for one in values))),
        least,
        most,
    )


def _of_integers(name: str, compute: Callable[..., Number], least: int = 1, most: int = 1) -> Function:
    def whole(value: Quantity) -> int:
        number = numbers.as_integer(quantities.require_plain(value, f"what {name} takes"))
        if number is None:
            raise CalculationError(f"{name} needs whole numbers")
        return number

    return Function(name, lambda values: plain(compute(*(whole(one) for one in values))), least, most)


def _of_angle(name: str, compute: Callable[[Number], Number], *, degrees: bool = False) -> Function:
    def evaluate(values: Sequence[Quantity]) -> Quantity:
        angle = quantities.require_plain(values[0], f"what {name} takes")
        return plain(compute(numbers.multiply(angle, _DEGREE) if degrees else angle))

    return Function(name, evaluate, angle=not degrees)


def _to_angle(name: str, compute: Callable[..., Number], *, degrees: bool = False, count: int = 1) -> Function:
    def evaluate(values: Sequence[Quantity]) -> Quantity:
        if count == 2:
            quantities.require_same_kind(values, "compared")
            angle = compute(*(value.number for value in values))
        else:
            angle = compute(quantities.require_plain(values[0], f"what {name} takes"))
        unit = find("deg" if degrees else "rad")
        assert unit is not None
        return Quantity(angle, ((unit, 1),))

    return Function(name, evaluate, count, count)


def _in_unit(name: str, compute: Callable[[Number], Number], most: int = 1) -> Function:
    """A function that keeps the unit and works on the number before it: round(5.6 km) = 6 km."""

    def evaluate(values: Sequence[Quantity]) -> Quantity:
        value = values[0]
        extra = [quantities.require_plain(one, "the number of places") for one in values[1:]]
        if value.point is not None:
            return quantities.from_unit(compute(quantities.read_on_scale(value, value.point), *extra), value.point)
        scale = value.scale
        return replace(value, number=numbers.multiply(compute(numbers.divide(value.number, scale), *extra), scale))

    return Function(name, evaluate, 1, most)


def _of_list(name: str, compute: Callable[[list[Number]], Number], least: int = 1, *, point: bool = True) -> Function:
    """A function of values of one dimension. The result has the unit of the first."""

    def evaluate(values: Sequence[Quantity]) -> Quantity:
        quantities.require_same_kind(values, "taken together")
        if not point and any(value.point is not None for value in values):
            raise CalculationError(f"{name} of temperatures in °C or °F means nothing; write them in K")
        first = values[0]
        return Quantity(compute([value.number for value in values]), first.units, first.percent, first.point)

    return Function(name, evaluate, least, 1000)


def _compare(one: Number, other: Number) -> int:
    return -1 if numbers.is_less(one, other) else int(numbers.is_less(other, one))


def _sort(values: list[Number]) -> list[Number]:
    return sorted(values, key=cmp_to_key(_compare))


def _sum(values: list[Number]) -> Number:
    return reduce(numbers.add, [Fraction(0), *values])


def _mean(values: list[Number]) -> Number:
    return numbers.divide(_sum(values), Fraction(len(values)))


def _median(values: list[Number]) -> Number:
    ordered = _sort(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else _mean(ordered[middle - 1 : middle + 1])


def _mean_square(values: list[Number], less: int) -> Number:
    """The mean squared distance from the mean; `less` is 1 for a sample, else 0."""
    mean = _mean(values)
    squares = [numbers.power(numbers.subtract(value, mean), Fraction(2)) for value in values]
    return numbers.divide(_sum(squares), Fraction(len(values) - less))


def _variance(name: str, less: int) -> Function:
    def evaluate(values: Sequence[Quantity]) -> Quantity:
        quantities.require_same_kind(values, "taken together")
        if any(value.point is not None for value in values):
            raise CalculationError(f"{name} of temperatures in °C or °F is not computed; write them in K")
        units = quantities.merge_units(values[0].units, values[0].units)
        return Quantity(_mean_square([value.number for value in values], less), units)

    return Function(name, evaluate, 1 + less, 1000)


def _root(values: Sequence[Quantity], degree: int) -> Quantity:
    value = values[0]
    if not value.units:
        if value.number < 0 and degree % 2 == 0:
            raise CalculationError("the square root of a negative number is not real")
        return plain(curves.real_root(value.number, degree))
    return quantities.power(value, plain(Fraction(1, degree)))


def _any_root(values: Sequence[Quantity]) -> Quantity:
    degree = numbers.as_integer(quantities.require_plain(values[1], "the degree of a root"))
    if degree is None or not 1 <= abs(degree) <= 1_000_000:
        raise CalculationError("the degree of a root must be a whole number other than zero")
    if values[0].units:
        return quantities.power(values[0], plain(Fraction(1, degree)))
    root = curves.real_root(quantities.require_plain(values[0], "what root takes"), abs(degree))
    return plain(root if degree > 0 else numbers.divide(Fraction(1), root))


def _log(value: Number, base: Number = Fraction(10)) -> Number:
    return curves.logarithm(value, base)


def _round(value: Number, places: Number = Fraction(0)) -> Number:
    count = numbers.as_integer(places)
    if count is None or not -1000 <= count <= 1000:
        raise CalculationError("the number of places must be a whole number from -1000 to 1000")
    return numbers.round_places(value, count)


def _truncate(value: Number) -> Number:
    return numbers.ceiling(value) if value < 0 else numbers.floor(value)


def _sign(value: Number) -> Number:
    return Fraction((value > 0) - (value < 0))


def _hypotenuse(values: list[Number]) -> Number:
    return numbers.power(_sum([numbers.power(value, Fraction(2)) for value in values]), Fraction(1, 2))


def _lcm(*values: int) -> Number:
    found = 1
    for value in values:
        found = math.lcm(found, value)
        if found.bit_length() > 4 * numbers.MOST_BITS:
            raise CalculationError("the least common multiple is too long")
    return numbers.bound(Fraction(found))


_DEGREE = numbers.multiply(curves.PI, Fraction(1, 180))
_TABLE: dict[str, Function] = {
    "sqrt √ 根号 平方根 开方 square_root square_root_of": Function("sqrt", lambda values: _root(values, 2)),
    "cbrt ∛ 立方根 cube_root cube_root_of": Function("cbrt", lambda values: _root(values, 3)),
    "root nthroot": Function("root", _any_root, 2, 2),
    "pow power": Function("pow", lambda values: quantities.power(*values), 2, 2),
    "exp": _of_numbers("exp", curves.exponential),
    "ln 自然对数": _of_numbers("ln", curves.logarithm),
    "log 对数": _of_numbers("log", _log, 1, 2),
    "log10 lg": _of_numbers("log10", _log),
    "log2": _of_numbers("log2", lambda value: curves.logarithm(value, Fraction(2))),
    "sin 正弦": _of_angle("sin", curves.sine),
    "cos 余弦": _of_angle("cos", curves.cosine),
    "tan 正切": _of_angle("tan", curves.tangent),
    "sind": _of_angle("sind", curves.sine, degrees=True),
    "cosd": _of_angle("cosd", curves.cosine, degrees=True),
    "tand": _of_angle("tand", curves.tangent, degrees=True),
    "asin arcsin": _to_angle("asin", curves.arcsine),
    "acos arccos": _to_angle("acos", curves.arccosine),
    "atan arctan": _to_angle("atan", curves.arctangent),
    "asind": _to_angle("asind", curves.arcsine, degrees=True),
    "acosd": _to_angle("acosd", curves.arccosine, degrees=True),
    "atand": _to_angle("atand", curves.arctangent, degrees=True),
    "atan2": _to_angle("atan2", curves.arctangent2, count=2),
    "sinh": _of_numbers("sinh", curves.hyperbolic_sine),
    "cosh": _of_numbers("cosh", curves.hyperbolic_cosine),
    "tanh": _of_numbers("tanh", curves.hyperbolic_tangent),
    "radians": _of_numbers("radians", lambda value: numbers.multiply(value, _DEGREE)),
    "factorial fact 阶乘": _of_integers("factorial", curves.factorial),
    "combinations comb nCr ncr choose binomial C 组合": _of_integers("combinations", curves.combinations, 2, 2),
    "permutations perm nPr npr P 排列": _of_integers("permutations", curves.permutations, 2, 2),
    "gcd gcf hcf 最大公约数": _of_integers("gcd", lambda *values: Fraction(math.gcd(*values)), 1, 1000),
    "lcm 最小公倍数": _of_integers("lcm", _lcm, 1, 1000),
    "mod": Function("mod", lambda values: quantities.modulo(*values), 2, 2),
    "abs 绝对值": _in_unit("abs", numbers.magnitude),
    "round 四舍五入": _in_unit("round", _round, 2),
    "floor": _in_unit("floor", numbers.floor),
    "ceil ceiling": _in_unit("ceil", numbers.ceiling),
    "trunc int": _in_unit("trunc", _truncate),
    "sign sgn": Function("sign", lambda values: plain(_sign(values[0].number))),
    "min minimum 最小 最小值": _of_list("min", lambda values: _sort(values)[0]),
    "max maximum 最大 最大值": _of_list("max", lambda values: _sort(values)[-1]),
    "mean average avg 平均 平均值 平均数": _of_list("mean", _mean),
    "median 中位数": _of_list("median", _median),
    "sum total 求和 总和": _of_list("sum", _sum, point=False),
    "product prod": _of_numbers("product", lambda *values: reduce(numbers.multiply, [Fraction(1), *values]), 1, 1000),
    "stdev std stddev sd 标准差": _of_list(
        "stdev", lambda values: numbers.power(_mean_square(values, 1), Fraction(1, 2)), 2, point=False
    ),
    "pstdev 总体标准差": _of_list(
        "pstdev", lambda values: numbers.power(_mean_square(values, 0), Fraction(1, 2)), point=False
    ),
    "variance var 方差": _variance("variance", 1),
    "pvariance 总体方差": _variance("pvariance", 0),
    "hypot": _of_list("hypot", _hypotenuse, point=False),
}
FUNCTIONS: dict[str, Function] = {
    name.replace("_", " "): function for names, function in _TABLE.items() for name in names.split()
}
CONSTANTS: dict[str, Number] = {
    "pi": curves.PI,
    "π": curves.PI,
    "圆周率": curves.PI,
    "e": curves.E,
    "tau": CONTEXT.multiply(curves.PI, Decimal(2)),
    "τ": CONTEXT.multiply(curves.PI, Decimal(2)),
    "phi": CONTEXT.divide(CONTEXT.add(Decimal(1), CONTEXT.sqrt(Decimal(5))), Decimal(2)),
    "φ": CONTEXT.divide(CONTEXT.add(Decimal(1), CONTEXT.sqrt(Decimal(5))), Decimal(2)),
}
