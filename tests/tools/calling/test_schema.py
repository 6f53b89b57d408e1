"""Arguments are checked before a call; whatever a model writes, the check answers in sentences."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import RawJson
from tools.calling.schema import check, without_unknown
from tools.contract.base import Json

PERSON: dict[str, Json] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 10, "pattern": "^[a-z]+$"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "size": {"enum": ["s", "m"]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        "home": {"$ref": "#/$defs/place"},
        "id": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "rate": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "kind": {"const": "person"},
        "note": {"type": ["string", "null"]},
        "both": {"allOf": [{"minimum": 1}, {"maximum": 2}]},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "required": ["name"],
    "$defs": {"place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
}


@pytest.mark.parametrize(
    "value",
    [
        {"name": "ada"},
        {"name": "ada", "age": 36, "size": "m", "tags": ["x"], "home": {"city": "Oslo"}, "id": "7", "rate": 0.5},
        {"name": "ada", "age": 36.0, "kind": "person", "note": None, "both": 2, "map": {"a": 1}},
    ],
)
def test_what_fits_has_no_problems(value: Json) -> None:
    assert check(PERSON, value) == []


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "name is required"),
        ([], "the arguments must be object, not an array"),
        (None, "the arguments must be object, not null"),
        ({"name": 5}, "name must be string, not the number 5"),
        ({"name": ""}, "name must not be empty"),
        ({"name": "a" * 11}, "name must have at most 10 characters, not 11"),
        ({"name": "Ada"}, "name must match '^[a-z]+$'"),
        ({"name": "a", "age": True}, "age must be integer, not a boolean"),
        ({"name": "a", "age": 1.5}, "age must be integer, not the number 1.5"),
        ({"name": "a", "age": -1}, "age must be at least 0, not -1"),
        ({"name": "a", "age": 151}, "age must be at most 150, not 151"),
        ({"name": "a", "size": "xl"}, "size must be one of 's', 'm', not 'xl'"),
        ({"name": "a", "tags": []}, "tags must have at least 1 item"),
        ({"name": "a", "tags": ["x", "y", "z"]}, "tags must have at most 2 items, not 3"),
        ({"name": "a", "tags": ["x", 5]}, "tags[1] must be string, not the number 5"),
        ({"name": "a", "home": {}}, "home.city is required"),
        ({"name": "a", "home": "Oslo"}, "home must be object, not a string"),
        ({"name": "a", "id": []}, "id must be integer, not an array"),
        ({"name": "a", "rate": 0}, "rate must be more than 0, not 0"),
        ({"name": "a", "rate": 1}, "rate must be less than 1, not 1"),
        ({"name": "a", "kind": "dog"}, "kind must be 'person'"),
        ({"name": "a", "note": 5}, "note must be string or null, not the number 5"),
        ({"name": "a", "both": 3}, "both must be at most 2, not 3"),
        ({"name": "a", "map": {"a": "x"}}, "map.a must be integer, not a string"),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(value: Json, problem: str) -> None:
    assert problem in check(PERSON, value)


def test_no_more_than_eight_problems_are_told() -> None:
    schema: dict[str, Json] = {"type": "object", "required": [f"field{n}" for n in range(50)]}

    assert len(check(schema, {})) == 8


def test_a_long_value_is_told_by_its_beginning() -> None:
    problems = check(PERSON, {"name": "a", "size": "x" * 10_000, "kind": ["y" * 10_000], "age": 10**300})

    assert len(problems) == 3 and all(len(problem) < 300 for problem in problems)
    assert "size must be one of 's', 'm', not 'xxx" in problems[0]


def test_unknown_arguments_are_left_out_and_named() -> None:
    assert without_unknown(PERSON, {"name": "a", "x": 1, "y": 2}) == ({"name": "a"}, ["x", "y"])


def test_a_schema_open_to_more_keeps_them() -> None:
    schema: dict[str, Json] = {"properties": {"a": {}}, "additionalProperties": True}

    assert without_unknown(schema, {"b": 1}) == ({"b": 1}, [])


def test_null_for_an_optional_argument_means_it_was_not_given() -> None:
    kept, unknown = without_unknown(PERSON, {"name": None, "age": None, "note": None})

    assert kept == {"name": None, "note": None}
    assert unknown == []


def test_a_reference_to_itself_ends() -> None:
    schema: dict[str, Json] = {"$ref": "#"}
    nested: dict[str, Json] = {"$defs": {"a": {"properties": {"next": {"$ref": "#/$defs/a"}}}}, "$ref": "#/$defs/a"}
    value: Json = {}
    for _ in range(200):
        value = {"next": value}

    assert check(schema, value) == []
    assert check(nested, value) == []


def test_references_that_multiply_end() -> None:
    """Every level doubles the work: without a bound this would take 2^32 steps."""
    schema: dict[str, Json] = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "allOf": [{"$ref": "#"}, {"$ref": "#"}]}

    assert check(schema, {"a": 1}) == []


def test_a_pattern_that_takes_for_ever_is_given_up() -> None:
    assert check({"pattern": "(.*a){20}$"}, "a" * 400 + "!") == []
    begun = time.thread_time()
    assert check({"items": {"pattern": "(.*a){20}$"}}, ["a" * 400 + "!"] * 100) == []
    assert time.thread_time() - begun < 1.0  # all of them together, not a hundred times as long
    assert check({"pattern": "(["}, "x") == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
@settings(deadline=None)
def test_no_value_makes_the_check_raise(value: RawJson) -> None:
    assert all(isinstance(problem, str) for problem in check(PERSON, value))


_VOCABULARY = (
    "type enum const properties required items anyOf oneOf allOf $ref pattern minimum maximum minLength maxLength "
    "minItems maxItems additionalProperties exclusiveMinimum a"
)
_WORDS = st.sampled_from(_VOCABULARY.split())
schemas = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["string", "object", "array", "#/a", "[", "integer"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(_WORDS, schemas, max_size=5), json_values)
@settings(deadline=None, max_examples=80)
def test_no_schema_of_a_stranger_makes_the_check_raise(schema: RawJson, value: RawJson) -> None:
    """MCP servers send schemas of their own, which may be malformed."""
    assert all(isinstance(problem, str) for problem in check(schema, value))
    if isinstance(value, dict):
        without_unknown(schema, value)


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", ["count must be at most 6, not 9", "list must be array or null, not the number 1", "to is required"]),
        ("zh-CN", ["count 不能大于 6，收到的是 9", "list 应为列表或空值，而不是数字 1", "缺少 to"]),
        ("zh-TW", ["count 不能大於 6，收到的是 9", "list 應為清單或空值，而非數字 1", "缺少 to"]),
    ],
)
def test_problems_are_said_in_the_language_asked_for(language: str, told: list[str]) -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"count": {"maximum": 6}, "list": {"type": ["array", "null"]}},
        "required": ["to"],
    }

    assert sorted(check(schema, {"count": 9, "list": 1}, language)) == sorted(told)
