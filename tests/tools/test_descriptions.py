"""Similar tools are told apart, others are left alone."""

from __future__ import annotations

from tools.base import ToolSpec
from tools.descriptions import told_apart


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
