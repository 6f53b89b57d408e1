"""A bot that answers for weeks: of a turn that ended nothing stays in memory but what a stated number bounds."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from contextlib import suppress
from typing import Any

from bot.store.database import Database
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World

OURS = ("bot.", "adapters.", "tools.")
BOUNDED = {
    "bot.contract.messages.MessageDeleted": "what was said on Discord and may be deleted: adapters.discord.events",
    "bot.contract.messages.ChatId": "of these",
    "bot.contract.messages.Sender": "of these",
    "bot.contract.messages.ReplyTarget": "of these",
    "bot.intake.alarm._Counts": "the looks of two minutes: bot.intake.alarm.SPAN_SECONDS",
    "bot.policy.quotas.Payer": "in the contexts of connections, and of timers that asyncio sweeps when half are over",
    "tools.calling.registry._Kept": "results that may be asked for again: tools.calling.registry.CACHE_ENTRIES",
    "tools.contract.base.ToolResult": "of these",
    "tools.contract.base.Source": "of these",
    "bot.markdown.tree.*": "blocks of text that were drawn last: bot.markdown._parsed",
    "task RequestHandler.start": "an emulator's end of a connection: clients keep as many as they ever needed at once",
}
"""What may be more after more turns, and what bounds it."""


def script(body: RawJson) -> Reply:
    question = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
    if body["messages"][-1]["role"] != "tool":
        return Reply("I look.", calls=(("search_web", {"query": question}),), reasoning="It is not known to me.")
    return Reply(f"About {question}: **tea** is a leaf.\n\n- green\n- black")


async def held() -> Counter[str]:
    """How many objects of our own types there are, and tasks by what they run."""
    for database in [one for one in gc.get_objects() if isinstance(one, Database)]:
        # Its thread keeps what it did last, and what came of it, until it does something else.
        with suppress(ValueError):  # closed
            await database.run_together(lambda _: None)
    gc.collect()
    running: list[Any] = [task.get_coro() for task in asyncio.all_tasks()]
    kinds = Counter(f"task {one.__qualname__}" for one in running)
    for one in gc.get_objects():
        kind = type(one)
        if str(kind.__module__).startswith(OURS):
            module, name = kind.__module__, f"{kind.__module__}.{kind.__qualname__}"
            kinds[f"{module}.*" if f"{module}.*" in BOUNDED else name] += 1
    return Counter({name: count for name, count in kinds.items() if name not in BOUNDED})


async def test_a_turn_that_ended_leaves_nothing_behind_on_any_platform(world: World, start: Start) -> None:
    world.model.script = script
    async with start("telegram", "slack", "discord") as bot:
        world.telegram.person(7, "Ada")
        world.slack.person("U7", "Ada")
        world.discord.person(7, "Ada")
        place, direct = world.slack.direct("U7"), world.discord.direct(7)
        number = 0

        async def turns(count: int) -> Counter[str]:
            nonlocal number
            for _ in range(count):
                number += 1
                asked = len(world.model.requests)
                world.telegram.say(7, f"telegram {number}", person=7)
                world.slack.say(place, f"slack {number}", person="U7")
                world.discord.say(direct.id, f"discord {number}", person=7)
                await world.model.asked(asked + 6)
                await bot.dispatcher.wait_idle()
            await bot.summaries.wait_idle()
            return await held()

        after = await turns(1)
        # What is made once, as a budget of the first turn that took long, is there from then on; what is left of each
        # turn is more every time.
        for _ in range(3):
            before, after = after, await turns(2)
            # A library's timer may hold the last turn for a moment more.
            for _ in range(40):
                if not after - before:
                    break
                await asyncio.sleep(0.25)
                after = await held()
            if not after - before:
                break

        assert after - before == Counter()
