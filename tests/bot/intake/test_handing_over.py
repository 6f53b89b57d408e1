"""Several processes on one store: what one of them ends, another goes on with, and nobody reads of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from bot.app import App
from bot.contract.messages import MessageRef
from bot.contract.surface import Drawn
from bot.intake import Alone
from bot.reply import Notices
from bot.sentences import say
from bot.settings.configuration import configure
from bot.store import InboxState
from playground.faults import Fault
from playground.model import Reply
from tests.bot.conftest import Memory
from tests.conftest import RawJson
from tests.contract.fleets import Fleet, FoundPlace, in_processes, message
from tests.patience import PATIENCE


@pytest.fixture
async def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    monkeypatch.setenv("CONFIRM_TOOLS", "calculator")
    async with in_processes(together=True)(tmp_path, monkeypatch) as fleet:
        yield fleet


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not seen():
            await asyncio.sleep(0.01)


def reads(fleet: Fleet, chat: str, words: str) -> bool:
    return any(words in text for text in fleet.shown(chat))


def asked_more(fleet: Fleet, requests: int) -> bool:
    return len(fleet.model.requests) > requests


def asked(body: RawJson) -> str:
    return str([one["content"] for one in body["messages"] if one["role"] == "user"][-1])


async def test_a_turn_that_reaches_no_stage_in_time_is_begun_anew_elsewhere_in_the_same_message(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.dispatcher.TURN_SECONDS", 0.0)
    never = asyncio.Event()
    words = [f"word{number}" for number in range(80)]

    def script(body: RawJson) -> Reply:
        broken_off = len(fleet.model.requests) <= 3 and asked(body) == "Tell me"
        return Reply(" ".join(words), hang_after=300, until=never) if broken_off else Reply(" ".join(words))

    fleet.model.script = script
    now = await fleet.start()
    await now.deliver(message("Tell me"), message("And then?"))
    for _ in range(3):
        await until(lambda: any("word20" in text for text in fleet.shown("7")))
        assert len(fleet.shown("7")) == 1
        following, requests = await fleet.start(), len(fleet.model.requests)
        await now.end()
        assert not any(say("shutdown", "en") in text for text in fleet.shown("7"))
        await until(partial(asked_more, fleet, requests))
        now = following
    await until(lambda: len(fleet.shown("7")) == 2 and all(text.endswith("word79") for text in fleet.shown("7")))

    assert len(fleet.model.requests) == 5
    assert [text.count("word5 ") for text in fleet.shown("7")] == [1, 1]


async def test_a_question_that_nobody_decides_ends_where_its_place_is_served(fleet: Fleet) -> None:
    fleet.model.script = lambda body: Reply("I add.", calls=(("calculator", {"expression": "1+1"}),))
    members = [await fleet.start() for _ in range(2)]
    for chat in "78":
        await members[0].deliver(message("Add", chat=chat))
        await until(partial(reads, fleet, chat, "Until then nothing is done"))
    while await fleet.store.intake.list_waiting():
        await asyncio.sleep(0)

    await fleet.store.writer.execute("UPDATE approvals SET expires_at = 1")

    for chat in "78":
        await until(partial(reads, fleet, chat, "Nobody decided in time"))
    assert len(fleet.model.requests) == 2


async def test_stop_and_what_waits_reach_the_turn_wherever_they_are_received(fleet: Fleet) -> None:
    fleet.model.script = lambda body: Reply(f"You said {asked(body)}.")
    held = fleet.model.faults.add("*", Fault(hold=asyncio.Event()))
    first, second, third = [await fleet.start() for _ in range(3)]
    await first.deliver(message("one"))
    await held.reached.wait()
    await second.deliver(message("two"))
    await third.deliver(message("", command="stop"))

    await until(lambda: say("dropped_waiting", "en") in fleet.shown("7"))
    await second.deliver(message("three"))
    await until(lambda: "You said three." in fleet.shown("7"))
    assert len(fleet.model.requests) == 2
    assert [text for text in fleet.shown("7") if text.startswith("You said")] == ["You said three."]


async def test_a_process_that_is_given_no_places_any_more_ends_with_an_error(fleet: Fleet) -> None:
    class Broken(Alone):
        shared = True

        async def run(self, serve: Callable[[str], Awaitable[None]], hint: Callable[[str], object]) -> None:
            raise RuntimeError("the queue is gone")

    async with App(configure(), {"telegram": Memory()}, ownership=Broken()) as bot:
        with pytest.raises(RuntimeError, match="the queue is gone"):
            await bot.serve(asyncio.Event())


async def test_a_message_that_waits_long_behind_another_is_answered_where_its_place_moves(fleet: Fleet) -> None:
    """Nobody was offline: it waited for its turn, in a process that has ended meanwhile."""
    first, never = await fleet.start(), asyncio.Event()
    fleet.model.script = lambda body: Reply("Too late.", hang_before_headers=True, until=never)
    await first.deliver(message("one"), message("two"))
    await until(lambda: asked_more(fleet, 0))
    await fleet.store.writer.run(lambda db: db.execute("UPDATE inbox SET received_at = received_at - 1000"))
    await fleet.start()
    fleet.model.script = lambda body: Reply(f"Answer to {asked(body)}.")

    await first.kill()

    await until(lambda: reads(fleet, "7", "Answer to two."))
    assert not reads(fleet, "7", "offline") and reads(fleet, "7", "Answer to one.")


async def test_a_command_is_answered_once_where_its_place_moves_before_that_is_written_down(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, answered, written = await fleet.start(), asyncio.Event(), asyncio.Event()
    end = fleet.store.intake.end

    async def end_late(row: int, state: InboxState) -> None:
        answered.set()
        await written.wait()
        await end(row, state)

    monkeypatch.setattr(fleet.store.intake, "end", end_late)
    await first.deliver(message("", command="help"))
    await answered.wait()
    second = await fleet.start()

    ending = asyncio.create_task(first.end())
    await until(lambda: first.ending)
    written.set()
    await ending
    await second.deliver(message("", command="whoami"))
    await until(lambda: reads(fleet, "7", "telegram:7"))

    assert len(fleet.shown("7")) == 2


async def test_what_was_said_already_is_shown_before_a_process_ends(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written down as said, so no other process would say it."""
    first, posting, posted, late = await fleet.start(), asyncio.Event(), asyncio.Event(), asyncio.Event()
    show, close = FoundPlace.show, Notices.close

    async def close_late(self: Notices) -> None:
        late.set()
        await close(self)

    async def show_late(self: FoundPlace, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        posting.set()
        await posted.wait()
        return await show(self, drawn, at, nonce)

    monkeypatch.setattr(FoundPlace, "show", show_late)
    monkeypatch.setattr(Notices, "close", close_late)
    await first.deliver(message("", command="whoami"))
    await posting.wait()

    ending = asyncio.create_task(first.end())
    await late.wait()
    await asyncio.sleep(0)
    posted.set()
    await ending

    assert reads(fleet, "7", "telegram:7")
