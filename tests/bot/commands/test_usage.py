"""What `/usage` says of a day: what was used, what is left, and what an admin may know of everybody."""

from __future__ import annotations

import pytest

from bot.commands.usage import write_usage
from bot.policy import Day, Report
from bot.store import Amount

NOTHING = Day(Amount(), Amount())


def report(person: Day = NOTHING, **more: object) -> Report:
    parts = {"chat": NOTHING, "everybody": NOTHING, "others": NOTHING, "resets_in": 3_600.0} | more
    return Report(person=person, **parts)  # type: ignore[arg-type]  # a test gives each part its own type


@pytest.mark.parametrize(
    ("day", "priced", "told"),
    [
        (Day(Amount(1_500, 2), Amount()), True, "2 questions, 1,500 tokens, $0.00"),
        (Day(Amount(1_500, 2), Amount()), False, "2 questions, 1,500 tokens, cost unknown"),
        (Day(Amount(1_500, 2, 0.02), Amount()), False, "2 questions, 1,500 tokens, $0.0200"),
        (Day(Amount(500, 1, 1.5), Amount(2_000, 0, 2.0)), True, "$1.50 of $2.00 ($0.50 left)"),
        (Day(Amount(2_500, 1), Amount(2_000)), True, "2,500 tokens of 2,000 (0 left)"),
    ],
)
def test_a_day_is_told_as_what_was_used_and_what_is_left(day: Day, priced: bool, told: str) -> None:
    assert told in write_usage(report(day), "en", priced=priced, everybody=False)


def test_what_was_paid_for_tools_stands_by_the_persons_part() -> None:
    text = write_usage(
        report(tools=(("search_web", Amount(messages=2, dollars=0.03)),)), "en", priced=True, everybody=False
    )

    assert "search_web 2 × $0.0150" in text


def test_an_admin_reads_of_everybody_and_who_used_most() -> None:
    whole = report(everybody=Day(Amount(9, 3, 0.5), Amount()), top=(("telegram:8", Amount(7, 2, 0.4)),))

    ours = write_usage(whole, "en", priced=True, everybody=True)

    assert "$0.50" in ours
    assert "`telegram:8`" in ours and "$0.40" in ours
    assert "$0.50" not in write_usage(report(), "en", priced=True, everybody=False)
