"""The calculator, as a person would check it: with a pocket calculator beside the screen."""

from __future__ import annotations

import asyncio
import threading
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.calculation import display, numbers, units
from tools.calculation.display import compute
from tools.calculation.functions import FUNCTIONS
from tools.calculation.numbers import CalculationError
from tools.calculation.parser import Parser
from tools.calculation.reader import read
from tools.calculator import open_tool
from tools.contract.base import ToolContext, ToolError


async def answer(expression: str, **more: int) -> str:
    """What stands behind the = or ≈."""
    result = await open_tool().run({"expression": expression, **more}, ToolContext())
    line = result.text.splitlines()[0]
    sign = "≈" if " ≈ " in line else "="
    return f"{'≈ ' if sign == '≈' else ''}{line.rpartition(f' {sign} ')[2]}"


ARITHMETIC = {
    "2+2": "4",
    "0.1+0.2": "0.3",
    "0.1*3 - 0.3": "0",
    "1/3": "≈ 0.333333333333333 (exactly 1/3)",
    "1/8": "0.125",
    "(1/3)*3": "1",
    "7 - 10": "-3",
    "2*3+4": "10",
    "2+3*4": "14",
    "(2+3)*4": "20",
    "2^10": "1024",
    "2**10": "1024",
    "2^3^2": "512",
    "-2^2": "-4",
    "(-2)^2": "4",
    "2^-3": "0.125",
    "0^0": "1",
    "2^0.5": "≈ 1.4142135623731",
    "8^(1/3)": "2",
    "(-8)^(1/3)": "-2",
    "27^(2/3)": "9",
    "0.25^0.5": "0.5",
    "10 % 3": "1",
    "10 mod 3": "1",
    "-7 mod 3": "2",
    "7.5 mod 2": "1.5",
    "7 // 2": "3",
    "--5": "5",
    "+5": "5",
    "5!": "120",
    "3!!": "720",
    "0!": "1",
    "2(3+4)": "14",
    "(1+2)(3+4)": "21",
    "6/2(1+2)": "9",
    "2pi": "≈ 6.28318530717959",
    "1e3": "1000",
    "1.5e-3": "0.0015",
    ".5+.5": "1",
    "1_000 + 1": "1001",
    "1,234,567 * 2": "2469134",
    "1,234.5 + 0.5": "1235",
    "0xff + 1": "256",
    "0b1010": "10",
    "0o17": "15",
    "1000000007*1000000009": "1000000016000000063",
    "2^64": "18446744073709551616",
    "99999999999999999999 + 1": "100000000000000000000",
    "2+2=": "4",
    "what is 2+2?": "4",
    "[1+2]*{3}": "9",
    "3 × 4 ÷ 2": "6",
    "2 · 3": "6",
    "5 − 3": "2",
    "3 x 4": "12",
    "2x3": "6",
    "3²": "9",
    "2⁻¹": "0.5",
    "2³²": "4294967296",
    "½ + ¼": "0.75",
    "3½": "3.5",
    "1 1/2 + 1": "2.5",
    "5 squared": "25",
    "2 cubed": "8",
    "2 to the power of 5": "32",
    "10 divided by 4": "2.5",
    "6 times 7": "42",
    "3 million * 12": "36000000",
    "3 dozen": "36",
    "12 & 10": "8",
    "12 | 3": "15",
    "6 xor 3": "5",
    "1 << 10": "1024",
    "1024 >> 3": "128",
    "~5": "-6",
    "$120 * 2": "240",
}
PERCENT = {
    "15% of 240": "36",
    "240 + 15%": "276",
    "240 - 15%": "204",
    "100 * 15%": "15",
    "10% + 5%": "15% (0.15)",
    "15%": "15% (0.15)",
    "20% off 50": "40",
    "50 + 10% of 50": "55",
    "(1250 + 890) * 15%": "321",
    "30 as % of 240": "12.5%",
    "30 is what percent of 240": "12.5%",
    "0.25 in %": "25%",
    "5‰ of 1000": "5",
    "19 percent of 100": "19",
    "200 + 10% + 10%": "242",
    "5 km + 10%": "5.5 km",
}
FUNCTION = {
    "sqrt(16)": "4",
    "sqrt(2)": "≈ 1.4142135623731",
    "√16": "4",
    "∛27": "3",
    "sqrt 16 + 1": "5",
    "square root of 81": "9",
    "sqrt(0.25)": "0.5",
    "sqrt(2)^2": "2",
    "sqrt(2)^2 - 2": "0",
    "cbrt(-27)": "-3",
    "root(32, 5)": "2",
    "pow(2, 8)": "256",
    "exp(0)": "1",
    "exp(1)": "≈ 2.71828182845905",
    "ln(e)": "1",
    "ln(1)": "0",
    "log(1000)": "3",
    "log(8, 2)": "3",
    "log2(1024)": "10",
    "log10(0.001)": "-3",
    "log₂(8)": "3",
    "sin(30°)": "0.5",
    "sin(30 deg)": "0.5",
    "sin(pi/6)": "0.5",
    "sin(180°)": "0",
    "sin(1)": "≈ 0.841470984807897",
    "cos(60°)": "0.5",
    "cos(0)": "1",
    "cos(pi)": "-1",
    "tan(45°)": "1",
    "sind(90)": "1",
    "asin(0.5) in deg": "30°",
    "acos(0) to degrees": "90°",
    "atan(1)": "≈ 0.785398163397448 rad",
    "atan2(1, -1) in deg": "135°",
    "sinh(0)": "0",
    "tanh(200)": "1",
    "factorial(20)": "2432902008176640000",
    "gcd(12, 18)": "6",
    "gcd(12, 18, 27)": "3",
    "lcm(4, 6)": "12",
    "min(3, 1, 2)": "1",
    "max(1,234)": "234",
    "max(1,000, 2,000)": "2000",
    "sum(1, 2, 3)": "6",
    "product(2, 3, 4)": "24",
    "mean(3, 5, 8.5)": "5.5",
    "average(1, 2)": "1.5",
    "median(5, 1, 3)": "3",
    "median(1, 2, 3, 4)": "2.5",
    "stdev(2, 4, 4, 4, 5, 5, 7, 9)": "≈ 2.1380899352994",
    "pstdev(2, 4, 4, 4, 5, 5, 7, 9)": "2",
    "variance(1, 2, 3)": "1",
    "combinations(52, 5)": "2598960",
    "nCr(5, 2)": "10",
    "permutations(5, 2)": "20",
    "abs(-5)": "5",
    "round(2.5)": "3",
    "round(-2.5)": "-3",
    "round(3.14159, 2)": "3.14",
    "round(1234, -2)": "1200",
    "floor(-2.5)": "-3",
    "ceil(2.1)": "3",
    "trunc(-2.7)": "-2",
    "sign(-3)": "-1",
    "hypot(3, 4)": "5",
    "mod(10, 3)": "1",
    "pi": "≈ 3.14159265358979",
    "tau / pi": "2",
    "phi": "≈ 1.61803398874989",
}
UNITS = {
    "5 km in miles": "≈ 3.10685596118667 mi",
    "5 miles to km": "8.04672 km",
    "72 °F to °C": "≈ 22.2222222222222 °C",
    "100 C to F": "212 °F",
    "-40 °C to °F": "-40 °F",
    "37℃ to ℉": "98.6 °F",
    "23 °C in K": "296.15 K",
    "0 K to °C": "-273.15 °C",
    "20 °C + 5 K": "25 °C",
    "30 °C - 10 °C": "20 K",
    "mean(20 °C, 25 °C)": "22.5 °C",
    "3 h 20 min in minutes": "200 min",
    "3 hours and 20 minutes in minutes": "200 min",
    "200 min to h and min": "3 h 20 min",
    "2 weeks in hours": "336 h",
    "2 cups in ml": "473.176473 mL",
    "1/2 cup in ml": "118.29411825 mL",
    "1 1/2 cups in ml": "354.88235475 mL",
    "3 tbsp to tsp": "9 tsp",
    "1 gal in L": "3.785411784 L",
    "1 imperial gallon in L": "4.54609 L",
    "8 fl oz in ml": "236.5882365 mL",
    "5 ft 3 in in cm": "160.02 cm",
    "5'3\" to cm": "160.02 cm",
    "72 in to cm": "182.88 cm",
    "180 cm to ft and in": "≈ 5 ft 10.8661417322835 in",
    "100 km/h in m/s": "≈ 27.7777777777778 m/s",
    "60 mph to km/h": "96.56064 km/h",
    "10 m/s in km/h": "36 km/h",
    "60 km/h * 30 min": "30 km",
    "100 km / 2 h": "50 km/h",
    "1 GiB in MB": "1073.741824 MB",
    "1 kB in bits": "8000 bit",
    "100 MB / 10 Mbps in s": "80 s",
    "8 L/100 km in mpg": "≈ 29.4018229166667 mpg",
    "5 m * 3 m": "15 m²",
    "5 km² in ha": "500 ha",
    "5 square feet in m^2": "0.4645152 m²",
    "1 acre in m2": "4046.8564224 m²",
    "3 cubic meters in L": "3000 L",
    "5 lb 3 oz in kg": "2.353010419375 kg",
    "70 kg in pounds": "≈ 154.323583529414 lb",
    "1 stone in lb": "14 lb",
    "100 psi in bar": "6.894757293168361 bar",
    "1 atm in kPa": "101.325 kPa",
    "1 kWh in J": "3600000 J",
    "500 kcal in kJ": "2092 kJ",
    "1 hp in W": "745.69987158227022 W",
    "5 kg * 9.8 m/s^2": "49 kg·m/s² (= 49 N)",
    "220 V * 5 A in W": "1100 W",
    "round(5.6 km)": "6 km",
    "5 km + 300 m": "5.3 km",
    "sqrt(16 m^2)": "4 m",
    "3 × 10^8 m/s in km/h": "1080000000 km/h",
    "10⁻³ m in mm": "1 mm",
    "2^3 kg": "8 kg",
    "2^-2 kg": "0.25 kg",
    "2^2^3 m": "256 m",
    "2^3! m": "64 m",
    "70 kg / (1.75 m)^2": "≈ 22.8571428571429 kg/m²",
    "1.5 hours to h min": "1 h 30 min",
    "25% of 80 kg": "20 kg",
    "10 MB/s * 1 h in GB": "36 GB",
    "max(1 km, 900 m)": "1 km",
    "1 light year in km": "9460730472580.8 km",
    "255 in hex": "0xff",
    "10 to binary": "0b1010",
    "0xff in decimal": "255",
    "0.75 in fraction": "3/4",
    "180 deg in rad": "≈ 3.14159265358979 rad",
    "1 turn in deg": "360°",
}
CHINESE = {
    "２＋３×（４－１）": "11",
    "１５％": "15% (0.15)",
    "100÷8": "12.5",
    "三十五加二十": "55",
    "两百零八减八": "200",
    "3万+5千": "35000",
    "1.5亿 / 3": "50000000",
    "二的十次方": "1024",
    "5的平方": "25",
    "9的平方根": "3",
    "根号2": "≈ 1.4142135623731",
    "百分之15的240": "36",
    "240的15%": "36",
    "240打8折": "192",
    "240打八五折": "204",
    "5公里等于多少英里": "≈ 3.10685596118667 mi",
    "5公里换算成米": "5000 m",
    "100平方公里是多少亩": "150000 亩",
    "10亩是多少平方米": "≈ 6666.66666666667 m²",
    "两公斤是多少斤": "4 斤",
    "3两 in g": "150 g",
    "半斤 in g": "250 g",
    "3千米 in m": "3000 m",
    "25摄氏度换算成华氏度": "77 °F",
    "3小时20分钟等于多少分钟": "200 min",
    "平均(1、2、3)": "2",
    "2立方米等于多少升": "2000 L",
    "255转换为十六进制": "0xff",
    "5+3等于多少": "8",
    "计算 12*12": "144",
}


