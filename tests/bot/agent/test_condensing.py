"""Long results said in fewer words, or cut when that does not work."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from bot.agent.condensing import Condenser
from bot.contract.errors import ModelBusy
from bot.model.base import Answer, Piece, Request
from bot.policy.budgets import payer_of
from bot.policy.quotas import charge
from playground.model import Reply
from tests.bot.conftest import OpenRig
from tests.conftest import FakeClock
from tools.calling.function import tool
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolCall, ToolContext

LONG = "entry of the result\n" * 2000


class FakeModel:
    name = "fake:model"

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.requests.append(request)
        if self.answer is None:
            raise ModelBusy("overloaded")
        yield Answer(text=self.answer, finish="stop", model=self.name, native=True)


@tool(category="test")
async def long_one() -> str:
    """Give a long result."""
    return LONG


def registry(model: FakeModel, clock: FakeClock) -> ToolRegistry:
    return ToolRegistry([long_one], condense=Condenser(model, clock, result_chars=8000))


async def test_a_result_over_the_cap_is_condensed_by_a_call_without_tools(clock: FakeClock) -> None:
    model = FakeModel("Two thousand equal entries.")

    result = await registry(model, clock).run(ToolCall("1", "long_one", {}), ToolContext())

    assert result.text == f"[condensed from {len(LONG)} characters]\nTwo thousand equal entries."
    assert model.requests[0].tools == ()
    assert model.requests[0].deadline <= clock.monotonic() + 15.0


async def test_where_the_model_fails_the_result_is_cut(clock: FakeClock) -> None:
    result = await registry(FakeModel(None), clock).run(ToolCall("1", "long_one", {}), ToolContext())

    assert result.ok
    assert len(result.text) <= 8000
    assert "characters left out" in result.text


async def test_what_condensing_uses_is_on_the_quotas_of_who_asked(rig: OpenRig) -> None:
    async with rig(CONDENSE_RESULTS="true", TOKENS_PER_DAY_PERSON="16000") as it:
        registry, asks = it.bot.registry, payer_of(it.message("hello"))
        it.model.script = lambda body: Reply("Two thousand equal entries.")
        context = ToolContext()
        registry._tools["long_one"] = long_one
        with charge(asks):
            result = await registry.run(ToolCall("1", "long_one", {}), context)
            assert result.text.endswith("Two thousand equal entries.")
            report = await it.bot.quotas.report(asks)
            assert report.person.spent.tokens > 1_000

            again = await registry.run(ToolCall("2", "long_one", {}), context)

        assert "[condensed" not in again.text and len(again.text) < len(LONG), "nothing is left: it is cut"
        assert len(it.model.requests) == 1


async def test_a_tool_that_shortens_its_own_results_leaves_something_to_condense(clock: FakeClock) -> None:
    seen: list[int] = []

    @tool(category="test")
    async def careful(context: ToolContext) -> str:
        """Give as much as may be."""
        seen.append(context.chars)
        return LONG[: context.chars]

    careful_one = ToolRegistry([careful], condense=Condenser(FakeModel("Short."), clock, result_chars=8000))
    result = await careful_one.run(ToolCall("1", "careful", {}), ToolContext())

    assert seen == [40_000]
    assert result.text.endswith("\nShort.")


async def test_the_model_for_summaries_condenses_too(rig: OpenRig) -> None:
    async with rig(CONDENSE_RESULTS="true", SUMMARY_MODEL="openai:small") as it:
        it.model.script = lambda body: Reply("Two thousand equal entries.")
        it.bot.registry._tools["long_one"] = long_one
        with charge(payer_of(it.message("hello"))):
            await it.bot.registry.run(ToolCall("1", "long_one", {}), ToolContext())

        assert [request.body["model"] for request in it.model.requests] == ["small"]
