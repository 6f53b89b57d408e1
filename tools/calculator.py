"""The tool that computes expressions exactly where possible: numbers, functions, percentages, units."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tools.calling.function import FunctionTool, tool
from tools.contract.base import ToolError

if TYPE_CHECKING:
    from tools.calculation.numbers import CalculationError

_EXAMPLES = (
    {"expression": "(1250 + 890) * 15%"},
    {"expression": "72 °F to °C"},
    {"expression": "3 h 20 min in minutes"},
    {"expression": "sqrt(2) * sin(30°)", "digits": 20},
    {"expression": "mean(3, 5, 8.5)"},
)
_ASKED = (
    "How much is 15 % of 1250 and 890 together?",
    "72 华氏度是多少摄氏度？",
)
_KEYWORDS = (
    *("calculate", "compute", "how much", "sum", "plus", "minus", "times", "divided", "percent", "convert", "unit"),
    *("square root", "average", "interest", "miles", "km", "kg", "pounds", "celsius", "fahrenheit", "math"),
    *(
        "计算",
        "算一下",
        "等于",
        "多少",
        "加",
        "减",
        "乘",
        "除",
        "百分之",
        "换算",
        "平均",
        "平方",
        "公里",
        "公斤",
        "摄氏度",
        "折",
    ),
)
_LONGEST_QUOTE = 80


def open_tool(settings: object = None) -> FunctionTool:
    """The tool, which needs no settings."""
    return calculator


@tool(
    category="math",
    examples=_EXAMPLES,
    asked=_ASKED,
    keywords=_KEYWORDS,
    same="calculate calculator compute evaluate math expression arithmetic "
    "| arithmetic expression math mathematical calculation",
    icon="🧮",
    verb=("Calculating", "正在计算", "正在計算"),
    label=("Calculate exactly, convert units", "精确计算、换算单位", "精確計算、換算單位"),
    subject="expression",
    timeout=5.0,
    per_minute=30,
    own_words=True,
)
async def calculator(expression: str, digits: int = 15) -> str:
    """Compute an expression exactly, or convert between units.

    Use when: a number has to be right: arithmetic, percentages, roots, logarithms, trigonometry, statistics of a
        few numbers, number bases, or units of length, area, volume, mass, time, temperature, speed, data, energy.
    Not for: dates and time zones (current_time), currencies and other figures that change (search_web).
    Source: its own exact arithmetic

    Args:
        expression: What to compute, in the usual signs: + - * / ^ % ! and functions (sqrt, ln, log is base 10, sin,
            mean, combinations, round …); "in" or "to" converts. Example: "5 km in miles"
        digits: How many digits of a result that does not end, 1 to 40.
    """
    return await asyncio.to_thread(_compute, expression, digits)


def _compute(expression: str, digits: int) -> str:
    """The answer to an expression, for a thread: a hostile one takes 150 ms, and the first one imports mpmath.

    Raises:
        ToolError: the expression has no value.
    """
    from tools.calculation.display import MOST_DIGITS, compute
    from tools.calculation.numbers import CalculationError

    if not 1 <= digits <= MOST_DIGITS:
        raise ToolError(f"digits must be from 1 to {MOST_DIGITS}, not {digits}.")
    try:
        return compute(expression, int(digits))
    except CalculationError as error:
        raise ToolError(_describe(expression, error)) from error


def _describe(expression: str, error: CalculationError) -> str:
    """The error as a sentence, with its place in the expression."""
    at = error.at
    quoted = expression if len(expression) <= _LONGEST_QUOTE else f"{expression[:_LONGEST_QUOTE]}…"
    if at is None:
        return f"{quoted!r} cannot be computed: {error}."
    near = expression[at : at + 12]
    place = f"at character {at + 1}, {near!r}" if near else "at its end"
    return f"{quoted!r} cannot be computed: {error} ({place})."
