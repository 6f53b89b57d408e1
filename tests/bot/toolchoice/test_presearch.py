"""A search comes first only where a question plainly needs one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.toolchoice.presearch import pre_search
from tools.contract.base import ToolSpec

TABLE = json.loads((Path(__file__).parent / "presearch.json").read_text())
Specs = tuple[ToolSpec, ...]


@pytest.mark.parametrize("question", TABLE["searched"])
def test_a_question_about_what_changes_is_searched_first(few: Specs, question: str) -> None:
    call = pre_search(question, few)

    assert call is not None
    assert call.name == "search_web"
    assert call.arguments["query"]


@pytest.mark.parametrize("question", TABLE["answered_without"])
def test_other_messages_are_not_searched(few: Specs, question: str) -> None:
    assert pre_search(question, few) is None


@pytest.mark.parametrize(
    "question", ["weather in Oslo", "今天上海天气怎么样", "NVDA stock price", "人民币兑美元汇率", "今天有什么新闻"]
)
def test_a_question_that_another_tool_is_made_for_is_not_searched(sixty_five: Specs, question: str) -> None:
    assert pre_search(question, sixty_five) is None


def test_the_query_is_the_question_without_its_courtesies(few: Specs) -> None:
    call = pre_search("Hi, could you tell me the latest news about tea?", few)
    chinese = pre_search("请问帮我查一下最新的茶叶价格？", few)

    assert call is not None and call.arguments == {"query": "the latest news about tea"}
    assert chinese is not None and chinese.arguments == {"query": "最新的茶叶价格"}


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("請問幫我查一下最新的茶葉價格？", "最新的茶葉價格"),
        ("今天有什麼新聞？", "今天有什麼新聞"),
        ("現在比特幣多少錢？", "現在比特幣多少錢"),
    ],
)
def test_a_question_in_traditional_characters_is_searched_as_it_was_written(
    few: Specs, question: str, query: str
) -> None:
    call = pre_search(question, few)

    assert call is not None and call.arguments == {"query": query}


def test_a_long_text_is_no_query_and_without_a_search_tool_there_is_none(few: Specs) -> None:
    assert pre_search("latest news: " + "blah " * 50, few) is None
    assert pre_search("latest news about tea", [spec for spec in few if spec.name != "search_web"]) is None
