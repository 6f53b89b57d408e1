"""The registry: whatever a tool does, a result comes back; only cancellation passes through."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from tools.calling.registry import ToolRegistry
from tools.contract.base import (
    Arguments,
    Json,
    Source,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    Unavailable,
)

Behaviour = Callable[[Arguments, ToolContext], Awaitable[ToolResult]]
PARAMETERS: Mapping[str, Json] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["text"],
    "additionalProperties": False,
}


class Played:
    """A tool that does what the test says, and counts."""

    def __init__(self, behaviour: Behaviour, **spec: Any) -> None:
        self.spec = ToolSpec(**{"name": "played", "purpose": "Play.", "parameters": PARAMETERS, **spec})
        self.calls: list[Arguments] = []
        self.contexts: list[ToolContext] = []
        self.cancelled = 0
        self.closed = 0
        self._behaviour = behaviour

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        self.calls.append(arguments)
        self.contexts.append(context)
        try:
            return await self._behaviour(arguments, context)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def close(self) -> None:
        self.closed += 1


def says(text: str, **more: Any) -> Behaviour:
    async def behave(arguments: Arguments, context: ToolContext) -> ToolResult:
        return ToolResult(text=text, **more)

    return behave


def raises(error: Exception) -> Behaviour:
    async def behave(arguments: Arguments, context: ToolContext) -> ToolResult:
        raise error

    return behave


def waits(event: asyncio.Event, text: str = "done") -> Behaviour:
    async def behave(arguments: Arguments, context: ToolContext) -> ToolResult:
        await event.wait()
        return ToolResult(text=text)

    return behave


def call(name: str = "played", **arguments: Json) -> ToolCall:
    return ToolCall("call-1", name, {"text": "hello"} | arguments)


async def test_a_result_comes_back_with_the_time_it_took() -> None:
    ticks = iter([100.0, 100.0, 102.5])
    tool = Played(says("fine", sources=(Source("a", "https://a.example"),)))
    registry = ToolRegistry([tool], now=lambda: next(ticks))

    result = await registry.run(call(), ToolContext(scope="chat"))

    assert (result.ok, result.text, result.status, result.seconds) == (True, "fine", "completed", 2.5)
    assert result.sources == (Source("a", "https://a.example"),)
    assert tool.contexts[0].scope == "chat"


async def test_an_unknown_tool_is_a_result_that_names_the_others() -> None:
    result = await ToolRegistry([Played(says(""))]).run(call("plaid" * 100), ToolContext())

    assert not result.ok
    assert "Available tools: played." in result.text
    assert len(result.text) < 300


async def test_arguments_that_do_not_fit_are_a_result_with_the_schema() -> None:
    tool = Played(says("fine"))

    result = await ToolRegistry([tool]).run(ToolCall("1", "played", {"count": "many"}), ToolContext())

    assert not result.ok
    assert "text is required; count must be integer, not a string" in result.text
    assert '"required": ["text"]' in result.text
    assert tool.calls == []


async def test_arguments_longer_than_a_tool_takes_are_refused_before_they_are_read() -> None:
    tool, patient = Played(says("tea")), Played(says("tea"), name="patient", most_chars=50_000)
    registry = ToolRegistry([tool, patient])

    short = await registry.run(ToolCall("1", "played", {"text": "x" * 20_000}), ToolContext())
    long = await registry.run(ToolCall("2", "patient", {"text": "x" * 20_000}), ToolContext())

    assert not short.ok and "20,012 characters" in short.text and len(short.text) < 200
    assert tool.calls == [] and long.text == "tea"


async def test_unknown_arguments_are_left_out_and_noted() -> None:
    tool = Played(says("fine"))

    result = await ToolRegistry([tool]).run(call(colour="red"), ToolContext())

    assert result.text == "(Unknown arguments were left out: colour.)\nfine"
    assert tool.calls == [{"text": "hello"}]


async def test_null_for_an_optional_argument_is_left_out() -> None:
    tool = Played(says("fine"))

    result = await ToolRegistry([tool]).run(call(count=None), ToolContext())

    assert result.text == "fine"
    assert tool.calls == [{"text": "hello"}]


async def test_a_tool_that_hangs_costs_its_timeout_and_nothing_more() -> None:
    tool = Played(waits(asyncio.Event()))

    result = await ToolRegistry([tool], timeout=0.01).run(call(), ToolContext())

    assert (result.ok, result.status) == (False, "timeout")
    assert "0.01 s" in result.text
    assert tool.cancelled == 1


async def test_a_tool_may_state_its_own_timeout() -> None:
    tool = Played(waits(asyncio.Event()), timeout=0.02)

    result = await ToolRegistry([tool], timeout=1000).run(call(), ToolContext())

    assert "0.02 s" in result.text
    assert tool.contexts[0].seconds == 0.02


async def test_a_timeout_of_the_tools_own_is_not_taken_for_ours() -> None:
    result = await ToolRegistry([Played(raises(TimeoutError()))]).run(call(), ToolContext())

    assert result.status == "failed"
    assert "did not answer in time" in result.text


@pytest.mark.parametrize("retry", [True, False])
async def test_a_tools_own_error_is_told_in_its_words(retry: bool) -> None:
    result = await ToolRegistry([Played(raises(ToolError("Too big: 7", retry=retry)))]).run(call(), ToolContext())

    assert (result.ok, result.text, result.retry) == (False, "Error: Too big: 7", retry)


async def test_any_other_error_is_told_by_its_kind_only_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The text of an exception may hold a key, a path or an address."""
    with caplog.at_level(logging.ERROR):
        result = await ToolRegistry([Played(raises(RuntimeError("/home/key")))]).run(call(), ToolContext())

    assert "RuntimeError" in result.text
    assert "/home/key" not in result.text
    assert "the tool played failed" in caplog.text


