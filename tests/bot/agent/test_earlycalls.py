"""A call begins as soon as it is whole, while the pass that asks for it still streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from bot.agent.callpolicy import CallPolicy
from bot.agent.events import EarlyCall, Event, Failed, Finished, PassEnded, TextDelta, ToolFinished, ToolStarted
from bot.agent.loop import Agent
from bot.agent.task import Task
from bot.contract.errors import ModelBusy, ModelDropped
from bot.contract.limits import LIMITS, Limits
from bot.contract.origin import OUTSIDE
from bot.contract.transcript import SystemEntry, UserEntry
from bot.model import ModelOptions, Models
from bot.model.base import Answer, CallPiece, Model, Piece, Request, TextPiece
from bot.model.options import ToolMode
from bot.settings import ToolRuleSettings, TurnSettings
from playground.model import ModelServer, Reply
from tests.bot.conftest import OpenRig, Rig
from tests.conftest import FakeClock, RawObject
from tests.patience import PATIENCE
from tools.calling.registry import ToolRegistry
from tools.contract.base import Arguments, Source, ToolCall, ToolContext, ToolResult, ToolSpec

TEXT: RawObject = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Look:
    """Looks something up; what it waits for is up to the test."""

    def __init__(self, name: str = "look", wait: Callable[[str], Any] | None = None, **spec: Any) -> None:
        self.spec = ToolSpec(name=name, purpose=f"{name} up.", parameters=TEXT, **spec)
        self._wait = wait
        self.ran: list[str] = []
        self.cancelled: list[str] = []
        self.begun = asyncio.Event()
        self.dollars = 0.0

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        text = str(arguments["text"])
        self.ran.append(text)
        self.begun.set()
        try:
            if self._wait is not None:
                await self._wait(text)
        except asyncio.CancelledError:
            self.cancelled.append(text)
            raise
        if self.dollars:
            async with context.bill.pay(self.dollars):
                pass
        source = Source(text, f"https://a.example/{text}")
        return ToolResult(text=f"[1] {text} {source.url}", sources=(source,))

    async def close(self) -> None:
        return None


Step = Piece | Exception | Callable[[], Awaitable[object]]


class Scripted:
    """A model that says what the test wrote; a step may also wait for something."""

    name = "test:scripted"

    def __init__(self, *replies: Sequence[Step]) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.requests.append(request)
        for step in self.replies.pop(0):
            if isinstance(step, Exception):
                raise step
            if callable(step):
                await step()
            else:
                yield step


def call(text: str, name: str = "look", id: str = "") -> ToolCall:
    return ToolCall(id or f"{name}-{text}", name, {"text": text})


def written(text: str, name: str = "look") -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': {'text': text}})}</tool_call>"


def end(text: str = "", *calls: ToolCall, native: bool = True, finish: str = "") -> Answer:
    finish = finish or ("tool_calls" if calls else "stop")
    return Answer(text=text, calls=calls, finish=finish, model="test:scripted", native=native)


DONE = (TextPiece("Done."), end("Done."))


def task_for(model: Model, registry: ToolRegistry, **more: Any) -> Task:
    values: dict[str, Any] = {
        "entries": (SystemEntry("You help."), UserEntry("What is it?")),
        "tools": registry.specs(),
        "context": ToolContext(scope="telegram:42/7", person="telegram:7"),
        "deadline": 1e9,
    }
    return Task(model=model, **(values | more))


POLICY = CallPolicy(ToolRuleSettings.model_construct())
TURNS = TurnSettings.model_construct()


async def answer(
    model: Model,
    *tools: Look,
    policy: CallPolicy = POLICY,
    turns: TurnSettings = TURNS,
    limits: Limits = LIMITS,
    **more: Any,
) -> list[Event]:
    """Everything that happens while the agent works."""
    registry = ToolRegistry(tools)
    agent = Agent(registry, turns, policy, limits)
    async with asyncio.timeout(PATIENCE), aclosing(agent.answer(task_for(model, registry, **more))) as events:
        return [event async for event in events]


def results(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(event.call.id, event.result.text) for event in events if isinstance(event, ToolFinished)]


def order(events: Sequence[Event]) -> list[str]:
    return [type(event).__name__ for event in events if not isinstance(event, TextDelta)]


# Over the wire


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(words_per_second=0) as server:
        yield server


async def over_the_wire(
    server: ModelServer, clock: FakeClock, tool: Look, *, tool_mode: ToolMode = "auto"
) -> list[Event]:
    options = ModelOptions(
        name="openai:scripted",
        keys={"openai": "sk-0123456789"},
        base_urls={"openai": server.base_url},
        tool_mode=tool_mode,
        turn_seconds=300.0,
    )
    async with Models(options, clock) as models:
        return await answer(models, tool)


async def test_a_native_call_at_the_head_of_a_long_stream_starts_its_tool_at_once(
    server: ModelServer, clock: FakeClock
) -> None:
    """The server goes on with the stream only after the tool has begun."""
    until = asyncio.Event()

    async def goes_on(text: str) -> None:
        until.set()

    look = Look(wait=goes_on)
    calls = (("look", {"text": "tea"}), ("look", {"text": "coffee " * 50}))
    server.reply(Reply(calls=calls, hang_after=40, until=until), Reply("Done."))

    events = await over_the_wire(server, clock, look)

    kinds = order(events)
    assert kinds.index("EarlyCall") < kinds.index("PassEnded") < kinds.index("ToolStarted")
    assert [text[:7] for text in look.ran] == ["tea", "coffee "]
    assert events[-1] == Finished()


async def test_a_call_written_at_the_head_of_a_long_stream_starts_its_tool_at_once(
    server: ModelServer, clock: FakeClock
) -> None:
    until = asyncio.Event()

    async def goes_on(text: str) -> None:
        until.set()

    head = written("tea")
    server.reply(Reply(f"{head}\n{'I wait for it. ' * 50}", hang_after=len(head) + 40, until=until), Reply("Done."))

    events = await over_the_wire(server, clock, look := Look(wait=goes_on), tool_mode="prompt")

    kinds = order(events)
    assert kinds.index("EarlyCall") < kinds.index("PassEnded") < kinds.index("ToolStarted")
    assert look.ran == ["tea"]


def statuses(rig: Rig) -> str:
    """What the person reads of tools now."""
    return " ".join(one.text for page in rig.memory.pages.get("7", {}).values() for one in page.status)


async def test_the_person_reads_of_an_early_call_while_the_model_still_writes(rig: OpenRig) -> None:
    async with rig() as it:
        until = asyncio.Event()
        calls = (("calculator", {"expression": "2 + 3"}), ("calculator", {"expression": " + ".join("4" * 99)}))
        it.model.reply(Reply(calls=calls, hang_after=40, until=until), Reply("Five, and many."))

        await it.deliver(it.message("What is 2 + 3?"))
        await it.until(lambda: "2 + 3" in statuses(it))
        until.set()
        await it.idle()

        assert it.shown() == ["Five, and many."]


async def test_stop_in_the_middle_of_the_stream_ends_it_and_its_early_call(rig: OpenRig) -> None:
    async with rig() as it:
        calls = (("calculator", {"expression": "2 + 3"}), ("calculator", {"expression": " + ".join("4" * 99)}))
        it.model.reply(Reply(calls=calls, hang_after=40))
        await it.deliver(it.message("What is 2 + 3?"))
        await it.until(lambda: "2 + 3" in statuses(it))

        await it.deliver(it.message("/stop"))
        await it.idle()

        assert statuses(it) == ""
        assert any("stopped" in body.lower() for body in it.shown())


# The same rules as for every call


async def test_the_result_of_an_early_call_is_the_calls_result_once_and_in_the_calls_order() -> None:
    slow, fast = Look("slow"), Look("fast")
    calls = (call("a", "slow"), call("b", "fast"))
    model = Scripted([CallPiece(calls[0]), CallPiece(calls[1]), end("", *calls)], DONE)

    events = await answer(model, slow, fast)

    assert (slow.ran, fast.ran) == (["a"], ["b"])
    told = [entry.text for entry in model.requests[1].entries[-2:] if hasattr(entry, "call_id")]
    assert ["https://a.example/a" in told[0], "https://a.example/b" in told[1]] == [True, True]
    assert sorted(results(events)) == [
        ("fast-b", "[2] b https://a.example/b"),
        ("slow-a", "[1] a https://a.example/a"),
    ]
    assert order(events)[:3] == ["EarlyCall", "EarlyCall", "PassEnded"]


async def test_the_same_call_twice_begins_once() -> None:
    look = Look()
    calls = (call("tea", id="a"), call("tea", id="b"))
    model = Scripted([CallPiece(calls[0]), CallPiece(calls[1]), end("", *calls)], DONE)

    events = await answer(model, look)

    assert look.ran == ["tea"]
    assert [id for id, _ in results(events)] == ["a", "b"]


async def test_a_call_that_succeeded_before_in_the_turn_does_not_begin_again() -> None:
    look = Look()
    again: list[Step] = [CallPiece(call("tea")), end("", call("tea"))]
    model = Scripted(again, again, DONE)

    events = await answer(model, look)

    assert look.ran == ["tea"]
    assert [event.result.status for event in events if isinstance(event, ToolFinished)] == ["completed", "cached"]


async def test_calls_with_effects_wait_for_the_end_and_so_does_what_stands_behind_them() -> None:
    before, keep, behind = Look("before"), Look("keep", effects=True), Look("behind")
    ran_early: list[str] = []

    async def note() -> None:
        await asyncio.sleep(0)
        ran_early.extend(tool.spec.name for tool in (before, keep, behind) if tool.ran)

    calls = (call("a", "before"), call("b", "keep"), call("c", "behind"))
    model = Scripted([*(CallPiece(one) for one in calls), note, end("", *calls)], DONE)

    await answer(model, before, keep, behind)

    assert ran_early == ["before"]
    assert (keep.ran, behind.ran) == (["b"], ["c"])


async def test_no_more_calls_begin_early_than_run_at_once_or_than_one_pass_may_make() -> None:
    look = Look(per_minute=100)
    begun: list[int] = []

    async def note() -> None:
        await asyncio.sleep(0)
        begun.append(len(look.ran))

    calls = tuple(call(str(number)) for number in range(9))
    reply: list[Step] = [*(CallPiece(one) for one in calls), note, end("", *calls)]

    await answer(Scripted(reply, DONE), look)
    await answer(Scripted(reply, DONE), look, limits=Limits(calls_per_pass=2))

    assert begun == [4, 9 + 2]
    assert len(look.ran) == 9 + 2


async def test_what_may_not_be_called_does_not_begin_early() -> None:
    """Withheld tools, unknown ones, arguments that are no JSON; and a tool that is not offered, which runs later."""
    sends, hidden, look = Look("sends", outside=True), Look("hidden"), Look()
    calls = (
        *(call("a", "sends"), call("b", "nothing_like_it"), call("c", "hidden")),
        ToolCall("d", "look", {}, "The arguments are no JSON object."),
    )
    entries = (SystemEntry("You help."), UserEntry("> send it\nWhat is it?", origin=OUTSIDE))
    replies: list[list[Step]] = [[CallPiece(one), end("", one)] for one in calls]

    for reply in replies:
        model = Scripted(reply, DONE)
        events = await answer(model, sends, hidden, look, entries=entries, tools=(sends.spec, look.spec))
        assert "EarlyCall" not in order(events)

    assert (sends.ran, hidden.ran, look.ran) == ([], ["c"], [])


async def test_the_last_pass_begins_nothing() -> None:
    look = Look()
    model = Scripted(
        [end("", call("tea"))], [CallPiece(call("more")), TextPiece("Leaves."), end("Leaves.", call("more"))]
    )

    await answer(model, look, turns=TurnSettings.model_construct(max_tool_rounds=2))

    assert look.ran == ["tea"]


async def test_written_calls_begin_early_only_where_no_native_ones_can_follow() -> None:
    look = Look()
    reply: list[Step] = [TextPiece(written("tea")), end(written("tea"), call("coffee"))]

    await answer(Scripted(reply, DONE), look)

    assert look.ran == ["coffee"]


# What goes wrong


async def test_a_stream_that_breaks_after_an_early_call_and_is_tried_again_uses_its_result() -> None:
    """The server numbers the call anew the second time; the person reads of one call."""
    look = Look()
    first, second = call("tea", id="a"), call("tea", id="b")
    model = Scripted([CallPiece(first), ModelDropped("gone")], [CallPiece(second), end("", second)], DONE)

    events = await answer(model, look)

    assert look.ran == ["tea"]
    assert [id for id, _ in results(events)] == ["b"]
    announced = [(event.call.id, event.status is None) for event in events if isinstance(event, EarlyCall)]
    assert announced == [("a", False), ("a", True)]
    assert events[-1] == Finished()


async def test_a_second_try_that_asks_for_something_else_ends_the_early_call() -> None:
    never = asyncio.Event()

    async def wait(text: str) -> None:
        if text == "tea":
            await never.wait()

    look = Look(wait=wait)
    other = call("coffee")
    model = Scripted([CallPiece(call("tea")), look.begun.wait, ModelDropped("gone")], [end("", other)], DONE)

    events = await answer(model, look)

    assert (look.ran, look.cancelled) == (["tea", "coffee"], ["tea"])
    assert [id for id, _ in results(events)] == ["look-coffee"]


async def test_what_an_early_call_paid_whose_result_is_not_used_is_told() -> None:
    look = Look()
    look.dollars = 0.008

    async def finished() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    model = Scripted([CallPiece(call("tea")), finished, TextPiece("Tea is a leaf."), end("Tea is a leaf.")])

    events = await answer(model, look)

    assert sum(event.dollars for event in events if isinstance(event, EarlyCall)) == pytest.approx(0.008)
    assert [event for event in events if isinstance(event, ToolStarted)] == []


async def test_effects_happen_once_when_the_stream_breaks_behind_their_call() -> None:
    keep = Look("keep", effects=True)
    one = call("tea", "keep")
    model = Scripted([CallPiece(one), ModelDropped("gone")], [CallPiece(one), end("", one)], DONE)

    await answer(model, keep)

    assert keep.ran == ["tea"]


@pytest.mark.parametrize("error", [ModelDropped("gone"), ModelBusy("busy")])
async def test_a_pass_that_fails_for_good_ends_its_early_calls(error: Exception) -> None:
    async def wait(text: str) -> None:
        await asyncio.Event().wait()

    look = Look(wait=wait)
    breaks: list[Step] = [CallPiece(call("tea")), look.begun.wait, error]

    events = await answer(Scripted(breaks, breaks), look)

    assert isinstance(events[-1], Failed)
    assert look.cancelled == ["tea"]


async def test_stopping_in_the_middle_of_the_stream_ends_the_early_calls() -> None:
    async def wait(text: str) -> None:
        await asyncio.Event().wait()

    look = Look(wait=wait)
    registry = ToolRegistry([look])
    model = Scripted([CallPiece(call("tea")), look.begun.wait, TextPiece("So"), asyncio.Event().wait])

    async with aclosing(Agent(registry, TURNS, POLICY).answer(task_for(model, registry))) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    assert look.cancelled == ["tea"]
    assert [task.get_name() for task in left if "early" in task.get_name()] == []


async def test_an_early_call_that_fails_is_told_as_a_failure_and_counts_once() -> None:
    async def wait(text: str) -> None:
        raise ValueError("no")

    look = Look(wait=wait)
    model = Scripted([CallPiece(call("tea")), end("", call("tea"))], DONE)

    events = await answer(model, look)

    assert [event.result.status for event in events if isinstance(event, ToolFinished)] == ["failed"]
    assert len(look.ran) == 1
    assert isinstance(events[-1], Finished)


async def test_a_pass_is_told_of_before_any_of_its_calls_is() -> None:
    """Whoever stores what happens needs the pass before its calls; an early announcement is nothing to store."""
    look = Look()
    model = Scripted([CallPiece(call("tea")), end("", call("tea"))], DONE)

    events = await answer(model, look)

    assert order(events)[:4] == ["EarlyCall", "PassEnded", "ToolStarted", "ToolFinished"]
    assert isinstance(events[1], PassEnded)
