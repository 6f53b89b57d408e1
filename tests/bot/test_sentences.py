"""Our own words: in the person's language, plain, with nothing left unfilled."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from bot import sentences
from bot.sentences import TABLE, chinese, language_of, say
from tools.languages import LANGUAGES


@pytest.mark.parametrize(
    ("text", "hint", "language"),
    [
        ("What is tea?", "zh-hans", "en"),
        ("茶是什么？", "en", "zh-Hans"),
        ("帮我查一下 OpenAI 的 GPT-5 API 价格", "", "zh-Hans"),
        ("What does 茶 mean in the following English sentence?", "", "en"),
        ("お茶とは何ですか", "zh", "en"),
        ("茶って何？", "zh", "en"),
        ("12 + 3", "zh-CN", "zh-Hans"),
        ("12 + 3", "en", "en"),
        ("👍", "ZH-hant-TW", "zh-Hant"),
        ("👍", "zh_HK", "zh-Hant"),
        ("茶是什麼？", "zh-TW", "zh-Hant"),
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


def test_every_sentence_is_written_in_every_language_with_the_same_values() -> None:
    assert [key for key, words in TABLE.items() if len({frozenset(values(text)) for text in words}) != 1] == []
    assert [key for key, words in TABLE.items() if len(words) != len(LANGUAGES) or not all(map(str.strip, words))] == []


def test_no_sentence_is_written_twice() -> None:
    assert len(TABLE) == sum(len(module.SENTENCES) for module in sentences._MODULES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_can_be_said_and_holds_no_path_or_address(language: str) -> None:
    for key, (english, *_) in TABLE.items():
        names = values(english)
        said = say(key, language, **{name: f"⟨{name}⟩" for name in names})
        assert [name for name in names if f"⟨{name}⟩" not in said] == [], key
        assert not re.search(r"https?://|Traceback|\.py\b", said), key


def test_an_unknown_language_is_answered_in_english() -> None:
    assert say("stopped", "fr") == say("stopped", "en") == "Stopped."
