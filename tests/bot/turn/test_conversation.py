"""One turn, with the whole core behind it: looked up, resumed, asked, shown, ended, closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Unpack

import pytest

from bot.agent import Agent, Event, Task
from bot.context import Admitted
from bot.contract.clock import Backoff
from bot.contract.errors import StoreError, TooLong, Unreachable
from bot.contract.messages import ChatId, Enclosure, EnclosureKind, MessageSent, Quoted
from bot.contract.transcript import AssistantEntry, Usage
from bot.store.records import TurnRecord
from bot.turn import conversation as module
from bot.turn.queue import Running
from bot.turn.run import MOST_ATTEMPTS, EndReason
from playground.model import Reply
from tests.bot.conftest import MessageFields, OpenRig, Place, Rig
from tests.bot.store.conftest import taken_in
from tests.conftest import FakeClock
from tests.patience import PATIENCE
from tests.surfaces import page_of
from tools.contract.base import ProducedFile, ToolCall, ToolContext, ToolResult

SLOWLY = 50.0
"""Words a second: fast enough to begin at once, too slow to end before it is stopped."""


@dataclass
class Turn:
    """One row of the inbox, and the task that answers it."""

    rig: Rig
    message: MessageSent
    id: int
    running: Running = field(init=False)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.running = Running(self.id, self.message.sender.id)

    def begin(self) -> asyncio.Task[None]:
        work = self.rig.bot.conversation.run(self.id, Admitted(self.message, "en"), self.running)
        self.tasks.append(asyncio.create_task(work))
        return self.tasks[-1]

    async def run(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.begin()

    async def end(self, why: EndReason | None) -> None:
        """End it from outside, and wait for its last words."""
        self.running.ending = why
        self.tasks[-1].cancel()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*self.tasks, return_exceptions=True)

    async def die(self) -> None:
        """A process dies over it."""
        await self.rig.bot.store.turns.begin(self.id, self.message.chat, self.message.sender.id)

    async def attempts(self) -> int:
        """The processes that count against it, the present one included."""
        return next(row.attempts for row in await self.rig.bot.store.intake.list_waiting() if row.id == self.id)

    async def record(self) -> TurnRecord:
        record = await self.rig.bot.store.turns.find_last(self.message.chat)
        assert record is not None
        return record

    async def waits(self) -> bool:
        """A later process would begin it."""
        return self.id in [row.id for row in await self.rig.bot.store.intake.list_waiting()]


async def turn_of(rig: Rig, text: str, **more: Unpack[MessageFields]) -> Turn:
    message = rig.message(text, **more)
    id = await taken_in(rig.bot.store, message)
    return Turn(rig, message, id)


async def test_an_answer_is_shown_and_kept_and_its_turn_is_not_begun_again(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Tea is a leaf.", reasoning="Easy."))
        turn = await turn_of(it, "What is tea?")
        await turn.run()
        await turn.run()

        record = await turn.record()
        assert (record.state, record.visible, record.reasoning) == ("done", "Tea is a leaf.", "Easy.")
        assert it.shown() == ["Tea is a leaf."] and len(it.model.requests) == 1
        assert not await turn.waits()


async def test_what_a_former_attempt_brought_is_neither_asked_nor_called_again(rig: OpenRig) -> None:
    async with rig() as it:
        call = ToolCall("c1", "calculator", {"expression": "6*7"})
        turn, turns = await turn_of(it, "Reckon 6*7"), it.bot.store.turns
        await turns.begin(turn.id, turn.message.chat, turn.message.sender.id)
        entry = AssistantEntry(text="I reckon.", calls=(call,), reasoning="First.")
        await turns.save_pass(turn.id, 1, entry, "openai:scripted", Usage(10, 5))
        await turns.start_call(turn.id, call, passnumber=1, position=0, effects=False)
        await turns.end_call(turn.id, "c1", ToolResult(text="forty-two, as stored", own_words=True))
        it.model.reply(Reply("It is 42."))

        await turn.run()

        (request,) = it.model.requests
        assert "forty-two, as stored" in request.messages[-1]["content"]
        record = await turn.record()
        assert record.visible == "I reckon.\n\nIt is 42." == it.shown()[0]
        assert record.reasoning == "First." and record.usage.prompt > 10


async def test_a_stop_ends_the_answer_and_says_so(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("word " * 400, words_per_second=SLOWLY))
        turn = await turn_of(it, "Tell me")
        turn.begin()
        await it.until(lambda: bool(it.shown()))
        await turn.end(EndReason.STOPPED)

        assert turn.tasks[0].exception() is None
        assert it.shown()[0].startswith("word") and it.shown()[0].endswith("\n\nStopped.")
        assert (await turn.record()).state == "stopped" and not await turn.waits()


async def test_a_stop_changes_nothing_where_the_answer_only_waits_to_be_shown(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig() as it:
        it.model.reply(Reply("Tea is a leaf."))
        turn = await turn_of(it, "What is tea?")
        place = type(it.bot.platforms.surface(turn.message.target))
        shows, arrived, gate = place.show, asyncio.Event(), asyncio.Event()

        async def held(self: Any, drawn: Any, at: Any, nonce: str = "") -> Any:
            if page_of(drawn).final:
                arrived.set()
                await gate.wait()
            return await shows(self, drawn, at, nonce)

        monkeypatch.setattr(place, "show", held)
        turn.begin()
        await asyncio.wait_for(arrived.wait(), PATIENCE)
        turn.running.ending = EndReason.STOPPED
        turn.tasks[0].cancel()
        await asyncio.sleep(0)
        gate.set()
        await asyncio.wait_for(turn.tasks[0], PATIENCE)

        assert it.shown() == ["Tea is a leaf."]
        assert (await turn.record()).state == "done"


async def test_a_stop_is_heard_where_nothing_of_the_answer_is_shown_yet(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While something stands in the way; no later process answers it either."""
    async with rig() as it:
        turn, turns = await turn_of(it, "What is tea?"), it.bot.store.turns
        arrived = asyncio.Event()

        async def held(id: int) -> Any:
            arrived.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(turns, "load", held)
        turn.begin()
        await asyncio.wait_for(arrived.wait(), PATIENCE)
        await turn.end(EndReason.STOPPED)

        assert turn.tasks[0].exception() is None and not await turn.waits()
        await it.until(lambda: it.shown() == ["Stopped."])


