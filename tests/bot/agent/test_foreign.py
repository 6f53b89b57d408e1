"""An agent of another author behind the bridge: what it yields, how it misbehaves, and what a restart hands it."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import cast

import pytest

from bot.agent import events
from bot.agent.driving import END_SECONDS
from bot.agent.foreign import ForeignAgent, tool_digest
from bot.agent.task import Decision, Task
from bot.contract import FOREIGN, OUTSIDE, AssistantEntry, Entry, Limits, SystemEntry, ToolEntry, Usage, UserEntry
from parley_chat.agent import (
    Answers,
    Ask,
    Call,
    Checkpoint,
    Event,
    Fault,
    File,
    Json,
    Message,
    Question,
    Result,
    Source,
    Text,
    Thought,
    Used,
)
from parley_chat.agent import Decision as Decided
from tests.bot.agent.test_loop import Scripted
from tests.conftest import FakeClock, RawJson
from tests.patience import PATIENCE
from tools.contract.base import ToolCall, ToolContext, ToolResult

NAME = "mine:agent"
Answer = Callable[[Question], AsyncIterator[object]]


class Written:
    """An agent of the test's own."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[Question] = []
        self._answer = answer

    def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        self.asked.append(question)
        return cast("AsyncGenerator[Event, None]", self._answer(question))


def saying(*said: object) -> Written:
    """An agent that yields this, whatever it is asked."""

    async def answer(question: Question) -> AsyncIterator[object]:
        for event in said:
            yield event

    return Written(answer)


def task(clock: FakeClock, **more: RawJson) -> Task:
    made = Task(
        entries=(SystemEntry("Answer as a clerk."), UserEntry("What is tea?", "telegram:7")),
        model=Scripted(),
        tools=(),
        context=ToolContext(scope="telegram:42/7", person="telegram:7", language="en"),
        deadline=clock.monotonic() + 300,
        turn=5,
        name="Ada",
    )
    return replace(made, **more)


async def answered(
    agent: Answers, clock: FakeClock, of: Task | None = None, limits: Limits | None = None
) -> list[events.Event]:
    foreign = ForeignAgent(NAME, agent, clock, limits or Limits())
    async with aclosing(foreign.answer(of or task(clock))) as said:
        return [event async for event in said]


def failed(said: list[events.Event]) -> events.Failed:
    assert isinstance(said[-1], events.Failed)
    return said[-1]


async def test_text_calls_results_and_what_was_used_become_passes(clock: FakeClock) -> None:
    picture = File("tea.png", "image/png", b"png")
    agent = saying(
        Text("Let me look."),
        Call(id="c1", name="archive", arguments={"query": "tea"}, status="Searching the archive"),
        Used(model="openai:gpt-5-mini", prompt=10, completion=4),
        Result(id="c1", text="Leaves.", files=(picture,), sources=(Source("Tea", "https://tea.example"),)),
        Thought("So leaves."),
        Text("It is "),
        Text("leaves."),
        Used(model="openai:gpt-5-mini", prompt=20, completion=6, dollars=0.5),
    )

    said = await answered(agent, clock)

    call = ToolCall("c1", "archive", {"query": "tea"})
    [first, last] = [event for event in said if isinstance(event, events.PassEnded)]
    assert [type(event).__name__ for event in said] == [
        *("TextDelta", "PassEnded", "ToolStarted", "ToolFinished", "FileProduced"),
        *("ReasoningDelta", "TextDelta", "TextDelta", "PassEnded", "Finished"),
    ]
    assert first.entry == AssistantEntry("Let me look.", (call,), provider=FOREIGN, origin="telegram:7")
    assert events.ToolStarted(call, "Searching the archive", effects=True) in said
    [finished] = [event for event in said if isinstance(event, events.ToolFinished)]
    assert finished.result.untrusted and finished.result.text == "[1] Tea https://tea.example\n\nLeaves."
    assert (last.entry.text, last.entry.reasoning, last.entry.origin) == ("It is leaves.", "So leaves.", OUTSIDE)
    assert (last.model, last.usage, last.dollars) == ("openai:gpt-5-mini", Usage(30, 10), 0.5)
    assert said[-1] == events.Finished()


