"""Questions about somebody's message, from the entry in its menu."""

from __future__ import annotations

import json

from playground.model import Reply
from playground.screen import Screen
from tests.journeys.conftest import Start, World


def stands(screen: Screen, chat: str, answer: str) -> bool:
    """Whether an answer is shown."""
    return any(answer in message.text for message in screen.of(chat))


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
        await world.discord.screen.until(lambda screen: stands(screen, "20", "It is an old joke."))
        await bot.dispatcher.wait_idle()

    [request] = world.model.requests
    told = json.dumps(request.body["messages"][-1], ensure_ascii=False)
    assert "why did the tea cross the road" in told and "what does she mean?" in told and "Ada" in told
    shown = world.discord.screen.of("20")[-1].text
    assert "what does she mean?" in shown, "who reads the channel sees what was asked"


async def ask_about(world: World, channel: str, message: str, person: str) -> None:
    """Choose the shortcut, fill the form in, and wait for the answer."""
    world.slack.choose(channel, message, "ask_about", person)
    await world.slack.screen.until(lambda screen: world.slack.views.open)
    world.slack.fill_in(next(iter(world.slack.views.open)), {"question": "what does he mean?"})
    await world.slack.screen.until(lambda screen: stands(screen, channel, "It is an old joke."))


async def test_a_message_of_slack_is_asked_about_and_answered_in_its_thread(world: World, start: Start) -> None:
    world.slack.person("U1", "ada")
    world.slack.person("U2", "bob")
    world.slack.channel("C1", "general")
    world.model.reply(Reply("It is an old joke."))
    async with start("slack") as bot:
        joke = world.slack.say("C1", "why did the tea cross the road", person="U1")
        await ask_about(world, "C1", joke, "U2")
        await bot.dispatcher.wait_idle()

    [request] = world.model.requests
    told = json.dumps(request.body["messages"][-1], ensure_ascii=False)
    assert "why did the tea cross the road" in told and "what does he mean?" in told
    answer = next(message for message in world.slack.screen.of("C1") if "an old joke" in message.text)
    assert "what does he mean?" in answer.text and answer.thread == joke


async def test_a_message_where_the_bot_is_no_member_is_answered_all_the_same(world: World, start: Start) -> None:
    world.slack.person("U1", "ada")
    world.slack.channel("C2", "elsewhere", member=False)
    world.model.reply(Reply("It is an old joke."))
    async with start("slack") as bot:
        joke = world.slack.say("C2", "why did the tea cross the road", person="U1")
        await ask_about(world, "C2", joke, "U1")
        await bot.dispatcher.wait_idle()
