"""Discord where the application came with a person, and the bot is not: commands are answered through their token.

https://docs.discord.com/developers/resources/application#installation-context
"""

from __future__ import annotations

import pytest

from playground.model import Reply
from tests.journeys.conftest import Start, World

CHAPTERS = 30


async def asked(world: World, place: str, question: str, end: str) -> None:
    """Ask, and wait until the end of the answer can be read."""
    world.discord.slash("ask", {"question": question}, place, 1)
    await world.discord.screen.until(lambda screen: any(end in one.text for one in screen.of(place)))


@pytest.mark.parametrize("place", ["25", "40"], ids=["a server without the bot", "direct messages of several"])
async def test_a_person_takes_the_commands_along_to_where_the_bot_is_not(
    world: World, start: Start, place: str
) -> None:
    discord = world.discord
    discord.guild(11, "Elsewhere", member=False)
    discord.channel(25, 11, "general")
    discord.direct_of_several(40, "friends")
    discord.person(1, "Ada")
    world.model.reply(Reply("\n\n".join(f"Chapter {number}. " + "It rained. " * 20 for number in range(CHAPTERS))))
    world.model.reply(Reply("Of rain."))
    async with start("discord") as bot:
        await asked(world, place, "Tell me a tale", f"Chapter {CHAPTERS - 1}.")
        await bot.dispatcher.wait_idle()
        await asked(world, place, "Of what was it?", "Of rain.")
        await bot.dispatcher.wait_idle()

    shown = "\n".join(one.text for one in discord.screen.of(place))
    assert [shown.count(f"Chapter {number}.") for number in range(CHAPTERS)] == [1] * CHAPTERS
    assert 1 < len(discord.screen.of(place)) <= 7
    assert "Chapter 0." in str(world.model.requests[1].body["messages"]), "the place is one conversation"
    assert not [call.name for call in discord.calls if f"/channels/{place}" in call.name], "by the token alone"
    assert discord.refusals == 0
