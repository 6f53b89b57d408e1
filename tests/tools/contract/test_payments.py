"""What tools pay: set aside before a request, settled by what became of it, nothing for what was never done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from bot.contract.errors import SettingsError
from bot.settings import read
from playground.faults import Fault
from playground.model import ModelServer
from playground.tavily import TavilyServer
from tests.conftest import RawJson
from tools.calling.registry import ToolRegistry
from tools.contract.base import Tool, ToolCall, ToolContext, ToolResult, Unpaid
from tools.contract.payments import Bill, Payment
from tools.generate_image import open_tool as open_images
from tools.run_python import CodeRunner
from tools.sandbox.cell import Cell, SandboxFailed
from tools.search_web import CREDIT_PRICE
from tools.search_web import open_tool as open_search
from tools.settings import CodeSettings, ImageSettings, SearchSettings

KEY = "tvly-secret-key"
CREDIT = CREDIT_PRICE


class FakePurse:
    """Notes what is set aside and what is paid at last; refuses what exceeds `left`."""

    def __init__(self, left: float = 1e9) -> None:
        self.left = left
        self.aside: list[float] = []
        self.paid: list[tuple[str, float]] = []

    @asynccontextmanager
    async def pay(self, what: str, dollars: float) -> AsyncIterator[Payment]:
        if dollars > self.left:
            raise Unpaid("The quota is spent.", retry=False)
        self.aside.append(dollars)
        payment = Payment(dollars)
        try:
            yield payment
        finally:
            self.paid.append((what, round(payment.dollars, 6)))


@pytest.fixture
def purse() -> FakePurse:
    return FakePurse()


async def call(tool: Tool | ToolRegistry, purse: FakePurse, **arguments: RawJson) -> ToolResult:
    registry = tool if isinstance(tool, ToolRegistry) else ToolRegistry([tool])
    name = registry.specs()[0].name
    return await registry.run(ToolCall("1", name, arguments), ToolContext(purse=purse))


@pytest.fixture
async def tavily() -> AsyncIterator[TavilyServer]:
    async with TavilyServer(key=KEY) as server:
        yield server


def search(server: TavilyServer, again_below: float = 0.0, **more: Any) -> Tool:
    given = {"tavily_api_key": SecretStr(KEY), "tavily_api_base_url": server.base_url}
    return open_search(SearchSettings.model_construct(None, **{**given, **more}), again_below=again_below)


@pytest.mark.parametrize(("mode", "dollars"), [("quick", CREDIT), ("deep", 2 * CREDIT)])
async def test_a_search_costs_its_credits(tavily: TavilyServer, purse: FakePurse, mode: str, dollars: float) -> None:
    tool = search(tavily)

    result = await call(tool, purse, query="solar power", mode=mode)

    assert (purse.aside, purse.paid) == ([dollars], [("search_web", dollars)])
    assert result.dollars == pytest.approx(dollars)
    await tool.close()


async def test_a_search_that_is_made_again_deep_costs_both(tavily: TavilyServer, purse: FakePurse) -> None:
    tool = search(tavily, again_below=1.0)

    result = await call(tool, purse, query="solar power")

    assert [dollars for _, dollars in purse.paid] == [CREDIT, 2 * CREDIT]
    assert result.dollars == pytest.approx(3 * CREDIT)
    await tool.close()


async def test_a_search_that_is_known_already_costs_nothing(tavily: TavilyServer, purse: FakePurse) -> None:
    registry = ToolRegistry([search(tavily)])

    first, *others = await asyncio.gather(*(call(registry, purse, query="solar power") for _ in range(3)))
    later = await call(registry, purse, query="solar power")

    assert [result.dollars for result in (first, *others, later)] == [CREDIT, 0, 0, 0]
    assert len(purse.paid) == 1
    await registry.close()


@pytest.mark.parametrize(("status", "dollars"), [(400, 0.0), (401, 0.0), (403, 0.0), (429, 0.0), (500, 0.0)])
async def test_a_search_that_is_refused_costs_nothing(
    tavily: TavilyServer, purse: FakePurse, status: int, dollars: float
) -> None:
    tavily.faults.add("search", Fault(status=status))
    tool = search(tavily)

    result = await call(tool, purse, query="solar power")

    assert not result.ok
    assert purse.paid == [("search_web", dollars)]
    await tool.close()


async def test_a_search_that_is_not_answered_may_have_cost_its_credit(tavily: TavilyServer, purse: FakePurse) -> None:
    tavily.faults.add("search", Fault(hold=asyncio.Event()))
    tool = search(tavily)
    context = replace(ToolContext(purse=purse), seconds=0.2, bill=Bill("search_web", purse))

    with pytest.raises(Exception, match="did not answer"):
        await tool.run({"query": "solar power"}, context)

    assert purse.paid == [("search_web", CREDIT)]
    await tool.close()


async def test_a_search_that_nobody_can_pay_is_not_made(tavily: TavilyServer) -> None:
    tool, purse = search(tavily), FakePurse(left=0.0)

    result = await call(tool, purse, query="solar power")

    assert (result.text, result.retry) == ("Error: The quota is spent.", False)
    assert tavily.requests == []
    await tool.close()


async def test_a_search_that_nobody_can_pay_is_made_where_it_is_free(
    tavily: TavilyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def found(query: str, **how: Any) -> list[dict[str, str]]:
        return [{"title": "Solar", "url": "https://solar.example/", "content": "It grows."}]

    monkeypatch.setattr("tools.fetch.keyless_search.installed", lambda: True)
    monkeypatch.setattr("tools.fetch.keyless_search.search", found)
    tool, purse = search(tavily, search_fallback="ddgs"), FakePurse(left=0.0)

    result = await call(tool, purse, query="solar power")

    assert result.ok and "https://solar.example/" in result.text
    assert (result.dollars, purse.paid, tavily.requests) == (0.0, [], [])
    await tool.close()


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer(key=KEY) as server:
        yield server


def images(server: ModelServer, **more: str) -> Tool:
    given = {"image_model": "openai:gpt-image-1", "image_api_key": KEY, "image_base_url": server.base_url, **more}
    return open_images(ImageSettings.model_validate(given))


@pytest.mark.parametrize(
    ("price", "asked", "aside", "paid"),
    [
        ("", {"size": "1024x1024", "quality": "low"}, 0.011, 0.011),
        ("", {"size": "1536x1024", "quality": "high"}, 0.2505, 0.2505),
        # What is left to the service may be the best; it says what it was.
        ("", {}, 0.2505, 0.042),
        ("0.1/0.2/0.3", {"quality": "low"}, 0.15, 0.1),
        ("0.5", {}, 0.75, 0.5),
        ("0", {}, 0.0, 0.0),
    ],
)
async def test_an_image_costs_its_quality_and_size(
    model: ModelServer, purse: FakePurse, price: str, asked: dict[str, str], aside: float, paid: float
) -> None:
    tool = images(model, image_price=price)

    result = await call(tool, purse, prompt="a fox", **asked)

    assert result.ok and result.dollars == pytest.approx(paid)
    assert purse.aside == ([pytest.approx(aside)] if aside else [])
    assert [tool for tool, _ in purse.paid] == (["generate_image"] if aside else [])
    assert [dollars for _, dollars in purse.paid] == ([pytest.approx(paid)] if aside else [])
    await tool.close()


@pytest.mark.parametrize(
    ("name", "high"), [("gpt-image-1-mini", 0.036), ("gpt-image-1.5", 0.133), ("dall-e-3", 0.08), ("flux", 0.167)]
)
async def test_each_image_model_has_its_price(model: ModelServer, purse: FakePurse, name: str, high: float) -> None:
    model.images.models.append(name)
    tool = images(model, image_model=f"openai:{name}")

    await call(tool, purse, prompt="a fox", size="1024x1024", quality="high")

    assert purse.aside == [pytest.approx(high)]
    await tool.close()


@pytest.mark.parametrize(
    ("prompt", "fault", "paid"),
    [
        ("something forbidden", None, 0.0),
        ("a fox", Fault(status=429), 0.0),
        ("a fox", Fault(status=401), 0.0),
        # Nobody knows whether it was made before it failed.
        ("a fox", Fault(status=500), 0.042),
        ("a fox", Fault(drop="after"), 0.042),
    ],
)
async def test_an_image_that_is_refused_costs_nothing_and_one_that_may_be_made_does(
    model: ModelServer, purse: FakePurse, prompt: str, fault: Fault | None, paid: float
) -> None:
    if fault is not None:
        model.faults.add("images", fault, times=3)
    tool = images(model)

    result = await call(tool, purse, prompt=prompt, size="1024x1024", quality="medium")

    assert not result.ok
    assert purse.paid == [("generate_image", paid)]
    assert result.dollars == pytest.approx(paid)
    assert len(model.requests) == 1
    await tool.close()


class Rented:
    """A backend that is paid by time."""

    name, summary = "rented", "rented"

    async def check(self) -> None: ...

    async def close(self) -> None: ...

    def held_scopes(self) -> tuple[str, ...]:
        return ()

    def paid_seconds(self, scope: str, seconds: float) -> float:
        return 3_600.0

    async def run(self, scope: str, code: str, seconds: float) -> Cell:
        if code == "fail":
            raise SandboxFailed("it could not be reached")
        if code == "hang":
            await asyncio.Event().wait()
        return Cell(value=code, paid_seconds=float(code))


@pytest.mark.parametrize(("code", "paid"), [("1800", 0.06), ("0", 0.0), ("fail", 0.0), ("hang", 0.12)])
async def test_a_cell_costs_the_time_for_which_it_keeps_a_machine(
    purse: FakePurse, monkeypatch: pytest.MonkeyPatch, code: str, paid: float
) -> None:
    tool = CodeRunner(CodeSettings.model_construct(), ("e2b",))
    monkeypatch.setattr("tools.sandbox.e2b.E2B", lambda *given: Rented())
    registry = ToolRegistry([tool], timeout=0.2)
    monkeypatch.setattr(tool, "spec", replace(tool.spec, timeout=0.2))

    result = await call(registry, purse, code=code)

    assert result.ok == code.isdigit()
    assert purse.aside == [pytest.approx(0.12)]
    assert purse.paid == [("run_python", paid)]
    await registry.close()


async def test_without_a_purse_everything_is_paid_and_still_counted(tavily: TavilyServer) -> None:
    registry = ToolRegistry([search(tavily)])

    result = await registry.run(ToolCall("1", "search_web", {"query": "solar power"}), ToolContext())

    assert result.ok and result.dollars == CREDIT
    await registry.close()


@pytest.mark.parametrize("wrong", ["abc", "0.1/0.2", "-1", "1/2/3/4", "1,5"])
def test_a_price_of_images_that_cannot_be_read_is_a_sentence(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGE_PRICE", wrong)
    with pytest.raises(SettingsError, match=r"IMAGE_PRICE: .* must be low/medium/high in dollars"):
        read(ImageSettings)
