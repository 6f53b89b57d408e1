"""A bot that answers for weeks: of a turn that ended nothing stays in memory but what a stated number bounds."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from contextlib import suppress
from typing import Any

from bot.store.database import Database
from playground.model import Reply

OURS = ("bot.", "adapters.", "tools.")
BOUNDED = {
    "bot.contract.messages.MessageDeleted": "what was said on Discord and may be deleted: adapters.discord.intake",
    "bot.contract.messages.ChatId": "of these",
    "bot.contract.messages.Sender": "of these",
    "bot.contract.messages.ReplyTarget": "of these",
    "bot.policy.budgets.Payer": "in the contexts of connections, and of timers that asyncio sweeps when half are over",
    "tools.registry._Kept": "results that may be asked for again: tools.registry.CACHE_ENTRIES",
    "tools.base.ToolResult": "of these",
    "tools.base.Source": "of these",
    "bot.markdown.tree.*": "blocks of text that were drawn last: bot.markdown._parsed",
}
"""What may be more after more turns, and what bounds it."""


def script(body: Any) -> Reply:
    question = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
    if body["messages"][-1]["role"] != "tool":
        return Reply("I look.", calls=(("search_web", {"query": question}),), reasoning="It is not known to me.")
    return Reply(f"About {question}: **tea** is a leaf.\n\n- green\n- black")


async def held() -> Counter[str]:
    """How many objects of our own types there are."""
    for database in [one for one in gc.get_objects() if isinstance(one, Database)]:
        # Its thread keeps what it did last, and what came of it, until it does something else.
        with suppress(ValueError):  # closed
            await database.together(lambda _: None)
    gc.collect()
    kinds: Counter[str] = Counter()
    for one in gc.get_objects():
        kind = type(one)
        if str(kind.__module__).startswith(OURS):
            name = f"{kind.__module__}.{kind.__qualname__}"
            if name not in BOUNDED and f"{kind.__module__}.*" not in BOUNDED:
                kinds[name] += 1
    return kinds


async def test_a_turn_that_ended_leaves_nothing_behind_on_any_platform(world: Any, start: Any) -> None:
    world.model.script = script
    async with start("telegram", "slack", "discord") as bot:
        world.telegram.person(7, "Ada")
        world.slack.person("U7", "Ada")
        world.discord.person(7, "Ada")
        place, direct = world.slack.direct("U7"), world.discord.direct(7)
        number = 0

        async def turns(count: int) -> tuple[Counter[str], int]:
            nonlocal number
            for _ in range(count):
                number += 1
                asked = len(world.model.requests)
                world.telegram.say(7, f"telegram {number}", person=7)
                world.slack.say(place, f"slack {number}", person="U7")
                world.discord.say(direct.id, f"discord {number}", person=7)
                await world.model.asked(asked + 6)
                await bot.dispatcher.idle()
            await bot.summaries.idle()
            return await held(), len(asyncio.all_tasks())

        before, tasks = await turns(1)
        after, tasks_after = await turns(2)
        # A library's timer may hold the last turn for a moment more.
        for _ in range(40):
            if not after - before and tasks_after <= tasks:
                break
            await asyncio.sleep(0.25)
            after, tasks_after = await held(), len(asyncio.all_tasks())

        assert after - before == Counter()
        assert tasks_after <= tasks
