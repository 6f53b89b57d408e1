"""`/tools` tells people what the tools do for them."""

from __future__ import annotations

from bot.commands.answers import list_tools
from tools.contract.base import ToolSpec

SEARCH = ToolSpec(
    name="search_web",
    purpose="Search the web for pages.",
    use_when="the answer may have changed",
    parameters={},
    category="web",
    icon="🔎",
    label=("Search the web", "搜索网页", "搜尋網路"),
)
SUM = ToolSpec(
    name="calculator", purpose="Compute.", parameters={}, category="math", icon="🧮", label=("Sums", "计算", "計算")
)
ISSUES = ToolSpec(
    name="github__list_issues",
    purpose="List issues. Use when the user asks for issues.",
    parameters={},
    category="git*hub*",
    icon="🔌",
    label="Open [issues](https://evil.example)",
)
OWN = ToolSpec(name="dice", purpose="Roll dice.", parameters={}, category="play")


def test_the_tools_stand_under_headings_with_a_line_for_people_each() -> None:
    assert list_tools([SUM, ISSUES, SEARCH, OWN], "en", "/{word}").splitlines() == [
        "**Finding out**",
        "- 🔎 Search the web · `search_web`",
        "",
        "**Working out and making**",
        "- 🧮 Sums · `calculator`",
        "",
        r"**git\*hub\***",
        r"- 🔌 Open &#91;issues\]&#40;https\://evil\.example\) · `github__list_issues`",
        "",
        "**More**",
        "- 🔧 dice · `dice`",
        "",
        "Just ask: I choose what fits. `/tool` with a name and what to do runs one directly.",
    ]


def test_they_are_told_in_the_persons_language_and_without_words_for_models() -> None:
    simplified = list_tools([SEARCH], "zh-Hans", "/parley {word}")
    traditional = list_tools([SEARCH], "zh-Hant", "/parley {word}")

    assert "**查资料**\n- 🔎 搜索网页 · `search_web`" in simplified
    assert "**查資料**\n- 🔎 搜尋網路 · `search_web`" in traditional
    assert "`/parley tool`" in traditional
    assert "changed" not in simplified + traditional + list_tools([SEARCH], "en", "/{word}")


def test_without_tools_it_says_so() -> None:
    assert list_tools([], "zh-TW", "/{word}") == "沒有可用的工具。"
