"""When questions come, what the emulated model writes, and the row that comes of it."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest

from bench.delivery import HEAD, Figures, quantile, used
from bench.loads import arrivals, bursts, steady
from bench.setups import SETUPS
from bench.writer import WARM_UP, answer_of, tokens_of

ROOT = Path(__file__).parents[2]


def test_a_steady_load_is_random_and_the_same_each_time() -> None:
    load = steady(8.0, 300.0, seed=3)

    assert load == steady(8.0, 300.0, seed=3)
    assert load != steady(8.0, 300.0, seed=4)
    assert len(load.times) == pytest.approx(2400, rel=0.05)
    pauses = [later - earlier for earlier, later in zip(load.times, load.times[1:], strict=False)]
    assert statistics.pstdev(pauses) == pytest.approx(1 / 8, rel=0.1), "as spread out as a Poisson process"


def test_a_burst_comes_at_one_moment() -> None:
    assert [(load.name, set(load.times), len(load.times)) for load in bursts([1, 20])] == [
        ("1 at once", {0.0}, 1),
        ("20 at once", {0.0}, 20),
    ]


def test_people_come_within_seconds_at_random_and_the_same_each_time() -> None:
    loads = list(arrivals([20, 100], [2.0, 5.0], seed=1))

    assert [load.name for load in loads] == ["20 within 2 s", "20 within 5 s", "100 within 2 s", "100 within 5 s"]
    assert loads == list(arrivals([20, 100], [2.0, 5.0], seed=1))
    assert all(list(load.times) == sorted(load.times) for load in loads)
    assert 1.8 < max(loads[2].times) < 2.0 and min(loads[2].times) < 0.2


@pytest.mark.parametrize("tokens", [200, 2100])
def test_an_answer_has_as_many_tokens_as_asked_for_and_is_another_for_each_question(tokens: int) -> None:
    text = answer_of(17, tokens)

    assert len(tokens_of(text)) == tokens
    assert "".join(tokens_of(text)) == text
    assert text == answer_of(17, tokens) != answer_of(18, tokens)
    assert 4.5 < len("".join(text.split())) / tokens < 6.5, "words of ordinary length"


def test_the_question_before_the_measurement_uses_up_few_calls() -> None:
    assert len(tokens_of(answer_of(WARM_UP, 200))) == 2


def test_what_was_used_is_a_share_of_what_the_limits_allow_in_that_time() -> None:
    telegram, slack = SETUPS["telegram"](), SETUPS["slack"]()

    assert used(telegram, {"bot": 150}, 10.0) == {"bot": 0.5}
    assert used(slack, {"update": 25}, 5.0)["update"] == 0.5, "a minute's calls may all be made at once"


def test_slacks_emulator_grants_what_the_manifest_asks_for() -> None:
    manifest = (ROOT / "adapters/slack/manifest.yaml").read_text()
    scopes, events = (re.findall(r"^ +- ([\w.:]+)", part, re.MULTILINE) for part in _lists(manifest))

    assert SETUPS["slack"]().ground == f"scopes {', '.join(sorted(scopes))}; events {', '.join(sorted(events))}"


@pytest.mark.parametrize("name", ["discord", "discord-mention"])
def test_discords_emulator_grants_what_the_documented_invitation_asks_for(name: str) -> None:
    setup = SETUPS[name]()
    setup.meet(1)

    asked = re.findall(r"permissions=(\d+)", (ROOT / "docs/discord.md").read_text())
    assert setup.ground == f"permissions {asked[0]}, privileged intents 0"


@pytest.mark.parametrize("name", ["telegram", "telegram-group"])
def test_telegrams_emulator_keeps_privacy_mode_on(name: str) -> None:
    assert SETUPS[name]().ground == "privacy mode on"


def _lists(manifest: str) -> tuple[str, str]:
    scopes, events = manifest.split("bot:\n")[1], manifest.split("bot_events:\n")[1]
    return scopes.split("settings:")[0], events.split("interactivity:")[0]


def test_a_row_has_as_many_cells_as_the_head_whether_or_not_anything_was_whole() -> None:
    possible = {"waits": [0.1], "first": [0.2], "gap": [1.0], "lag": [0.0], "edits": 2.0, "used": {}, "floor": 0.1}
    figures = Figures("Slack mention", "1 at once", 1, bound=possible)

    rows = figures.rows().splitlines()

    assert [row.count("|") for row in rows] == [HEAD.splitlines()[0].count("|")] * 2


def test_a_quantile_is_one_of_the_values() -> None:
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([3.0, 1.0, 2.0], 0.95) == 3.0
