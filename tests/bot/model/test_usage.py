"""Tokens are estimated well enough to plan with, and better after the first report."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model.usage import REMEMBERED, Estimator

PROSE = "The committee decided on Thursday to postpone the vote until every member had read the report. " * 20
CHINESE = "委员会周四决定推迟投票，直到每位成员都读完报告为止。" * 20
CODE = 'def area(radius: float) -> float:\n    """The area."""\n    return 3.14159 * radius ** 2\n\n' * 20


@pytest.mark.parametrize(
    ("text", "tokens"),
    [(PROSE, 360), (CHINESE, 400), (CODE, 560), ("🎲" * 50, 100)],
    ids=["English", "Chinese", "code", "emoji"],
)
def test_an_estimate_is_within_two_fifths_of_common_tokenizers(text: str, tokens: int) -> None:
    assert 0.6 * tokens <= Estimator().tokens(text) <= 1.6 * tokens


def test_reports_draw_the_estimate_to_the_truth() -> None:
    estimator = Estimator()
    truth = estimator.tokens(PROSE) * 1.8

    for _ in range(20):
        estimator.learn(estimator.tokens(PROSE), round(truth))

    assert estimator.tokens(PROSE) == pytest.approx(truth, rel=0.03)


def test_one_absurd_report_does_not_turn_the_estimate_over() -> None:
    estimator = Estimator()
    before = estimator.tokens(PROSE)

    estimator.learn(before, before * 1000)
    estimator.learn(3, 900)

    assert estimator.tokens(PROSE) <= 2.5 * before


@given(st.text())
def test_no_text_is_free_and_none_is_nothing(text: str) -> None:
    assert (Estimator().tokens(text) > 0) == bool(text)


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(text: str, more: str) -> None:
    assert Estimator().tokens(text + more) >= Estimator().tokens(text)


def test_a_whole_window_is_estimated_quickly() -> None:
    begun = time.process_time()

    Estimator().tokens((PROSE + CHINESE) * 100)

    assert time.process_time() - begun < 0.5


def test_what_was_estimated_before_costs_next_to_nothing_and_follows_what_was_learned() -> None:
    estimator = Estimator()
    text = (PROSE + CHINESE) * 200
    first, again = time.process_time(), estimator.tokens(text)
    first, begun = time.process_time() - first, time.process_time()

    assert [estimator.tokens(text) for _ in range(10)] == [again] * 10

    assert time.process_time() - begun < first
    estimator.learn(again, again * 2)
    assert estimator.tokens(text) > again


def test_the_weights_that_are_remembered_are_limited() -> None:
    estimator = Estimator()

    for number in range(3 * REMEMBERED):
        estimator.tokens(f"{number}")

    assert 0 < len(estimator._weights) <= REMEMBERED
