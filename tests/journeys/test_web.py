"""What platforms post to the public address: answered in the chat, once, and nothing of what others post."""

from __future__ import annotations

import asyncio
import json

import pytest

from adapters.telegram.webhook import secret_of
from playground.model import Reply
from playground.screen import Screen
from tests.journeys.conftest import Process, Start, World
from tests.patience import PATIENCE
from tests.web import Web, free_port, signer

ADA = 7


@pytest.fixture
def web(world: World) -> Web:
    """The bot's public address, which its settings name."""
    web = Web()
    web.port = free_port()
    world.settings |= {"TELEGRAM_WEBHOOK_URL": f"{web.address}/telegram", "WEB_PORT": str(web.port)}
    world.telegram.person(ADA, "Ada")
    return web


def shown(world: World) -> list[str]:
    return [message.text for message in world.telegram.screen.of(str(ADA))]


def stands(screen: Screen, chat: str, answer: str) -> bool:
    """Whether an answer is shown."""
    return any(answer in message.text for message in screen.of(chat))


async def test_a_question_in_slack_is_posted_and_answered_once(world: World, start: Start, web: Web) -> None:
    world.settings |= {"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": world.slack.signing_secret}
    world.slack.person("U1", "ada")
    world.slack.channel("C1", "general")
    world.slack.deliver_to(f"{web.address}/slack")
    world.model.reply(Reply("Tea is a leaf."), Reply("Coffee is a bean."))
    async with start("slack") as bot:
        world.slack.say("C1", f"<@{world.slack.bot_user_id}> what is tea", person="U1")
        await world.slack.screen.until(lambda screen: stands(screen, "C1", "Tea is a leaf."))
        world.slack.redeliver(world.slack.deliveries[0].id)
        world.slack.command("/parley", "what is coffee", "C1", person="U1")
        await world.slack.screen.until(lambda screen: stands(screen, "C1", "Coffee is a bean."))
        await bot.dispatcher.wait_idle()
        await world.slack.until_delivery(lambda all: all[0].acked.is_set())
        assert bot.metrics.posts.value("slack", "200") >= 3

    assert len(world.model.requests) == 2
    assert world.slack.sockets.connections == []


async def test_a_command_in_discord_is_posted_and_answered_and_a_mention_comes_over_the_gateway(
    world: World, start: Start, web: Web
) -> None:
    discord = signer()
    world.settings["DISCORD_PUBLIC_KEY"] = discord.public_key
    world.discord.guild(10, "Library")
    world.discord.person(1, "Ada")
    world.discord.channel(20, 10, "general")
    world.model.reply(Reply("Tea is a leaf."), Reply("Coffee is a bean."))
    async with start("discord") as bot:
        posts = await world.discord.deliver_to(f"{web.address}/discord", discord)
        world.discord.slash("ask", {"question": "what is tea"}, "20", 1)
        await world.discord.screen.until(lambda screen: stands(screen, "20", "Tea is a leaf."))
        world.discord.say("20", f"{world.discord.mention()} what is coffee", person=1)
        await world.discord.screen.until(lambda screen: stands(screen, "20", "Coffee is a bean."))
        await bot.dispatcher.wait_idle()

    assert posts is not None and posts.statuses == [202]
    assert len(world.model.requests) == 2


async def test_a_question_in_telegram_is_posted_and_answered(world: World, start: Start, web: Web) -> None:
    world.model.reply(Reply("Tea is a leaf."), Reply("Coffee is a bean."))
    async with start("telegram") as bot:
        id = world.telegram.say(ADA, "what is tea", person=ADA)
        await world.telegram.screen.until(lambda screen: shown(world) == ["Tea is a leaf."])
        world.telegram.redeliver(id)
        world.telegram.say(ADA, "what is coffee", person=ADA)
        await world.telegram.screen.until(lambda screen: len(shown(world)) > 1)
        await bot.dispatcher.wait_idle()
        counted = bot.metrics.posts.value("telegram", "200")

    assert shown(world) == ["Tea is a leaf.", "Coffee is a bean."]
    assert (len(world.model.requests), counted) == (2, 3)
    assert world.telegram.calls_of("getUpdates") == []


async def test_what_others_post_for_telegram_is_refused(world: World, start: Start, web: Web) -> None:
    async with start("telegram") as bot:
        update = {"update_id": 1, "message": {"message_id": 1, "text": "hello"}}
        for header in ([], [("X-Telegram-Bot-Api-Secret-Token", b"guess")]):
            assert await web.post("telegram", header, json.dumps(update).encode()) == 401
        assert bot.metrics.posts.value("telegram", "401") == 2

    assert world.model.requests == [] and shown(world) == []


async def test_what_was_written_in_telegram_around_a_kill_is_answered_once(
    world: World, process: Process, web: Web
) -> None:
    world.model.script = lambda body: Reply(f"Answer to: {body['messages'][-1]['content']}")
    world.telegram.say(ADA, "one", person=ADA)
    await process.start()
    await world.telegram.screen.until(lambda screen: shown(world) == ["Answer to: one"], 60)
    await process.kill()
    second = world.telegram.say(ADA, "two", person=ADA)
    await process.start()
    await world.telegram.screen.until(lambda screen: shown(world)[1:] == ["Answer to: two"], 60)
    world.telegram.redeliver(second)
    world.telegram.say(ADA, "three", person=ADA)
    await world.telegram.screen.until(lambda screen: shown(world)[2:] == ["Answer to: three"], 60)
    async with asyncio.timeout(PATIENCE):
        while world.telegram.world.updates.waiting:
            await asyncio.sleep(0.01)

    assert await process.stop() == 0
    assert shown(world) == [f"Answer to: {word}" for word in ("one", "two", "three")]
    assert secret_of(world.telegram.token) not in process.said
