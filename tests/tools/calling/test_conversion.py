"""Arguments that a model wrote as text, where the schema wants something else."""

from __future__ import annotations

import pytest

from tools.calling.conversion import converted, is_of, kinds_of
from tools.contract.base import Json

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "integer"}},
        "where": {"type": "object", "properties": {"page": {"type": "integer"}}},
        "text": {"type": "string"},
        "names": {"type": "array", "items": {"type": "string"}},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["integer", "string"]},
        "anything": {},
    },
}


def test_an_empty_text_for_what_is_optional_and_no_text_is_left_out() -> None:
    given: dict[str, Json] = {"count": "", "deep": " ", "where": "", "names": "", "maybe": "", "text": "", "either": ""}

    assert converted(SCHEMA, given) == {"text": "", "either": ""}
    assert converted(SCHEMA | {"required": ["count"]}, {"count": ""}) == {"count": ""}


def test_a_text_is_no_list_of_one_where_it_begins_as_a_list_or_other_values_are_wanted() -> None:
    assert converted(SCHEMA, {"names": "[Ada", "tags": "six"}) == {"names": "[Ada", "tags": "six"}


def test_what_cannot_be_told_stays_as_it_came() -> None:
    deep: Json = {"type": "integer"}
    nested: Json = "7"
    for _ in range(100):
        deep, nested = {"type": "array", "items": deep}, [nested]
    vague: dict[str, Json] = {"anyOf": [{"type": "integer"}, {"$ref": "#/x"}]}

    assert isinstance(deep, dict) and converted(deep, nested) == nested
    assert converted(vague, "7") == "7" and kinds_of(vague) == frozenset()
    assert converted({"type": "integer"}, "7" * 200_000) == "7" * 200_000
    assert is_of(7, "money") is None


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("count", "3", 3),
        ("count", " -12 ", -12),
        ("count", "3.0", 3),
        ("ratio", "2.5", 2.5),
        ("ratio", "1e3", 1000.0),
        ("deep", "true", True),
        ("deep", "False", False),
        ("tags", "[1, 2]", [1, 2]),
        ("tags", ["1", "2"], [1, 2]),
        ("tags", '["1"]', [1]),
        ("where", '{"page": "2"}', {"page": 2}),
        ("text", 42, "42"),
        ("maybe", "7", 7),
        ("names", "Ada", ["Ada"]),
        ("names", '["Ada"]', ["Ada"]),
    ],
)
def test_a_text_that_says_a_value_of_the_wanted_type_becomes_it(name: str, given: Json, meant: Json) -> None:
    made = converted(SCHEMA, {name: given})

    assert made == {name: meant}
    assert isinstance(made, dict) and type(made[name]) is type(meant)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("count", "three"),
        ("count", "3.5"),
        ("count", "９"),
        ("count", "9" * 40),
        ("ratio", "1e999"),
        ("ratio", "nan"),
        ("deep", "yes"),
        ("deep", 1),
        ("tags", "[1, 2"),
        ("tags", '{"a": 1}'),
        ("tags", "[" * 50_000),
        ("text", True),
        ("text", "3"),
        ("either", "3"),
        ("anything", "3"),
        ("maybe", None),
    ],
)
def test_everything_else_stays_for_the_check_to_name(name: str, given: Json) -> None:
    assert converted(SCHEMA, {name: given}) == {name: given}
