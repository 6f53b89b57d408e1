"""Our own words: in the person's language, plain, with nothing left unfilled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import sentences
from bot.sentences import TABLE, chinese, how_long, language_of, say
from bot.sentences.language import is_certain, script
from tools.calling.problems import _PROBLEMS
from tools.contract.languages import LANGUAGES, Words, phrase
from tools.fetch.search_results import _LABELS

TEXTS = st.text(alphabet="茶什麼么国國 a1", max_size=6)
TAGS = st.sampled_from(("", "en", "zh", "zh-TW", "zh-CN"))


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
        ("幫我查一下台北明天的天氣", "", "zh-Hant"),
        ("帮我查一下上海明天的天气", "", "zh-Hans"),
        ("我哋今晚去邊度食飯", "", "zh-Hant"),
        ("里面有几只鸟，后天还在吗", "zh-TW", "zh-Hans"),
        ("裡面有幾隻鳥，後天還在嗎", "zh-CN", "zh-Hant"),
        ("繁體字「資訊」的简体怎么写", "zh-CN", "zh-Hant"),
        ("你好", "zh-HK", "zh-Hant"),
        ("你好", "zh", "zh-Hans"),
        ("Qu'est-ce que le thé ?", "fr", "en"),
    ],
)
def test_a_person_is_answered_in_the_language_they_write(text: str, hint: str, language: str) -> None:
    assert language_of(text, hint) == language


@pytest.mark.parametrize(
    ("text", "hint", "before", "language"),
    [
        ("", "en", ["幫我查天氣"], "zh-Hant"),
        ("12 + 3", "", ["👍", "帮我查天气", "幫我查天氣"], "zh-Hans"),
        ("", "zh-CN", ["What is tea?", "帮我查天气"], "en"),
        ("", "zh-CN", ["你好"], "zh-Hans"),
        ("你好", "", ["What is tea?", "你好", "幫我查天氣"], "zh-Hant"),
        ("你好", "zh-Hans", ["幫我查天氣"], "zh-Hans"),
        ("Hello", "zh-TW", ["幫我查天氣"], "en"),
    ],
)
def test_what_a_person_wrote_before_decides_where_the_message_does_not(
    text: str, hint: str, before: list[str], language: str
) -> None:
    assert language_of(text, hint, before) == language


@given(TEXTS, TAGS, st.lists(TEXTS, max_size=3))
def test_where_a_message_is_certain_nothing_before_it_counts(text: str, hint: str, before: list[str]) -> None:
    if is_certain(text, hint):
        assert language_of(text, hint, before) == language_of(text, hint)


def test_a_single_chinese_word_is_chinese() -> None:
    assert chinese("茶")
    assert not chinese("tea")
    assert not chinese("123")


def values(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("table", [TABLE, _PROBLEMS, _LABELS], ids=["sentences", "problems", "labels"])
def test_everything_is_written_in_every_language_with_the_same_values(table: Mapping[str, Words]) -> None:
    assert [key for key, words in table.items() if len({frozenset(values(text)) for text in words}) != 1] == []
    assert [key for key, words in table.items() if len(words) != len(LANGUAGES) or not all(map(str.strip, words))] == []


@pytest.mark.parametrize("table", [TABLE, _PROBLEMS, _LABELS], ids=["sentences", "problems", "labels"])
def test_each_script_is_its_own(table: Mapping[str, Words]) -> None:
    """Of a text that is the same in both every character belongs to both; else each column has its own."""
    for key, (_, simplified, traditional) in table.items():
        assert script(simplified) != "zh-Hant", key
        assert script(traditional) != "zh-Hans", key
        for text, other in ((simplified, "zh-Hant"), (traditional, "zh-Hans")):
            assert [sign for sign in text if script(sign) == other] == [], key


@pytest.mark.parametrize("table", [TABLE, _PROBLEMS, _LABELS], ids=["sentences", "problems", "labels"])
def test_one_thing_is_not_said_as_several(table: Mapping[str, Words]) -> None:
    one = {key: phrase(words, "en", **dict.fromkeys(values(words[0]), 1)) for key, words in table.items()}

    nouns = r"\b1 (?:older )?(?:characters|facts|items|messages|minutes|questions|results|seconds|tokens|turns)\b"
    assert [key for key, text in one.items() if re.search(nouns, text)] == []


def test_a_number_takes_its_noun() -> None:
    assert [say("forgotten", "en", turns=number).rpartition(": ")[2] for number in (0, 1, 2, "1", "1,000")] == [
        "0 turns.", "1 turn.", "2 turns.", "1 turn.", "1,000 turns.",
    ]  # fmt: skip
    assert say("forgotten", "zh", turns=1).endswith("共 1 轮对话。")


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


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "1 second"), (1.0, "1 second"), (1.1, "2 seconds"), (90.0, "90 seconds"), (91.0, "2 minutes")],
)
def test_a_wait_is_said_as_people_say_it(seconds: float, said: str) -> None:
    assert how_long(seconds, "en") == said
