"""A forward to a group and the comment on it are one question, whichever of several processes receives each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from bot.contract import MessageSent, StoreError
from bot.intake.parts import Parts
from tests.bot.conftest import OpenRig, Rig
from tests.bot.intake.test_parts import MILK, aside, asked, script, to_bot
from tests.conftest import FakeClock


@asynccontextmanager
async def elsewhere(it: Rig, clock: FakeClock) -> AsyncIterator[Parts]:
    """What another process knows of parts, which stores what it finds in the same database."""
    clock.started = it.message("").sent_at or clock.started
    parts = Parts(store=it.bot.store, clock=clock, found=it.bot.dispatcher.deliver)
    try:
        yield parts
    finally:
        await parts.close()


async def looked(clock: FakeClock, it: Rig) -> None:
    """Let the other process look as often as it does."""
    for _ in range(20):
        await clock.advance(0.25)
    await it.idle()


@pytest.fixture
def other(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock of the other process; what is stored lately is stored by the real one."""
    monkeypatch.setattr("bot.intake.parts._STORED_SECONDS", 1e9)
    return clock


@pytest.mark.parametrize("first", ["comment", "forward", "forwards"])
async def test_a_forward_that_another_process_received_is_a_part_of_its_comment(
    rig: OpenRig, other: FakeClock, first: str
) -> None:
    async with rig() as it, elsewhere(it, other) as parts:
        it.model.script = script
        sent = [aside(it), *([aside(it, MILK)] if first == "forwards" else [])]
        comment = to_bot(it, at=100.5)
        if first == "comment":
            await it.deliver(comment)
            await it.idle()
        for one in sent:
            assert parts.gather(one) is None
        if first != "comment":
            await other.advance(0.5)
            await it.deliver(comment)
        await looked(other, it)

        assert len(it.shown()) == 1 and "Tea is" in asked(it) and "True?" in asked(it)
        assert ("Milk is" in asked(it)) == (first == "forwards")
        # Neither is asked again where it is delivered again, to whichever process.
        await it.deliver(comment)
        for one in sent:
            parts.gather(one)
        await looked(other, it)
        assert len(it.shown()) == 1


UNREAD = {
    "no comment": lambda it: [],
    "somebody else's": lambda it: [to_bot(it, person="telegram:8")],
    "in another group": lambda it: [to_bot(it, chat="8")],
    "long before": lambda it: [to_bot(it, at=98.0)],
    "a command": lambda it: [to_bot(it, "/help")],
    "a command behind the comment": lambda it: [to_bot(it, at=99.5), to_bot(it, "/help")],
}


@pytest.mark.parametrize("comments", UNREAD.values(), ids=UNREAD)
async def test_any_other_forward_stays_unread_and_is_not_stored(
    rig: OpenRig, other: FakeClock, comments: object
) -> None:
    async with rig() as it, elsewhere(it, other) as parts:
        it.model.script = script
        await it.deliver(*comments(it))  # type: ignore[operator]  # each makes its messages
        await it.idle()
        assert parts.gather(aside(it)) is None
        await looked(other, it)

        assert "Tea is" not in str([one.body for one in it.model.requests])
        stored = await it.bot.store.intake.list_newest("telegram:7", 0.0)
        assert not any(one.quotes for one in stored)


async def test_a_forward_belongs_to_one_comment_wherever_that_came(rig: OpenRig, other: FakeClock) -> None:
    """What its person writes next, which the process of the forward receives, does not bring it a second time."""
    async with rig() as it, elsewhere(it, other) as parts:
        it.model.script = script
        await it.deliver(to_bot(it))
        await it.idle()
        assert parts.gather(aside(it)) is None
        await looked(other, it)
        second = parts.gather(to_bot(it, "And milk?", at=101.0))
        assert isinstance(second, MessageSent) and not second.quotes
        await it.deliver(second)
        await it.idle()

        assert "And milk?" in asked(it) and asked(it).count("Tea is") == 1


async def test_a_comment_that_its_own_process_receives_first_takes_the_forward(rig: OpenRig, other: FakeClock) -> None:
    async with rig() as it, elsewhere(it, other) as parts:
        it.model.script = script
        forward = aside(it)
        assert parts.gather(forward) is None
        joined = parts.gather(to_bot(it))
        assert isinstance(joined, MessageSent) and joined.quotes
        await it.deliver(joined)
        await looked(other, it)

        assert len(it.shown()) == 1 and asked(it).count("Tea is") == 1


async def test_a_store_that_fails_meanwhile_is_asked_again(
    rig: OpenRig, other: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig() as it:
        it.model.script = script
        failing = [StoreError("the database is locked")]

        async def deliver(message: MessageSent) -> None:
            if failing:
                raise failing.pop()
            await it.bot.dispatcher.deliver(replace(message))

        parts = Parts(store=it.bot.store, clock=other, found=deliver)
        await it.deliver(to_bot(it))
        await it.idle()
        assert parts.gather(aside(it)) is None
        await looked(other, it)
        await asyncio.gather(parts.close())

        assert len(it.shown()) == 1 and "Tea is" in asked(it)
