"""Questions that reminders ask the model: a turn of its own at its time, with an allowance of its own."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing

from bot.contract import Incoming, StoreError
from bot.contract.limits import Limits
from bot.store import Claim, Ensure
from playground.model import Reply
from tests.journeys.conftest import Start, World
from tests.journeys.test_tools import ADA, ask
from tests.patience import PATIENCE


def setting(text: str, delay: str = "1 second") -> tuple[Reply, Reply]:
    return Reply(calls=(("remind_me", {"text": text, "delay": delay, "ask": True}),)), Reply("I will.")


async def _until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not seen():
            await asyncio.sleep(0.01)


async def test_the_model_answers_at_its_time_in_the_chat_and_only_so_often_a_day(world: World, start: Start) -> None:
    world.model.reply(*setting("What is tea?"), Reply("Tea is a leaf."), *setting("What is milk?"))
    world.limits = Limits(scheduled_per_day=1)
    async with start("telegram", TOOL_MODE="native") as bot:
        await ask(world, bot, "please look up in a second what tea is")
        await world.telegram.screen.until(lambda screen: len(screen.of(str(ADA))) == 2)
        await bot.dispatcher.wait_idle()
        asked = world.model.requests[-1].messages[-1]["content"]
        await ask(world, bot, "and then please what milk is, in a second")
        await world.telegram.screen.until(lambda screen: len(screen.of(str(ADA))) == 4)
        await bot.dispatcher.wait_idle()

    texts = [message.text for message in world.telegram.screen.of(str(ADA))]
    assert texts[:2] == ["I will.", "Tea is a leaf."] and "What is tea?" in asked
    assert "What is milk?" in texts[3] and "today's limit of 1 question" in texts[3]


async def test_six_in_the_same_minute_are_all_answered_by_a_slow_model(world: World, start: Start) -> None:
    """They wait for each other, and what their person writes meanwhile waits like any message."""
    asked = [f"What is number {number}?" for number in range(6)]
    let_go = asyncio.Event()
    world.model.reply(*(reply for text in asked for reply in setting(text, "1 hour")))
    async with start("telegram", TOOL_MODE="native") as bot:
        for text in asked:
            await ask(world, bot, f"please look up in an hour: {text}")
        world.model.script = lambda body: Reply("Seen.", hang_before_headers=not let_go.is_set(), until=let_go)
        with closing(sqlite3.connect(world.data / "parley.db")) as db, db:
            db.execute("UPDATE timers SET due = due - 3600")
        bot.store.timers.changed.set()
        await world.model.asked(13)
        await _until(lambda: bot.dispatcher.queue.length == 5)
        world.telegram.say(ADA, "and what is tea?", person=ADA)
        await _until(lambda: bot.dispatcher.queue.length == 6)
        let_go.set()
        await bot.dispatcher.wait_idle()

    said = [message.text for message in world.telegram.screen.of(str(ADA))]
    assert len([text for text in said if "Seen." in text]) == 7
    told = [request.messages[-1]["content"] for request in world.model.requests[12:]]
    assert all(any(text in one for one in told) for text in (*asked, "what is tea?"))


async def test_one_that_was_missed_is_said_in_a_line_and_no_model_is_asked(world: World, start: Start) -> None:
    world.model.reply(*setting("What is tea?"))
    async with start("telegram", TOOL_MODE="native") as bot:
        await ask(world, bot, "please look up in a second what tea is")
        with closing(sqlite3.connect(world.data / "parley.db")) as db, db:
            db.execute("UPDATE timers SET due = due - 7200")
        bot.store.timers.changed.set()
        await world.telegram.screen.until(lambda screen: len(screen.of(str(ADA))) == 2)
        await bot.dispatcher.wait_idle()

    assert world.telegram.screen.of(str(ADA))[1].text.endswith("so I did not answer this: What is tea?")
    assert len(world.model.requests) == 2


async def test_one_that_was_taken_in_before_a_crash_is_answered_at_the_next_start(world: World, start: Start) -> None:
    """It was taken in longer ago than a person's message would still be answered."""
    world.model.reply(*setting("What is tea?", "1 hour"), Reply("Tea is a leaf."))
    async with start("telegram", TOOL_MODE="native") as bot:
        await ask(world, bot, "please look up in a second what tea is")
        [timer] = await bot.store.timers.list_due(time.time() + 7200.0, ["telegram"])
        await bot.store.intake.take_in(timer.to_delivery(timer.due), bot.store.timers.claim(timer))
    with closing(sqlite3.connect(world.data / "parley.db")) as db, db:
        db.execute("UPDATE inbox SET received_at = received_at - 3600 WHERE state = 'new'")

    async with start("telegram") as bot:
        await world.telegram.screen.until(lambda screen: len(screen.of(str(ADA))) == 2)
        await bot.dispatcher.wait_idle()

    assert world.telegram.screen.of(str(ADA))[1].text == "Tea is a leaf."


async def test_a_store_that_fails_is_not_told_of_where_nobody_wrote(world: World, start: Start) -> None:
    world.model.reply(*setting("What is tea?"), Reply("Tea is a leaf."))
    async with start("telegram", TOOL_MODE="native") as bot:
        failures = 0
        take_in = bot.store.intake.take_in

        async def fails_once(
            incoming: Incoming, claim: Claim | None = None, ensure: Ensure | None = None
        ) -> int | None:
            nonlocal failures
            if claim is not None and not failures:
                failures += 1
                raise StoreError("The disk is full.")
            return await take_in(incoming, claim, ensure)

        bot.store.intake.take_in = fails_once  # type: ignore[method-assign]
        await ask(world, bot, "please look up in a second what tea is")
        await world.telegram.screen.until(lambda screen: len(screen.of(str(ADA))) == 2)
        await bot.dispatcher.wait_idle()

    texts = [message.text for message in world.telegram.screen.of(str(ADA))]
    assert failures == 1 and texts == ["I will.", "Tea is a leaf."]
