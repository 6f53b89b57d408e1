"""What is counted, as Prometheus reads it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from bot.contract.metrics import MOST_SERIES, Count, Metrics, Spread

_LINE = re.compile(r'[a-z_]+(?:\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\})? [0-9.e+-]+')


def test_what_was_counted_is_told_by_its_labels() -> None:
    metrics = Metrics()
    metrics.turns_begun.add()
    metrics.tool_calls.add("search_web", "completed")
    metrics.tool_calls.add("search_web", "completed")
    metrics.gauge("parley_turns_waiting", "Messages that wait.", lambda: 3)

    metrics.gauges("parley_shard", "Shards.", ("platform", "shard"), lambda: {("discord", "1"): 1, ("discord", "0"): 0})

    told = metrics.text().splitlines()

    assert told[-2:] == ['parley_shard{platform="discord",shard="0"} 0', 'parley_shard{platform="discord",shard="1"} 1']
    assert "parley_turns_begun_total 1" in told
    assert 'parley_tool_calls_total{tool="search_web",status="completed"} 2' in told
    assert "# TYPE parley_turns_waiting gauge" in told and "parley_turns_waiting 3" in told


def test_the_lag_is_told_in_growing_buckets() -> None:
    lag = Spread("lag", "A lag.", (0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 7.0):
        lag.observe(seconds)

    told = list(lag.lines())[2:]

    assert told == [
        'lag_bucket{le="0.1"} 2',
        'lag_bucket{le="1"} 3',
        'lag_bucket{le="+Inf"} 4',
        "lag_sum 7.65",
        "lag_count 4",
    ]


def test_a_count_of_endlessly_many_names_stays_small() -> None:
    count = Count("calls", "Calls.", ("tool",))

    for number in range(MOST_SERIES * 3):
        count.add(f"tool{number}")

    assert len(list(count.lines())) <= MOST_SERIES + 3
    assert count.value("other") == MOST_SERIES * 2


@given(st.text(), st.floats(0, 1e9))
def test_whatever_a_label_holds_the_page_can_be_read(label: str, amount: float) -> None:
    metrics = Metrics()
    metrics.refusals.add(label, amount=amount)

    lines = [line for line in metrics.text().split("\n") if line and not line.startswith("#")]

    assert all(_LINE.fullmatch(line.replace("+Inf", "Inf")) for line in lines if "refusals" in line)
