"""How long a reader waits, from what stood on the screen."""

from __future__ import annotations

import pytest

from bench.reader import HAN_PER_SECOND, LETTERS_PER_SECOND, SKIMMED_PER_SECOND, Answer, Sight, follow, read, sights

WORD = 5 / LETTERS_PER_SECOND
"""Seconds for a word of five letters."""


def answer_of(words: int) -> Answer:
    return Answer(" ".join(f"wor{index:02}" for index in range(words)))


def shown(words: int, more: str = "") -> str:
    return " ".join(f"wor{index:02}" for index in range(words)) + more


def test_a_reader_waits_for_the_first_word_and_where_what_is_shown_runs_out() -> None:
    seen = [Sight(10.1, shown(2)), Sight(11.0, shown(30)), Sight(14.0, shown(40))]

    reading = read(answer_of(40), seen, 10.0, 10.0, 100.0)

    assert reading.waits == pytest.approx(0.1 + (0.9 - 2 * WORD))
    assert reading.whole == 14.0


def test_half_a_word_at_the_end_cannot_be_read() -> None:
    answer = answer_of(4)

    assert answer.readable("wor") == 0
    assert answer.readable(shown(2, " wo")) == pytest.approx(2 * WORD)
    assert answer.readable(shown(3)) == pytest.approx(3 * WORD), "the answer has a space behind it"


def test_a_post_of_one_token_is_no_first_words() -> None:
    seen = [Sight(1.0, "wor00"), Sight(1.5, shown(2)), Sight(2.0, shown(3)), Sight(3.0, shown(9))]

    reading = read(answer_of(9), seen, 1.0, 1.0, 9.0)

    assert reading.first_words == 2.0


def test_an_answer_shorter_than_the_first_words_begins_when_it_is_whole() -> None:
    reading = read(answer_of(2), [Sight(1.0, shown(1)), Sight(2.0, shown(2))], 0.5, 0.5, 9.0)

    assert reading.first_words == 2.0


def test_what_is_no_beginning_of_the_answer_is_nothing_to_read() -> None:
    seen = [Sight(1.0, "Searching the web for words"), Sight(4.0, shown(5))]

    reading = read(answer_of(5), seen, 1.0, 1.0, 9.0)

    assert reading.waits == pytest.approx(3.0)
    assert reading.first_words == 4.0


def test_a_cursor_behind_the_text_takes_no_words_away() -> None:
    assert answer_of(5).readable(shown(3, " ▌")) == pytest.approx(3 * WORD)


def test_an_answer_that_is_never_whole_is_waited_for_until_the_end_of_the_measurement() -> None:
    reading = read(answer_of(100), [Sight(1.0, shown(3))], 1.0, 1.0, 21.0)

    assert reading.whole is None
    assert reading.waits == pytest.approx(20 - 3 * WORD)


def test_after_the_whole_answer_nobody_waits() -> None:
    reading = read(answer_of(3), [Sight(2.0, shown(3))], 1.5, 1.5, 99.0)

    assert reading.waits == pytest.approx(0.5)


def test_the_longest_gap_counts_from_the_first_token_and_to_the_end() -> None:
    assert follow([(3.0, 1.0), (3.5, 2.0), (6.5, 3.0)], 1.0, 6.5)[1] == pytest.approx(3.0)
    assert follow([(6.0, 1.0), (6.5, 2.0)], 1.0, 6.5)[1] == pytest.approx(5.0)


def test_an_edit_without_a_new_word_ends_no_gap() -> None:
    seen = [Sight(1.0, shown(3)), Sight(2.0, shown(3, " wo")), Sight(3.0, shown(5))]

    assert read(answer_of(5), seen, 1.0, 1.0, 9.0).gap == pytest.approx(2.0)


def test_chinese_is_read_sign_by_sign_at_its_own_speed() -> None:
    answer = Answer("今天天气很好，我们出去走走")

    assert answer.readable("今天天") == pytest.approx(3 / HAN_PER_SECOND)
    assert read(answer, [Sight(1.0, "今天天气很"), Sight(2.0, "今天天气很好")], 1.0, 1.0, 3.0).first_words == 2.0


def test_text_of_both_kinds_has_borders_where_they_meet() -> None:
    answer = Answer("我用Parley写")

    assert answer.readable("我用Par") == pytest.approx(2 / HAN_PER_SECOND)
    assert answer.readable("我用Parley") == pytest.approx(2 / HAN_PER_SECOND + 6 / LETTERS_PER_SECOND)


def test_several_messages_are_read_one_after_the_other() -> None:
    """A second page that comes before the end of the first cannot be read across the hole."""
    pages = [[(1.0, shown(1)), (4.0, shown(2))], [(2.0, "wor02 wor03")]]

    seen = sights(pages)

    answer = answer_of(4)
    assert [answer.readable(sight.text) for sight in seen] == pytest.approx([WORD, WORD, 4 * WORD])
    assert read(answer, seen, 0.0, 0.0, 9.0).whole == 4.0


def test_text_shown_before_the_models_first_token_is_waiting_for_nobody() -> None:
    assert [*follow([(0.5, 4.0)], 1.0, 3.0)] == [0.0, pytest.approx(2.0)]


def test_who_skims_waits_where_who_reads_has_enough() -> None:
    reading = read(answer_of(40), [Sight(0.0, shown(20)), Sight(3.0, shown(40))], 0.0, 3.0, 9.0)

    assert reading.waits == 0.0
    assert reading.skims == pytest.approx(3.0 - 20 * 5 / SKIMMED_PER_SECOND)


@pytest.mark.parametrize(
    ("seen", "stale"),
    [
        ([(2.0, 10)], 1.0),
        ([(0.0, 10)], 0.0),
        ([(1.0, 5), (3.0, 10)], (0.5 * 1 + 2 * 1) / 3),
        ([(1.0, 5), (3.0, 9)], (0.5 + 2 + 1.7) / 4),
    ],
    ids=["shown at the end", "before it is written", "an edit that is late", "never whole"],
)
def test_what_is_shown_is_as_old_as_the_time_since_the_model_had_written_it(
    seen: list[tuple[float, int]], stale: float
) -> None:
    sights = [Sight(at, shown(words)) for at, words in seen]

    assert read(answer_of(10), sights, 0.0, 2.0, 4.0).stale == pytest.approx(stale)
