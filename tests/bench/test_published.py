"""Tables and chart of published figures."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from bench.published import chart, loads, readme, summary, table
from tests.conftest import RawObject


def run_of(setup: str, load: str, waits: float = 0.2) -> RawObject:
    possible = {"waits": [0.1, 0.1], "first": [0.1], "gap": [1.0], "lag": [0.0], "edits": 2.0}
    shown = {"waits": [waits, 3 * waits], "first": [0.3], "gap": [1.0, 2.0], "lag": [0.01, 0.05], "edits": [2, 3]}
    spent = {"calls": 3.5, "used": {"bot": 0.5, "other": 0.0}, "refused": 0, "cpu": 0.041}
    return {"setup": setup, "load": load, "asked": 2, "whole": 2, "bound": possible} | shown | spent


RUNS = [
    run_of("Telegram private", "1 at once"),
    run_of("Telegram private", "20 at once"),
    run_of("Slack <x>", "8 a second"),
]


def test_a_line_has_what_is_possible_in_brackets() -> None:
    assert table(RUNS).splitlines()[2] == (
        "| Telegram private, 1 at once | all | 0.60 / 0.60 s (0.10 / 0.10) | 0.30 / 0.30 s (0.10 / 0.10) "
        "| 2.00 / 2.00 s (1.00 / 1.00) | 0.05 / 0.05 s (0.00 / 0.00) | 2.5, 3.5 | 0.041 s |"
    )


def test_refused_calls_and_answers_that_were_lost_are_told() -> None:
    run = run_of("Slack mention", "8 a second") | {"whole": 1, "refused": 7}

    assert "| 1 of 2, 7 calls refused |" in table([run])


def test_shares_of_the_limits_have_a_table_of_their_own_by_platform() -> None:
    steady = run_of("Slack <x>", "2.92 a second (90 %)"), run_of("Telegram private", "13.5 a second (90 %)")
    lost = run_of("Slack <x>", "2.44 a second (75 %)") | {"asked": 1731, "whole": 1730, "refused": 7}
    first, second, third = loads([RUNS[0], *steady, lost]).splitlines()[2:]

    assert first.startswith("| Telegram private, 90 % (13.5 a second) | 2 | 0.60 / 0.60 s (0.10 / 0.10) |")
    assert first.endswith("| 0.05 / 0.05 s (0.00 / 0.00) | 2.5, 0.041 s |")
    assert second.startswith("| Slack <x>, 90 % (2.92 a second) | 2 |")
    assert third.startswith("| Slack <x>, 75 % (2.44 a second) | 1,731, 1,730 whole, 7 calls refused |")
    assert table([*RUNS, *steady]) == table(RUNS)
    assert chart([*RUNS, *steady]) == chart(RUNS)


def test_the_readmes_table_is_a_choice_of_lines_of_the_whole_one() -> None:
    line, empty, *lines = readme(RUNS).splitlines()

    assert (line, empty) == (summary("\n".join(lines)), "")
    assert len(lines) == 3
    assert set(lines) < set(table(RUNS).splitlines())


def test_the_readmes_line_goes_from_the_least_median_to_the_most() -> None:
    runs = [run_of("Telegram private", "20 at once"), run_of("Slack mention", "20 at once", 0.1)]

    assert summary(table(runs)) == (
        "**20 people ask at once**: first words after 0.30 s, then 0.30 to 0.60 s of waiting for more in a whole "
        "answer (best possible: 0.10 s)."
    )


def test_the_chart_is_xml_with_a_bar_for_each_run_and_the_same_each_time() -> None:
    drawn = chart(RUNS)

    assert drawn == chart(RUNS)
    ElementTree.fromstring(drawn)
    assert drawn.count("<circle") == 2 * len(RUNS) + 2
    assert "Slack &lt;x&gt;" in drawn


def test_a_longer_wait_stands_further_right() -> None:
    def place(waits: float) -> float:
        drawn = chart([run_of("Telegram private", "1 at once", waits)])
        return float(re.findall(r'cx="([\d.]+)"', drawn)[2])

    assert place(0.1) < place(0.3) < place(20.0)
