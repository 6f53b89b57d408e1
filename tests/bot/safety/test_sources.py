"""Numbers of sources: unique in a turn, and listed under the answer only where they exist."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.safety.sources import Citations, number_sources
from tools.contract.base import Source, ToolResult

TEA = Source("Green tea", "https://tea.example/green")
OOLONG = Source("Oolong", "https://tea.example/oolong")
SEARCH = ToolResult(
    text=f"Search results:\n\n[1] Green tea\nSource: {TEA.url}\nAs said in [2] before\n[7] an odd line\n\n"
    f"[2] Oolong\nSource: {OOLONG.url}\n",
    sources=(TEA, OOLONG),
)


def test_a_second_search_counts_on_from_the_first() -> None:
    first, taken = number_sources(SEARCH, 0)
    second, last = number_sources(SEARCH, taken)

    assert first.text == SEARCH.text
    assert [one.number for one in first.sources] == [1, 2]
    assert (taken, last) == (2, 4)
    assert "\n[3] Green tea\n" in second.text and "\n[4] Oolong\n" in second.text
    assert "As said in [2] before\n[7] an odd line" in second.text
    assert [one.number for one in second.sources] == [3, 4]


def test_sources_that_the_text_does_not_number_are_listed_so_that_they_can_be_cited() -> None:
    result, taken = number_sources(ToolResult(text="A page.", sources=(TEA,)), 4)

    assert result.text == "[5] Green tea https://tea.example/green\n\nA page."
    assert (result.sources[0].number, taken) == (5, 5)


def test_an_entry_without_an_address_keeps_its_number_and_no_other_gets_it() -> None:
    result, taken = number_sources(ToolResult(text=f"[1] Nameless\n[2] Tea {TEA.url}", sources=(TEA,)), 0)

    assert [one.number for one in result.sources] == [2]
    assert taken == 2


@pytest.mark.parametrize("result", [ToolResult(text="4"), ToolResult(text="Error", ok=False, sources=(TEA,))])
def test_a_result_without_sources_stays_as_it_is(result: ToolResult) -> None:
    assert number_sources(result, 3) == (result, 3)


@pytest.fixture
def citations() -> Citations:
    made = Citations()
    made.add(number_sources(SEARCH, 0)[0].sources)
    return made


@pytest.mark.parametrize(
    ("answer", "listed"),
    [
        ("It is green [1].", [1]),
        ("Both [2][1].", [1, 2]),
        ("Both [1, 2].", [1, 2]),
        ("Both 【1】、【2】。", [1, 2]),
        ("All [1-2].", [1, 2]),
        ("It is green【1†source】 or [citation:2].", [1, 2]),
        ("It is green[cite: 1], `[citation:2]`.", []),
        ("It is green [1] and blue [9].", [1]),
        ("It is blue [9].", []),
        ("It is green.", []),
        ("`a[1]` is code, and\n```python\nb[2]\n```\n", []),
        ("See [1](https://tea.example/green).", []),
        ("Green [1].\n\nSources:\n[1] Green tea, https://tea.example/green", []),
        ("Green [1].\n\n**Sources**\n1. [Green tea](https://tea.example/green)", []),
        ("绿茶 [1]。\n\n来源：\n1. 绿茶", []),
        ("綠茶 [1]。\n\n**參考資料**\n1. 綠茶", []),
        ("綠茶 [1]。\n\n資料來源：\n1. 綠茶", []),
        ("Green [1] (https://tea.example/green).", []),
        ("The sources of the Nile are two [1].", [1]),
        ("```\nnever closed [1]", []),
    ],
)
def test_the_footer_lists_what_is_cited_and_exists(citations: Citations, answer: str, listed: list[int]) -> None:
    footer = citations.list_cited(answer, "en")

    known = {1: f"[1] [Green tea]({TEA.url})", 2: f"[2] [Oolong]({OOLONG.url})"}
    assert footer == ("\n".join(["**Sources**", *(known[number] for number in listed)]) if listed else "")


def test_the_heading_follows_the_persons_language(citations: Citations) -> None:
    assert citations.list_cited("绿茶 [1]。", "zh").startswith("**来源**\n")


def test_a_title_cannot_be_markup(citations: Citations) -> None:
    made = Citations()
    made.add(
        [
            Source("](https://evil.example) **x** `y`\n# big", "https://a.example/(x)", 1),
            Source("", "https://b.example", 2),
        ]
    )

    assert made.list_cited("[1][2]", "en").splitlines()[1:] == [
        "[1] [(https://evil.example) x y # big](<https://a.example/(x)>)",
        "[2] [https://b.example](https://b.example)",
    ]


@given(st.text(alphabet="[]0123456789-, `\n~", max_size=60))
def test_no_answer_breaks_the_footer(answer: str) -> None:
    made = Citations()
    made.add([Source("a", "https://a.example", 1)])

    assert made.list_cited(answer, "en").count("\n") in (0, 1)
