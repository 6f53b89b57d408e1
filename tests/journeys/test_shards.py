"""A bot in so many Discord servers that it keeps several connections."""

from __future__ import annotations

import asyncio

from playground.discord import DiscordServer
from playground.discord.world import Channel
from playground.model import Reply
from tests.journeys.conftest import Start, World, more_than
from tests.patience import PATIENCE

SHARDS = 3


def place_on(discord: DiscordServer, shard: int) -> Channel:
    """A channel in a server of that shard."""
    guild = (SHARDS * 100 + shard) << 22
    discord.guild(guild, f"Server {shard}")
    return discord.channel(100 + shard, guild, "general")


async def test_a_lost_connection_is_that_of_its_servers_alone_and_nothing_is_lost_or_comes_twice(
    world: World, start: Start
) -> None:
    discord, gateway = world.discord, world.discord.gateway
    gateway.shards = SHARDS
    discord.person(7, "Ada")
    places = [place_on(discord, number) for number in range(SHARDS)]
    go_on = asyncio.Event()
    words = " ".join(f"word{number}" for number in range(30))
    world.model.reply(*(Reply(f"Answer {number}.") for number in range(SHARDS)))
    async with start("discord") as bot:
        async with asyncio.timeout(PATIENCE):
            while set(bot.platforms.shards["discord"].values()) != {"listening"}:
                await asyncio.sleep(0.01)
        for number, place in enumerate(places):
            discord.say(place, f"{discord.mention()} question {number}", person=7)
            await discord.screen.until(more_than(0, place.id))
            await bot.dispatcher.wait_idle()
        world.model.reply(Reply(words, hang_after=10, until=go_on), Reply("Elsewhere."), Reply("Missed."))
        discord.say(places[1], f"{discord.mention()} a long one, please", person=7)
        await discord.screen.until(more_than(1, places[1].id))
        await gateway.drop(shard=1)
        seen = await bot.state()
        discord.say(places[0], f"{discord.mention()} and here, please?", person=7)
        await discord.screen.until(lambda screen: [one.text for one in screen.of(places[0].id)][1:] == ["Elsewhere."])
        go_on.set()
        discord.say(places[1], f"{discord.mention()} what was missed, please", person=7)
        await discord.screen.until(lambda screen: len(screen.of(places[1].id)) == 3)
        await bot.dispatcher.wait_idle()
        told = bot.metrics.text()
        after = await bot.state()

    assert seen["platforms"] == {"discord": "listening"} and seen["ready"]
    assert after["shards"] == {"discord": dict.fromkeys("012", "listening")}
    assert 'parley_shard_listening{platform="discord",shard="1"} 1' in told
    assert [[one.text for one in discord.screen.of(place.id)] for place in places] == [
        ["Answer 0.", "Elsewhere."],
        ["Answer 1.", words, "Missed."],
        ["Answer 2."],
    ]
    assert gateway.resumed == 1 and len(gateway.identified) == SHARDS and len(world.model.requests) == 6