async def test_it_is_asked_with_plain_data(clock: FakeClock) -> None:
    agent = saying(Text("Leaves."))

    await answered(agent, clock)

    assert agent.asked == [
        Question(
            turn="t5",
            attempt=1,
            chat="telegram:42/7",
            person="telegram:7",
            name="Ada",
            language="en",
            zone="UTC",
            instructions="Answer as a clerk.",
            messages=(Message(role="user", text="What is tea?"),),
            seconds=300.0,
        )
    ]


async def test_parallel_calls_end_in_any_order_and_each_has_its_result(clock: FakeClock) -> None:
    agent = saying(
        Call(id="a", name="archive", arguments={}),
        Call(id="b", name="archive", arguments={"page": 2}, effects=False),
        Result(id="b", text="two"),
        Result(id="a", text="one", ok=False),
        Text("Done."),
    )

    said = await answered(agent, clock)

    ended = [
        (event.call.id, event.result.text, event.result.ok) for event in said if type(event) is events.ToolFinished
    ]
    begun = [event.effects for event in said if isinstance(event, events.ToolStarted)]
    assert (ended, begun) == ([("b", "two", True), ("a", "one", False)], [True, False])


async def test_a_call_is_handed_over_before_its_tool_runs(clock: FakeClock) -> None:
    """What has begun is stored first: after a kill nobody could tell otherwise."""
    ran: list[str] = []

    async def answer(question: Question) -> AsyncIterator[object]:
        yield Call(id="c1", name="pay", arguments={})
        ran.append("pay")
        yield Checkpoint("paid")
        ran.append("later")
        yield Result(id="c1", text="Paid.")
        yield Text("Paid.")

    stored: list[tuple[str, list[str]]] = []
    async with aclosing(ForeignAgent(NAME, Written(answer), clock).answer(task(clock))) as said:
        async for event in said:
            await clock.settle()
            stored.append((type(event).__name__, list(ran)))

    assert stored[:3] == [("PassEnded", []), ("ToolStarted", []), ("StateKept", ["pay"])]


async def raising(question: Question) -> AsyncIterator[object]:
    yield Text("Half an")
    raise ValueError("no")


async def exiting(question: Question) -> AsyncIterator[object]:
    yield Text("Half an")
    raise SystemExit(3)


async def cancelling(question: Question) -> AsyncIterator[object]:
    yield Text("Half an")
    raise asyncio.CancelledError


def plain(question: Question) -> AsyncIterator[object]:
    return cast("AsyncIterator[object]", [Text("Half an")])


async def coroutine(question: Question) -> object:
    return Text("Half an")


class Odd(dict[str, Json]):
    """Arguments that cannot be read."""

    def __iter__(self) -> Iterator[str]:
        raise ZeroDivisionError


WITHIN_ITSELF: list[Json] = []
WITHIN_ITSELF += [WITHIN_ITSELF, WITHIN_ITSELF]
DEEP: Json = functools.reduce(lambda inside, _: [inside], range(100_000), cast("Json", []))
FILE = File("a", "b", b"")


