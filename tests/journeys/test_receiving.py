"""What goes wrong while messages are taken in, and the answers that are being written meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from adapters.discord.adapter import DiscordAdapter
from adapters.slack.adapter import SlackAdapter
from adapters.telegram.adapter import TelegramAdapter
from bot.contract.surface import Deliver
from playground.model import Reply
from tests.journeys.conftest import Start, World
from tests.patience import PATIENCE

ANSWER = " ".join(f"word{number}" for number in range(60)) + " end-of-answer"
ADAPTERS: dict[str, type[TelegramAdapter | SlackAdapter | DiscordAdapter]] = {
    "telegram": TelegramAdapter,
    "slack": SlackAdapter,
    "discord": DiscordAdapter,
}


@pytest.mark.parametrize("platform", ADAPTERS)
async def test_an_error_in_receiving_disturbs_no_answer_and_what_comes_later_is_heard(
    platform: str, world: World, start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    adapter, broken, listens = ADAPTERS[platform], asyncio.Event(), 0
    listen = adapter.listen

    async def listen_until_broken(self: Any, deliver: Deliver) -> None:
        nonlocal listens
        listens += 1
        receiving = asyncio.create_task(listen(self, deliver))
        breaking = asyncio.create_task(broken.wait())
        try:
            await asyncio.wait({receiving, breaking} if listens == 1 else {receiving}, return_when="FIRST_COMPLETED")
            raise KeyError("what Ada wrote")
        finally:
            for task in (receiving, breaking):
                task.cancel()
            await asyncio.gather(receiving, breaking, return_exceptions=True)

    monkeypatch.setattr(adapter, "listen", listen_until_broken)
    server = getattr(world, platform)
    person = {"telegram": 7, "slack": "U7", "discord": 7}[platform]
    server.person(person, "Ada")
    chats: dict[str, Callable[[], int | str]] = {
        "telegram": lambda: 7,
        "slack": lambda: world.slack.direct("U7"),
        "discord": lambda: world.discord.direct(7).id,
    }
    chat = chats[platform]()
    go_on = asyncio.Event()
    world.model.reply(Reply(ANSWER, hang_after=40, until=go_on, words_per_second=300), Reply("Second answer."))
    async with start(platform) as bot:
        server.say(chat, "please tell me", person=person)
        await server.screen.until(lambda screen: screen.of(str(chat)))
        broken.set()
        async with asyncio.timeout(PATIENCE):
            while listens < 2 or bot.platforms.state[platform] != "listening":
                await asyncio.sleep(0.01)
        go_on.set()
        await server.screen.until(lambda screen: [one.text for one in screen.of(str(chat))] == [ANSWER])
        server.say(chat, "and then, please", person=person)
        await server.screen.until(
            lambda screen: [one.text for one in screen.of(str(chat))] == [ANSWER, "Second answer."], 30
        )

    assert len(world.model.requests) == 2
    assert "failed, trying again: KeyError" in caplog.text
    assert "Traceback" not in caplog.text and "what Ada wrote" not in caplog.text
