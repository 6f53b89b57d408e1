"""Servers that are broken or mean no good: they cost their own tools and nothing else."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.patience import PATIENCE
from tests.tools.mcp.conftest import Bench
from tools.mcp import flood
from tools.mcp.process import LOG_LINES


async def test_a_server_that_never_lists_its_tools_is_given_up_after_its_time(bench: Bench) -> None:
    bench.pauses.held = True

    await bench.open({"silent": bench.plain("silent", startTimeout=0.5), "good": bench.plain("good")})

    assert bench.names == ["good__echo"]
    assert bench.registry.unavailable == {"MCP silent": "it did not answer in time"}


async def test_a_tool_with_an_odd_part_is_offered_without_it(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    await bench.open({"odd": bench.plain("malformed")})

    offered = {spec.name for spec in bench.registry.specs() if not spec.name.startswith("odd__tool_")}
    assert offered == {
        f"odd__{name}"
        for name in ("fine", "no_schema", "a_list", "circle", "outside", "wrong_number", "odd_title", "either")
    }
    for said in (
        "the tool 'outside' is offered without $ref of 'x' ('http://127.0.0.1/x')",
        "the tool 'wrong number' is offered without minLength of 'x' ('three')",
        "the tool 'no schema' is offered without its schema (None)",
        "the tool 'a list' is offered without type of its schema ('array')",
        "the tool 'odd title' is offered without its title, its annotations",
        "MCP server 'odd': 1 tools that have no name were left out",
    ):
        assert caplog.text.count(said) == 1
    (named,) = [spec for spec in bench.registry.specs() if spec.name.startswith("odd__tool_")]
    assert named.purpose == "Wetter"
    assert (await bench.call(named.name)).ok
    assert bench.spec("odd__either").parameters["properties"] == {"x": {}, "y": {}}
    assert bench.spec("odd__odd_title").asks, "what cannot be read promises nothing"


async def test_an_enormous_result_fails_that_call_alone(bench: Bench) -> None:
    await bench.open({"big": bench.plain("enormous")})

    enormous = await bench.call("big__echo")

    assert not enormous.ok
    assert "bytes" in enormous.text
    assert not bench.registry.unavailable, "it is up as before"


async def test_a_result_of_too_many_values_to_parse_fails_that_call_alone(bench: Bench) -> None:
    """A parser holds up every chat until it has made each of them, in a thread too."""
    await bench.open({"dense": bench.plain("dense"), "wordy": bench.plain("wordy")})

    dense, wordy = await bench.call("dense__echo"), await bench.call("wordy__echo")

    assert not dense.ok
    assert "values" in dense.text
    assert wordy.ok, "a text is one value, whatever stands in it"
    assert wordy.text.startswith('[["a"], ["a"]')
    assert not bench.registry.unavailable, "they are up as before"


async def test_a_list_without_end_is_cut(bench: Bench) -> None:
    await bench.open({"pages": bench.plain("pages")})

    assert 10 < len(bench.names) <= 50


async def test_what_is_no_message_is_skipped(bench: Bench) -> None:
    await bench.open({"babble": bench.plain("babble")})

    assert (await bench.call("babble__echo")).ok


async def test_a_flood_of_errors_neither_stops_the_server_nor_fills_the_log(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "tools.mcp.process")
    await bench.open({"e": bench.plain("shout")})

    result = await bench.call("e__echo")
    await bench.registry.close()

    assert result.ok
    lines = [record.getMessage() for record in caplog.records if record.name == "tools.mcp.process"]
    assert 10 < len(lines) <= LOG_LINES + 1
    assert all(len(line) < 500 for line in lines)
    assert all(record.levelno == logging.DEBUG for record in caplog.records if record.name == "tools.mcp.process")


@pytest.mark.parametrize(
    "line",
    ['{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}', "x" * 1_000],
    ids=["messages", "noise"],
)
async def test_a_server_that_floods_is_cut_off(
    bench: Bench, line: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(flood, "MOST_UNASKED", 100)
    monkeypatch.setattr(flood, "MOST_NOISE", 100_000)
    monkeypatch.setattr(flood, "NOISE_PER_SECOND", 0.0)
    bench.pauses.held = True
    entry = bench.plain("flood")
    await bench.open({"e": {**entry, "args": [*entry["args"], line]}})

    assert not (await bench.call("e__echo")).ok
    async with asyncio.timeout(PATIENCE):
        while "next attempt" not in caplog.text:
            await asyncio.sleep(0.01)
    assert "it was cut off, as it sent far more than was asked for" in caplog.text


async def test_a_server_that_tells_of_its_work_now_and_then_is_not_cut_off() -> None:
    now = 0.0
    told = flood.Allowance(10, 5.0, lambda: now)
    for _ in range(100):
        told.take(5)
        now += 1.0
    with pytest.raises(flood.Flooded):
        told.take(16)
