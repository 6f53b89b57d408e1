"""Questions about somebody's message, from the entry in its menu."""

from __future__ import annotations

import json

from playground.model import Reply
from tests.journeys.conftest import Start, World


async def test_a_message_of_discord_is_asked_about_and_answered_in_its_channel(world: World, start: Start) -> None:
    world.discord.guild(10, "Library")
    world.discord.person(1, "Ada")
    world.discord.person(2, "Bob")
    world.discord.channel(20, 10, "general")
    world.model.reply(Reply("It is an old joke."))
    async with start("discord") as bot:
        joke = world.discord.say("20", "why did the tea cross the road", person=1)
        opened = world.discord.choose(joke, "Ask about this message", 2)
        await world.discord.screen.until(lambda screen: opened.form)
        world.discord.fill_in(opened, {"question": "what does she mean?"})
        await world.discord.screen.until(
            lambda screen: any("It is an old joke." in message.text for message in screen.of("20"))
        )
        await bot.dispatcher.wait_idle()

    [request] = world.model.requests
    told = json.dumps(request.body["messages"][-1], ensure_ascii=False)
    assert "why did the tea cross the road" in told and "what does she mean?" in told and "Ada" in told
    shown = world.discord.screen.of("20")[-1].text
    assert "what does she mean?" in shown, "who reads the channel sees what was asked"
