"""Our own words: in the person's language, plain, with nothing left unfilled."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from bot import sentences
from bot.sentences import chinese, language_of, say

TABLE = sentences._TABLE


@pytest.mark.parametrize(
    ("text", "hint", "language"),
    [
        ("What is tea?", "zh-hans", "en"),
        ("茶是什么？", "en", "zh"),
        ("帮我查一下 OpenAI 的 GPT-5 API 价格", "", "zh"),
        ("What does 茶 mean in the following English sentence?", "", "en"),
        ("お茶とは何ですか", "zh", "en"),
        ("茶って何？", "zh", "en"),
        ("12 + 3", "zh-CN", "zh"),
        ("12 + 3", "en", "en"),
        ("👍", "ZH-hant-TW", "zh"),
        ("", "", "en"),
        ("Qu'est-ce que le thé ?", "fr", "en"),
    ],
)
def test_a_person_is_answered_in_the_language_they_write(text: str, hint: str, language: str) -> None:
    assert language_of(text, hint) == language


def test_a_single_chinese_word_is_chinese() -> None:
    assert chinese("茶")
    assert not chinese("tea")
    assert not chinese("123")


def values(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_both_languages_say_the_same_with_the_same_values() -> None:
    assert [key for key, (english, han) in TABLE.items() if values(english) != values(han)] == []
    assert [key for key, texts in TABLE.items() if not all(text.strip() for text in texts)] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_sentence_can_be_said_and_holds_no_path_or_address(language: str) -> None:
    for key, (english, _) in TABLE.items():
        names = values(english)
        said = say(key, language, **{name: f"⟨{name}⟩" for name in names})
        assert [name for name in names if f"⟨{name}⟩" not in said] == [], key
        assert not re.search(r"https?://|Traceback|\.py\b", said), key


def test_an_unknown_language_is_answered_in_english() -> None:
    assert say("stopped", "fr") == say("stopped", "en") == "Stopped."
