"""What is said of an answer: its words, without marks, addresses, code and pictures."""

from __future__ import annotations

import pytest

from bot.markdown import first_sentences, seconds_to_say, shorten, to_spoken


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("The **ferry** *leaves* ~~at~~ `six`.", "The ferry leaves at six."),
        ("## Ferries 🚢\n\nAt six", "Ferries.\nAt six."),
        ("See [the plan](https://ruter.no/a?b=1), or https://www.ruter.no/b.", "See the plan, or ruter.no."),
        ("See the plan (`https://evil.example/x`) and <https://a.example/>.", "See the plan and a.example."),
        ("渡轮六点开（https://a.example/）吗", "渡轮六点开吗。"),
        ("It costs 5.50 €.[1] 25 °C in 5 m²", "It costs 5.50 €. 25 °C in 5 m²."),
        ("First:\n\n```python\nprint(1)\n```\n\nThen.", "First:\nThen."),
        ("```\nnothing but code\n```", ""),
        ("| Time | Price |\n|---|---|\n| 6:15 | 40 kr |\n|  |  |", "Time, Price.\n6:15, 40 kr."),
        ("1. Go\n2. Come back!\n   - or not ✅\n\n---\n\n- 二", "1. Go.\n2. Come back!\nor not.\n二。"),
        ("> quoted\n\n> [!more]\n> hidden", "quoted."),
        ("![a cat](https://a.example/cat.png)", "a cat."),
        ("- [x] done", "done."),
        ("", ""),
        ("🙂", ""),
    ],
)
def test_only_words_are_said(written: str, said: str) -> None:
    assert to_spoken(written) == said


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("The ferry leaves at six. It ta", "The ferry leaves at six. "),
        ("The ferry leaves at six.", ""),
        ("Yes. It leaves at six. It ta", "Yes. It leaves at six. "),
        ("It costs 3.14 kr, e.g. today", "It costs 3.14 kr, e.g. "),
        ("好。渡轮六点开。需要半", "好。渡轮六点开。"),
        ("Ferries to Moss.\nAt si", "Ferries to Moss.\n"),
        ("No end", ""),
    ],
)
def test_the_first_sentences_are_as_few_as_are_worth_a_message(said: str, first: str) -> None:
    assert first_sentences(said) == first


def test_what_takes_too_long_to_say_is_cut_at_a_sentence_or_at_a_word() -> None:
    assert shorten("It is short.", 60.0) == "It is short."
    assert shorten("One sentence here. " * 100, 10.0) == ("One sentence here. " * 7).strip()
    assert shorten("word " * 100, 10.0) == ("word " * 27).strip()
    assert len(shorten("字" * 1_000, 10.0)) == 45
    assert seconds_to_say(shorten("字。" * 1_000, 10.0)) <= 10.0
