"""What every `Ownership` keeps: order, one process in a place, and nothing lost or twice when a process ends.

One passes here when it is given a fleet; what a fleet of several machines needs besides (a frozen process, a database
that restarts) is tested where it is made.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from bot.contract.messages import ChatId, MessageSent, ReplyTarget
from bot.sentences import say
from playground.faults import Fault
from playground.model import Reply
from tests.conftest import RawJson
from tests.contract.fleets import FLEETS, Fleet, Member, message
from tests.patience import PATIENCE
from tools.contract.base import NewReminder


@pytest.fixture(params=list(FLEETS))
async def fleet(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Fleet]:
    async with FLEETS[request.param](tmp_path, monkeypatch) as fleet:
        fleet.model.script = lambda body: Reply(f"You said {asked(body)}.")
        yield fleet


def asked(body: RawJson) -> str:
    return str([one["content"] for one in body["messages"] if one["role"] == "user"][-1])


async def start_all(fleet: Fleet) -> list[Member]:
    """As many processes as may run at once: one, or three."""
    return [await fleet.start() for _ in range(3 if fleet.together else 1)]


async def answered(fleet: Fleet) -> None:
    """Wait until nothing is unfinished."""
    async with asyncio.timeout(PATIENCE):
        while await fleet.store.intake.list_waiting():
            await asyncio.sleep(0.01)


def spread(messages: Sequence[MessageSent], members: Sequence[Member]) -> list[tuple[Member, MessageSent]]:
    """Each message with the process that receives it: another one each time."""
    return [(members[number % len(members)], one) for number, one in enumerate(messages)]


async def test_messages_of_a_chat_are_answered_in_their_order_whoever_receives_them(fleet: Fleet) -> None:
    members = await start_all(fleet)
    chats = [("7", ""), ("7", "1"), ("8", "")]
    sent = [message(f"{word}", chat=chat, thread=thread) for word in "abcdefgh" for chat, thread in chats]

    for member, one in spread(sent, members):
        await member.deliver(one)
    await answered(fleet)

    assert len(fleet.model.requests) == len(sent)
    for chat, thread in chats:
        assert fleet.shown(f"{chat}/{thread}".rstrip("/")) == [f"You said {word}." for word in "abcdefgh"]


async def test_the_same_delivery_to_every_process_begins_one_turn(fleet: Fleet) -> None:
    members = await start_all(fleet)
    one = message("What is tea?")

    await asyncio.gather(*(member.deliver(one) for member in [*members, *members]))
    await answered(fleet)
    await asyncio.gather(*(member.deliver(one) for member in members))
    await answered(fleet)

    assert fleet.shown("7") == ["You said What is tea?."] and len(fleet.model.requests) == 1


async def test_when_a_process_is_killed_another_goes_on_in_order_and_in_the_same_message(fleet: Fleet) -> None:
    members, never = await start_all(fleet), asyncio.Event()

    def script(body: RawJson) -> Reply:
        return Reply(f"You said {asked(body)}.", hang_after=8 if len(fleet.model.requests) == 1 else None, until=never)

    fleet.model.script = script
    for word in "abcd":
        await members[0].deliver(message(word))
    async with asyncio.timeout(PATIENCE):
        while not fleet.shown("7"):
            await asyncio.sleep(0.01)

    await asyncio.gather(*(member.kill() for member in members))
    await fleet.start()
    await answered(fleet)

    assert fleet.shown("7") == [f"You said {word}." for word in "abcd"]
    assert len(fleet.model.requests) == 5


async def test_a_message_that_kills_each_process_is_given_up_and_its_chat_goes_on(fleet: Fleet) -> None:
    never = asyncio.Event()
    fleet.model.script = lambda body: Reply("I say it.", hang_before_headers=asked(body) == "poison", until=never)
    now = await fleet.start()
    await now.deliver(message("poison"), message("tea"))
    for deaths in (1, 2):
        async with asyncio.timeout(PATIENCE):
            while len(fleet.model.requests) < deaths:
                await asyncio.sleep(0.01)
        await now.kill()
        now = await fleet.start()
    await answered(fleet)

    [apology, answer] = fleet.shown("7")
    assert "Something went wrong" in apology and answer == "I say it." and len(fleet.model.requests) == 3


@pytest.mark.parametrize("number", [25, pytest.param(1_000, marks=pytest.mark.soak)])
async def test_what_was_stored_when_all_were_killed_is_answered_once(fleet: Fleet, number: int) -> None:
    members, gate = await start_all(fleet), asyncio.Event()
    sent = [message(f"{n}", chat=str(n % (number // 5))) for n in range(number)]
    for _ in sent:
        fleet.model.faults.add("*", Fault(hold=gate))
    for member, one in spread(sent, members):
        await member.deliver(one)

    await asyncio.gather(*(member.kill() for member in members))
    fleet.model.faults.clear()
    await fleet.start()
    await answered(fleet)

    shown = Counter(text for n in range(number // 5) for text in fleet.shown(str(n)))
    assert shown == Counter(f"You said {n}." for n in range(number))


@pytest.mark.parametrize("number", [10, pytest.param(100, marks=pytest.mark.soak)])
async def test_nobody_waits_for_a_busy_place(fleet: Fleet, number: int) -> None:
    members, gate = await start_all(fleet), asyncio.Event()
    fleet.model.script = lambda body: Reply(
        f"You said {asked(body)}.", hang_before_headers="busy" in asked(body), until=gate
    )
    topics = [message(f"busy {n}", chat="7", thread=f"{n % 10}") for n in range(number * 2)]
    others = [message(f"quiet {n}", chat=str(100 + n)) for n in range(number)]
    for member, one in spread(topics, members):
        await member.deliver(one)

    for member, one in spread(others, members):
        await member.deliver(one)
    async with asyncio.timeout(PATIENCE):
        while not all(fleet.shown(one.chat.chat) for one in others):
            await asyncio.sleep(0.01)
    gate.set()
    await answered(fleet)
    assert sum(len(fleet.shown(f"7/{n}")) for n in range(10)) == len(topics)


async def test_an_orderly_end_hands_a_turn_over_which_another_process_completes_in_the_same_message(
    fleet: Fleet,
) -> None:
    """However often: an attempt that was handed over does not count. Where a process runs meanwhile, it goes on from
    the next stage, nothing is asked of the model again, and nobody reads of it."""
    steps = 4
    gates, reached = ([asyncio.Event() for _ in range(steps)] for _ in range(2))

    def script(body: RawJson) -> Reply:
        step = sum(one["role"] == "tool" for one in body["messages"])
        if step == steps:
            return Reply("That is all.")
        reached[step].set()
        return Reply(
            f"Step {step}.", calls=(("calculator", {"expression": f"{step}+1"}),), until=gates[step], hang_after=4
        )

    fleet.model.script = script
    now = await fleet.start()
    await now.deliver(message("Count"))
    for gate, begun in zip(gates, reached, strict=True):
        await begun.wait()
        following = await fleet.start() if fleet.together else None
        ending = asyncio.create_task(now.end())
        while not now.ending:
            await asyncio.sleep(0)
        gate.set()
        await ending
        if fleet.together:
            assert not any(say("shutdown", "en") in text for text in fleet.shown("7"))
        now = following or await fleet.start()
    await answered(fleet)

    [text] = fleet.shown("7")
    assert [text.count(f"Step {step}.") for step in range(steps)] == [1] * steps and text.endswith("That is all.")
    assert not fleet.together or len(fleet.model.requests) == steps + 1


async def test_a_turn_that_reaches_no_stage_keeps_no_other_place_from_being_handed_over(fleet: Fleet) -> None:
    if not fleet.together:
        pytest.skip("nobody is there to take it")
    gates = {"slow": asyncio.Event(), "quick": asyncio.Event()}
    reached = {name: asyncio.Event() for name in gates}

    def script(body: RawJson) -> Reply:
        if body["messages"][-1]["role"] == "tool":
            return Reply("Done.")
        name = asked(body)
        reached[name].set()
        return Reply("I add.", calls=(("calculator", {"expression": "1+1"}),), until=gates[name], hang_after=2)

    fleet.model.script = script
    first = await fleet.start()
    for chat, name in (("7", "slow"), ("8", "quick")):
        await first.deliver(message(name, chat=chat))
        await reached[name].wait()
    await fleet.start()
    ending = asyncio.create_task(first.end())
    while not first.ending:
        await asyncio.sleep(0)
    gates["quick"].set()

    async with asyncio.timeout(PATIENCE):
        while not any("Done." in text for text in fleet.shown("8")):
            await asyncio.sleep(0.01)
    assert not ending.done() and not any("Done." in text for text in fleet.shown("7"))
    gates["slow"].set()
    await ending
    await answered(fleet)
    assert [len(fleet.shown(chat)) for chat in "78"] == [1, 1] and len(fleet.model.requests) == 4


async def test_a_reminder_comes_once_whoever_watches(fleet: Fleet) -> None:
    members = await start_all(fleet)
    ada = message("").sender

    async def remind(text: str) -> None:
        timers = fleet.store.timers.bind(ChatId("telegram", "42", "7"), ada, ReplyTarget("telegram", {"chat": "7"}))
        await timers.set("me", "me", NewReminder(0.0, text))
        async with asyncio.timeout(PATIENCE):
            while not any(text in one for one in fleet.shown("7")):
                await asyncio.sleep(0.01)

    await remind("Tea!")
    for member in members:
        now = await fleet.start() if fleet.together else None
        await member.kill()
        assert now or await fleet.start()
        await remind(f"Milk {members.index(member)}!")
    await answered(fleet)

    assert len(fleet.shown("7")) == 1 + len(members)
