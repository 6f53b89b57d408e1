"""Similar tools are told apart, others are left alone."""

from __future__ import annotations

from functools import cache

import pytest

from bench import offered_tools
from tools.calling import descriptions
from tools.calling.descriptions import Description, told_apart
from tools.contract.base import ToolSpec


def spec(name: str, purpose: str, use_when: str = "") -> ToolSpec:
    return ToolSpec(name=name, purpose=purpose, parameters={"type": "object"}, use_when=use_when)


OURS = spec("search_web", "Search the web and read what is new.", "the answer may have changed lately")


def test_a_server_s_tool_that_does_what_ours_does_is_the_fallback() -> None:
    theirs = spec("brave__brave_web_search", "Performs a search with an index of its own.", "news are wanted")

    ours, other = told_apart([OURS, theirs])

    assert ours.use_when == "the answer may have changed lately. Preferred over brave__brave_web_search"
    assert other.use_when == "Fallback for search_web: only when that one failed or cannot do it. news are wanted"
    assert "Fallback for search_web" in other.description


def test_however_the_name_is_written_it_is_the_same_name() -> None:
    for name in ("x__websearch", "x__WebSearch", "x__web-search", "x__search_web"):
        assert "Fallback" in told_apart([OURS, spec(name, "Something.")])[1].use_when


def test_the_same_word_of_its_own_is_the_same_tool() -> None:
    specs = [spec("calculator", "Evaluate an expression exactly."), spec("math__calculator", "Basic arithmetic.")]

    assert "Fallback for calculator" in told_apart(specs)[1].use_when


def test_the_same_purpose_under_another_name_is_a_fallback() -> None:
    theirs = spec("x__lookup", "Searches the web and reads what is new")
    mine = spec("look_up_page", "Search the web, read what new")

    assert "Fallback" in told_apart([mine, theirs])[1].use_when


def test_chinese_purposes_are_compared_by_their_characters() -> None:
    mine = spec("weather", "查询指定城市的当前天气")

    assert "Fallback" in told_apart([mine, spec("tianqi__query", "查询城市的当前天气情况")])[1].use_when
    assert told_apart([mine, spec("news__query", "读取今日新闻头条列表")])[1].use_when == ""


def test_tools_of_one_owner_are_left_alone() -> None:
    specs = [
        spec("git__list_issues", "List the issues of a repository."),
        spec("git__list_pulls", "List the pulls of a repository."),
        spec("a", "The same words here."),
        spec("b", "The same words here."),
    ]

    assert told_apart(specs) == tuple(specs)


def test_two_services_that_name_themselves_are_no_fallback_for_each_other() -> None:
    specs = [
        spec("github__list_issues", "List issues in a GitHub repository."),
        spec("gitlab__list_issues", "List issues in a GitLab repository."),
    ]

    assert told_apart(specs) == tuple(specs)


def test_two_servers_with_the_same_tool_are_told_apart_by_their_order() -> None:
    one = spec("first__fetch", "Fetch a page and give its text as Markdown.")
    two = spec("second__fetch", "Fetch a page and give its text as Markdown.")

    made = told_apart([one, two])

    assert made[0].use_when == "Preferred over second__fetch"
    assert "Fallback for first__fetch" in made[1].use_when


def test_a_general_word_alone_makes_no_two_tools_the_same() -> None:
    specs = [spec("search", "Search the web for news."), spec("mail__search", "Find letters in a mailbox.")]

    assert told_apart(specs) == tuple(specs)


def test_a_fallback_has_no_fallback_and_few_names_are_named() -> None:
    specs = [OURS, *(spec(f"s{number}__web_search", "Search the web and read what is new.") for number in range(6))]

    made = told_apart(specs)

    assert all("Fallback for search_web" in one.use_when for one in made[1:])
    assert not any("Preferred" in one.use_when for one in made[1:])
    assert made[0].use_when.count("__web_search") == 3
    assert made == told_apart(specs)


OWN = cache(offered_tools.our_tools)


