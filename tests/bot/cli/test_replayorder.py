"""`parley replay` numbers the sources of several searches at once as they were, in whatever order these ended."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from bot.cli.replay import load, repeat
from bot.contract import reference_of
from playground.model import Reply
from tests.bot.cli.replaying import UNLIMITED, Stored, calls, storing
from tools.contract.base import Arguments, ToolContext, ToolResult

QUERIES = ("tea", "cups", "kettles unnumbered", "nothing", "mats")
# Four run at the same time: the fifth begins when one of them has ended.
ORDERS = [*((*order, 3, 4) for order in permutations(range(3))), (3, 4, 1, 0, 2), (2, 0, 3, 4, 1), (1, 4, 3, 2, 0)]


async def _search(
    one: Stored,
    patch: pytest.MonkeyPatch,
    order: tuple[int, ...],
    queries: tuple[str, ...] = QUERIES,
    at_once: int = 4,
) -> int:
    """Ask what needs several searches in one pass, which end in this order, and return the turn."""
    run, begun, ends = one.tool.run, set[str](), {query: asyncio.Event() for query in queries}
    ready = asyncio.Event()

    async def wait(arguments: Arguments, context: ToolContext) -> ToolResult:
        query = str(arguments["query"])
        begun.add(query)
        if len(begun) == at_once:
            ready.set()
        await ends[query].wait()
        return await run(arguments, context)

    async def has_ended(query: str) -> bool:
        made = await one.app.store.turns.list_calls(await one.app.store.turns.find_newest())
        return any(record.result for record in made if record.call.arguments == {"query": query})

    async def end() -> None:
        await ready.wait()
        for query in (queries[place] for place in order):
            ends[query].set()
            while not await has_ended(query):
                await asyncio.sleep(0)

    patch.setattr(one.tool, "run", wait)
    ending = asyncio.create_task(end())
    turn = await one.ask(calls(*queries), Reply("Tea [1], cups [2], kettles [3], and those [4]."))
    await ending
    patch.setattr(one.tool, "run", run)
    return turn


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_searches_at_the_same_time_are_numbered_as_they_ended(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, wrong, numbered = {}, {}, set()
    async with storing(tmp_path, monkeypatch, platform, **UNLIMITED) as one:
        for order in ORDERS:
            turns[order] = await _search(one, monkeypatch, order)
        at_once = await one.ask(calls(*QUERIES), Reply("Tea [1], cups [2], kettles [3], and those [4]."))

    for order, turn in {**turns, (): at_once}.items():
        recording = await load(one.url, reference_of(turn))
        numbered.add(tuple(source.number for one in recording.calls if one.result for source in one.result.sources))
        if differences := await repeat(recording, {}):
            wrong[order] = differences

    assert wrong == {}
    assert len(numbered) > 6


async def test_results_that_a_tool_had_kept_are_numbered_before_those_that_take_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with storing(tmp_path, monkeypatch, "slack", **UNLIMITED) as one:
        one.tool.spec = replace(one.tool.spec, cache_seconds=600.0)
        await one.ask(calls("kettles unnumbered", "mats"), Reply("Kettles [1] and mats [3]."))
        turn = await _search(one, monkeypatch, (1, 0), ("tea", "cups", "kettles unnumbered", "tea", "mats"), at_once=2)

    recording = await load(one.url, reference_of(turn))

    assert [str(call.status) for call in recording.calls] == ["completed", "completed", "cached", "cached", "cached"]
    assert await repeat(recording, {}) == []
