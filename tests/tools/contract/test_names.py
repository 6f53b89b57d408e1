"""Names that every model provider takes, and that stay what they are."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tools.contract.names import MOST_CHARS, owner, tool_names, unique_names

TAKEN = re.compile(r"[A-Za-z0-9_-]{1,64}")


@given(st.lists(st.text(max_size=90), unique=True, max_size=12), st.text(alphabet="ab_", max_size=20))
def test_any_names_become_different_names_that_providers_take(tools: list[str], server: str) -> None:
    prefix = unique_names([server], 24, fallback="server")[server]

    names = tool_names(prefix, tools)

    assert list(names) and set(names) == set(tools) if tools else not names
    assert len(set(names.values())) == len(tools)
    assert all(TAKEN.fullmatch(name) and len(name) <= MOST_CHARS for name in names.values())
    assert all(owner(name) == prefix for name in names.values())


@given(st.lists(st.text(alphabet="aB1_-. é", max_size=8), unique=True, max_size=8), st.randoms())
def test_a_name_does_not_depend_on_the_order_of_the_list(tools: list[str], random: object) -> None:
    shuffled = list(tools)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis' random has no public type

    assert tool_names("s", tools) == tool_names("s", shuffled)


def test_a_fit_name_stays_as_it_is_beside_one_that_looks_like_it() -> None:
    names = tool_names("git", ["create issue", "create_issue", "create.issue"])

    assert names["create_issue"] == "git__create_issue"
    assert len(set(names.values())) == 3


def test_names_in_other_letters_are_told_apart() -> None:
    names = tool_names("s", ["查询天气", "查询新闻"])

    assert len(set(names.values())) == 2
    assert all(name.startswith("s__tool_") for name in names.values())
