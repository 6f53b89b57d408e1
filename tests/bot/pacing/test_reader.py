"""What a reader of a reply needs, and when."""

from __future__ import annotations

import pytest

from bot.contract import Pace
from bot.pacing.reader import Reader, is_readable, seconds_to_read


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0.0, 0.0),
        ("** — ** !", 0.0, 0.0),
        ("one two three four five six ", 0.7, 1.2),
        ("word " * 320, 45.0, 60.0),
        ("京都今天下雨", 0.7, 1.2),
        ("雨" * 420, 55.0, 70.0),
        ("今日は京都で雨が降る", 1.0, 2.0),
        ("오늘 교토에는 비가 온다", 1.0, 2.0),
    ],
)
def test_a_text_takes_as_long_as_its_letters_and_a_wide_sign_as_a_syllable(
    text: str, least: float, most: float
) -> None:
    assert least <= seconds_to_read(text) <= most


def test_the_same_sentence_takes_about_as_long_in_english_and_in_chinese() -> None:
    english = seconds_to_read("Green tea in Kyoto costs between eight hundred and three thousand yen.")
    chinese = seconds_to_read("京都的绿茶售价在八百到三千日元之间。")

    assert 0.6 < english / chinese < 1.6


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("", False),
        ("Green tea in", False),
        ("Green tea in Kyoto", True),
        ("京都今天下", False),
        ("京都今天下雨", True),
        ("**Yes**", False),
    ],
)
def test_a_few_words_or_signs_can_be_read(text: str, readable: bool) -> None:
    assert is_readable(text) is readable


def test_who_has_waited_for_first_words_reads_from_when_they_stand() -> None:
    reader = Reader(())
    assert reader.wait(10.0) == 10.0 == reader.wait(11.0), "they wait since the first time"

    reader.see("word " * 27, 12.0)

    assert reader.out_at == pytest.approx(16.0)


def test_what_is_added_is_read_after_what_stands() -> None:
    reader = Reader(())
    reader.see("word " * 27, 10.0)
    reader.see("word " * 27, 11.0)
    assert reader.out_at == pytest.approx(18.0)

    reader.see("word " * 27, 30.0)

    assert reader.out_at == pytest.approx(34.0), "who ran out begins again when there is more"


def test_the_next_edit_is_needed_before_everything_is_read_and_never_at_once() -> None:
    reader = Reader((), pace=Pace(apart=0.5, ahead=0.25))
    reader.see("word " * 27, 10.0)
    assert reader.needs_at == pytest.approx(14.0 - 0.25)

    reader.see("", 14.0)

    assert reader.needs_at == pytest.approx(14.0 + 0.5)


@pytest.mark.parametrize(
    ("pace", "spread", "after"),
    [
        (Pace(apart=0.5, fresh=0.2), 0.0, 0.5),
        (Pace(apart=0.5, fresh=0.7), 0.0, 0.7),
        (Pace(), 1.0, 1.0),
        (Pace(), float("inf"), float("inf")),
    ],
)
def test_who_looks_up_sees_the_answer_grow_as_often_as_can_be_read_and_calls_allow(
    pace: Pace, spread: float, after: float
) -> None:
    reader = Reader((), pace=pace)
    assert reader.fresh_at(spread) == float("-inf")

    reader.see("word " * 2_000, 10.0)

    assert reader.fresh_at(spread) == pytest.approx(10.0 + after)


def test_how_long_they_had_nothing_left_to_read_is_counted_from_the_first_words_on() -> None:
    reader = Reader(())
    reader.see("", 5.0)  # what a tool does
    reader.wait(10.0)
    reader.words_since = 10.0
    reader.see("word " * 27, 10.4)
    assert reader.words_at == 10.4
    assert reader.waited == pytest.approx(0.4)

    reader.see("word " * 27, 12.0)
    assert reader.waited == pytest.approx(0.4), "there was still something to read"

    reader.see("the end", 20.4)
    assert reader.waited == pytest.approx(2.4)
