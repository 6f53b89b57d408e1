"""The answer to `/usage`."""

from __future__ import annotations

from collections.abc import Callable

from bot.policy import Day, Report
from bot.sentences import how_long, say
from bot.store import Amount


def write_usage(report: Report, language: str, *, priced: bool, everybody: bool) -> str:
    """Write a report for a person to read.

    Args:
        priced: the price of the model in use is known; otherwise a zero amount means nothing.
        everybody: include the whole bot's day, and the people with the highest usage.
    """

    def counted(spent: float, most: float, form: Callable[[float], str], unit: str = "{count}") -> str:
        amount = unit.format(count=form(spent))
        if not most:
            return amount
        return say("usage_of", language, spent=amount, most=form(most), left=form(max(0.0, most - spent)))

    def amounts(day: Day) -> dict[str, str]:
        money = say("usage_unpriced", language)
        if priced or day.spent.dollars:
            money = counted(day.spent.dollars, day.most.dollars, _dollars)
        tokens = counted(
            day.spent.tokens, day.most.tokens, "{:,.0f}".format, say("usage_tokens", language, count="{count}")
        )
        return {"tokens": tokens, "money": money}

    def line(who: str, day: Day) -> str:
        return say("usage_line", language, who=who, messages=day.spent.messages, **amounts(day))

    lines = [
        say("usage_head", language, wait=how_long(report.resets_in, language)),
        "",
        line(say("usage_you", language), report.person),
        line(say("usage_chat", language), report.chat),
    ]
    if report.workspace is not None:
        lines.append(line(say("usage_workspace", language), report.workspace))
    if report.tools:
        paid = (
            f"{name} {amount.messages} × {_dollars(amount.dollars / max(1, amount.messages))}"
            for name, amount in report.tools
        )
        lines.insert(3, say("usage_tools", language, tools=", ".join(paid)))
    if everybody:
        lines.append(line(say("usage_all", language), report.everybody))
        lines.append(say("usage_others", language, **amounts(report.others)))
    if report.top:
        lines += ["", say("usage_top", language), ""]
        lines += [line(f"`{person}`", Day(amount, Amount())) for person, amount in report.top]
    return "\n".join(lines)


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.1 or not amount else f"${amount:.4f}"
