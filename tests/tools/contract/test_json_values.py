"""What a text of JSON holds is counted without parsing it: never too few, and nothing inside a text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import RawJson
from tools.contract.json_values import (
    DEEPEST,
    MOST_VALUES,
    OutsideDecoder,
    TooDeep,
    ValueCounter,
    read_json,
    write_json,
)

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


@pytest.mark.parametrize("text", ["[" * 600_000, '{"a":' * 100_000, "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)])
def test_what_is_nested_beyond_measure_is_refused_in_one_way(text: str) -> None:
    for form in (text, text.encode()):
        with pytest.raises(TooDeep, match="nested too deeply"):
            read_json(form)
    with pytest.raises(TooDeep):
        OutsideDecoder(nulls=True).raw_decode(text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1.5e4000"])
def test_a_number_that_is_not_finite_is_refused_or_none(number: str) -> None:
    with pytest.raises(ValueError):
        read_json(f'{{"n": [{number}]}}')

    assert OutsideDecoder(nulls=True).decode(f'{{"n": [{number}]}}') == {"n": [None]}


@given(JSON)
def test_all_other_json_is_read_as_it_is_written(value: RawJson) -> None:
    text = json.dumps(value)

    assert read_json(text) == read_json(text.encode("utf-16")) == value


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def test_what_another_author_made_is_written_as_it_can_be_read_or_refused() -> None:
    itself: list[object] = []
    itself.append(itself)

    assert read_json(write_json({"teas": [1, None, "é"], "deep": nested(DEEPEST - 1)}))["teas"] == [1, None, "é"]
    for value in (nested(DEEPEST + 1), nested(100_000), itself, [float("nan")]):
        with pytest.raises(ValueError):
            write_json(value)
    with pytest.raises(TypeError):
        write_json({"a": object()})


def test_json_from_outside_has_one_door() -> None:
    """Elsewhere nobody has to know that a parser gives up: but programs of their own, which import nothing of ours, and
    what is no JSON."""
    root = Path(__file__).parents[3]
    files = [file for room in ("bot", "tools", "adapters") for file in (root / room).rglob("*.py")]

    found = {str(file.relative_to(root)) for file in files if "RecursionError" in file.read_text(encoding="utf-8")}

    assert found == {
        "bot/model/providersfile.py",
        "bot/toolsyntax/elements.py",
        "tools/contract/json_values.py",
        "tools/fetch/reader.py",
        "tools/sandbox/notebook.py",
    }
