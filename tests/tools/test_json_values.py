"""What a text of JSON holds is counted without parsing it: never too few, and nothing inside a text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import RawJson
from tools.json_values import MOST_VALUES, ValueCounter

TEXTS = st.text(alphabet='ab"\\,[{é\n', max_size=12)
JSON: RawJson = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def counted(text: bytes, size: int = 1_000_000) -> int:
    counter = ValueCounter()
    for at in range(0, len(text), size):
        counter.feed(text[at : at + size])
    return counter.count


def values_in(value: RawJson) -> int:
    """What a parser makes beside the outermost value: members of lists and objects."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return len(members) + sum(map(values_in, members))


@given(JSON, st.integers(1, 9), st.booleans())
def test_no_value_is_missed_and_pieces_change_nothing(value: RawJson, size: int, ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii).encode()

    assert counted(text) >= values_in(value)
    assert counted(text, size) == counted(text)


@pytest.mark.parametrize("text", ['"', "\\", "\\\\", ",,,", "[[[", '\\"[{,"', "\\" * 7 + '",['])
def test_what_stands_in_a_text_is_no_value(text: str) -> None:
    assert counted(json.dumps([text, text]).encode(), 1) == 2


def test_ordinary_answers_are_far_from_too_many() -> None:
    counter = ValueCounter()
    counter.feed(
        json.dumps([{"name": f"paper {n}", "authors": ["Ada", "Bob"], "year": n} for n in range(2000)]).encode()
    )

    assert not counter.too_many
    counter.feed(b"[]," * MOST_VALUES)
    assert counter.too_many
