"""Schemas of foreign tools: what is kept of them, and that none of them can do harm."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import RawJson
from tools.calling.schema import check
from tools.mcp.parameters import usable_schema
from tools.mcp.plain import plain_text
from tools.mcp.shortening import MOST_CHARS


def told_of(schema: RawJson) -> tuple[RawJson, tuple[str, ...]]:
    """What models are told of a schema, and what is left out."""
    usable = usable_schema(schema)
    return usable.parameters, usable.left_out


def offered(schema: RawJson) -> RawJson:
    """What models are told of a schema, with nothing left out."""
    told, left_out = told_of(schema)
    assert left_out == ()
    return told


def test_references_are_written_out() -> None:
    schema = offered(
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

    schema = offered(node)

    assert check(schema, {"left": {"left": {}}, "right": {}}) == []


def test_options_at_the_top_become_properties() -> None:
    schema = offered(
        {"type": "object", "oneOf": [{"properties": {"id": {"type": "integer"}}}, {"properties": {"name": {}}}]}
    )

    assert schema == {"type": "object", "properties": {"id": {"type": "integer"}, "name": {}}}


def test_what_a_model_can_use_of_a_schema_is_kept() -> None:
    day = {"type": "string", "format": "date", "examples": ["2026-01-01", "b", "c", "d"]}
    schema = offered(
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
    schema = offered(
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


def test_a_pattern_is_told_and_not_matched() -> None:
    schema = offered({"properties": {"word": {"type": "string", "pattern": "(a+)+$"}}})

    assert check(schema, {"word": "a" * 5000 + "b"}) == []
    assert "(a+)+$" in json.dumps(schema)


@pytest.mark.parametrize(
    ("part", "kept", "named"),
    [
        ({"type": "strnig"}, {}, "type of 'x' ('strnig')"),
        ({"type": []}, {}, "type of 'x' ([])"),
        ({"type": ["string", 7]}, {}, "type of 'x' (['string', 7])"),
        ({"type": "int"}, {"type": "integer"}, ""),
        ({"type": ["STRING", "null"]}, {"type": ["string", "null"]}, ""),
        ({"exclusiveMinimum": True}, {}, "exclusiveMinimum of 'x' (True)"),
        ({"minimum": "1"}, {}, "minimum of 'x' ('1')"),
        ({"minimum": float("inf")}, {}, "minimum of 'x' (inf)"),
        ({"maximum": 10**30}, {}, "maximum of 'x' (1000000000000000000000000000000)"),
        ({"maximum": -(10**400)}, {}, "maximum of 'x' (-10000000000000000...0000000000000000000)"),
        ({"maximum": float("nan")}, {}, "maximum of 'x' (nan)"),
        ({"minLength": 1.0}, {"minLength": 1}, ""),
        ({"maxItems": 1.5}, {}, "maxItems of 'x' (1.5)"),
        ({"minLength": "three"}, {}, "minLength of 'x' ('three')"),
        ({"enum": []}, {}, "enum of 'x' ([])"),
        ({"enum": "a"}, {}, "enum of 'x' ('a')"),
        ({"examples": "tea"}, {}, "examples of 'x' ('tea')"),
        ({"default": float("nan")}, {}, "default of 'x' (nan)"),
        ({"default": "y" * 5000}, {}, "default of 'x' ('yyyyyyyyyyyy...yyyyyyyyyyyyy')"),
        ({"$ref": "http://127.0.0.1/x"}, {}, "$ref of 'x' ('http://127.0.0.1/x')"),
        ({"$ref": "#/$defs/none", "type": "string"}, {"type": "string"}, "$ref of 'x' ('#/$defs/none')"),
        ({"$ref": {}}, {}, "$ref of 'x' ({})"),
        ({"type": "array"}, {"type": "array", "items": {}}, ""),
        ({"type": ["array", "null"], "items": [{}]}, {"type": ["array", "null"], "items": {}}, ""),
        ({"type": "string", "items": {"type": "string"}}, {"type": "string"}, ""),
        ({"anyOf": [{"type": "string"}, 5]}, {}, "'x anyOf' (5)"),
        ({"allOf": [{"type": "string"}, 5]}, {"allOf": [{"type": "string"}]}, "'x allOf' (5)"),
        ({"oneOf": {}}, {}, "oneOf of 'x' ({})"),
        ({"properties": []}, {}, "properties of 'x' ([])"),
        ({"properties": {}, "required": "y"}, {"properties": {}}, "required of 'x' ('y')"),
        ({"required": True}, {}, ""),
        ({"additionalProperties": "no"}, {}, "'x.*' ('no')"),
    ],
)
def test_an_odd_part_costs_that_part_and_is_named(part: RawJson, kept: RawJson, named: str) -> None:
    told, left_out = told_of({"properties": {"x": part, "y": {"type": "string"}}})

    assert told["properties"] == {"x": kept, "y": {"type": "string"}}
    assert left_out == ((named,) if named else ())


@pytest.mark.parametrize("odd", [5, None, "string", ["a"], False])
def test_what_is_no_argument_is_left_out_unless_it_is_required(odd: RawJson) -> None:
    optional, left_out = told_of({"properties": {"a": {}, "required": odd}})
    required, also = told_of({"properties": {"a": {}, "required": odd}, "required": ["required", "a", "gone"]})

    assert optional == {"type": "object", "properties": {"a": {}}}
    assert required["properties"] == {"a": {}, "required": {}}
    assert required["required"] == ["required", "a"]
    assert left_out == also == (f"'required' ({odd!r})",)


@pytest.mark.parametrize("schema", [None, [], "object", 5, {}, {"type": "array", "items": {}}, {"type": "string"}])
def test_a_tool_whose_schema_is_none_takes_no_arguments(schema: RawJson) -> None:
    assert usable_schema(schema).parameters == {"type": "object", "properties": {}}


def test_of_a_very_long_enum_the_first_values_are_told() -> None:
    told, left_out = told_of({"properties": {"zone": {"type": "string", "enum": [f"Zone/{n:04}" for n in range(600)]}}})

    assert told["properties"] == {
        "zone": {
            "type": "string",
            "description": 'One of 600 values, as "Zone/0000", "Zone/0001", "Zone/0002".',
        }
    }
    assert check(told, {"zone": "Zone/0599"}) == []
    assert left_out[0].startswith("enum of 'zone'")


def described(words: int, **more: RawJson) -> RawJson:
    return {"type": "string", "description": "tea " * words, **more}


def test_of_a_long_schema_descriptions_are_shortened_first_and_then_the_deepest_parts_left_out() -> None:
    wordy, wordy_cost = told_of({"properties": {f"p{n}": described(90, enum=["a", "b"]) for n in range(60)}})
    deep = {"type": "object", "properties": {f"in{n}": described(9) for n in range(20)}}
    nested, nested_cost = told_of(
        {"properties": {f"p{n}": {**deep, "description": "a pot"} for n in range(40)}, "required": ["p7"]}
    )

    for one in (wordy, nested):
        assert len(json.dumps(one, ensure_ascii=False)) <= MOST_CHARS
    assert wordy_cost == ("the end of long descriptions",)
    assert wordy["properties"]["p59"] == {
        "type": "string",
        "description": ("tea " * 30)[:119] + "…",
        "enum": ["a", "b"],
    }
    assert nested_cost == ("what is more than 1 deep", "most descriptions")
    assert nested["properties"]["p7"] == {"type": "object", "description": "a pot"}
    assert nested["required"] == ["p7"]


@pytest.mark.parametrize("count", [400, 4000])
def test_of_very_many_arguments_the_required_ones_are_told_first(count: int) -> None:
    usable = usable_schema(
        {"properties": {f"an argument called {n:06}": described(9) for n in range(count)}, "required": [LAST]}
    )

    assert len(json.dumps(usable.parameters, ensure_ascii=False)) <= MOST_CHARS
    told: RawJson = usable.parameters
    assert len(told["properties"]) == 200
    assert told["required"] == [LAST.replace(" ", "_")]
    assert usable.names.restored({LAST.replace(" ", "_"): 1}) == {LAST: 1}
    assert "all but 200 arguments" in usable.left_out


LAST = "an argument called 000399"


def test_a_schema_that_doubles_at_every_step_is_told_as_deep_as_it_is_small() -> None:
    steps = {
        f"s{n}": {"properties": {"a": {"$ref": f"#/$defs/s{n + 1}"}, "b": {"$ref": f"#/$defs/s{n + 1}"}}}
        for n in range(60)
    }

    usable = usable_schema({"$defs": {**steps, "s60": {}}, "properties": {"x": {"$ref": "#/$defs/s0"}}})

    assert usable.left_out == ("what is more than 6 deep",)
    assert len(json.dumps(usable.parameters)) < 2000


def test_references_that_lead_to_one_another_for_ever_end() -> None:
    steps = {f"s{n}": {"$ref": f"#/$defs/s{n + 1}"} for n in range(5000)}

    usable = usable_schema({"$defs": {**steps, "s5000": {}}, "properties": {"x": {"$ref": "#/$defs/s0"}}})

    assert usable.parameters["properties"] == {"x": {}}


def test_a_reference_into_a_list_or_with_encoded_letters_is_found() -> None:
    schema = offered(
        {
            "$defs": {"My Type": {"type": "string"}},
            "properties": {
                "a": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "b": {"$ref": "#/properties/a/anyOf/0"},
                "c": {"$ref": "#/$defs/My%20Type"},
            },
        }
    )

    assert schema["properties"]["b"] == {"type": "integer"}
    assert schema["properties"]["c"] == {"type": "string"}


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
def test_whatever_a_server_sends_is_safe_to_offer_and_to_check(schema: RawJson, value: RawJson) -> None:
    usable = usable_schema(schema)

    made = usable.parameters
    assert made["type"] == "object"
    assert len(json.dumps(made, ensure_ascii=False, allow_nan=False)) <= MOST_CHARS
    check(made, value)
    check(made, {"x": value})
    assert usable.names.restored({"x": value}) is not None


def test_hidden_and_turning_characters_are_gone() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")

    assert plain_text(f"Reads\u202e a\n\n\x07 file{hidden}", 100) == "Reads a file"
    assert plain_text("word " * 100, 10) == "word word…"