NONSENSE: Mapping[str, object] = {
    "another type": "Half an",
    "no text": Text(cast("str", None)),
    "no thought": Thought(cast("str", 3)),
    "arguments that are no JSON": Call(id="c", name="n", arguments=cast("dict[str, int]", {"a": object()})),
    "arguments that are no number": Call(id="c", name="n", arguments={"a": float("nan")}),
    "no arguments": Call(id="c", name="n", arguments=cast("dict[str, int]", None)),
    "a call without a name": Call(id="c", name="", arguments={}),
    "arguments within themselves": Call(id="c", name="n", arguments={"a": WITHIN_ITSELF}),
    "arguments that are too deep": Call(id="c", name="n", arguments={"a": DEEP}),
    "arguments that raise": Call(id="c", name="n", arguments=Odd(a=1)),
    "arguments without end": Call(id="c", name="n", arguments={"a": "x" * 300_000}),
    "effects that are neither": Call(id="c", name="n", arguments={}, effects=cast("bool", "maybe")),
    "a name without end": Call(id="c", name="n" * 501, arguments={}),
    "an outcome that is neither": Result(id="c", text="", ok=cast("bool", object())),
    "more files than anybody wants": Result(id="c", text="", files=(FILE,) * 21),
    "no file": Result(id="c", text="", files=(cast("File", "tea.png"),)),
    "a file without bytes": Result(id="c", text="", files=(File("a", "b", cast("bytes", "text")),)),
    "files that are none": Result(id="c", text="", files=cast("tuple[File, ...]", "tea.png")),
    "a file without a name": Result(id="c", text="", files=(File(cast("str", None), "b", b""),)),
    "a source without a title": Result(id="c", text="", sources=(Source(cast("str", 1), "https://tea.example"),)),
    "no source": Result(id="c", text="", sources=(cast("Source", "https://tea.example"),)),
    "no tokens": Used(prompt=cast("int", None)),
    "fewer than no tokens": Used(prompt=-1),
    "no dollars": Used(dollars=float("inf")),
    "dollars that are not a number": Used(dollars=float("nan")),
    "more dollars than there are": Used(dollars=1e30),
    "dollars that no float holds": Used(dollars=10**400),
    "dollars back": Used(dollars=-1.0),
    "more tokens than there are": Used(prompt=10**30),
    "tokens in part": Used(completion=cast("int", 1.5)),
    "a model without a name's length": Used(model="m" * 501),
    "a state without end": Checkpoint("x" * 300_000),
    "a question without a call": Ask(call=cast("Call", None)),
    "no detail": Fault(detail=cast("str", None)),
    "a fault that is neither": Fault(detail="", retry=cast("bool", 2)),
}


@pytest.mark.parametrize("event", NONSENSE.values(), ids=NONSENSE)
async def test_nonsense_ends_the_answer_with_one_sentence(event: object, clock: FakeClock) -> None:
    said = await answered(saying(Text("Half an"), event, Text(" answer.")), clock)

    assert said[0] == events.TextDelta("Half an") and len(said) == 2
    assert failed(said).sentence == "failed"


