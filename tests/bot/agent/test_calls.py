"""The calls of one turn: what makes two the same, what a person reads of each, how their sources are numbered."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.calls import CallEvent, CallRunner, signature_of
from bot.agent.events import ToolFinished, ToolStarted
from tests.conftest import RawJson, RawObject
from tools.base import Arguments, Source, ToolCall, ToolContext, ToolError, ToolResult, ToolSpec, ToolStatus
from tools.registry import ToolRegistry

JSON: RawJson = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=5), JSON, max_size=4)


class Search:
    """Finds two things for every question, and nothing for `nothing`."""

    spec = ToolSpec(
        name="search",
        purpose="Search.",
        parameters={"type": "object", "properties": {"text": {"type": "string"}}},
        verb=("searching", "正在搜索", "正在搜尋"),
        icon="🔎",
    )

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        text = str(arguments["text"])
        self.ran.append(text)
        if text.startswith("nothing"):
            raise ToolError("Nothing was found.")
        sources = (Source(f"{text} A", f"https://a.example/{text}"), Source(f"{text} B", f"https://b.example/{text}"))
        body = "\n".join(f"[{number}] {one.title} {one.url}" for number, one in enumerate(sources, 1))
        return ToolResult(text=body, sources=sources, untrusted=True)

    async def close(self) -> None:
        return None


@pytest.fixture
def search() -> Search:
    return Search()


@pytest.fixture
def runner(search: Search) -> CallRunner:
    return CallRunner(ToolRegistry([search]), ToolContext(), marker="0" * 8, offered=["search"])


def call(text: str, id: str = "") -> ToolCall:
    return ToolCall(id or text, "search", {"text": text})


async def ran(runner: CallRunner, *calls: ToolCall, **more: Any) -> list[CallEvent]:
    async with aclosing(runner.run(calls, **more)) as events:
        return [event async for event in events]


def shuffled(value: RawJson) -> RawJson:
    """The same JSON, its keys the other way round."""
    if isinstance(value, dict):
        return {key: shuffled(inner) for key, inner in reversed(list(value.items()))}
    return [shuffled(inner) for inner in value] if isinstance(value, list) else value


@given(OBJECTS)
def test_the_same_arguments_are_the_same_call_in_any_order_of_keys(arguments: RawObject) -> None:
    assert signature_of(ToolCall("a", "look", arguments)) == signature_of(ToolCall("b", "look", shuffled(arguments)))


@given(OBJECTS, OBJECTS)
def test_other_arguments_are_another_call(one: RawObject, other: RawObject) -> None:
    alike = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)

    assert (signature_of(ToolCall("a", "look", one)) == signature_of(ToolCall("a", "look", other))) == alike


async def test_sources_are_numbered_through_the_turn_and_a_repeat_keeps_its_numbers(runner: CallRunner) -> None:
    events = [*await ran(runner, call("tea")), *await ran(runner, call("milk")), *await ran(runner, call("tea", "x"))]

    found = [event.result for event in events if isinstance(event, ToolFinished)]
    assert [[source.number for source in result.sources] for result in found] == [[1, 2], [3, 4], [1, 2]]
    assert "[3] milk A" in found[1].text and "[1] tea A" in found[2].text


async def test_numbers_go_on_after_a_restart(runner: CallRunner) -> None:
    [_, first] = await ran(runner, call("tea"))
    assert isinstance(first, ToolFinished)
    later = CallRunner(ToolRegistry([Search()]), ToolContext(), marker="0" * 8, offered=["search"])
    later.remember([(first.call, first.result)])

    [_, second] = await ran(later, call("milk"))

    assert isinstance(second, ToolFinished)
    assert [source.number for source in second.result.sources] == [3, 4]
    assert later.used == ["search", "search"]


async def test_a_person_reads_which_try_it_is(runner: CallRunner) -> None:
    lines = []
    for number in range(3):
        events = await ran(runner, call(f"nothing {number}"))
        lines += [event.status for event in events if isinstance(event, ToolStarted)]

    assert lines == [
        "🔎 searching: nothing 0",
        "🔎 searching (2nd try): nothing 1",
        "🔎 searching (3rd try): nothing 2",
    ]
    assert runner.withdrawn == {"search"}


async def test_a_pass_before_a_restart_counts_as_one_failure_however_many_calls_failed(runner: CallRunner) -> None:
    failed = ToolResult(text="Error", ok=False, status=ToolStatus.FAILED)

    runner.remember([(call(str(number)), failed) for number in range(5)])

    assert runner.withdrawn == frozenset()


async def test_a_failed_twin_has_the_same_failure(runner: CallRunner, search: Search) -> None:
    events = await ran(runner, call("nothing", "a"), call("nothing", "b"))

    found = [event.result for event in events if isinstance(event, ToolFinished)]
    assert search.ran == ["nothing"]
    assert [result.ok for result in found] == [False, False]


async def test_being_cut_off_twice_ends_the_tools_and_once_does_not(runner: CallRunner) -> None:
    cut = ToolCall("a", "search", {}, "The call was cut off.")

    await ran(runner, cut, cut=True)
    assert not runner.over
    await ran(runner, call("tea"))
    await ran(runner, ToolCall("b", "search", {"n": 1}, "The call was cut off."), cut=True)

    assert runner.over


async def test_a_whole_call_beside_one_that_was_cut_off_is_run(runner: CallRunner, search: Search) -> None:
    await ran(runner, call("tea"), ToolCall("b", "search", {}, "The call was cut off."), cut=True)

    assert search.ran == ["tea"]


async def test_leaving_early_leaves_nothing_running(search: Search) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hang(arguments: RawJson, context: ToolContext) -> ToolResult:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    search.run = hang  # type: ignore[method-assign]  # a tool that never ends
    runner = CallRunner(ToolRegistry([search]), ToolContext(), marker="0" * 8, offered=["search"])
    events = runner.run([call("tea")])
    await anext(events)
    await begun.wait()

    await events.aclose()

    assert ended.is_set()
