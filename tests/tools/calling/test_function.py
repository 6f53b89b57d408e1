"""`@tool`: what a model is told is written from the signature and the docstring."""

from __future__ import annotations

import enum
from typing import Literal

import pytest

from tools.calling.function import spec_of, tool
from tools.contract.base import ToolContext, ToolResult


class Size(enum.StrEnum):
    SMALL = "small"
    LARGE = "large"


@tool(category="food", icon="🍕", examples=({"kind": "margherita"},), per_minute=3)
async def order(
    context: ToolContext,
    kind: str,
    count: int = 1,
    size: Size = Size.SMALL,
    crust: Literal["thin", "thick"] = "thin",
    extras: list[str] | None = None,
    price: float | str = 9.5,
    gift: bool = False,
    card: dict[str, str] | None = None,
) -> str:
    """Order a pizza.

    It comes within the hour.

    Use when: somebody is hungry,
        or says so.
    Not for: drinks.
    Source: the kitchen

    Args:
        kind: What is on it.
            Example: "margherita", "funghi"
        count: How many,
            at most ten. Example: 2
        extras: What else. Example: ["olives"]
    """
    return f"{count} {size} {kind} for {context.person}"


def test_the_docstring_becomes_the_description() -> None:
    assert order.spec.description == (
        "[food] Order a pizza. It comes within the hour. Use when: somebody is hungry, or says so. "
        "Not for: drinks. Source: the kitchen."
    )
    assert (order.spec.name, order.spec.icon, order.spec.per_minute) == ("order", "🍕", 3)


def test_the_signature_becomes_the_schema() -> None:
    assert order.spec.parameters == {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "examples": ["margherita", "funghi"], "description": "What is on it."},
            "count": {"type": "integer", "examples": [2], "description": "How many, at most ten.", "default": 1},
            "size": {"type": "string", "enum": ["small", "large"], "default": "small"},
            "crust": {"type": "string", "enum": ["thin", "thick"], "default": "thin"},
            "extras": {
                "type": "array",
                "items": {"type": "string"},
                "examples": [["olives"]],
                "description": "What else.",
            },
            "price": {"anyOf": [{"type": "number"}, {"type": "string"}], "default": 9.5},
            "gift": {"type": "boolean", "default": False},
            "card": {"type": "object"},
        },
        "required": ["kind"],
        "additionalProperties": False,
    }


async def test_a_text_becomes_a_result_and_the_context_is_handed_in() -> None:
    result = await order.run({"kind": "funghi", "count": 2}, ToolContext(person="ada"))

    assert result == ToolResult(text="2 small funghi for ada")
    await order.close()


async def test_a_function_without_context_gets_none_and_may_return_a_result() -> None:
    @tool(name="other")
    async def plain(text: str) -> ToolResult:
        """Say it."""
        return ToolResult(text=text, ok=False)

    assert plain.spec.name == "other"
    assert await plain.run({"text": "no"}, ToolContext()) == ToolResult(text="no", ok=False)


def test_a_parameter_without_a_type_is_refused_when_the_tool_is_written() -> None:
    async def untyped(what) -> str:  # type: ignore[no-untyped-def]  # the point of this test
        """Do."""
        return str(what)

    with pytest.raises(TypeError, match="'what' has no type"):
        spec_of(untyped)


def test_a_type_that_json_does_not_know_is_refused() -> None:
    async def odd(what: set[int]) -> str:
        """Do."""
        return str(what)

    with pytest.raises(TypeError, match=r"odd\.what: JSON knows no set\[int\]; use str, int"):
        spec_of(odd)


def test_without_a_docstring_there_is_still_a_spec() -> None:
    async def bare() -> str:
        return ""

    assert spec_of(bare).parameters["properties"] == {}
    assert spec_of(bare).description == "[general] ."
