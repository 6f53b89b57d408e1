"""What keeps answers from people is told to the owner, once, with its cause."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from bot.app import App
from bot.intake.alarm import LOOK_SECONDS
from playground.faults import Fault
from playground.model import Reply
from tests.journeys.conftest import Start, World
from tests.patience import PATIENCE

FOR_THE_OPERATOR = "For the operator:"
TOLD_WITHIN = 30.0
PLATFORMS = ("telegram", "slack", "discord")
ADMINS = "telegram:7,slack:T0PARLEY/U7,discord:7"
WORDS = " ".join(f"word{number}" for number in range(12))


@dataclass
class Owner:
    """Has written to the bot in private on each platform."""

    world: World
    bot: App
    chats: dict[str, str]

    def say(self, platform: str, words: str) -> None:
        match platform:
            case "telegram":
                self.world.telegram.say(7, words, person=7)
            case "slack":
                self.world.slack.say(self.chats["slack"], words, person="U7")
            case _:
                self.world.discord.say(self.chats["discord"], words, person=7)

    def told(self) -> list[str]:
        """The lines for the operator, on all platforms."""
        return [
            message.text
            for platform, chat in self.chats.items()
            for message in getattr(self.world, platform).screen.of(chat)
            if FOR_THE_OPERATOR in message.text
        ]

    async def hears(self, words: str) -> None:
        """Wait until the owner is told these words, and a while, in which nothing more may come."""
        until = asyncio.get_running_loop().time() + TOLD_WITHIN
        while not self.told() and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.1)
        await asyncio.sleep(3 * LOOK_SECONDS)
        [line] = self.told()
        assert words in line


@asynccontextmanager
async def owner_of(world: World, start: Start, *platforms: str, **settings: str) -> AsyncIterator[Owner]:
    world.model.script = lambda body: Reply("Fine.")
    async with start(*platforms, ALLOW_ALL="true", ADMINS=ADMINS, **settings) as bot:
        world.telegram.person(7, "Ada")
        world.slack.person("U7", "Ada")
        world.discord.person(7, "Ada")
        chats = {"telegram": "7", "slack": world.slack.direct("U7"), "discord": world.discord.direct(7).id}
        owner = Owner(world, bot, {platform: chats[platform] for platform in platforms})
        for platform in platforms:
            owner.say(platform, "how are you?")
            await getattr(world, platform).screen.until(
                lambda screen, chat=chats[platform]: [one.text for one in screen.of(chat) if one.author == "bot"]
            )
        yield owner


DEAF: dict[str, tuple[str, str, Fault, str]] = {
    "a server in trouble": ("telegram", "getUpdates", Fault(status=502), "from Telegram: "),
    "a cut line": ("telegram", "getUpdates", Fault(drop="before"), "from Telegram: "),
    "another program": (
        "telegram",
        "getUpdates",
        Fault(status=409, body='{"ok":false,"error_code":409,"description":"Conflict: terminated"}'),
        "another program receives with the same TELEGRAM_BOT_TOKEN",
    ),
}


@pytest.mark.parametrize("kind", DEAF)
async def test_a_platform_that_goes_deaf_is_told_on_another(world: World, start: Start, kind: str) -> None:
    platform, method, fault, words = DEAF[kind]
    async with owner_of(world, start, "telegram", "slack") as owner:
        getattr(world, platform).faults.add(method, fault, 100_000)
        await owner.hears(words)


async def test_sockets_that_are_lost_for_good_are_told(world: World, start: Start) -> None:
    async with owner_of(world, start, "telegram", "slack") as owner:
        world.slack.faults.add("apps.connections.open", Fault(status=500), 100_000)
        await world.slack.sockets.drop()
        await owner.hears("from Slack: ")


async def test_a_platform_that_is_away_for_a_moment_is_nothing_to_tell(world: World, start: Start) -> None:
    async with owner_of(world, start, "telegram", "slack") as owner:
        world.slack.faults.add("apps.connections.open", Fault(status=500), 1)
        await world.slack.sockets.drop()
        world.telegram.faults.add("getUpdates", Fault(status=502), 3)
        await asyncio.sleep(2 * TOLD_WITHIN)
        assert not owner.told()


async def test_a_store_that_cannot_write_is_told_though_nothing_can_be_stored(world: World, start: Start) -> None:
    async with owner_of(world, start, "telegram") as owner:
        (world.data / "parley.db").rename(world.data / "elsewhere.db")
        owner.say("telegram", "and now?")
        await owner.hears("The database was moved away")


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_readers_who_wait_for_a_slow_model_are_told_of(world: World, start: Start, platform: str) -> None:
    async with owner_of(world, start, platform) as owner:
        world.model.script = lambda body: Reply(WORDS, words_per_second=0.6)
        for number in range(3):
            owner.say(platform, f"question {number}")
            await asyncio.sleep(1.0)
        async with asyncio.timeout(PATIENCE):
            while owner.bot.metrics.reader_waits.above(5.0) < 3:
                await asyncio.sleep(0.1)
        await owner.hears("writes slowly")