async def test_cancellation_passes_through_and_reaches_the_tool() -> None:
    for cached in (0.0, 60.0):
        tool = Played(waits(asyncio.Event()), cache_seconds=cached)
        registry = ToolRegistry([tool])
        running = asyncio.create_task(registry.run(call(), ToolContext()))
        while not tool.calls:
            await asyncio.sleep(0)

        running.cancel()

        with pytest.raises(asyncio.CancelledError):
            await running
        assert tool.cancelled == 1


async def test_a_long_result_keeps_head_and_tail_and_is_as_long_as_allowed() -> None:
    text = "head " + "x" * 5000 + " tail"

    result = await ToolRegistry([Played(says(text))], result_chars=1000).run(call(), ToolContext())

    assert len(result.text) == 1000
    assert result.text.startswith("head ")
    assert result.text.endswith(" tail")
    assert "characters left out" in result.text


async def test_the_cap_counts_the_note_too_and_tools_that_cut_themselves_know() -> None:
    async def fills(arguments: Arguments, context: ToolContext) -> ToolResult:
        return ToolResult(text="x" * context.chars)

    result = await ToolRegistry([Played(fills)], result_chars=300).run(call(colour="red"), ToolContext())

    assert len(result.text) == 300
    assert "left out: colour" in result.text
    assert "characters left out" not in result.text


@pytest.mark.parametrize("most", [0, 5, 30, 60])
async def test_even_a_tiny_cap_is_kept(most: int) -> None:
    result = await ToolRegistry([Played(says("x" * 500))], result_chars=most).run(call(), ToolContext())

    assert len(result.text) <= most


async def test_a_success_is_reused_until_its_time_is_over() -> None:
    now = [0.0]
    tool = Played(says("fine"), cache_seconds=60.0)
    registry = ToolRegistry([tool], now=lambda: now[0])

    first = await registry.run(call(), ToolContext())
    second = await registry.run(call(), ToolContext(scope="another chat"))
    now[0] = 61.0
    third = await registry.run(call(), ToolContext())

    assert [first.status, second.status, third.status] == ["completed", "cached", "completed"]
    assert len(tool.calls) == 2


