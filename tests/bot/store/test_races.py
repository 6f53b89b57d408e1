"""What two processes do in the same instant through two stores on one database happens once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.contract.messages import ChatId, ReplyTarget, Sender
from bot.contract.transcript import AssistantEntry, Usage, UserEntry
from bot.store import Store, TurnState
from tests.bot.store.conftest import HandClock, Message, taken_in
from tools.contract.base import NewReminder

CHAT = ChatId("telegram", "42", "7")


@pytest.fixture
async def other(store: Store, url: str, clock: HandClock) -> AsyncIterator[Store]:
    """The second process's."""
    async with Store.open(url, clock=clock) as opened:
        yield opened


async def test_what_is_said_once_is_said_by_one_of_two_processes(store: Store, other: Store) -> None:
    for number in range(20):
        said = await asyncio.gather(*(one.access.claim(f"once {number}", 60.0) for one in (store, other)))
        assert sorted(said) == [False, True]


async def test_a_pairing_code_makes_one_owner_though_two_processes_are_told_it(
    store: Store, other: Store, clock: HandClock
) -> None:
    for number in range(10):
        await store.access.set_pairing(f"hash {number}", clock.wall() + 900)
        used = await asyncio.gather(
            store.access.use_pairing(f"hash {number}", f"telegram:{number}"),
            other.access.use_pairing(f"hash {number}", f"slack:{number}"),
        )
        assert sum(one is not None for one in used) == 1
    assert len(await other.access.list_roles()) == 10


async def test_of_two_summaries_that_follow_the_same_one_stays(store: Store, other: Store, message: Message) -> None:
    turn = await taken_in(store, message("1", where=CHAT))
    await store.turns.open(turn, CHAT, "telegram:7")
    entries = (UserEntry("Tea?"), AssistantEntry("A leaf."))
    await store.turns.close(
        turn, TurnState.DONE, entries, visible="A leaf.", reasoning="", model="openai:m", usage=Usage()
    )

    await asyncio.gather(
        store.history.set_summary(CHAT, "one", 1, first=1, after=0),
        other.history.set_summary(CHAT, "two", 2, first=1, after=0),
    )

    kept = await other.history.get_summary(CHAT)
    end = await store.history.get_summary_end(CHAT)
    assert kept is not None and (kept.text, end) in (("one", 1), ("two", 2))


async def test_a_reminder_that_two_processes_find_due_is_taken_in_once(
    store: Store, other: Store, clock: HandClock
) -> None:
    sender, target = Sender(id="telegram:7"), ReplyTarget("telegram", {})
    for number in range(10):
        await store.timers.bind(CHAT, sender, target).set(
            str(CHAT), sender.id, NewReminder(clock.wall() + 1, f"Tea {number}!")
        )
    due = await other.timers.list_due(clock.wall() + 2, ["telegram"])

    taken = await asyncio.gather(
        *(
            one.intake.take_in(timer.to_delivery(clock.wall() + 2), one.timers.claim(timer))
            for timer in due
            for one in (store, other)
        )
    )

    assert len(due) == 10 and sum(id is not None for id in taken) == 10
    assert not await store.timers.list_due(clock.wall() + 2, ["telegram"])
