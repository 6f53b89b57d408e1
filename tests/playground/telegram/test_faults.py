"""Faults on request: whether a call was done or not, the screen tells."""

from __future__ import annotations

import asyncio

import pytest
from telegram import Bot
from telegram.error import NetworkError

from playground.faults import Fault
from playground.telegram import TelegramServer


async def test_a_connection_that_drops_before_or_after_the_work(free: TelegramServer, bot: Bot) -> None:
    free.faults.add("sendMessage", Fault(drop="before"))
    free.faults.add("sendMessage", Fault(drop="after"))

    for text in ("lost", "done"):
        with pytest.raises(NetworkError):
            await bot.send_message(7, text)

    assert [shown.text for shown in free.screen.of("7")] == ["done"]
    assert [call.status for call in free.calls_of("sendMessage")] == [0, 200]


async def test_a_call_can_be_held_before_and_after_the_work(free: TelegramServer, bot: Bot) -> None:
    before = free.faults.add("sendMessage", Fault(hold=asyncio.Event(), hold_after=asyncio.Event()))
    assert before.hold is not None and before.hold_after is not None
    sending = asyncio.create_task(bot.send_message(7, "slow"))

    await before.reached.wait()
    assert free.screen.of("7") == []
    before.hold.set()
    await free.screen.until(lambda screen: screen.of("7"))
    assert not sending.done()
    before.hold_after.set()

    assert (await sending).text == "slow"


async def test_a_gateway_error_comes_with_the_body_a_test_wants(free: TelegramServer, bot: Bot) -> None:
    free.faults.add("*", Fault(status=502, body="<html>Bad Gateway</html>"))
    free.faults.add("sendMessage", Fault(status=500))

    for words in ("Bad Gateway", "Internal Server Error"):
        with pytest.raises(NetworkError, match=words):
            await bot.send_message(7, "x")

    assert free.screen.of("7") == []


async def test_leaving_ends_polls_that_still_wait() -> None:
    async with TelegramServer() as server, Bot(server.token, base_url=f"{server.base_url}/bot") as bot:
        arrived = server.faults.add("getUpdates", Fault()).reached
        poll = asyncio.create_task(bot.get_updates(timeout=50))
        await arrived.wait()
        await server.world.updates.close()

        assert list(await poll) == []