EDGES = {
    "1 >> 2000000000": "0",
    "10^(1/3)": "≈ 2.15443469003188",
    "log(8, 2)": "3",
    "tanh(2)": "≈ 0.964027580075817",
    "tanh(1000)": "1",
    "exp(-1e12)": "0",
    "comb(2, 5)": "0",
    "perm(2, 3)": "0",
    "pi^0": "1",
    "sin(pi)^0": "1",
    "(-8)^(2/3)": "4",
    "3 m^-2": "3 m⁻²",
    "root(8 m^3, 3)": "2 m",
    "max(20 °C, 5 °C)": "20 °C",
    "max(20 °C, 300 K)": "26.85 °C",
    "abs(-20 °C)": "20 °C",
    "20 °C - 5 °F": "63 °F (difference)",
    "20 °C - 10 K": "10 °C",
    "5 km to 2 m": "2500 2 m",
    "2 m / 1 m": "2",
    "5 km in": "5 km",
    "sqrt2": "≈ 1.4142135623731",
    "log_2(8)": "3",
    "2⁻¹": "0.5",
    "千分之五": "0.005",
    "三两": "3 两",
    "-两": "-2",
    "1.5e1000000 * 1e1000000": "≈ 1.5e2000000",
}


@pytest.mark.parametrize(
    "table",
    [ARITHMETIC, PERCENT, FUNCTION, UNITS, CHINESE, EDGES],
    ids=["arithmetic", "percent", "function", "units", "chinese", "edges"],
)
async def test_it_computes(table: dict[str, str]) -> None:
    assert {expression: await answer(expression) for expression in table} == table


