"""In a group nobody ends the conversation of the others: `/new` is for who writes it, `/new all` for admins."""

from __future__ import annotations

import pytest

from playground.model import Reply
from tests.journeys.conftest import Start, World

ADA, BOB = 7, 8


class Room:
    """A place of one platform in which Ada and Bob have one conversation with the bot."""

    def __init__(self, world: World, platform: str) -> None:
        for id, name in ((ADA, "Ada"), (BOB, "Bob")):
            world.telegram.person(id, name)
            world.slack.person(f"U{id}", name)
            world.discord.person(id, name)
        world.telegram.group(-50, "Friends")
        world.slack.channel("C1", "general")
        world.discord.guild(1, "Guild")
        world.discord.channel(11, 1, "general")
        self.world, self.platform = world, platform
        self.id = {"telegram": "-50", "slack": "C1", "discord": "11"}[platform]
        self.thread = ""

    async def say(self, person: int, text: str, answer: str) -> None:
        """Write with a mention, and wait for one more message of the bot that says `answer`."""
        screen = getattr(self.world, self.platform).screen
        count = len(screen.of(self.id))
        match self.platform:
            case "telegram":
                name = self.world.telegram.bot["username"]
                addressed = text.replace("/new", f"/new@{name}") if text.startswith("/") else f"@{name} {text}"
                self.world.telegram.say(-50, addressed, person=person)
            case "slack":
                mention = f"<@{self.world.slack.bot_user_id}> {text}"
                ts = self.world.slack.say("C1", mention, person=f"U{person}", thread_ts=self.thread)
                self.thread = self.thread or ts
            case _:
                self.world.discord.say(11, f"{self.world.discord.mention()} {text}", person=person)
        await screen.until(lambda _: len(screen.of(self.id)) > count and answer in screen.of(self.id)[-1].text)


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_a_person_begins_anew_alone_and_an_admin_for_all(world: World, start: Start, platform: str) -> None:
    world.model.script = lambda body: Reply("Noted.")
    room = Room(world, platform)
    admin = {"telegram": "telegram:8", "slack": "slack:T0PARLEY/U8", "discord": "discord:8"}[platform]
    async with start(platform, ADMINS=admin) as bot:
        for person, text, answer in (
            (ADA, "I like jasmine tea", "Noted."),
            (BOB, "I like black coffee", "Noted."),
            (ADA, "/new all", "Only an admin of this bot may do that here."),
            (ADA, "/new", "Your new conversation starts here"),
            (BOB, "What do I like?", "Noted."),
        ):
            await room.say(person, text, answer)
            await bot.dispatcher.wait_idle()
        told = str(world.model.requests[-1].body["messages"])
        await room.say(BOB, "/new all", "A new conversation starts here.")
        await bot.dispatcher.wait_idle()
        await room.say(ADA, "And now?", "Noted.")
        after = str(world.model.requests[-1].body["messages"])

    assert "black coffee" in told and "jasmine" not in told
    assert "black coffee" not in after and "jasmine" not in after
