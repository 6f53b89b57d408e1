"""What concerns only who asked is shown to that person alone, where the platform can; a model's answers are for all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from playground.model import Reply
from playground.screen import Shown
from tests.journeys.conftest import Start, World

ADA, BOB = 7, 8
PRIVATE = ("help", "tools", "usage", "whoami", "why", "memory", "context")
WAYS = ("slack mention", "slack command", "discord command")


class Room:
    """A channel in which Ada and Bob write to the bot, in one way of one platform."""

    def __init__(self, world: World, way: str) -> None:
        self.platform, self.way = way.split()
        for id, name in ((ADA, "Ada"), (BOB, "Bob")):
            world.slack.person(f"U{id}", name)
            world.discord.person(id, name)
        world.slack.channel("C1", "general")
        world.discord.guild(1, "Guild")
        world.discord.channel(11, 1, "general")
        self.id = "C1" if self.platform == "slack" else "11"
        self.screen = getattr(world, self.platform).screen
        self.world = world
        self.thread = ""

    def use(self, word: str, person: int = ADA, argument: str = "") -> None:
        """Write a command, or ask with `ask`."""
        text = " ".join(part for part in ("" if word == "ask" else word, argument) if part)
        match self.way:
            case "mention":
                # With a slash a word is a command that could be a question (`why`).
                sign = "" if word == "ask" else "/"
                mention = f"<@{self.world.slack.bot_user_id}> {sign}{text}"
                ts = self.world.slack.say(self.id, mention, person=f"U{person}", thread_ts=self.thread)
                self.thread = self.thread or ts
            case _ if self.platform == "slack":
                self.world.slack.command("/parley", text, self.id, f"U{person}")
            case _:
                options = {"ask": "question", "new": "all", "forget": "yes"}
                self.world.discord.slash(word, {options[word]: argument} if argument else {}, 11, person)

    @property
    def shown(self) -> list[Shown]:
        return [one for one in self.screen.of(self.id) if not one.live]

    async def next(self, seen: Callable[[str], object] = bool) -> Shown:
        """The next message of the bot's, once it says what is waited for."""
        count = getattr(self, "_count", 0)
        await self.screen.until(lambda _: len(self.shown) > count and seen(self.shown[count].text))
        self._count = count + 1
        return self.shown[count]


@pytest.mark.parametrize("way", WAYS)
async def test_answers_to_commands_are_for_who_asked_and_answers_to_questions_for_all(
    world: World, start: Start, way: str
) -> None:
    world.model.script = lambda body: Reply("Tea is brewed.")
    room = Room(world, way)
    async with start(room.platform) as bot:
        if room.platform == "discord":
            await world.discord.screen.until(lambda _: world.discord.commands.registered.get(""))
        room.use("ask", argument="How is tea made?")
        answer = await room.next(lambda text: "Tea is brewed." in text)
        await bot.dispatcher.wait_idle()
        private = []
        for word in PRIVATE:
            room.use(word)
            private.append(await room.next())
            await bot.dispatcher.wait_idle()

    assert not answer.ephemeral
    assert [one.ephemeral for one in private] == [True] * len(PRIVATE), [one.text for one in private]
    assert "U7" in private[3].text or "discord:7" in private[3].text
    assert not any(one.live for one in room.screen.of(room.id))


@pytest.mark.parametrize("way", WAYS)
async def test_refusals_are_for_who_is_refused(world: World, start: Start, way: str) -> None:
    world.model.script = lambda body: Reply("Tea is brewed.")
    room = Room(world, way)
    async with start(room.platform, MESSAGES_PER_MINUTE="1") as bot:
        if room.platform == "discord":
            await world.discord.screen.until(lambda _: world.discord.commands.registered.get(""))
        room.use("ask", argument="How is tea made?")
        await room.next(lambda text: "Tea is brewed." in text)
        await bot.dispatcher.wait_idle()
        room.use("retry", BOB)
        refused = await room.next()
        await bot.dispatcher.wait_idle()
        room.use("ask", BOB, "And coffee?")
        too_many = await room.next()
        await bot.dispatcher.wait_idle()

    assert refused.ephemeral and "Only the person who asked" in refused.text
    assert too_many.ephemeral and "a lot of messages" in too_many.text
    # Nothing is left thinking where everybody sees it.
    assert not any(one.live for one in room.screen.of(room.id))


async def test_a_stranger_is_refused_in_private_where_the_platform_waits_for_an_answer(
    world: World, start: Start
) -> None:
    room = Room(world, "discord command")
    async with start("discord", ALLOW_ALL="false", ALLOWED_USERS="discord:7") as bot:
        await world.discord.screen.until(lambda _: world.discord.commands.registered.get(""))
        for word in ("ask", "help"):
            room.use(word, BOB, "How is tea made?" if word == "ask" else "")
            refused = await room.next()
            await bot.dispatcher.wait_idle()
            assert refused.ephemeral and "discord:8" in refused.text

    assert not any(one.live for one in room.screen.of(room.id))


async def test_where_others_cannot_be_kept_from_reading_the_answer_is_shown_as_any_other(
    world: World, start: Start
) -> None:
    """Telegram has no messages for one reader, nor has Discord for a mention."""
    room = Room(world, "discord command")
    world.telegram.person(ADA, "Ada")
    world.telegram.group(-50, "Friends")
    async with start("telegram", "discord"):
        world.telegram.say(-50, f"/whoami@{world.telegram.bot['username']}", person=ADA)
        world.discord.say(11, f"{world.discord.mention()} whoami", person=ADA)
        await world.telegram.screen.until(lambda screen: screen.of("-50"))
        await room.next()

    assert "telegram:7" in world.telegram.screen.of("-50")[0].text
    assert "discord:7" in room.shown[0].text and not room.shown[0].ephemeral