WRONG = {
    "": "nothing to compute",
    "   ": "nothing to compute",
    "1/0": "division by zero (at character 2",
    "5 mod 0": "division by zero",
    "0^-1": "division by zero",
    "5 +": "ends where a number is expected (at its end)",
    "(5": "a ')' is missing",
    "5)": "')' is not expected here (at character 2",
    "5 5": "an operator is missing before '5' (at character 3",
    "foo(3)": "'foo' is no function, constant or unit that is known (at character 1",
    "3 + barn": "'barn' is no function, constant or unit that is known (at character 5",
    "sqrt(-4)": "not real",
    "(-2)^0.5": "not real",
    "ln(0)": "above zero",
    "log(5, 1)": "not 1",
    "asin(2)": "from -1 to 1",
    "tan(90°)": "no value at this angle",
    "sin(1e40)": "too large",
    "factorial(-1)": "not negative",
    "factorial(2.5)": "whole numbers",
    "mean()": "takes 1 or more value(s), not 0",
    "sqrt(1, 2)": "takes 1 value(s), not 2",
    "stdev(1)": "takes 2 or more value(s), not 1",
    "variance(20 °C, 3 °C)": "of temperatures in °C or °F is not computed",
    "5 km + 3 kg": "km and kg measure different things and cannot be added",
    "5 km to kg": "cannot be converted",
    "5 in cm": "no unit",
    "5 km + 3": "a plain number measure different things",
    "sin(5 km)": "must be a plain number",
    "20 °C + 20 °C": "cannot be added",
    "2 * 20 °C": "cannot be multiplied",
    "sqrt(5 m)": "no unit",
    "3,5 * 2": "decimals with a point",
    "1.5 in hex": "only whole numbers",
    "pi in fraction": "no fraction",
    "9^9^9^9": "too large",
    "9^9^9 mod 7": "remainder",
    "1e99999999999": "too large",
    "2 # 3": "'#' means nothing here (at character 3",
    "__import__('os').system('ls')": "means nothing here",
    "().__class__": "cannot be computed",
    "1 if 1 else 2": "cannot be computed",
    "lambda: 1": "cannot be computed",
    "(" * 500 + "1" + ")" * 490: "nested more than 40 deep",
    "2^" * 300 + "2": "nested more than 40 deep",
    "1+" * 600 + "1": "at most 1000 are possible",
    "1 << -1": "numbers are shifted by 0 to",
    "1 >> -3": "numbers are shifted by 0 places or more",
    "3 m^100": "a whole exponent below 100",
    "3 km^1.5": "a whole exponent below 100",
    "acos(2)": "from -1 to 1",
    "atan2(0, 0)": "has no angle",
    "comb(-3, 2)": "combinations need numbers that are not negative",
    "perm(-1, 1)": "permutations need numbers that are not negative",
    "exp(1e12)": "too large",
    "sinh(1e12)": "too large",
    "10000000000!": "too large",
    "(-8)^pi": "not real",
    "root(8, 0)": "the degree of a root",
    "root(8, 0.5)": "the degree of a root",
    "round(3.14159, 5000)": "from -1000 to 1000",
    "sqrt(20 °C)": "no unit",
    "sum(20 °C, 1 °C)": "sum of temperatures in °C or °F means nothing",
    "gcd(20 °C, 5)": "must be a plain number, not one in °C",
    "30 K - 20 °C": "cannot be taken from a difference",
    "x": "'*' is not expected here",
    "5 km to 2": "a unit or a form",
    "5 km to (km/h)": "they measure different things",
    "2⁺": "a raised sign needs a number",
    "百": "'百' is no number",
    "3 foot 5": "an operator is missing before '5'",
    "log10": "it ends where a number is expected",
}


