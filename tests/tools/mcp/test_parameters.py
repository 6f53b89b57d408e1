"""Schemas of foreign tools: what is kept of them, and that none of them can do harm."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import RawJson
from tools.mcp.parameters import MOST_CHARS, plain_text, usable_schema
from tools.schema import check


def test_references_are_written_out() -> None:
    schema = usable_schema(
        {
            "$defs": {"Place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
            "type": "object",
            "properties": {"to": {"$ref": "#/$defs/Place", "description": "where to"}},
        }
    )

    assert "$" not in json.dumps(schema)
    assert check(schema, {"to": {}}) == ["to.city is required"]
    assert check(schema, {"to": {"city": "Oslo"}}) == []


def test_a_schema_that_contains_itself_ends() -> None:
    node = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}

    schema = usable_schema(node)

    assert check(schema, {"left": {"left": {}}, "right": {}}) == []


def test_options_at_the_top_become_properties() -> None:
    schema = usable_schema(
        {"type": "object", "oneOf": [{"properties": {"id": {"type": "integer"}}}, {"properties": {"name": {}}}]}
    )

    assert schema == {"type": "object", "properties": {"id": {"type": "integer"}, "name": {}}}


def test_what_a_model_can_use_of_a_schema_is_kept() -> None:
    day = {"type": "string", "format": "date", "examples": ["2026-01-01", "b", "c", "d"]}
    schema = usable_schema(
        {
            "properties": {
                "day": day,
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
                "more": {"type": "object", "additionalProperties": False},
                "numbers": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0.5}},
                "pair": {"type": "array", "items": [{"type": "string"}]},
            }
        }
    )

    assert schema["properties"] == {
        "day": {**day, "examples": ["2026-01-01", "b", "c"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "more": {"type": "object", "additionalProperties": False},
        "numbers": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0.5}},
        "pair": {"type": "array", "items": {}},
    }


def test_of_options_that_all_hold_the_required_arguments_are_required() -> None:
    schema = usable_schema(
        {
            "allOf": [
                {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
                {"properties": {"id": {"type": "string"}, "name": {}}, "required": ["id", "name"]},
                {"required": ["unknown"]},
            ]
        }
    )

    assert schema["properties"] == {"id": {"type": "integer"}, "name": {}}
    assert schema["required"] == ["id", "name"]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"type": "array", "maxItems": 1.5}, "maxItems of its schema is 1.5"),
        ({"type": "number", "minimum": float("inf")}, "minimum of its schema is inf"),
        ({"default": "x" * 5000}, "longer than 4000 characters"),
        ({"enum": [f"{number:0100}" for number in range(30)]}, ""),
    ],
)
def test_a_part_that_cannot_be_used_says_why(part: RawJson, words: str) -> None:
    properties = {f"p{number}": part for number in range(1 if words else 40)}

    with pytest.raises(ValueError, match=words or "its schema is longer than"):
        usable_schema({"properties": properties})


def test_a_pattern_is_told_and_not_matched() -> None:
    schema = usable_schema({"properties": {"word": {"type": "string", "pattern": "(a+)+$"}}})

    assert check(schema, {"word": "a" * 5000 + "b"}) == []
    assert "(a+)+$" in json.dumps(schema)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (None, "no object"),
        ({"type": "array"}, "not an object"),
        ({"type": "string"}, "not an object"),
        ({"properties": {"x": 5}}, "a part of its schema is 5"),
        ({"properties": {"x": {"type": "strnig"}}}, "type 'strnig'"),
        ({"properties": {"x": {"minLength": "three"}}}, "minLength"),
        ({"properties": {"x": {"maximum": float("nan")}}}, "maximum"),
        ({"properties": {"x": {"enum": "a"}}}, "enum"),
        ({"properties": {"x": {"$ref": "http://127.0.0.1/schema"}}}, "refers to"),
        ({"properties": {"x": {"$ref": "#/$defs/none"}}}, "not there"),
        ({"properties": {"no spaces": {}}}, "argument named 'no spaces'"),
        ({"properties": {f"x{number}": {} for number in range(1000)}}, "parts"),
        ({"properties": {"x": {"enum": ["y" * 10_000]}}}, "longer than"),
    ],
)
def test_an_unusable_schema_says_why(schema: RawJson, words: str) -> None:
    with pytest.raises(ValueError, match=r"schema|argument") as raised:
        usable_schema(schema)

    assert words in str(raised.value)


def test_a_schema_that_doubles_at_every_step_is_refused_at_once() -> None:
    steps = {
        f"s{n}": {"properties": {"a": {"$ref": f"#/$defs/s{n + 1}"}, "b": {"$ref": f"#/$defs/s{n + 1}"}}}
        for n in range(60)
    }

    with pytest.raises(ValueError, match="parts"):
        usable_schema({"$defs": {**steps, "s60": {}}, "properties": {"x": {"$ref": "#/$defs/s0"}}})


KEYWORDS = (
    "type properties required items enum const minimum maxLength anyOf allOf oneOf $ref pattern x "
    "additionalProperties description format default examples"
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYWORDS.split()),
            inner | st.sampled_from(["object", "string", "#", "#/properties/x"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_whatever_a_server_sends_is_refused_or_safe_to_check(schema: RawJson, value: RawJson) -> None:
    try:
        made = usable_schema(schema)
    except ValueError:
        return

    assert made["type"] == "object"
    assert len(json.dumps(made, ensure_ascii=False)) <= MOST_CHARS
    check(made, value)
    check(made, {"x": value})


def test_hidden_and_turning_characters_are_gone() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")

    assert plain_text(f"Reads\u202e a\n\n\x07 file{hidden}", 100) == "Reads a file"
    assert plain_text("word " * 100, 10) == "word word…"
