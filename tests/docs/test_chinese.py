"""The pages in Chinese say what the English ones say: as many headings and rows, the same commands and settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAIRS = {
    "README.zh.md": "README.md",
    **{f"docs/zh/{name}.md": f"docs/{name}.md" for name in ("telegram", "slack", "discord", "models", "in-the-chat")},
}
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+|/[a-z]+|parley(?: [a-z]+)+)(?![\w.])")

SIGN = r"[\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]"


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def headings(page: str) -> list[str]:
    return re.findall(r"^(#+) ", FENCE.sub("", text(page)), re.MULTILINE)


def rows(page: str) -> list[int]:
    """The rows of each table, without those of figures."""
    tables = re.findall(r"(?:^\|.*\|\n)+", FENCE.sub("", text(page)), re.MULTILINE)
    return [table.count("\n") for table in tables if "p50 / p95" not in table]


def shape(page: str) -> list[str]:
    """What a page consists of, in its order: headings, paragraphs, entries of lists, tables and code."""
    blocks = re.split(r"\n{2,}", FENCE.sub("```", text(page)).strip())
    parts = [part for block in blocks for part in re.split(r"\n(?=- |\d+\. |```)", block)]
    return [re.match(r"#+|- |\d+\.|\||```|", part)[0] for part in parts]  # type: ignore[index]  # it always matches


def test_every_page_in_chinese_has_an_english_one() -> None:
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/zh").iterdir()} == set(PAIRS) - {"README.zh.md"}
    assert "(README.zh.md)" in text("README.md") and "(README.md)" in text("README.zh.md")


@pytest.mark.parametrize("page", PAIRS)
def test_headings_commands_settings_and_tables_are_those_of_the_english_page(page: str) -> None:
    english = PAIRS[page]

    assert headings(page) == headings(english)
    assert FENCE.findall(text(page)) == FENCE.findall(text(english))
    assert set(NAMED.findall(text(page))) == set(NAMED.findall(text(english)))
    assert rows(page) == rows(english)


@pytest.mark.parametrize("page", [page for page in PAIRS if page != "README.zh.md"])
def test_paragraphs_and_entries_follow_each_other_as_on_the_english_page(page: str) -> None:
    """The README in Chinese leaves its figures to the English one."""
    assert shape(page) == shape(PAIRS[page])


@pytest.mark.parametrize("page", PAIRS)
def test_a_line_in_chinese_breaks_only_where_a_space_may_stand(page: str) -> None:
    """A line break is shown as a space."""
    prose = FENCE.sub("", text(page))

    assert not re.findall(
        r"[\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]\n *[\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]", prose
    )