async def test_an_error_says_where_and_what() -> None:
    for expression, reason in WRONG.items():
        with pytest.raises(ToolError) as error:
            await answer(expression)
            pytest.fail(f"{expression!r} is computed")

        assert reason in str(error.value), expression
        assert len(str(error.value)) < 400, expression


HUGE = (
    "9^9^9",
    "9**9**9 * 9**9**9",
    "100000!",
    "123456789!",
    "exp(1e9)",
    "comb(10^9, 5*10^8)",
    "perm(10^30, 10^5)",
    "2^100000",
    "1.000000001^1e18",
    "floor(9^9^9)",
    "lcm(" + ",".join(f"10^{2000 + n}+{n}" for n in range(60)) + ")",
    "+".join("1700!" for _ in range(140)),
    "+".join(f"sin({n}.7)" for n in range(100)),
    "+".join(f"1/(10^{4900 + n}+7)" for n in range(50)),
    "1" * 999,
    "1<<16000<<16000<<16000",
    "1e999999 ^ 900",
    "5" + "%" * 900,
    "-" * 990 + "1",
    "2^" + "-" * 990 + "1",
)


@pytest.mark.parametrize("expression", HUGE, ids=lambda text: text[:20])
async def test_the_largest_numbers_cost_a_bounded_number_of_steps(expression: str) -> None:
    """No step may work on numbers longer than the limit, so their count bounds the time."""
    try:
        result = await open_tool().run({"expression": expression}, ToolContext())
    except ToolError:
        return

    assert len(result.text) < 4000