@pytest.mark.parametrize(
    ("ours", "theirs", "purpose"),
    [
        ("read_page", "fetch__fetch", "Fetches a URL from the internet and extracts its contents as markdown."),
        ("read_page", "firecrawl__firecrawl_scrape", "Scrape content from a single URL with advanced options."),
        ("read_page", "jina__read_url", "Read a URL."),
        ("wikipedia", "wiki__findPage", "Search for Wikipedia pages matching a query"),
        ("wikipedia", "wikipedia__get_summary", "Get a summary of a Wikipedia article."),
        ("current_time", "time__get_current_time", "Get current time in a specific timezone"),
        ("current_time", "clock__now", "The date and the time."),
        ("get_weather", "weather__get_forecast", "Get weather forecast for a location."),
        ("get_weather", "openmeteo__current_weather", "What it is like outside."),
        ("search_web", "brave-search__brave_web_search", "Performs a web search using the Brave Search API."),
        ("search_web", "tavily__tavily-search", "A powerful web search tool that finds current content."),
        ("search_web", "exa__web_search_exa", "Search with Exa."),
        ("search_papers", "arxiv__search_papers", "Search for papers on arXiv."),
        ("calculator", "calc__calculate", "Calculates the given expression."),
        ("run_python", "e2b__run_code", "Run Python code in a sandbox."),
        ("generate_image", "flux__create_image", "Create an image from a prompt."),
    ],
)
def test_common_servers_tools_for_what_ours_do_name_each_other(ours: str, theirs: str, purpose: str) -> None:
    told = {one.name: one for one in told_apart((*OWN(), spec(theirs, purpose)))}

    assert told[theirs].use_when == f"Fallback for {ours}: only when that one failed or cannot do it"
    assert told[ours].use_when.endswith(f"Preferred over {theirs}")


@pytest.mark.parametrize(
    ("theirs", "purpose"),
    [
        ("time__convert_time", "Convert time between timezones"),
        ("weather__get_alerts", "Get weather alerts for a US state."),
        ("wiki__getImagesForPage", "Get images from a Wikipedia page by title"),
        ("wiki__search", "Search the handbook of our company."),
        ("notion__get_page", "Retrieve a page by its id."),
        ("mail__fetch", "Fetch new letters."),
        ("github__search_code", "Search code across repositories, also Python."),
        ("brave-search__brave_local_search", "Searches for local businesses on the web."),
        ("toggl__get_current_time_entry", "Get the running time entry."),
        ("filesystem__read_text_file", "Read the contents of a file as text."),
        ("db__read_query", "Run a SELECT."),
    ],
)
def test_tools_for_something_else_are_not_taken_for_ours(theirs: str, purpose: str) -> None:
    assert told_apart((*OWN(), spec(theirs, purpose)))[-1].use_when == ""


def test_of_a_hundred_tools_exactly_the_near_equal_ones_name_each_other() -> None:
    told = offered_tools.every_tool()

    assert {one.name for one in told if one.use_when.startswith("Fallback for ")} == {
        *("fetch__fetch", "time__get_current_time", "brave-search__brave_web_search"),
        *("weather__get_forecast", "wiki__findPage", "wiki__getPage"),
    }


def test_a_thousand_tools_are_not_compared_each_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    class Counting(descriptions._Face):
        def resembles(self, other: descriptions._Face) -> bool:
            nonlocal compared
            compared += 1
            return super().resembles(other)

    monkeypatch.setattr(descriptions, "_Face", Counting)
    descriptions._face.cache_clear()
    try:
        told_apart(
            [spec(f"s{number % 20}__do_{number}", f"Do thing{number} with the usual words.") for number in range(1_000)]
        )
    finally:
        descriptions._face.cache_clear()

    assert compared < 20_000


def test_a_tool_is_preferred_only_where_there_is_one() -> None:
    one = Description(use_when="x", not_for="Sums.", rather=(("b", "news"), ("c", "maps"))).of(
        ToolSpec(name="a", purpose="Does it.", parameters={})
    )
    b = ToolSpec(name="b", purpose="Does it.", parameters={})

    assert told_apart([one, b])[0].not_for == "Sums; for news prefer b"
    assert told_apart([one])[0].not_for == "Sums."


def test_what_a_tool_says_of_another_stands_in_place_of_the_order_of_the_list() -> None:
    ours = ToolSpec(name="search_web", purpose="Search the web.", parameters={})
    theirs = ToolSpec(name="x__search_web", purpose="Search the web.", parameters={}, rather=(("search_web", "news"),))

    mine, other = told_apart([ours, theirs])

    assert mine == ours and other.use_when == "" and other.not_for == "for news prefer search_web"
