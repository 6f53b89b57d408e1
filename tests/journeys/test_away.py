"""What people write while the bot is away is answered when it is back, also where the platform keeps nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

import pytest

from bot.app import App
from bot.contract.recall import CatchingUp
from playground.faults import Fault
from playground.model import Reply
from playground.model.reply import Body
from tests.journeys.conftest import Start, World
from tests.patience import PATIENCE

ADA, BOB, CLEO = 7, 8, 9


class Server:
    """A Discord server with two channels, a thread, and Ada's direct messages; the model repeats the question."""

    def __init__(self, world: World) -> None:
        self.world, self.discord = world, world.discord
        world.model.script = self.repeat
        for id, name in ((ADA, "Ada"), (BOB, "Bob"), (CLEO, "Cleo")):
            self.discord.person(id, name)
        self.discord.guild(1, "Guild")
        for channel in (11, 12):
            self.discord.channel(channel, 1, f"room-{channel}")
        self.thread = self.discord.thread(11, "aside").id
        self.private = self.discord.direct(ADA).id

    @staticmethod
    def repeat(body: Body) -> Reply:
        said = str(body["messages"][-1]["content"]).split("\n")[-1]
        return Reply("To: " + re.sub("^(Ada|Bob|Cleo): ", "", said))

    def ask(self, channel: str, text: str, person: int = ADA) -> str:
        mention = "" if channel == self.private else f"{self.discord.mention()} "
        return self.discord.say(channel, mention + text, person=person)

    def answers(self, channel: str) -> list[str]:
        return [one.text for one in self.discord.screen.of(channel) if one.author == "bot"]

    async def until_answered(self, bot: App, numbers: Mapping[str, int]) -> None:
        """Wait until the bot has written so many messages in these channels, and has nothing more to do."""
        async with asyncio.timeout(PATIENCE):
            while any(len(self.answers(channel)) < number for channel, number in numbers.items()):
                await asyncio.sleep(0.01)
            while await bot.store.deliveries.find_left_off("discord") is None:
                await asyncio.sleep(0.01)
        await bot.dispatcher.wait_idle()

    async def until_back(self, bot: App) -> None:
        await until_back(bot, "discord")


async def until_back(bot: App, platform: str) -> None:
    """Wait until it listens and has received and answered everything that it missed."""
    adapter = bot.platforms.adapters[platform]
    assert isinstance(adapter, CatchingUp)
    async with asyncio.timeout(PATIENCE):
        while not adapter.heard:
            await asyncio.sleep(0.01)
    await bot.dispatcher.wait_idle()


@pytest.fixture
def server(world: World) -> Server:
    return Server(world)


async def test_on_discord_all_that_addresses_it_is_answered_once_and_in_order(server: Server, start: Start) -> None:
    thread, private = server.thread, server.private
    async with start("discord") as bot:
        for place in ("11", thread, private):
            server.ask(place, "before")
        await server.until_answered(bot, {"11": 1, thread: 1, private: 1})

    for number in (1, 2):
        server.ask("11", f"first {number}")
        server.ask("11", f"other {number}", BOB)
        server.ask("12", f"elsewhere {number}")
        server.ask(thread, f"aside {number}")
        server.ask(private, f"alone {number}")
    server.discord.say("11", "not for the bot", person=BOB)
    [answer] = [one for one in server.discord.screen.of("11") if one.author == "bot"]
    server.discord.say("11", "and so?", person=CLEO, reply_to=answer.id)
    server.discord.edit(server.ask("12", "a typo"), f"{server.discord.mention()} mended")
    server.discord.delete(server.ask("12", "withdrawn"))

    for number in (7, 8):
        async with start("discord") as bot:
            server.ask("11", "while it returns")
            await server.until_answered(bot, {"11": number})
            await server.until_back(bot)

    told = [f"To: {what} {number}" for number in (1, 2) for what in ("first", "other")]
    assert server.answers("11")[1:] == [*told, "To: and so?", "To: while it returns", "To: while it returns"]
    assert server.answers("12") == ["To: elsewhere 1", "To: elsewhere 2", "To: mended"]
    assert server.answers(thread)[1:] == ["To: aside 1", "To: aside 2"]
    assert server.answers(private)[1:] == ["To: alone 1", "To: alone 2"]


async def test_a_session_that_discord_ends_costs_no_message(server: Server, start: Start) -> None:
    async with start("discord") as bot:
        server.ask("11", "before")
        await server.until_answered(bot, {"11": 1})
        server.discord.gateway.invalidate()
        await server.discord.gateway.drop()
        for place in ("11", "12"):
            server.ask(place, "meanwhile")
        await server.until_answered(bot, {"11": 2, "12": 1})

        assert len(server.discord.gateway.identified) == 2
    assert (server.answers("11")[1:], server.answers("12")) == (["To: meanwhile"], ["To: meanwhile"])


async def test_where_each_question_has_a_thread_the_missed_ones_have_theirs(server: Server, start: Start) -> None:
    async with start("discord", DISCORD_THREADS="true") as bot:
        server.ask("12", "before")
        await server.until_answered(bot, {})
    for number in (1, 2):
        server.ask("11", f"missed {number}")
    async with start("discord", DISCORD_THREADS="true") as bot:
        await server.until_back(bot)

    texts = [one.text for one in server.discord.screen.messages if one.author == "bot"]
    assert sorted(texts) == ["To: before", "To: missed 1", "To: missed 2"] and not server.answers("11")


