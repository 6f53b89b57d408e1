"""The calls of one turn: what makes two the same, what a person reads of each, how their sources are numbered."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.callpolicy import CallPolicy
from bot.agent.calls import CallEvent, CallRunner, signature_of, tool_digest
from bot.agent.events import Asked, ToolFinished, ToolStarted
from bot.agent.task import Decision
from bot.settings import ToolRuleSettings
from tests.conftest import RawJson, RawObject
from tools.calling.registry import ToolRegistry
from tools.contract.base import Arguments, Source, ToolCall, ToolContext, ToolError, ToolResult, ToolSpec, ToolStatus

JSON: RawJson = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=5), JSON, max_size=4)

POLICY = CallPolicy(ToolRuleSettings.model_construct())


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
    return CallRunner(ToolRegistry([search]), ToolContext(), marker="0" * 8, offered=["search"], policy=POLICY)


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
    later = CallRunner(ToolRegistry([Search()]), ToolContext(), marker="0" * 8, offered=["search"], policy=POLICY)
    later.remember([(first.call, first.result)])

    [_, second] = await ran(later, call("milk"))

    assert isinstance(second, ToolFinished)
    assert [source.number for source in second.result.sources] == [3, 4]
    assert later.used == ["search", "search"]


class Changed(Search):
    """The same by name, and another tool."""

    spec = replace(Search.spec, purpose="Search, and publish what is searched for.")


def decided(text: str, registry: ToolRegistry, *, allowed: bool = True) -> CallRunner:
    """The runner of a turn that acts on a decision about `Search`."""
    decision = Decision(call=call(text), allowed=allowed, tool=tool_digest(Search.spec), origin="")
    policy = CallPolicy(ToolRuleSettings.model_construct(confirm_tools=("search",)))
    return CallRunner(registry, ToolContext(), marker="0" * 8, offered=["search"], policy=policy, decision=decision)


def results(events: list[CallEvent]) -> list[str]:
    return [event.result.text for event in events if isinstance(event, ToolFinished)]


async def test_an_allowed_call_runs_once_and_another_one_asks(search: Search) -> None:
    runner = decided("tea", ToolRegistry([search]))
    events = await ran(runner, call("tea"))
    assert search.ran == ["tea"] and [event.allowed for event in events if isinstance(event, ToolStarted)] == [True]

    assert "The same call was made before" in results(await ran(runner, call("tea", "again")))[0]
    assert runner.asked is None
    await ran(runner, call("milk"))
    assert search.ran == ["tea"] and runner.asked == Asked(call("milk"), "", tool_digest(Search.spec))


async def test_what_was_allowed_is_asked_again_where_the_tool_has_changed_since() -> None:
    changed = Changed()
    runner = decided("tea", ToolRegistry([changed]))

    assert await ran(runner, call("tea")) == [] and changed.ran == []
    assert runner.asked == Asked(call("tea"), "", tool_digest(Changed.spec), changed=True)

    refused = decided("tea", ToolRegistry([changed]), allowed=False)
    [told] = results(await ran(refused, call("tea")))
    assert "refused it" in told and refused.asked is None


async def test_what_was_allowed_is_refused_where_the_tool_changed_and_nobody_can_be_asked_or_it_is_gone() -> None:
    changed = Changed()
    decision = Decision(call=call("tea"), allowed=True, tool=tool_digest(Search.spec), origin="")
    runner = CallRunner(
        ToolRegistry([changed]),
        ToolContext(),
        marker="0" * 8,
        offered=["search"],
        policy=CallPolicy(ToolRuleSettings.model_construct(confirm_tools=("search",))),
        decision=decision,
        may_ask=False,
    )
    [told] = results(await ran(runner, call("tea")))
    assert "cannot be asked here" in told and changed.ran == []

    [told] = results(await ran(decided("tea", ToolRegistry([])), call("tea")))
    assert "There is no tool" in told


class Starting(ToolRegistry):
    """A registry whose servers are still being started."""

    def could_bring(self, pattern: str) -> bool:
        return True


async def test_what_was_allowed_is_asked_again_where_its_server_is_not_up(search: Search) -> None:
    runner = decided("tea", Starting([search]))

    assert await ran(runner, call("tea")) == [] and search.ran == []
    assert runner.asked == Asked(call("tea"), "", tool_digest(Search.spec), not_up=True)

    refused = decided("tea", Starting([search]), allowed=False)
    [told] = results(await ran(refused, call("tea")))
    assert "refused it" in told and refused.asked is None


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://ex\u0430mple.com/a?b=1", "xn--exmple-4nf.com"),
        ("http://evil.test:8080/" + "x" * 2_000, "evil.test:8080"),
        ("no address", ""),
    ],
    ids=["letters that look alike", "long", "none"],
)
async def test_of_an_address_that_is_asked_about_the_host_is_named_as_it_is_looked_up(address: str, host: str) -> None:
    class Opener(Search):
        spec = replace(Search.spec, address="text")

    runner = decided("tea", ToolRegistry([Opener()]))
    await ran(runner, call(address, "c1"))
    assert runner.asked is not None and (runner.asked.call.arguments["text"], runner.asked.host) == (address, host)


OTHERS = [
    replace(Search.spec, name="find"),
    replace(Search.spec, purpose="Publish."),
    replace(Search.spec, parameters={"type": "object", "properties": {"words": {"type": "string"}}}),
    replace(Search.spec, address="text"),
    replace(Search.spec, effects=True),
    replace(Search.spec, asks=True),
    replace(Search.spec, outside=True),
]


def test_a_tool_that_says_something_else_of_itself_is_another_one() -> None:
    assert len({tool_digest(spec) for spec in (Search.spec, *OTHERS)}) == len(OTHERS) + 1
    assert tool_digest(replace(Search.spec, icon="🔌", verb="Looking")) == tool_digest(Search.spec)


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


async def test_the_same_calls_of_a_pass_before_a_restart_count_as_one(runner: CallRunner, search: Search) -> None:
    found = ToolResult(text="[1] tea A https://a.example/tea")

    runner.remember([(call("tea", str(number)), found) for number in range(3)])
    await ran(runner)
    await ran(runner, call("milk"))

    assert not runner.over and search.ran == ["milk"]


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
    runner = CallRunner(ToolRegistry([search]), ToolContext(), marker="0" * 8, offered=["search"], policy=POLICY)
    events = runner.run([call("tea")])
    await anext(events)
    await begun.wait()

    await events.aclose()

    assert ended.is_set()
