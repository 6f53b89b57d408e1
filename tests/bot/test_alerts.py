"""The alert rules and the dashboard in contrib/ ask for nothing that /metrics does not have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast

import pytest
import yaml

from bot.app.gauges import add_gauges
from bot.contract.metrics import Count, Metrics, Spread
from bot.store import TurnState
from tests.conftest import RawJson, RawObject

CONTRIB = Path(__file__).parents[2] / "contrib"
_METRIC = re.compile(r"\b(?:parley|process)_[a-z_]+")
_LABELS = re.compile(r"by \(([a-z_, ]+)\)|[{,] ?([a-z_]+) ?(?:=~|!=|!~|=)")
_PROMETHEUS = {"le", "job", "instance"}


def rules() -> list[RawObject]:
    [group] = yaml.safe_load((CONTRIB / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    return cast(list[RawObject], group["rules"])


def panels() -> list[RawObject]:
    return cast(list[RawObject], json.loads((CONTRIB / "grafana.json").read_text(encoding="utf-8"))["panels"])


def queries() -> list[str]:
    targets = (one for panel in panels() for one in panel["targets"])
    return [str(one["expr"]) for one in (*rules(), *targets)]


def metrics() -> dict[str, set[str]]:
    """Name → its labels, of all that a running program has; a gauge is read only at a scrape."""
    found = Metrics()
    add_gauges(found, *cast(RawJson, [None] * 6))
    names: dict[str, set[str]] = {name: set(labels) for name, _, _, labels, _ in found._gauges}
    for one in vars(found).values():
        if isinstance(one, Count):
            names[one.name] = set(one._labels)
        elif isinstance(one, Spread):
            names |= {f"{one.name}_{part}": {"le"} for part in ("bucket", "sum", "count")}
    return names


@pytest.mark.parametrize("query", queries())
def test_a_query_asks_only_for_metrics_and_labels_that_exist(query: str) -> None:
    there, asked = metrics(), _METRIC.findall(query)
    labels = {name.strip() for by, one in _LABELS.findall(query) for name in (by or one).split(",")}

    assert (asked and not set(asked) - there.keys()) or query == 'up{job="parley"} == 0'
    assert labels <= _PROMETHEUS.union(*(there[name] for name in asked))
    assert query.count("(") == query.count(")")


def test_what_hurts_people_has_a_rule_and_a_panel() -> None:
    alerts = {rule["alert"]: rule for rule in rules()}
    asked = set(_METRIC.findall(" ".join(str(rule["expr"]) for rule in rules())))

    assert asked >= {
        "parley_platform_listening",
        "parley_messages_waiting",
        "parley_quota_refusals_total",
        "parley_reader_waits_seconds_bucket",
        "parley_store_in_trouble",
    }
    assert all(rule["labels"]["severity"] in ("page", "ticket") for rule in alerts.values())
    assert all(rule["annotations"]["summary"] for rule in alerts.values())
    assert asked - {"parley_shard_listening", "parley_unserved", "parley_token_conflicts"} <= set(
        _METRIC.findall(json.dumps(panels()))
    )


def test_states_in_queries_are_states() -> None:
    assert {state for query in queries() for state in re.findall(r'state="([a-z]+)"', query)} <= set(TurnState)


def test_panels_do_not_cover_each_other() -> None:
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels()}
    assert len(places) == len(panels()) == len({panel["id"] for panel in panels()})