async def test_what_was_answered_and_forgotten_is_not_asked_again(server: Server, start: Start) -> None:
    async with start("discord", ADMINS="discord:7") as bot:
        server.ask("11", "before")
        await server.until_answered(bot, {"11": 1})
        server.ask("11", "/forget")
        await server.until_answered(bot, {"11": 2})
    asked = len(server.world.model.requests)
    async with start("discord", ADMINS="discord:7") as bot:
        await server.until_back(bot)

    assert len(server.world.model.requests) == asked and len(server.answers("11")) == 2


async def test_a_bot_that_starts_for_the_first_time_has_missed_nothing(server: Server, start: Start) -> None:
    for place in ("11", server.private):
        server.ask(place, "long ago")
    async with start("discord") as bot:
        await server.until_back(bot)

    assert not server.world.model.requests


async def test_a_channel_that_cannot_be_read_keeps_no_other_waiting(
    server: Server, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    async with start("discord") as bot:
        server.ask(server.private, "before")
        await server.until_answered(bot, {server.private: 1})
    for place in ("11", "12", server.private):
        server.ask(place, "meanwhile")
    server.discord.deny("11", "READ_MESSAGE_HISTORY")
    server.discord.faults.add("GET /channels/{channel}", Fault(status=403, body='{"code": 50001}'))
    async with start("discord") as bot:
        await server.until_back(bot)

    assert server.answers("12") == ["To: meanwhile"] and not server.answers("11")
    assert f"what was written in {server.private} meanwhile may be missing" in caplog.text


class Workspace:
    """A Slack workspace with a channel and Ada's direct messages; the model repeats the question."""

    def __init__(self, world: World) -> None:
        self.world, self.slack = world, world.slack
        world.model.script = Server.repeat
        for id, name in ((ADA, "Ada"), (BOB, "Bob")):
            self.slack.person(f"U{id}", name)
        self.slack.channel("C1", "general")
        self.private = self.slack.direct(f"U{ADA}")

    def ask(self, channel: str, text: str, person: int = ADA, thread: str = "") -> str:
        mention = "" if channel == self.private else f"<@{self.slack.bot_user_id}> "
        return self.slack.say(channel, mention + text, person=f"U{person}", thread_ts=thread)

    def answers(self, channel: str) -> list[str]:
        return [one.text for one in self.slack.screen.of(channel) if one.author == "bot"]


@pytest.mark.parametrize("given_up", [False, True], ids=["sent again", "given up"])
async def test_on_slack_it_is_answered_whether_slack_sends_it_again(world: World, start: Start, given_up: bool) -> None:
    it = Workspace(world)
    if given_up:
        object.__setattr__(it.slack.limits, "retry_after", ())
    async with start("slack") as bot:
        root = it.ask("C1", "before")
        it.ask(it.private, "before")
        async with asyncio.timeout(PATIENCE):
            while len(it.answers("C1")) + len(it.answers(it.private)) < 2:
                await asyncio.sleep(0.01)
            while await bot.store.deliveries.find_left_off("slack") is None:
                await asyncio.sleep(0.01)
    for number in (1, 2):
        it.ask("C1", f"root {number}")
        it.ask("C1", f"in the thread {number}", BOB, thread=root)
        it.ask(it.private, f"alone {number}")
    late = it.slack.say("C1", "people talk", person=f"U{BOB}")
    it.ask("C1", "what do you think?", thread=late)
    it.slack.say("C1", "not for the bot", person=f"U{BOB}")
    for _ in range(2):
        async with start("slack") as bot:
            await until_back(bot, "slack")

    told = ["before", "in the thread 1", "in the thread 2", "root 1", "root 2", "what do you think?"]
    assert sorted(it.answers("C1")) == [f"To: {text}" for text in told]
    assert it.answers(it.private) == ["To: before", "To: alone 1", "To: alone 2"]


async def test_on_slack_a_conversation_that_cannot_be_read_keeps_no_other_waiting(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    it = Workspace(world)
    object.__setattr__(it.slack.limits, "retry_after", ())
    async with start("slack") as bot:
        for place in ("C1", it.private):
            it.ask(place, "before")
        async with asyncio.timeout(PATIENCE):
            while len(it.answers("C1")) + len(it.answers(it.private)) < 2:
                await asyncio.sleep(0.01)
            while await bot.store.deliveries.find_left_off("slack") is None:
                await asyncio.sleep(0.01)
    for place in ("C1", it.private):
        it.ask(place, "meanwhile")
    it.slack.faults.add("conversations.history", Fault(status=429, retry_after=1.0))
    it.slack.faults.add("conversations.replies", Fault(status=500))
    it.slack.scopes.discard("channels:history")
    async with start("slack") as bot:
        await until_back(bot, "slack")

    assert it.answers(it.private) == ["To: before", "To: meanwhile"] and it.answers("C1") == ["To: before"]
    assert "what was written in C1 meanwhile may be missing: missing_scope" in caplog.text
