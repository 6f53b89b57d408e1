"""Arguments with names that no provider takes: offered under fit ones, and called by their own."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import RawJson
from tests.tools.mcp.conftest import Bench
from tools.mcp.argument_names import ArgumentNames
from tools.mcp.parameters import usable_schema

# https://platform.claude.com/docs/en/api/messages: what the strictest provider takes.
TAKEN = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def offered(schema: RawJson, **descriptions: str) -> tuple[RawJson, ArgumentNames]:
    """What models are told of a schema, and the names that it stands for."""
    usable = usable_schema(schema, descriptions)
    return usable.parameters, usable.names


def test_a_name_that_every_provider_takes_stays() -> None:
    fit: RawJson = {"page.size": {}, "a__b": {}, "_x": {}, "Accept-Language": {}}

    schema, names = offered({"properties": fit})

    assert list(schema["properties"]) == list(fit) and not names


def test_other_names_become_fit_and_say_what_they_stand_for() -> None:
    own = {
        "properties": {
            "$filter": {"type": "string", "description": "An OData filter"},
            "filter[name]": {"type": "string"},
            "StartTime": {"type": "string"},
            "StartTime<": {"type": "string"},
            "customer name": {"type": "string"},
            "城市": {"type": "string"},
            "": {},
            "x" * 600_000: {},
        },
        "required": ["$filter", "城市"],
    }

    schema, names = offered(own, 城市="where")

    properties = schema["properties"]
    assert {"filter", "filter_name", "StartTime", "customer_name"} < set(properties)
    assert all(TAKEN.fullmatch(name) for name in properties)
    assert properties["filter"]["description"] == "Its server calls it '$filter'. An OData filter"
    assert [one["description"] for one in properties.values() if "城市" in str(one)] == [
        "Its server calls it '城市'. where"
    ]
    assert len(schema["required"]) == 2
    assert set(names.restored(dict.fromkeys(properties, 1))) == set(own["properties"])


def test_names_inside_arguments_are_mapped_where_they_are_offered_and_nowhere_else() -> None:
    schema, names = offered(
        {
            "properties": {
                "where": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"$eq": {}, "plain": {}}}]},
                "lines": {"type": "array", "items": {"type": "object", "properties": {"unit price": {}}}},
                "by_day": {"type": "object", "additionalProperties": {"properties": {"unit price": {}}}},
                "free": {"type": "object"},
                "from": {"properties": {"eq": {}}},
            }
        }
    )
    price = next(iter(schema["properties"]["lines"]["items"]["properties"]))
    equal = next(iter(schema["properties"]["where"]["anyOf"][1]["properties"]))
    assert price == "unit_price" and equal.startswith("eq_")

    restored = names.restored(
        {
            "where": {equal: {equal: 1}, "plain": 2},
            "lines": [{price: 3}, {price: 4, "other": 5}, 6],
            "by_day": {"monday": {price: 7}},
            "free": {price: 8},
            "from": {"eq": 9},
        }
    )

    assert restored == {
        "where": {"$eq": {equal: 1}, "plain": 2},
        "lines": [{"unit price": 3}, {"unit price": 4, "other": 5}, 6],
        "by_day": {"monday": {"unit price": 7}},
        "free": {price: 8},
        "from": {"eq": 9},
    }


@given(st.lists(st.text(max_size=70), unique=True, max_size=9), st.lists(st.text(max_size=9), unique=True, max_size=9))
def test_any_names_become_different_ones_that_providers_take_and_come_back(outer: list[str], inner: list[str]) -> None:
    deep = {"type": "object", "properties": {name: {"type": "integer"} for name in inner}}

    schema, names = offered({"properties": {**{name: {} for name in outer}, "deep": deep}})

    properties = schema["properties"]
    within = properties["deep"]["properties"]
    assert len(properties) == len({*outer, "deep"}) and len(within) == len(inner)
    assert all(TAKEN.fullmatch(name) for name in (*properties, *within))
    restored = names.restored({**dict.fromkeys(properties, 0), "deep": dict.fromkeys(within, 1)})
    assert restored == {**dict.fromkeys(outer, 0), "deep": dict.fromkeys(inner, 1)}


async def test_a_call_reaches_the_server_with_its_own_names(bench: Bench) -> None:
    inner = {"type": "object", "properties": {"customer name": {"type": "string"}}}
    schema = {"type": "object", "properties": {"$top": {"type": "int"}, "who": inner}, "required": ["$top"]}
    described = {"orders": {"examples": [{"$top": 3}]}}
    await bench.open({"o": {**bench.listed({"name": "orders", "inputSchema": schema}), "describe": described}})

    called = await bench.call("o__orders", {"top": "5", "who": {"customer_name": "Ada"}})
    by_its_own_name = await bench.call("o__orders", {"$top": 6})

    assert called.text == '{"$top": 5, "who": {"customer name": "Ada"}}'
    assert by_its_own_name.text == '{"$top": 6}', "a model may know the service better than the schema"
    assert bench.spec("o__orders").examples == ({"top": 3},)