async def test_other_arguments_are_another_call() -> None:
    tool = Played(says("fine"), cache_seconds=60.0)
    registry = ToolRegistry([tool])

    await registry.run(ToolCall("1", "played", {"text": "a", "count": 1}), ToolContext())
    await registry.run(ToolCall("2", "played", {"count": 1, "text": "a"}), ToolContext())
    await registry.run(ToolCall("3", "played", {"text": "a"}), ToolContext())

    assert len(tool.calls) == 2


async def test_a_failure_is_never_reused() -> None:
    for behaviour in (raises(ToolError("no")), says("no", ok=False)):
        tool = Played(behaviour, cache_seconds=60.0)
        registry = ToolRegistry([tool])

        await registry.run(call(), ToolContext())
        await registry.run(call(), ToolContext())

        assert len(tool.calls) == 2


async def test_equal_calls_at_once_share_one_execution() -> None:
    event = asyncio.Event()
    tool = Played(waits(event), cache_seconds=60.0)
    registry = ToolRegistry([tool])
    running = [asyncio.create_task(registry.run(call(), ToolContext(scope=str(n)))) for n in range(3)]
    while not tool.calls:
        await asyncio.sleep(0)

    event.set()
    results = await asyncio.gather(*running)

    assert len(tool.calls) == 1
    assert sorted(result.status for result in results) == ["cached", "cached", "completed"]


async def test_a_shared_failure_is_a_failure_for_everybody() -> None:
    started, event = asyncio.Event(), asyncio.Event()

    async def fails(arguments: Arguments, context: ToolContext) -> ToolResult:
        started.set()
        await event.wait()
        raise ToolError("no")

    registry = ToolRegistry([Played(fails, cache_seconds=60.0)])
    running = [asyncio.create_task(registry.run(call(), ToolContext(scope=str(n)))) for n in range(2)]
    await started.wait()

    event.set()
    results = await asyncio.gather(*running)

    assert [(result.ok, result.status) for result in results] == [(False, "failed"), (False, "failed")]


async def test_who_shares_a_call_gets_a_result_when_its_owner_is_cancelled() -> None:
    event = asyncio.Event()
    tool = Played(waits(event), cache_seconds=60.0)
    registry = ToolRegistry([tool])
    owner = asyncio.create_task(registry.run(call(), ToolContext()))
    while not tool.calls:
        await asyncio.sleep(0)
    other = asyncio.create_task(registry.run(call(), ToolContext(scope="other")))
    await asyncio.sleep(0)

    owner.cancel()
    with pytest.raises(asyncio.CancelledError):
        await owner
    event.set()

    assert (await other).text == "done"


async def test_who_shares_a_call_may_leave_without_ending_it() -> None:
    event = asyncio.Event()
    tool = Played(waits(event), cache_seconds=60.0)
    registry = ToolRegistry([tool])
    owner = asyncio.create_task(registry.run(call(), ToolContext()))
    while not tool.calls:
        await asyncio.sleep(0)
    other = asyncio.create_task(registry.run(call(), ToolContext(scope="other")))
    await asyncio.sleep(0)

    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other
    event.set()

    assert (await owner).text == "done"
    assert tool.cancelled == 0


async def test_one_chat_may_call_a_tool_so_often_in_a_minute_and_other_chats_are_not_held() -> None:
    now = [0.0]
    registry = ToolRegistry([Played(says("fine"), per_minute=2)], now=lambda: now[0])

    for _ in range(2):
        assert (await registry.run(call(), ToolContext(scope="a"))).ok
        now[0] += 10
    refused = await registry.run(call(), ToolContext(scope="a"))
    elsewhere = await registry.run(call(), ToolContext(scope="b"))
    now[0] = 60.0
    again = await registry.run(call(), ToolContext(scope="a"))

    assert "too often in this chat; it may be called again in 40 s" in refused.text
    assert elsewhere.ok
    assert again.ok