async def test_the_event_loop_goes_on_while_an_expression_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, went_on = asyncio.get_running_loop(), threading.Event()

    def compute(expression: str, digits: int) -> str:
        loop.call_soon_threadsafe(went_on.set)
        return f"went on: {went_on.wait(5.0)}"

    monkeypatch.setattr(display, "compute", compute)

    result = await open_tool().run({"expression": "1"}, ToolContext())

    assert result.text == "went on: True"


def test_exact_numbers_never_grow_beyond_the_limit() -> None:
    for expression in ("(3^10000) * (3^10000)", "1/3^5000 + 1/7^5000", "1000! * 1000! * 1000!"):
        value, _ = Parser(read(expression)).run()
        number = value.number
        if isinstance(number, Fraction):
            assert max(number.numerator.bit_length(), number.denominator.bit_length()) <= numbers.MOST_BITS


def test_a_long_list_of_steps_is_stopped_by_the_clock() -> None:
    ticks = iter(range(1000))

    with pytest.raises(CalculationError, match="takes longer than 1 s"):
        Parser(read("1+" * 20 + "1"), clock=lambda: float(next(ticks))).run()


FAR_OFF = {
    "sin(1e-60)": "1e-60",
    "tan(3e-58)": "3e-58",
    "sin(1e-45 / 3)": "≈ 3.333333333333333333333333333333333333333e-46",
    "sinh(1e-15)": "≈ 1.000000000000000000000000000000166666667e-15",
    "sin(1e12°)": "≈ -0.9848077530122080593667430245895230136706",
    "atan2(1e999999999, 1e-999999999) in deg": "90°",
    "perm(10^60, 1000)": "≈ 1e60000",
    "perm(10^4900, 3)": "≈ 1e14700",
    "comb(10^4900, 4) * 24": "≈ 1e19600",
    "comb(10^40, 500) * 500! / perm(10^40, 500)": "1",
}