async def test_a_file_that_the_platform_does_not_take_is_told_of_below_the_answer(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig() as it:
        turn, turns = await turn_of(it, "Plot it"), it.bot.store.turns
        monkeypatch.setattr(Place, "attach", broken(TooLong("more than it said", by=1), 1, Place.attach))
        await turns.begin(turn.id, turn.message.chat, turn.message.sender.id)
        call = ToolCall("c1", "run_code", {})
        await turns.save_pass(turn.id, 1, AssistantEntry("", (call,)), "openai:scripted", Usage())
        await turns.start_call(turn.id, call, passnumber=1, position=0, effects=False)
        plot = ProducedFile("plot.png", "image/png", b"12345")
        await turns.end_call(turn.id, "c1", ToolResult(text="Plotted.", files=(plot,)))
        it.model.reply(Reply("Here is the plot."))
        await turn.run()

        assert it.shown() == ["Here is the plot.", "The file plot\\.png (0.0 MB) is too large to be posted here."]


async def test_what_plainly_needs_a_search_begins_with_one_where_the_operator_wants_it(rig: OpenRig) -> None:
    async with rig(PRE_SEARCH="true", TAVILY_API_KEY="tvly-loopback-key-0123") as it:
        offers = it.bot.conversation.tool_offer
        question = it.message("latest news about tea")
        permit, _ = await offers.find_named(question, "en", str)

        call = await offers.choose_first_call(question, permit, None)
        assert call is not None and call.name == "search_web"
        quoting = replace(question, quoted=Quoted(text="Tea is a leaf."))
        assert await offers.choose_first_call(quoting, permit, None) is None, "it is about what is quoted"


async def test_a_turn_that_has_to_end_while_a_stopped_answer_is_shown_ends(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig() as it:
        it.model.reply(Reply("word " * 400, words_per_second=SLOWLY))
        turn = await turn_of(it, "Tell me")
        place = type(it.bot.platforms.surface(turn.message.target))
        shows, arrived = place.show, asyncio.Event()

        async def held(self: Any, drawn: Any, at: Any, nonce: str = "") -> Any:
            if page_of(drawn).final:
                arrived.set()
                await asyncio.Event().wait()
            return await shows(self, drawn, at, nonce)

        monkeypatch.setattr(place, "show", held)
        turn.begin()
        await it.until(lambda: bool(it.shown()))
        turn.running.ending = EndReason.STOPPED
        turn.tasks[0].cancel()
        await asyncio.wait_for(arrived.wait(), PATIENCE)
        await turn.end(EndReason.STOPPED)

        assert not await turn.waits() and len(it.shown()) == 1


async def test_where_the_process_ends_the_turn_is_left_to_the_next_in_the_same_message(rig: OpenRig) -> None:
    async with rig() as it:
        turn = await turn_of(it, "Tell me")
        for _ in range(MOST_ATTEMPTS + 1):
            # The attempt of a process that ends in good order is taken back.
            it.model.reply(Reply("word " * 400, words_per_second=SLOWLY))
            turn.running.ending = None
            asked = len(it.model.requests)
            turn.begin()
            await it.model.asked(asked + 1)
            await it.until(lambda: bool(it.shown()))
            await turn.end(EndReason.SHUTDOWN)
            assert await turn.waits()
            assert "restart" in it.shown()[0]
        turn.running.ending = None
        it.model.reply(Reply("All of it."))
        await turn.run()

        assert it.shown() == ["All of it."]


async def test_who_replaces_a_turn_ends_what_still_shows_it_however_soon_it_is_replaced_itself(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the former answer was posted anew: its messages had passed to the turn that came last."""
    async with rig() as it:
        it.model.reply(Reply("Tea."))
        former = await turn_of(it, "Tell me")
        await former.run()
        dropped, taken, goes_on = list[int](), asyncio.Event(), asyncio.Event()
        take_over = it.bot.store.turns.take_over

        async def slowly(turn: int, old: int, chat: ChatId, person: str) -> int:
            old = await take_over(turn, old, chat, person)
            taken.set()
            await goes_on.wait()
            return old

        async def drop(turn: int) -> None:
            dropped.append(turn)

        monkeypatch.setattr(it.bot.store.turns, "take_over", slowly)
        monkeypatch.setattr(it.bot.conversation.settling, "drop", drop)
        changed = await turn_of(it, "Tell me more", replaces=former.id)
        task = changed.begin()
        await asyncio.wait_for(taken.wait(), PATIENCE)
        changed.running.ending = EndReason.REPLACED
        task.cancel()
        goes_on.set()
        await asyncio.gather(task, return_exceptions=True)

        assert dropped == [former.id]


async def test_cancelled_for_no_reason_it_says_nothing_and_is_left_to_the_next(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("word " * 400, words_per_second=SLOWLY))
        turn = await turn_of(it, "Tell me")
        turn.begin()
        await it.until(lambda: bool(it.shown()))
        await turn.end(None)

        assert turn.tasks[0].cancelled()
        assert await turn.waits() and set(it.shown()[0].split()) == {"word"}


async def test_a_turn_that_kills_its_process_is_given_up(rig: OpenRig, caplog: pytest.LogCaptureFixture) -> None:
    async with rig() as it:
        turn = await turn_of(it, "Tell me")
        for _ in range(MOST_ATTEMPTS):
            await turn.die()
        await turn.run()

        (said,) = it.shown()
        assert "went wrong" in said and it.model.requests == []
        assert not await turn.waits() and "given up after 2 attempts" in caplog.text


async def test_an_answer_that_is_complete_outlives_the_processes_that_wait_to_show_it(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Slack the last edit may wait a minute: who dies then has another reason than the question."""
    async with rig() as it:
        waits = asyncio.Event()

        async def wait(*args: object) -> None:
            waits.set()
            await asyncio.Event().wait()

        it.model.reply(Reply("All of it."))
        turn = await turn_of(it, "Tell me")
        await turn.die()
        with monkeypatch.context() as patched:
            patched.setattr(module, "finish", wait)
            turn.begin()
            await asyncio.wait_for(waits.wait(), PATIENCE)
            counted = await turn.attempts()
            await turn.end(None)
        for _ in range(MOST_ATTEMPTS - 1):
            await turn.die()
        await turn.run()

        assert counted == 0
        assert it.shown() == ["All of it."] and len(it.model.requests) == 1


async def test_a_pass_that_asks_for_calls_still_counts_the_processes_that_die_of_them(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("", calls=(("xyzzy", {}),)), Reply("word " * 400, words_per_second=SLOWLY))
        turn = await turn_of(it, "Tell me")
        turn.begin()
        await it.model.asked(2)
        counted = await turn.attempts()
        await turn.end(None)

        assert counted == 1


async def test_a_tool_called_wrongly_by_name_is_answered_without_a_model_or_a_record(rig: OpenRig) -> None:
    async with rig() as it:
        turn = await turn_of(it, "/tool xyzzy 1")
        await turn.run()

        (said,) = it.shown()
        assert "xyzzy" in said and it.model.requests == []
        assert await it.bot.store.turns.find_last(turn.message.chat) is None and not await turn.waits()


async def test_a_question_that_holds_nothing_readable_is_answered_without_a_model(rig: OpenRig) -> None:
    async with rig() as it:
        turn = await turn_of(it, "", enclosed=(Enclosure(kind=EnclosureKind.PICTURE),))
        await turn.run()

        (said,) = it.shown()
        record = await turn.record()
        assert "picture" in said and it.model.requests == []
        assert (record.state, record.visible, record.model) == ("done", said, "")


async def test_an_answer_that_shows_nothing_says_so(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = lambda body: Reply("\u200b")
        turn = await turn_of(it, "Tell me")
        await turn.run()

        (said,) = it.shown()
        assert "gave no answer" in said and (await turn.record()).state == "failed"


def broken(error: Exception, times: int, then: Callable[..., Any]) -> Callable[..., Any]:
    """Raises `error` so many times, and works from then on."""
    left = [error] * times

    async def call(*args: object, **more: object) -> object:
        if left:
            raise left.pop()
        return await then(*args, **more)

    return call


@pytest.mark.parametrize(
    ("error", "told"), [(StoreError("locked"), True), (Unreachable("not connected"), False)], ids=["store", "platform"]
)
async def test_what_stands_in_the_way_is_waited_for_and_a_broken_store_is_told_of_once(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch, error: Exception, told: bool
) -> None:
    monkeypatch.setattr(module, "Backoff", partial(Backoff, pauses=(0.0,)))
    async with rig() as it:
        it.model.reply(Reply("Tea is a leaf."))
        turn, turns = await turn_of(it, "What is tea?"), it.bot.store.turns
        monkeypatch.setattr(turns, "load", broken(error, 3, turns.load))
        said, apologise = list[str](), it.bot.conversation.notices.apologise

        async def hear(question: MessageSent, text: str, *, passes: bool = False) -> None:
            await apologise(question, text, passes=passes)
            said.extend(it.shown())

        monkeypatch.setattr(it.bot.conversation.notices, "apologise", hear)
        await turn.run()

        assert len(said) == told and it.shown() == ["Tea is a leaf."], "and it is no longer said in the end"
        assert (await turn.record()).state == "done"


async def test_an_error_that_nobody_expected_is_told_of_and_ends_the_turn(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig() as it:
        turn, turns = await turn_of(it, "What is tea?"), it.bot.store.turns
        monkeypatch.setattr(turns, "load", broken(KeyError("bug"), 1, turns.load))
        await turn.run()

        (said,) = it.shown()
        assert "went wrong" in said and "KeyError" in caplog.text
        assert not await turn.waits()


class MovingClock(FakeClock):
    """Moves on by every sleep, at once."""

    def __init__(self) -> None:
        super().__init__()
        # Later than any deadline by which the model client, on the clock of the machine, gives up.
        self.now = 1e9

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


async def test_all_tries_of_a_turn_share_its_time_and_pauses_between_them_cost_none(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadlines: list[float] = []
    clock, answer = MovingClock(), Agent.answer

    def answer_slowly(agent: Agent, task: Task) -> AsyncGenerator[Event, None]:
        deadlines.append(task.deadline)
        clock.now += 100.0
        return answer(agent, task)

    monkeypatch.setattr(Agent, "answer", answer_slowly)
    monkeypatch.setattr(module, "Backoff", partial(Backoff, pauses=(30.0,)))
    async with rig(TURN_SECONDS="250") as it:
        it.model.script = lambda body: Reply("Tea is a leaf.")
        turn, turns = await turn_of(it, "What is tea?"), it.bot.store.turns
        monkeypatch.setattr(it.bot.conversation, "clock", clock)
        monkeypatch.setattr(turns, "save_pass", broken(StoreError("locked"), 2, turns.save_pass))
        begun = clock.now
        await turn.run()

    assert deadlines == [begun + 250.0, begun + 280.0, begun + 310.0]


async def test_a_tool_knows_how_much_time_its_turn_has_left(rig: OpenRig, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float] = []
    async with rig(TURN_SECONDS="90") as it:
        run: Callable[[ToolCall, ToolContext], Awaitable[ToolResult]] = it.bot.registry.run

        async def noted(call: ToolCall, context: ToolContext) -> ToolResult:
            left.append(context.time_left())
            return await run(call, context)

        monkeypatch.setattr(it.bot.registry, "run", noted)
        it.model.reply(Reply(calls=(("calculator", {"expression": "17*3"}),)), Reply("51"))
        assert "51" in (await it.say("calculate 17*3"))[-1]

    assert len(left) == 1 and 0 < left[0] <= 90
