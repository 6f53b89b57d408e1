"""What people's clients send in several messages is one question on every platform, and gets one answer."""

from __future__ import annotations

import pytest

from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World
from tests.journeys.test_enclosures import PLATFORMS, PNG, Place
from tests.journeys.test_pictures import seen_in, words_of
from tests.web import Web, free_port


def script(body: RawJson) -> Reply:
    return Reply("That is so.")


def last(world: World) -> RawJson:
    return world.model.requests[-1].body["messages"][-1]


@pytest.mark.parametrize("group", [False, True], ids=["private", "group"])
@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_forward_and_the_comment_on_it_are_one_question(
    world: World, start: Start, platform: str, group: bool
) -> None:
    """Telegram's clients send the comment first, Discord's the forward; in Slack it is one message. In a group nobody
    but the comment speaks to the bot, which reads there only what may belong to it."""
    world.model.script = script
    world.telegram.bot["can_read_all_group_messages"] = True
    world.discord.privileged_intents = 1 << 15
    async with start(platform) as bot:
        place = Place(world, platform, group=group)
        if group:
            world.telegram.person(8, "Bob")
            world.slack.person("U8", "Bob")
            world.discord.person(8, "Bob")
            place.forward("Milk is white.", person=8)
        place.forward("Tea is a leaf.", comment="Is that true?")
        await place.until("That is so.")
        await bot.dispatcher.wait_idle()

    assert place.texts == ["That is so."]
    told = words_of(last(world))
    assert "> Tea is a leaf." in told and told.endswith("Is that true?")
    assert "Milk" not in str(world.model.requests)


async def test_a_forward_whose_words_discord_withholds_is_named(world: World, start: Start) -> None:
    world.model.script = script
    async with start("discord") as bot:
        place = Place(world, "discord", group=True)
        place.forward("Tea is a leaf.", comment="Is that true?")
        await place.until("That is so.")
        await bot.dispatcher.wait_idle()

    [text] = place.texts
    assert "I cannot read this yet, so my answer ignores it: a forwarded message." in text


async def test_a_paste_that_telegrams_client_cut_is_one_question(world: World, start: Start) -> None:
    paste = "\n".join(f"{number} " + "word " * 30 for number in range(60)).strip()
    world.model.script = script
    async with start("telegram") as bot:
        place = Place(world, "telegram")
        assert len(world.telegram.people.say_long(7, paste, person=7)) == 3
        await place.until("That is so.")
        await bot.dispatcher.wait_idle()

    assert place.texts == ["That is so."]
    assert words_of(last(world)).split() == paste.split()


async def test_an_album_whose_parts_are_posted_one_by_one_is_one_question(world: World, start: Start) -> None:
    """As they come to a public address, and often to a poll as well."""
    web = Web()
    web.port = free_port()
    world.settings |= {"TELEGRAM_WEBHOOK_URL": f"{web.address}/telegram", "WEB_PORT": str(web.port)}
    world.model.script = script
    async with start("telegram") as bot:
        place = Place(world, "telegram")
        place.send("Which is best?", *[PNG] * 3)
        await place.until("That is so.")
        await bot.dispatcher.wait_idle()

    assert place.texts == ["That is so."]
    assert seen_in(last(world)) == [PNG[2]] * 3 and "Which is best?" in words_of(last(world))
