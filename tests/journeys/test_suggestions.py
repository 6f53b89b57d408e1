"""Commands of Discord that are completed while a person types them, and then used."""

from __future__ import annotations

from tests.journeys.conftest import Start, World


async def offered(world: World, word: str, begun: str, person: int) -> list[str]:
    """What somebody is offered who types the first option of a command."""
    typed = world.discord.type_in(word, {"name": begun}, "name", "20", person)
    await world.discord.screen.until(lambda screen: typed.choices is not None)
    return [one["value"] for one in typed.choices or ()]


async def test_a_tool_is_found_by_the_beginning_of_its_name_and_used(world: World, start: Start) -> None:
    world.discord.guild(10, "Library")
    world.discord.person(1, "Ada")
    world.discord.channel(20, 10, "general")
    async with start("discord") as bot:
        name, *_ = await offered(world, "tool", "calc", 1)
        world.discord.slash("tool", {"name": name, "arguments": "6*7"}, "20", 1)
        await world.discord.screen.until(lambda screen: any("42" in message.text for message in screen.of("20")))
        await bot.dispatcher.wait_idle()

    assert name == "calculator"


async def test_somebody_who_may_not_write_to_the_bot_reads_nothing_of_it_while_typing(
    world: World, start: Start
) -> None:
    world.discord.guild(10, "Library")
    for id, name in ((1, "Ada"), (2, "Bob")):
        world.discord.person(id, name)
    world.discord.channel(20, 10, "general")
    async with start("discord", ALLOW_ALL="false", ALLOWED_USERS="discord:1"):
        for person, seen in ((1, True), (2, False)):
            for word in ("model", "tool"):
                assert bool(await offered(world, word, "", person)) is (seen and word == "tool")
