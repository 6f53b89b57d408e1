"""Sources that a server's own web search names beside the answer: listed under it if the text cites them."""

from __future__ import annotations

import json

import pytest

from bot.model.assembly import Delta
from bot.model.base import Request
from bot.model.responses import ResponsesAssembly
from bot.model.searched import annotated_in, list_cited, sources_in
from tests.bot.model.conftest import Ask, Events, Open, RawServer
from tests.conftest import RawJson, RawObject

A, B, C = "https://a.example/x", "https://b.example/y_(z)", "https://www.c.example"


@pytest.mark.parametrize(
    ("event", "found"),
    [
        ({"citations": [A, B]}, [("", A), ("", B)]),
        ({"search_results": [{"title": "X", "url": A}, {"url": B}], "citations": [A, B]}, [("X", A), ("", B)]),
        ({"citations": [{"title": "X", "url": A}, {"url": 1}, "javascript:x", None]}, [("X", A), ("", ""), ("", "")]),
        ({"citations": [f"{A} b", "https://" + "a" * 3_000]}, [("", ""), ("", "")]),
        ({"web_search": [{"refer": "ref_1", "title": "X", "link": A, "media": "x"}]}, [("X", A)]),
        ({"search_info": {"search_results": [{"index": 1, "title": "X", "url": A}]}}, [("X", A)]),
        ({"citations": "x", "search_results": {}, "search_info": []}, []),
        ({"choices": []}, []),
    ],
)
def test_sources_are_read_from_an_event(event: RawObject, found: list[tuple[str, str]]) -> None:
    assert sources_in(event)[: len(found)] == found and not any(url for _, url in sources_in(event)[len(found) :])


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("It rains[1][3].", f"\n\n[1] [X \\[1\\]]({A})\n[3] [c.example]({C})"),
        ("It rains [2, 1]【3】", f"\n\n[1] [X \\[1\\]]({A})\n[2] [b.example](<{B}>)\n[3] [c.example]({C})"),
        ("It rains [ref_2]", f"\n\n[2] [b.example](<{B}>)"),
        ("It rains [citation:2] and [^3^]", f"\n\n[2] [b.example](<{B}>)\n[3] [c.example]({C})"),
        ("It rains.", ""),
        (f"It rains [1]({A}), `a[2]`\n```\na[3]\n```", ""),
        (f"It rains [1].\n\n[1] {A}", ""),
        ("It rains [4], [0], [99].", ""),
    ],
)
def test_cited_sources_are_listed_unless_the_text_has_their_addresses(text: str, listed: str) -> None:
    assert list_cited(text, [("X [1]", A), ("", B), ("", C)]) == listed


def test_a_long_title_is_cut_and_an_odd_address_names_itself() -> None:
    assert list_cited("[1] [2]", [("tea " * 90, A), ("", "https://[c")]) == (
        f"\n\n[1] [{('tea ' * 90)[:89]}…]({A})\n[2] [https://\\[c](https://[c)"
    )


def test_of_very_many_sources_twenty_are_listed() -> None:
    many: list[RawJson] = [f"https://a.example/{number}" for number in range(90)]
    text = "".join(f"[{number}]" for number in range(1, 91))

    assert list_cited(text, sources_in({"citations": many})).count("https:") == 20


NOTE: RawObject = {
    "type": "url_citation",
    "url_citation": {"url": A, "title": "Rain", "start_index": 0, "end_index": 8},
}


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("It rains.", f"\n\n[1] [X]({A})\n[2] [c.example]({C})"),
        ("It rains [2].", f"\n\n[2] [c.example]({C})"),
        (f"It rains ([a.example]({A})).", ""),
    ],
)
def test_all_annotations_count_unless_the_text_names_a_number_or_an_address(text: str, listed: str) -> None:
    notes = [("X", f"{A}"), ("", C), ("X", A)]

    assert list_cited(text, (), notes) == listed
    assert list_cited(f"See {A}", (), [("X", f"{A}?utm_source=openai")]) == ""


def test_annotations_without_an_address_are_none() -> None:
    assert annotated_in([NOTE, {"type": "file"}, None, {"url": "javascript:x"}, {"url": C}]) == [("Rain", A), ("", C)]
    assert annotated_in("x") == []


async def test_pages_that_a_search_model_annotates_are_listed_under_its_answer(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events
) -> None:
    """OpenRouter's `:online` models, and OpenAI's, send them in a delta of their own."""
    chunks = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "It rains."}}]},
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "", "annotations": [NOTE]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    url = await raw_server(events(*map(json.dumps, chunks), "[DONE]"))

    asked = await asking(opened(base_urls={"openai": url}), question)

    assert asked.answer.text == f"It rains.\n\n[1] [Rain]({A})"


def test_responses_annotate_their_text_too() -> None:
    assembly = ResponsesAssembly()

    assembly.add({"type": "response.output_text.annotation.added", "annotation": NOTE["url_citation"]}, Delta())

    assert assembly.annotated == [("Rain", A)]