@pytest.mark.parametrize("answer", [raising, exiting, cancelling, plain, coroutine])
async def test_whatever_it_raises_or_returns_ends_the_answer_with_one_sentence(
    answer: Answer, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    said = await answered(Written(answer), clock)

    assert failed(said).sentence == "failed"
    assert NAME in caplog.text


async def test_its_own_fault_says_whether_asking_again_helps(clock: FakeClock) -> None:
    said = await answered(saying(Fault(detail="no key", retry=False), Text("more")), clock)

    assert said == [events.Failed("failed_for_good", f"the agent {NAME}: no key", retry=False)]


async def test_one_that_never_ends_is_ended_with_the_turn_s_time(clock: FakeClock) -> None:
    ended: list[bool] = []

    async def answer(question: Question) -> AsyncIterator[object]:
        yield Text("Half an")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    asking = asyncio.create_task(answered(Written(answer), clock))
    await clock.advance(299)
    assert not asking.done()
    await clock.advance(2)

    assert failed(await asking).sentence == "slow" and ended == [True]


async def test_a_flood_is_cut_and_nobody_else_waits(clock: FakeClock) -> None:
    given = 0

    async def answer(question: Question) -> AsyncIterator[object]:
        nonlocal given
        while True:
            given += 1
            yield Text("word ")

    turns = 0

    async def other_chat() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(other_chat())
    said = await answered(Written(answer), clock, limits=Limits(answer_chars=40_000))
    other.cancel()

    text = "".join(event.text for event in said if isinstance(event, events.TextDelta))
    assert (len(text), said[-1]) == (40_000, events.Finished("cut"))
    assert turns > given / 64 and given < 8_000 + 200


async def test_a_flood_of_nothing_ends_with_the_turn_s_time(clock: FakeClock) -> None:
    async def answer(question: Question) -> AsyncIterator[object]:
        while True:
            yield Text("")

    asking = asyncio.create_task(answered(Written(answer), clock))
    async with asyncio.timeout(PATIENCE):
        while not asking.done():
            clock.now += 50
            await asyncio.sleep(0)

    assert failed(await asking).sentence == "slow"


async def test_a_flood_of_empty_thoughts_leaves_nothing(clock: FakeClock) -> None:
    agent = saying(*(Thought("") for _ in range(1_000)), Thought("so "), Text("Leaves."))

    said = await answered(agent, clock)

    assert [type(event).__name__ for event in said] == ["ReasoningDelta", "TextDelta", "PassEnded", "Finished"]


async def test_a_flood_of_calls_ends_the_answer(clock: FakeClock) -> None:
    calls = [Call(id=f"{number}", name="look", arguments={}) for number in range(600)]

    said = await answered(saying(*calls, Text("Leaves.")), clock)

    assert sum(isinstance(event, events.ToolStarted) for event in said) == 500 and failed(said).sentence == "failed"


async def test_a_call_whose_id_is_still_open_ends_the_one_before_it(clock: FakeClock) -> None:
    agent = saying(
        Call(id="c", name="look", arguments={"page": 1}),
        Call(id="c", name="look", arguments={"page": 2}),
        Result(id="c", text="Two."),
        Text("Leaves."),
    )

    said = await answered(agent, clock)

    ended = [(event.call.arguments["page"], event.result.ok) for event in said if type(event) is events.ToolFinished]
    assert ended == [(1, False), (2, True)]


async def test_what_nobody_can_be_shown_is_cut_before_it_is_read(clock: FakeClock) -> None:
    """A hundred megabytes in one event cost no more than what is kept of them."""
    read: list[int] = []

    def redact(text: str) -> str:
        read.append(len(text))
        return text

    long = "word " * 1_000_000
    sources = tuple(Source(long, f"https://tea.example/{number}") for number in range(1_000))
    agent = saying(
        Thought(long),
        Call(id="c", name="look", arguments={}, status="s" * 500),
        Result(id="c", text=long, sources=sources),
        Text(long),
    )
    foreign = ForeignAgent(NAME, agent, clock, Limits(answer_chars=40_000), redact)
    async with aclosing(foreign.answer(task(clock))) as answer:
        said = [event async for event in answer]

    assert said[-1] == events.Finished("cut") and max(read) <= 256 * 1024
    [begun] = [event for event in said if isinstance(event, events.ToolStarted)]
    [ended] = [event for event in said if isinstance(event, events.ToolFinished)]
    assert len(begun.status) == 120 and len(ended.sources) == 100


async def test_a_fault_with_an_endless_detail_is_logged_in_short(clock: FakeClock) -> None:
    said = await answered(saying(Fault(detail="x" * 5_000_000)), clock)

    assert len(failed(said).detail) < 400


async def test_closing_ends_the_agent_at_once(clock: FakeClock) -> None:
    closed: list[str] = []

    async def answer(question: Question) -> AsyncIterator[object]:
        try:
            yield Text("Half an")
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            closed.append("cancelled")
            raise
        finally:
            closed.append("closed")

    said = ForeignAgent(NAME, Written(answer), clock).answer(task(clock))
    assert await anext(said) == events.TextDelta("Half an")
    await asyncio.sleep(0)
    since = clock.now
    await said.aclose()

    assert closed == ["cancelled", "closed"] and clock.now == since


async def test_one_that_swallows_its_cancellation_is_left_behind_and_named(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    free = asyncio.Event()

    async def answer(question: Question) -> AsyncIterator[object]:
        yield Text("Half an")
        while not free.is_set():
            with suppress(asyncio.CancelledError):
                await free.wait()

    said = ForeignAgent(NAME, Written(answer), clock).answer(task(clock))
    await anext(said)
    closing = asyncio.create_task(said.aclose())
    await clock.advance(END_SECONDS - 0.1)
    assert not closing.done()
    await clock.advance(0.2)
    assert closing.done()
    free.set()

    assert "is left behind" in caplog.text and NAME in caplog.text


async def test_an_unknown_call_is_ignored_and_an_open_one_ended_before_the_answer(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    agent = saying(Result(id="who", text="?"), Call(id="c1", name="archive", arguments={}), Text("Anyway."))

    said = await answered(agent, clock)

    [ended] = [event for event in said if isinstance(event, events.ToolFinished)]
    assert (ended.call.id, ended.result.ok) == ("c1", False)
    assert said.index(ended) < len(said) - 2 and said[-1] == events.Finished()
    assert "had not begun" in caplog.text


async def test_after_a_restart_it_is_handed_what_it_had_done(clock: FakeClock) -> None:
    calls = [ToolCall(name, "archive", {"page": number}) for number, name in enumerate("abc")]
    before = task(
        clock,
        attempt=2,
        passes=tuple(AssistantEntry("Look." * (not n), (call,), provider=FOREIGN) for n, call in enumerate(calls)),
        results={(1, "a"): ToolResult(text="one")},
        outcome_unknown=frozenset({(2, "b")}),
        checkpoint="page 2",
    )
    agent = saying(Text("Leaves."))

    said = await answered(agent, clock, before)

    [question] = agent.asked
    told = [(one.role, one.text[:35], one.call, one.ok) for one in question.messages]
    assert told == [
        ("user", "What is tea?", "", None),
        ("assistant", "Look.", "", None),
        ("tool", "one", "a", True),
        ("assistant", "", "", None),
        ("tool", "Error: the program was restarted du", "b", None),
        ("assistant", "", "", None),
        ("tool", "Error: the program was restarted be", "c", None),
    ]
    assert (question.done, question.attempt, question.checkpoint) == (6, 2, "page 2")
    assert [event.call.id for event in said if isinstance(event, events.ToolFinished)] == ["b", "c"]


async def test_each_call_of_a_history_has_an_id_of_its_own(clock: FakeClock) -> None:
    asked: list[Entry] = []
    for text in ("It waits.", "Paid."):
        call = ToolCall("call_0", "pay", {})
        asked += [
            UserEntry("Pay."),
            AssistantEntry("", (call,)),
            ToolEntry("call_0", "pay", text),
            AssistantEntry(text),
        ]
    agent = saying(Text("Leaves."))

    await answered(agent, clock, task(clock, entries=(*asked, UserEntry("And now?"))))

    [question] = agent.asked
    assert [call.id for one in question.messages for call in one.calls] == ["call_0", "call_0_2"]
    assert [one.call for one in question.messages if one.role == "tool"] == ["call_0", "call_0_2"]


async def test_a_finished_answer_is_not_asked_for_again(clock: FakeClock) -> None:
    agent = saying(Text("again"))

    said = await answered(agent, clock, task(clock, passes=(AssistantEntry("It is leaves.", provider=FOREIGN),)))

    assert (said, agent.asked) == ([events.Finished()], [])


PAY = Call(id="c1", name="pay", arguments={"euros": 5})


async def test_a_question_is_the_last_event(clock: FakeClock) -> None:
    said = await answered(saying(Text("I pay."), Ask(call=PAY, state="s"), Text("not shown")), clock)

    call = ToolCall("c1", "pay", {"euros": 5})
    asked = events.Asked(call, "telegram:7", tool_digest(NAME, "pay"), state="s")
    assert said[-1] == events.Finished(asks=asked) and len(said) == 3


async def test_where_nobody_can_be_asked_it_goes_on_with_a_refusal(clock: FakeClock) -> None:
    async def answer(question: Question) -> AsyncIterator[object]:
        if question.decision is None:
            yield Ask(call=PAY, state="s")
        else:
            yield Text("Then not.")

    agent = Written(answer)

    said = await answered(agent, clock, task(clock, may_ask=False))

    assert agent.asked[1].decision == Decided(call=PAY, allowed=False, state="s")
    assert [(one.role, one.call, one.ok) for one in agent.asked[1].messages[1:]] == [
        ("assistant", "", None),
        ("tool", "c1", False),
    ]
    assert said[-1] == events.Finished()


def decided(*, allowed: bool = True, agent: str = NAME) -> Decision:
    call = ToolCall("decided6", "pay", {"euros": 5})
    return Decision(
        call=call, allowed=allowed, tool=tool_digest(agent, "pay"), origin="telegram:7", asked_as="c1", state="s"
    )


async def test_an_allowed_call_runs_with_the_arguments_that_were_shown(clock: FakeClock) -> None:
    agent = saying(PAY, Result(id="c1", text="Paid."), Text("Paid."))

    said = await answered(agent, clock, task(clock, decision=decided()))

    assert agent.asked[0].decision == Decided(call=PAY, allowed=True, state="s")
    [begun] = [event for event in said if isinstance(event, events.ToolStarted)]
    assert begun.allowed and said[-1] == events.Finished()


async def test_a_refusal_is_in_the_messages_once_something_was_done_since(clock: FakeClock) -> None:
    """The state of the question knows nothing of it."""
    begun = AssistantEntry("Then I look.", (ToolCall("c2", "look", {}),), provider=FOREIGN)
    fresh, agent = saying(Text("As you wish.")), saying(Text("As you wish."))
    refused = decided(allowed=False)

    await answered(fresh, clock, task(clock, decision=refused))
    results = {(1, "c2"): ToolResult(text="Leaves.")}
    await answered(agent, clock, task(clock, decision=refused, passes=(begun,), results=results))

    assert fresh.asked[0].decision == Decided(call=PAY, allowed=False, state="s") and fresh.asked[0].done == 0
    [question] = agent.asked
    assert question.decision is None and question.done == 4
    told = [(one.role, one.text, [call.id for call in one.calls], one.call) for one in question.messages[-4:]]
    assert told == [
        ("assistant", "", ["c1"], ""),
        ("tool", "Not run: the person refused it.", [], "c1"),
        ("assistant", "Then I look.", ["c2"], ""),
        ("tool", "Leaves.", [], "c2"),
    ]


@pytest.mark.parametrize(
    ("decision", "call"),
    [
        (decided(), replace(PAY, arguments={"euros": 500})),
        (decided(), replace(PAY, name="pay_all")),
        (decided(allowed=False), PAY),
        (decided(agent="another:agent"), PAY),
    ],
)
async def test_a_call_that_nobody_allowed_ends_the_answer_before_it_runs(
    decision: Decision, call: Call, clock: FakeClock
) -> None:
    ran: list[str] = []

    async def answer(question: Question) -> AsyncIterator[object]:
        yield call
        ran.append(call.name)

    said = await answered(Written(answer), clock, task(clock, decision=decision))

    assert failed(said).sentence == "failed" and ran == []


async def test_an_allowed_call_runs_once_also_after_a_restart(clock: FakeClock) -> None:
    twice = await answered(saying(PAY, Result(id="c1", text=""), PAY), clock, task(clock, decision=decided()))
    assert failed(twice).sentence == "failed"
    begun = AssistantEntry("", (ToolCall("c1", "pay", {"euros": 5}),), provider=FOREIGN)
    agent = saying(Text("It may be paid."))

    await answered(
        agent,
        clock,
        task(clock, decision=decided(), passes=(begun,), outcome_unknown=frozenset({(1, "c1")})),
    )

    assert agent.asked[0].decision is None and agent.asked[0].messages[-1].ok is None
