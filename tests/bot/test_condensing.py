"""Long results said in fewer words, or cut when that does not work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from bot.condensing import Condenser
from bot.errors import ModelBusy
from bot.model.base import Answer, Piece, Request
from tools.base import ToolCall, ToolContext
from tools.function import tool
from tools.registry import ToolRegistry

LONG = "entry of the result\n" * 2000


class FakeModel:
    name = "fake:model"

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[Piece]:
        self.requests.append(request)
        if self.answer is None:
            raise ModelBusy("overloaded")
        yield Answer(text=self.answer, finish="stop", model=self.name, native=True)


class Models:
    def __init__(self, model: FakeModel) -> None:
        self.model = model

    def choose(self, name: str) -> FakeModel:
        return self.model


@tool(category="test")
async def long_one() -> str:
    """Give a long result."""
    return LONG


def registry(model: FakeModel, clock: Any) -> ToolRegistry:
    return ToolRegistry([long_one], condense=Condenser(Models(model), clock, result_chars=8000))


async def test_a_result_over_the_cap_is_condensed_by_a_call_without_tools(clock: Any) -> None:
    model = FakeModel("Two thousand equal entries.")

    result = await registry(model, clock).run(ToolCall("1", "long_one", {}), ToolContext())

    assert result.text == f"[condensed from {len(LONG)} characters]\nTwo thousand equal entries."
    assert model.requests[0].tools == ()
    assert model.requests[0].deadline <= clock.monotonic() + 15.0


async def test_where_the_model_fails_the_result_is_cut(clock: Any) -> None:
    result = await registry(FakeModel(None), clock).run(ToolCall("1", "long_one", {}), ToolContext())

    assert result.ok
    assert len(result.text) <= 8000
    assert "characters left out" in result.text
