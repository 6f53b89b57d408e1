"""Tools that are left to some people, and what a chat wants of the assistant, on every platform."""

from __future__ import annotations

import pytest

from playground.model import Reply
from playground.screen import Shown
from tests.journeys.conftest import Start, World

ADA, BOB = 7, 8
LIMITS = "calculator=discord:role/5,slack:T0PARLEY/U7,telegram:7"


class Room:
    """A place in which Ada, to whom the calculator is left, and Bob write to the bot."""

    def __init__(self, world: World, platform: str) -> None:
        self.world, self.platform = world, platform
        for id, name in ((ADA, "Ada"), (BOB, "Bob")):
            world.telegram.person(id, name)
            world.slack.person(f"U{id}", name)
            world.discord.person(id, name)
        world.telegram.group(-50, "Friends")
        world.slack.channel("C1", "general")
        world.discord.guild(1, "Guild")
        world.discord.channel(11, 1, "general")
        world.discord.role(5, 1, "Analysts")
        world.discord.grant(5, 1, ADA)
        self.id = {"telegram": "-50", "slack": "C1", "discord": "11"}[platform]
        self.screen = getattr(world, platform).screen
        self.count = 0

    async def ask(self, text: str, person: int, *, command: str = "") -> str:
        """What the bot says next."""
        match self.platform:
            case "telegram":
                name = f"@{self.world.telegram.bot['username']}"
                self.world.telegram.say(-50, f"/{command}{name} {text}" if command else f"{name} {text}", person=person)
            case "slack" if command:
                self.world.slack.command("/parley", f"{command} {text}", "C1", f"U{person}")
            case "slack":
                self.world.slack.say("C1", f"<@{self.world.slack.bot_user_id}> {text}", person=f"U{person}")
            case _ if command:
                self.world.discord.slash(command, {"text": text} if text else {}, 11, person)
            case _:
                self.world.discord.say(11, f"{self.world.discord.mention()} {text}", person=person)
        await self.screen.until(lambda _: len(self.shown) > self.count)
        self.count += 1
        return str(self.shown[self.count - 1].text)

    @property
    def shown(self) -> list[Shown]:
        return [one for one in self.screen.of(self.id) if not one.live]


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_a_tool_is_for_those_whom_it_is_left_to_and_a_chat_has_its_own_words(
    world: World, start: Start, platform: str
) -> None:
    world.model.script = lambda body: Reply("Tea.")
    room = Room(world, platform)
    admins = "telegram:7,slack:T0PARLEY/U7,discord:7"
    async with start(platform, TOOLS_FOR=LIMITS, ADMINS=admins) as bot:
        if platform == "discord":
            await world.discord.screen.until(lambda _: world.discord.commands.registered.get(""))
        for person in (ADA, BOB):
            await room.ask("What is 6 times 7?", person)
            await bot.dispatcher.wait_idle()
        called = await room.ask("calculator(6*7)", BOB)
        await bot.dispatcher.wait_idle()
        refused = await room.ask("Answer as a pirate.", BOB, command="persona")
        await bot.dispatcher.wait_idle()
        taken = await room.ask("Answer as a butler.", ADA, command="persona")
        await bot.dispatcher.wait_idle()
        await room.ask("What is tea?", BOB)
        await bot.dispatcher.wait_idle()

    ada, bob, last = (request.body for request in world.model.requests)
    names = [{tool["function"]["name"] for tool in body["tools"]} for body in (ada, bob)]
    assert names[0] - names[1] == {"calculator"}
    assert "You may not use the tool calculator here;" in called.replace("\\", "")
    assert "admin" in refused and "From now on" in taken
    assert "Answer as a butler." in str(last["messages"][0]) and "pirate" not in str(last["messages"])
    assert "butler" not in str(bob["messages"])
