"""`kill -9` while a repeated reminder comes, on all three platforms at once: none lost, none twice.

The whole matrix of sixty kills, 180 reminders: `pytest -m soak tests/journeys/test_kill_reminders.py`.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from contextlib import closing
from functools import partial

import pytest

from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Process, World
from tests.journeys.test_kill import PLATFORMS, POSTS, Chats, Outside

RULE = "0 0 1 1 *"
"""Its next time is far away, so that what comes again came twice."""


def script(body: RawJson, *, ask: bool = False) -> Reply:
    """Set a reminder where one is asked for, and answer what one asks."""
    last = body["messages"][-1]
    if last["role"] == "user" and "Stretch" in str(last["content"]):
        return Reply(f"I answer what was to be asked, end-of-{str(last['content']).rsplit('-', 1)[1]}")
    if last["role"] == "user" and "tell" in str(last["content"]):
        name = str(last["content"]).rsplit(" ", 1)[1]
        return Reply(
            calls=(
                (
                    "remind_me",
                    {
                        "text": f"Stretch now, for-{name}" if ask else f"Stretch now, end-of-{name}",
                        "every": RULE,
                        "ask": ask,
                    },
                ),
            )
        )
    return Reply("Done.")


def timers(world: World) -> list[tuple[float, float | None]]:
    """When each is due, and when it came."""
    with closing(sqlite3.connect(world.data / "parley.db")) as db:
        return db.execute("SELECT due, fired_at FROM timers").fetchall()


async def killed_at(stage: str, world: World, process: Process, seconds: float, *, ask: bool = False) -> None:
    chats, outside = Chats(world), Outside(world)
    world.model.script = partial(script, ask=ask)
    await process.start()
    await chats.ready()
    chats.ask()
    await chats.until(lambda: all("Done." in chats.texts(name)[-1:] for name in PLATFORMS))
    assert await process.stop() == 0
    with closing(sqlite3.connect(world.data / "parley.db")) as db, db:
        db.execute("UPDATE timers SET due = ?", (time.time() + 0.2,))

    if stage != "any":
        for name in PLATFORMS:
            outside.hold(getattr(world, name), POSTS[name], after=stage == "after the post")
    await process.start()
    await chats.ready(starts=2)
    if stage == "any":
        # A real moment of a real process: there is nothing to wait for.
        await asyncio.sleep(seconds)
    else:
        await chats.until(lambda: outside.reached == len(PLATFORMS))
    await process.kill()
    outside.let_go.set()
    for name in PLATFORMS:
        getattr(world, name).faults.clear()

    for starts in (3, 4):
        await process.start()
        await chats.ready(starts=starts)
        await chats.until(lambda: all(chats.whole(name) for name in PLATFORMS))
        assert await process.stop() == 0
    for name in PLATFORMS:
        assert chats.whole(name) == 1, f"{name}: {chats.texts(name)}"
    found = timers(world)
    assert len(found) == 3 and all(due > time.time() and fired is not None for due, fired in found)


STAGES = ("before the post", "after the post", "any")


@pytest.mark.parametrize("stage", STAGES)
async def test_a_kill_while_a_repeated_reminder_comes_neither_loses_nor_doubles_it(
    stage: str, world: World, process: Process
) -> None:
    await killed_at(stage, world, process, 0.05)


@pytest.mark.parametrize("stage", ["before the post", "after the post"])
async def test_a_kill_while_a_question_of_a_reminder_is_answered_neither_loses_nor_doubles_it(
    stage: str, world: World, process: Process
) -> None:
    await killed_at(stage, world, process, 0.0, ask=True)


@pytest.mark.soak
@pytest.mark.parametrize("time", range(20))
@pytest.mark.parametrize("stage", STAGES)
async def test_twenty_kills_at_every_stage_of_a_reminder(stage: str, time: int, world: World, process: Process) -> None:
    await killed_at(stage, world, process, random.Random(time).uniform(0.0, 0.6))