async def test_forty_digits_are_right_far_from_one() -> None:
    assert {expression: await answer(expression, digits=40) for expression in FAR_OFF} == FAR_OFF


async def test_more_digits_are_shown_on_request() -> None:
    assert await answer("sqrt(2)", digits=30) == "≈ 1.41421356237309504880168872421"
    assert await answer("pi", digits=40) == "≈ 3.141592653589793238462643383279502884197"
    assert await answer("1/7", digits=3) == "≈ 0.143 (exactly 1/7)"

    with pytest.raises(ToolError, match="from 1 to 40"):
        await answer("pi", digits=41)


async def test_a_result_of_thousands_of_digits_is_shown_shorter() -> None:
    assert await answer("2^16000") == "≈ 3.01946933723923e4816 (4817 digits)"
    assert len(await answer("2^9000")) == 2710


async def test_the_answer_repeats_what_was_understood() -> None:
    result = await open_tool().run({"expression": "6/2(1+2)"}, ToolContext())

    assert result.text == "6 / 2 (1 + 2) = 9"


@pytest.mark.parametrize(
    ("expression", "note"),
    [
        ("sin(30)", "radians"),
        ("2 cups in ml", "US cup"),
        ("1 gal in L", "US gallon"),
        ("1 year in days", "365.2425"),
        ("2 tons in kg", "907.18474"),
    ],
)
async def test_what_can_be_understood_in_two_ways_is_noted(expression: str, note: str) -> None:
    result = await open_tool().run({"expression": expression}, ToolContext())

    assert "Note:" in result.text
    assert note in result.text


def test_no_name_means_two_things() -> None:
    """A unit that is also a function is told apart by the bracket; nothing else may be both."""
    both = {name for name in FUNCTIONS if units.find(name) is not None and name in units.list_names()}

    assert both <= {"min", "C", "radians"}


_VOCABULARY = (
    "1 2 9 0 .5 1e5 1e999999 ( ) + - * / ^ % ! , km m °C °F in to h min kg sin( sqrt( log( ln( exp( mean( comb( "
    "perm( factorial( lcm( round( floor( mod of off pi e ² ½ 平方 公里 百分之 万 两 三 半 折 的 的平方根 hex binary "
    "fraction 0xff << >> & | ~ xor rad ° square \" ' B Mbps mpg ⁻ ， 。 tan( atan2( asin( root( pow( stdev( 等于 "
    "多少 dozen 次方 x 3x4 1,000 1,00"
)
_PIECES = st.sampled_from(_VOCABULARY.split())


@given(st.lists(_PIECES, max_size=25).flatmap(lambda parts: st.sampled_from(["".join(parts), " ".join(parts)])))
@settings(deadline=None, max_examples=120)
def test_no_expression_raises_anything_but_a_sentence(expression: str) -> None:
    try:
        assert compute(expression)
    except CalculationError as error:
        assert str(error)


@given(st.text(max_size=60))
@settings(deadline=None, max_examples=80)
def test_no_text_raises_anything_but_a_sentence(text: str) -> None:
    try:
        assert compute(text)
    except CalculationError as error:
        assert error.at is None or 0 <= error.at <= len(text)


@given(st.integers(-(10**30), 10**30), st.integers(-(10**30), 10**30))
@settings(deadline=None)
def test_integers_are_exact(left: int, right: int) -> None:
    assert compute(f"({left}) + ({right})").endswith(f" = {left + right}")
    assert compute(f"({left}) * ({right})").endswith(f" = {left * right}")


@given(st.decimals(-1000000, 1000000, places=4), st.decimals(-1000000, 1000000, places=4))
@settings(deadline=None)
def test_decimals_are_exact(left: Decimal, right: Decimal) -> None:
    shown = compute(f"({left:f}) + ({right:f})").rpartition(" = ")[2]

    assert Decimal(shown) == left + right
