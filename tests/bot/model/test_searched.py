"""Sources that a server's own web search names beside the answer: listed under it if the text cites them."""

from __future__ import annotations

import pytest

from bot.model.searched import list_cited, sources_in
from tests.conftest import RawJson, RawObject

A, B, C = "https://a.example/x", "https://b.example/y_(z)", "https://www.c.example"


@pytest.mark.parametrize(
    ("event", "found"),
    [
        ({"citations": [A, B]}, [("", A), ("", B)]),
        ({"search_results": [{"title": "X", "url": A}, {"url": B}], "citations": [A, B]}, [("X", A), ("", B)]),
        ({"citations": [{"title": "X", "url": A}, {"url": 1}, "javascript:x", None]}, [("X", A), ("", ""), ("", "")]),
        ({"citations": [f"{A} b", "https://" + "a" * 3_000]}, [("", ""), ("", "")]),
        ({"citations": "x", "search_results": {}}, []),
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
