"""Servers of others that speak AG-UI, in the forms that the protocol has for the same thing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from parley_chat.agent import Ask, Call, Decision, Event, Fault, Message, Question, Result, Text
from parley_chat.agents.ag_ui import AGUIAgent
from tests.conftest import RawObject
from tests.journeys.conftest import Start, World
from tests.journeys.test_approvals import ALLOW, REFUSE, asked
from tests.journeys.test_controls import Room

BEGIN: RawObject = {"type": "RUN_STARTED", "threadId": "c", "runId": "t-1"}
DONE: RawObject = {"type": "RUN_FINISHED", "threadId": "c", "runId": "t-1"}
SEARCH = Call(id="c1", name="search", arguments={"query": "tea"})
ASKS = {"id": "i1", "reason": "confirmation", "message": "Shall I buy it?"}


def says(text: str, id: str = "m1") -> list[RawObject]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": text},
        {"type": "TEXT_MESSAGE_END", "messageId": id},
    ]


def ends_with(**outcome: object) -> RawObject:
    return {**DONE, "outcome": outcome}


class Server:
    """Answers each request with the next events, and keeps what it was sent."""

    def __init__(self, runs: Sequence[Sequence[RawObject]]) -> None:
        self._runs = list(runs)
        self.asked: list[RawObject] = []
        self.url = ""

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in self._runs.pop(0):
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
        return response


@asynccontextmanager
async def serving(*runs: Sequence[RawObject]) -> AsyncIterator[Server]:
    server, application = Server(runs), web.Application()
    application.router.add_post("/", server.serve)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    try:
        yield server
    finally:
        await runner.cleanup()


async def answered(server: Server, decision: Decision | None = None) -> list[Event]:
    question = Question(
        turn="t", attempt=1, chat="c", person="p", name="Ada", language="en", zone="UTC", instructions="",
        messages=(Message(role="user", text="tea?"),), decision=decision,
    )  # fmt: skip
    return [event async for event in AGUIAgent(server.url).answer(question) if event != Text("")]


async def test_two_messages_in_a_row_are_two_paragraphs_and_a_call_between_them_separates_them_already() -> None:
    call = [{"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "search"}]
    call += [{"type": "TOOL_CALL_END", "toolCallId": "c1"}]
    async with serving([BEGIN, *says("One."), *says("Two.", "m2"), *call, *says("Three.", "m3"), DONE]) as server:
        told = await answered(server)

    assert told == [Text("One."), Text("\n\nTwo."), Call(id="c1", name="search", arguments={}), Text("Three.")]


async def test_calls_in_chunks_and_results_in_parts_are_calls_and_results() -> None:
    chunks: list[RawObject] = [
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "c1", "toolCallName": "search", "delta": '{"query": '},
        {"type": "TOOL_CALL_CHUNK", "delta": '"tea"}'},
    ]
    parts = [{"type": "text", "text": "Leaves."}, {"type": "image", "source": {"type": "url", "value": "x"}}]
    result = {"type": "TOOL_CALL_RESULT", "messageId": "r1", "toolCallId": "c1", "content": parts}
    unknown = {"type": "TOOL_CALL_RESULT", "messageId": "r2", "toolCallId": "c2", "content": "What?"}
    async with serving([BEGIN, *chunks, result, unknown, DONE], [BEGIN, *chunks, DONE]) as server:
        whole, open_ = await answered(server), await answered(server)

    assert whole == [SEARCH, Result(id="c1", text="Leaves.\n[image]")] and open_ == [SEARCH]


async def test_a_question_about_no_call_is_asked_in_its_own_words() -> None:
    waits = ends_with(type="interrupt", interrupts=[ASKS])
    async with serving([BEGIN, waits], [BEGIN, *says("Bought."), DONE], [BEGIN, *says("Left."), DONE]) as server:
        [ask] = await answered(server)
        assert isinstance(ask, Ask)
        allowed = await answered(server, Decision(call=ask.call, allowed=True, state=ask.state))
        refused = await answered(server, Decision(call=ask.call, allowed=False, state=ask.state))

    assert ask.call == Call(id="i1", name="confirmation", arguments={"question": "Shall I buy it?"})
    assert allowed == [ask.call, Result(id="i1", text="The person allowed it."), Text("Bought.")]
    assert refused == [Text("Left.")]
    assert [one["resume"][0]["payload"] for one in server.asked[1:]] == [{"approved": True}, {"approved": False}]


async def test_a_stream_that_breaks_off_or_fails_is_a_fault() -> None:
    async with serving([BEGIN, *says("One.")], [BEGIN, {"type": "RUN_ERROR", "message": "no key"}]) as server:
        broken, failed = await answered(server), await answered(server)

    assert isinstance(broken[-1], Fault) and "broke off" in broken[-1].detail
    assert failed == [Fault(detail="the agent's server: no key")]


@pytest.mark.parametrize("button", [ALLOW, REFUSE])
async def test_a_question_about_no_call_becomes_a_card(
    world: World, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, button: str
) -> None:
    room = Room(world, "telegram")
    async with serving(
        [BEGIN, ends_with(type="interrupt", interrupts=[ASKS])], [BEGIN, *says("Done."), DONE]
    ) as server:
        name = f"behind_{button == ALLOW}"
        (tmp_path / f"{name}.py").write_text(
            f"from parley_chat.agents.ag_ui import AGUIAgent\nagent = AGUIAgent({server.url!r})\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        async with start("telegram", AGENT=f"{name}:agent"):
            room.ask("buy me tea")
            card = await asked(room)
            assert "Shall I buy it?" in card.text
            room.press(card, button)
            await room.answered("Done.")

    assert server.asked[1]["resume"][0] == {
        "interruptId": "i1", "status": "resolved", "payload": {"approved": button == ALLOW},
    }  # fmt: skip


async def test_what_another_parley_was_asked_before_and_repeats_is_not_asked_again() -> None:
    earlier = {**ASKS, "reason": "tool_call", "toolCallId": "c0", "metadata": {"parley": {"earlier": True}}}
    async with serving([BEGIN, *says("One."), ends_with(type="interrupt", interrupts=[earlier])]) as server:
        assert await answered(server) == [Text("One.")]
    others = [earlier, {**ASKS, "metadata": {"other": 1}}, {**ASKS, "id": "i2"}]
    async with serving([BEGIN, ends_with(type="interrupt", interrupts=others)]) as server:
        [ask] = await answered(server)
        assert isinstance(ask, Ask) and ask.state == "i1"
