"""What happens to a chat or a message after it was first seen: a group moves, a mention is added by editing."""

from __future__ import annotations

from pathlib import Path

import pytest

from playground.model import Reply
from tests.journeys.conftest import Start, World

OLD, NEW = -50, -1_001_000_000_050
FILE = "telegram:-50: {instructions: You are the clerk of the library.}"


async def test_a_group_that_becomes_a_supergroup_takes_everything_along_over_a_restart(
    world: World, start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    telegram = world.telegram
    telegram.person(7, "Ada")
    telegram.group(OLD, "Friends")
    bot = f"@{telegram.bot['username']}"
    world.model.reply(Reply("A leaf."), Reply("Of camellia."), Reply("Hot."))
    file = tmp_path / "channels.yaml"
    file.write_text(FILE)
    chats = f"telegram:{telegram.bot['id']}/{OLD}"
    settings = {"ALLOW_ALL": "", "ALLOWED_CHATS": chats, "CHANNELS_FILE": str(file)}

    async with start("telegram", **settings) as app:
        telegram.say(OLD, f"{bot} what is tea?", person=7)
        await world.model.asked(1)
        await app.dispatcher.wait_idle()
        telegram.people.upgrade(OLD, NEW)
        telegram.say(NEW, f"{bot} of which plant?", person=7)
        await world.model.asked(2)
        await app.dispatcher.wait_idle()
    async with start("telegram", **settings) as app:
        telegram.say(NEW, f"{bot} cold or hot?", person=7)
        await world.model.asked(3)
        await app.dispatcher.wait_idle()

    told = [str(request.body["messages"]) for request in world.model.requests]
    assert "A leaf." in told[1] and "A leaf." in told[2] and "Of camellia." in told[2]
    assert all("clerk of the library" in one for one in told)
    lines = [record.getMessage() for record in caplog.records if "as its platform says" in record.getMessage()]
    assert len(lines) == 1 and f"/{OLD} is now " in lines[0] and f"/{NEW}, as" in lines[0]


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_a_mention_that_is_added_by_editing_is_answered_once_and_no_command(
    platform: str, world: World, start: Start
) -> None:
    telegram, slack, discord = world.telegram, world.slack, world.discord
    telegram.person(7, "Ada")
    telegram.group(OLD, "Friends")
    slack.person("U7", "Ada")
    slack.channel("C1", "general")
    discord.person(7, "Ada")
    discord.guild(1, "Guild")
    discord.channel(11, 1, "general")
    world.model.script = lambda body: Reply("A leaf.")

    def say(text: str, id: str = "") -> str:
        """Write to nobody, or change that."""
        match platform:
            case "telegram":
                if id:
                    name = f"@{telegram.bot['username']}"
                    telegram.edit(OLD, int(id), f"{text}{name}" if text.startswith("/") else f"{name} {text}")
                    return id
                telegram.say(OLD, text, person=7)
                return str(max(number for chat, number in telegram.world.messages if chat == OLD))
            case "slack":
                if id:
                    slack.edit("C1", id, f"<@{slack.bot_user_id}> {text}")
                return id or str(slack.say("C1", text, person="U7"))
            case _:
                if id:
                    discord.edit(id, f"{discord.mention()} {text}")
                return id or str(discord.say(11, text, person=7))

    async with start(platform) as app:
        say("/new", say("hello all"))
        asked = say("what is tea")
        say("what is tea?", asked)
        await world.model.asked(1)
        await app.dispatcher.wait_idle()
        await app.dispatcher.wait_idle()

    [request] = world.model.requests
    assert "what is tea?" in str(request.body["messages"][-1]["content"])
