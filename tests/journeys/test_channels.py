"""The operator's file of single chats, on every platform: what is told, which model answers, which tools, who may."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World

FILE = """
telegram:*:
  model: openai:other
telegram:-50:
  instructions: You are the clerk of the library.
  tools: [-calculator]
  who: telegram:7
slack:{team}/*:
  model: openai:other
slack:{team}/C1:
  instructions: You are the clerk of the library.
  tools: [-calculator]
  who: [slack:{team}/U7]
discord:*:
  model: openai:other
discord:11:
  instructions: You are the clerk of the library.
  tools: [-calculator]
  who:
    - discord:7
"""


class Places:
    """A channel of each platform that the file names, and one that it does not."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.roots: dict[str, str] = {}
        telegram, slack, discord = world.telegram, world.slack, world.discord
        for id, name in ((7, "Ada"), (8, "Bob")):
            telegram.person(id, name)
            slack.person(f"U{id}", name)
            discord.person(id, name)
        for chat in (-50, -60):
            telegram.group(chat, "Friends", forum=True)
        for channel in ("C1", "C2"):
            slack.channel(channel, "general")
        discord.guild(1, "Guild")
        for number in (11, 12):
            discord.channel(number, 1, "general")

    def say_in_thread(self, platform: str, text: str, *, person: int = 7) -> None:
        """Write to the bot in a thread or topic of the channel that the file names."""
        telegram, slack, discord = self.world.telegram, self.world.slack, self.world.discord
        match platform:
            case "telegram":
                telegram.say(-50, f"@{telegram.bot['username']} {text}", person=person, thread=5)
            case "slack":
                root = self.roots.setdefault(platform, slack.say("C1", "Tea is ready.", person="U7"))
                slack.say("C1", f"<@{slack.bot_user_id}> {text}", person=f"U{person}", thread_ts=root)
            case _:
                if platform not in self.roots:
                    self.roots[platform] = discord.thread(11, "side talk").id
                discord.say(self.roots[platform], f"{discord.mention()} {text}", person=person)

    def say(self, platform: str, text: str, *, named: bool = True, person: int = 7) -> None:
        """Write to the bot in the channel that the file names, or in the other."""
        telegram, slack, discord = self.world.telegram, self.world.slack, self.world.discord
        match platform:
            case "telegram":
                telegram.say(-50 if named else -60, f"@{telegram.bot['username']} {text}", person=person)
            case "slack":
                slack.say("C1" if named else "C2", f"<@{slack.bot_user_id}> {text}", person=f"U{person}")
            case _:
                discord.say(11 if named else 12, f"{discord.mention()} {text}", person=person)

    def texts(self, platform: str, *, named: bool = True) -> list[str]:
        chat = {"telegram": ("-50", "-60"), "slack": ("C1", "C2"), "discord": ("11", "12")}[platform][not named]
        return [one.text for one in getattr(self.world, platform).screen.of(chat) if one.text]

    async def until(self, platform: str, seen: Callable[[list[str]], object], *, named: bool = True) -> None:
        await getattr(self.world, platform).screen.until(lambda _: seen(self.texts(platform, named=named)))


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_what_the_file_says_of_a_chat_holds_there_and_nowhere_else(
    platform: str, world: World, start: Start, tmp_path: Path
) -> None:
    asked: list[RawJson] = []

    def script(body: RawJson) -> Reply:
        asked.append(body)
        return Reply(f"Answer {len(asked)}.")

    world.model.script = script
    world.model.models.append("other")
    file = tmp_path / "channels.yaml"
    file.write_text(FILE.format(team=world.slack.team_id))
    places = Places(world)
    async with start(platform, CHANNELS_FILE=str(file), TOOL_MODE="native") as bot:
        places.say(platform, "what does the library cost, and what is six times seven?")
        await places.until(platform, lambda texts: any("Answer 1." in text for text in texts))
        await bot.dispatcher.wait_idle()
        places.say(platform, "what does the library cost?", person=8)
        await bot.dispatcher.wait_idle()
        places.say(platform, "what is six times seven?", named=False, person=8)
        await places.until(platform, lambda texts: any("Answer 2." in text for text in texts), named=False)
        await bot.dispatcher.wait_idle()

    named, other = asked
    assert named["model"] == other["model"] == "other"
    assert "clerk of the library" in named["messages"][0]["content"]
    assert "clerk of the library" not in other["messages"][0]["content"]
    assert "calculator" not in names(named) and "calculator" in names(other)


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_what_the_file_says_of_a_chat_holds_in_its_threads(
    platform: str, world: World, start: Start, tmp_path: Path
) -> None:
    world.model.models.append("other")
    file = tmp_path / "channels.yaml"
    file.write_text(FILE.format(team=world.slack.team_id))
    places = Places(world)
    async with start(platform, CHANNELS_FILE=str(file), TOOL_MODE="native") as bot:
        places.say_in_thread(platform, "what is six times seven?", person=8)
        places.say_in_thread(platform, "what does the library cost, and what is six times seven?")
        await world.model.asked(1)
        await bot.dispatcher.wait_idle()

    [asked] = [request.body for request in world.model.requests]
    assert asked["model"] == "other" and "clerk of the library" in asked["messages"][0]["content"]
    assert "calculator" not in names(asked)


def names(body: RawJson) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", ())]
