"""What a library throws that is no exception: the turn fails, its person is told, and the chat goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from bot.contract import MessageRef
from bot.contract.surface import Drawn
from bot.model.client import ModelClient
from bot.store.records import TurnRecord
from playground.model import Reply
from tests.bot.conftest import OpenRig, Place, Rig
from tests.surfaces import page_of
from tools.calling.function import FunctionTool
from tools.programs.cancelling import Contained, Panic

CALL = ("calculator", {"expression": "6*7"})


class PanicException(BaseException):
    """As compiled libraries raise it."""


THROWN = (PanicException("not a char boundary"), asyncio.CancelledError(), BaseExceptionGroup("", [PanicException()]))


def throwing(error: BaseException) -> Callable[..., Awaitable[object]]:
    async def call(*args: object, **more: object) -> object:
        raise error

    return call


async def record(it: Rig) -> TurnRecord:
    found = await it.bot.store.turns.find_last(it.message("").chat)
    assert found is not None
    return found


async def goes_on(it: Rig) -> None:
    """Nothing waits for a later process, and the chat answers."""
    assert await it.bot.store.intake.list_waiting() == []
    it.model.reply(Reply("Tea is a leaf."))
    assert await it.say("And tea?") == ["Tea is a leaf."]


async def test_a_tool_that_panics_has_failed_and_the_model_answers(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig() as it:
        for number, error in enumerate(THROWN):
            monkeypatch.setattr(FunctionTool, "run", throwing(error))
            it.model.reply(Reply(calls=(CALL,)), Reply(f"I cannot reckon, {number}."))

            assert await it.say("6*7?") == [f"I cannot reckon, {number}."]
            assert "calculator failed (Panic)" in str(it.model.requests[-1].body)
        await goes_on(it)


async def test_a_model_call_that_panics_is_made_again_once_and_then_said(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig() as it:

        async def exchange(*args: object) -> AsyncIterator[object]:
            raise PanicException
            yield

        with monkeypatch.context() as broken:
            broken.setattr(ModelClient, "_exchange", exchange)
            (said,) = await it.say("What is tea?")
        assert "gave no answer" in said and (await record(it)).state == "failed"
        await goes_on(it)


async def test_a_send_that_panics_fails_its_turn_and_leaves_no_status(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    show = Place.show

    async def breaks(place: Place, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        if page_of(drawn).body == "It is 42.":
            raise asyncio.CancelledError
        return await show(place, drawn, at, nonce)

    async with rig() as it:
        monkeypatch.setattr(Place, "show", breaks)
        gate = asyncio.Event()

        async def waits(*args: object) -> object:
            await it.until(lambda: bool(it.shown()))
            gate.set()
            raise ValueError

        monkeypatch.setattr(FunctionTool, "run", waits)
        it.model.reply(Reply(calls=(CALL,)), Reply("It is 42."))
        (said,) = await it.say("6*7?")

        assert gate.is_set() and "went wrong" in said and caplog.text.count("Panic") >= 1
        assert not any(page.status for page in it.memory.pages["7"].values())
        await goes_on(it)


async def test_whatever_else_breaks_while_an_answer_is_made_is_said_in_its_place(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig() as it:
        monkeypatch.setattr(it.bot.conversation._events, "take", throwing(PanicException()))
        it.model.reply(Reply("Tea is a leaf."))
        (said,) = await it.say("What is tea?")

        assert "went wrong" in said and (await record(it)).state == "failed"
        assert "a library threw PanicException" in caplog.text


async def test_our_own_cancellation_and_the_end_of_the_program_pass() -> None:
    for error in (SystemExit(), KeyboardInterrupt(), GeneratorExit(), ValueError()):
        with pytest.raises(type(error)), Contained():
            raise error

    async def waits() -> None:
        with Contained():
            await asyncio.Event().wait()

    task = asyncio.create_task(waits())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    with pytest.raises(Panic, match="CancelledError"), Contained():
        raise asyncio.CancelledError