async def test_calls_made_at_once_all_run_and_later_ones_wait_where_the_turn_has_time() -> None:
    now, slept, left = [0.0], list[float](), [300.0]

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    registry = ToolRegistry([Played(says("fine"), per_minute=10)], now=lambda: now[0], sleep=sleep)

    async def run(together: object, count: int) -> list[ToolResult]:
        context = ToolContext(scope="a", together=together, time_left=lambda: left[0])
        return list(await asyncio.gather(*(registry.run(call(), context) for _ in range(count))))

    first, second, third = object(), object(), object()
    results = [*await run(first, 9), *await run(first, 7)]
    assert all(one.ok for one in results) and slept == []

    now[0] = 20.0
    results = await run(second, 16)
    assert all(one.ok for one in results) and now == [60.0]
    assert max(one.seconds for one in results) == 0.0, "the wait is none of the tool's time"

    left[0] = 119.0
    [refused] = await run(third, 1)
    assert "it may be called again in 60 s" in refused.text and now == [60.0]


async def test_what_a_person_reads_while_it_runs_is_one_short_line() -> None:
    registry = ToolRegistry([Played(says(""), icon="🔎", verb=("searching", "正在搜索", "正在搜尋"), subject="text")])

    assert registry.status(call(text="weather\n in  Oslo")) == "🔎 searching: weather in Oslo"
    assert len(registry.status(call(text="x" * 500))) == 60
    assert registry.status(ToolCall("1", "played", {})) == "🔎 searching"
    assert registry.status(call(text="Oslo"), 2) == "🔎 searching (2nd try): Oslo"
    assert registry.status(ToolCall("1", "played", {}), 3) == "🔎 searching (3rd try)"
    assert registry.status(ToolCall("1", "other", {})) == "🔧 other"
    assert registry.status(call(text="奥斯陆天气"), language="zh-CN") == "🔎 正在搜索：奥斯陆天气"
    assert registry.status(call(text="奧斯陸天氣"), 2, "zh-Hant") == "🔎 正在搜尋（第 2 次嘗試）：奧斯陸天氣"
    assert len(registry.status(call(text="茶" * 500), 2, "zh-Hant")) == 60
    assert registry.status(ToolCall("1", "played", {"count": 3, "name": "a"})) == "🔎 searching: a"


async def test_closing_ends_what_runs_and_closes_every_tool() -> None:
    tool = Played(waits(asyncio.Event()), cache_seconds=60.0)
    registry = ToolRegistry([tool])
    running = asyncio.create_task(registry.run(call(), ToolContext()))
    while not tool.calls:
        await asyncio.sleep(0)

    await registry.close()

    assert (tool.cancelled, tool.closed) == (1, 1)
    assert (await asyncio.gather(running, return_exceptions=True))[0] is not None


def test_a_missing_tool_is_known_with_its_reason() -> None:
    registry = ToolRegistry([Played(says(""))], unavailable={"search_web": "it needs a key"})

    assert [spec.name for spec in registry.specs()] == ["played"]
    assert registry.spec("search_web") is None
    assert registry.unavailable == {"search_web": "it needs a key"}


class Tried(Played):
    """A tool that is tried at the start."""

    def __init__(self, name: str, found: str | Exception) -> None:
        super().__init__(says("done"), name=name)
        self._found = found

    async def prove(self) -> str:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


async def test_a_tool_whose_trial_fails_is_withdrawn_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Else it would be offered to the model, and refuse each time."""
    broken = Tried("broken", Unavailable("the kernel forbids it"))
    odd = Tried("odd", OSError("no pipe"))
    caplog.set_level(logging.INFO)
    registry = ToolRegistry([Played(says("done")), Tried("works", "in a sandbox"), Tried("silent", ""), broken, odd])

    await registry.prove()
    await registry.prove()

    assert [spec.name for spec in registry.specs()] == ["played", "works", "silent"]
    assert registry.unavailable == {"broken": "the kernel forbids it", "odd": "its trial failed (OSError)"}
    assert (broken.closed, odd.closed) == (1, 1)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        "broken is not offered: the kernel forbids it",
        "odd is not offered: its trial failed (OSError)",
    ]
    assert "works: in a sandbox" in caplog.text and "silent" not in caplog.text
    result = await registry.run(ToolCall("1", "broken", {"text": "x"}), ToolContext())
    assert "There is no tool 'broken'" in result.text
