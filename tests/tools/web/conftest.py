"""The public services on loopback, and a way to call a tool as the model does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

import pytest

from playground.web import DexscreenerServer, MediaWikiServer, OpenAlexServer, OpenMeteoServer
from tools.calling.registry import ToolRegistry
from tools.contract.base import Json, Tool, ToolCall, ToolContext, ToolResult

Call: TypeAlias = Callable[..., Awaitable[ToolResult]]
Caller: TypeAlias = Callable[..., Call]


@pytest.fixture
async def openalex() -> AsyncIterator[OpenAlexServer]:
    async with OpenAlexServer() as server:
        yield server


@pytest.fixture
async def openmeteo() -> AsyncIterator[OpenMeteoServer]:
    async with OpenMeteoServer() as server:
        yield server


@pytest.fixture
async def mediawiki() -> AsyncIterator[MediaWikiServer]:
    async with MediaWikiServer() as server:
        yield server


@pytest.fixture
async def dexscreener() -> AsyncIterator[DexscreenerServer]:
    async with DexscreenerServer() as server:
        yield server


@pytest.fixture
async def caller() -> AsyncIterator[Caller]:
    """`caller(tool, language="zh")(query="…")` calls the tool through a registry."""
    opened: list[ToolRegistry] = []

    def of(tool: Tool, *, language: str = "", chars: int = 8000) -> Call:
        registry = ToolRegistry([tool], result_chars=chars)
        opened.append(registry)

        async def call(**arguments: Json) -> ToolResult:
            context = ToolContext(language=language, scope=str(len(opened)))
            return await registry.run(ToolCall("1", tool.spec.name, arguments), context)

        return call

    yield of
    for registry in opened:
        await registry.close()
