"""What becomes of an answer to a slash command of Discord when its interaction's token ends before it does."""

from __future__ import annotations

import asyncio

import pytest

from playground.model import Reply
from tests.journeys.conftest import Process, World
from tests.journeys.test_deadline import until

BEGUN = "The answer begins here. "
ANSWER = BEGUN + "This is one of its many sentences. " * 80 + "It ends with end-of-answer."
TOKEN_LIVES = 900


@pytest.mark.parametrize("restarts", [False, True], ids=["in one process", "after a kill"])
@pytest.mark.parametrize("begun", [False, True], ids=["nothing shown", "a part shown"])
async def test_an_answer_that_outlives_its_token_is_whole_and_stands_once(
    world: World, process: Process, begun: bool, restarts: bool
) -> None:
    discord, gate = world.discord, asyncio.Event()
    discord.person(7, "Ada")
    discord.guild(1, "Guild")
    discord.channel(11, 1, "general")
    world.model.script = lambda body: Reply(ANSWER, hang_after=12 if begun else 0, until=gate)
    await process.start()
    await until(lambda: discord.commands.find("ask", "1") is not None)
    await discord.gateway.until_ready(1)
    made = discord.slash("ask", {"question": "why?"}, 11, 7)
    await world.model.asked(1)
    if begun:
        await discord.screen.until(lambda screen: any("The answer" in one.text for one in screen.of("11")), 15)
    if restarts:
        await process.kill()
    made.at -= TOKEN_LIVES + 1
    gate.set()
    if restarts:
        await process.start()
    # Within seconds of the acknowledgement, the same refusal may only mean that Discord does not know it yet.
    await discord.screen.until(lambda screen: any("end-of-answer" in one.text for one in screen.of("11")), 45)
    assert await process.stop() == 0

    pages = [one.text for one in discord.screen.of("11") if one.text]
    assert " ".join(" ".join(pages).split()) == " ".join(f"why? {ANSWER}".split())
    assert len(pages) == 2
