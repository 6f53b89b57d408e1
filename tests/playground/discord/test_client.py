"""discord.py, as in production, against the emulator."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable

import discord
import pytest
from discord import app_commands

from playground.discord import DiscordServer
from tests.playground.discord.conftest import Bot


@app_commands.command(name="ask", description="Ask a question")
async def ask(interaction: discord.Interaction[discord.Client], question: str) -> None:
    await interaction.response.defer(thinking=True)


async def test_a_person_asks_with_a_slash_command_and_reads_the_answer_grow(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    """Login, sync, READY, INTERACTION_CREATE, deferral, edits and a follow-up: the library's own calls."""
    place = server.channel(20, 10, "general")
    bot = await start(command=ask)

    server.slash("ask", {"question": "why?"}, place, 1)
    interaction = await bot.next("interaction")
    await server.screen.until(lambda screen: screen.of("20"))
    shown = server.screen.of("20")[0]
    assert shown.live and shown.text == ""
    await interaction.edit_original_response(content="Be**cause**")
    await interaction.edit_original_response(content="Because of *rain*.")
    second = await interaction.followup.send("And wind.", wait=True)

    assert interaction.command.name == "ask"
    assert interaction.namespace.question == "why?"
    assert [version.text for version in shown.versions] == ["Because", "Because of rain."]
    assert not shown.live
    assert server.screen.of("20")[1].text == "And wind."
    assert second.id == int(server.screen.of("20")[1].id)
    assert ("20", "Parley is thinking…") in [(chat, what) for _, chat, what in server.screen.notices]


async def test_a_message_that_mentions_the_bot_is_answered_edited_and_deleted(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    place = server.channel(20, 10, "general")
    bot = await start()

    asked = server.say(place, f"{server.mention()} hello", person=1)
    message = await bot.next("message")
    reply = await message.reply("Hi", mention_author=False)
    await reply.edit(content="Hi there")
    fetched = await message.channel.fetch_message(reply.id)
    await reply.delete()

    assert str(message.id) == asked
    assert message.content.endswith("hello") and bot.user in message.mentions
    assert message.author.name == "Ada" and message.guild.name == "Library"
    assert fetched.content == "Hi there" and fetched.reference.message_id == message.id
    assert server.screen.messages[1].deleted
    assert server.screen.messages[1].reply_to == asked


async def test_a_direct_message_is_read_whole_and_answered(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    place = server.direct(1)
    bot = await start()

    server.say(place, "psst")
    message = await bot.next("message")
    await message.channel.send("yes?")

    assert message.content == "psst" and message.guild is None
    assert server.screen.of(place.id)[0].text == "yes?"


async def test_edits_deletions_and_reactions_of_people_reach_the_bot(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    place = server.channel(20, 10)
    bot = await start()

    asked = server.say(place, f"{server.mention()} one", person=1)
    server.edit(asked, f"{server.mention()} two")
    server.react(asked, "👍", 1)
    server.delete(asked)

    assert (await bot.next("edit")).message.content.endswith("two")
    assert str((await bot.next("reaction")).emoji) == "👍"
    assert (await bot.next("delete")).message_id == int(asked)


async def test_a_button_is_pressed_and_its_message_changes(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    place = server.channel(20, 10)
    bot = await start()
    server.say(place, f"{server.mention()} go", person=1)
    message = await bot.next("message")
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="Stop", custom_id="stop"))
    sent = await message.channel.send("working", view=view)

    server.press(str(sent.id), "Stop", 1)
    interaction = await bot.next("interaction")
    await interaction.response.edit_message(content="stopped", view=None)
    view.stop()

    shown = server.screen.of("20")[0]
    assert interaction.data["custom_id"] == "stop" and interaction.user.name == "Ada"
    assert shown.text == "stopped" and shown.buttons == []


async def test_a_thread_is_opened_under_a_message_and_written_in(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    place = server.channel(20, 10)
    bot = await start()
    server.say(place, f"{server.mention()} go", person=1)
    message = await bot.next("message")

    thread = await message.create_thread(name="answers")
    await thread.send("here")
    server.say(str(thread.id), f"{server.mention()} more", person=1)
    inside = await bot.next("message")
    while inside.author == bot.user:
        inside = await bot.next("message")

    assert thread.id == message.id
    assert [shown.text for shown in server.screen.of(str(thread.id))] == ["here"]
    assert isinstance(inside.channel, discord.Thread) and inside.channel.parent_id == 20


async def test_a_file_arrives_with_its_type_and_can_be_read_back(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    place = server.channel(20, 10)
    bot = await start()
    channel = bot.get_partial_messageable(20)

    sent = await channel.send("plot", file=discord.File(io.BytesIO(b"PNG"), "plot.png"))

    assert server.screen.of(place.id)[0].files == [("plot.png", "image/png", b"PNG")]
    assert await sent.attachments[0].read() == b"PNG"


async def test_text_displays_are_shown_in_order(server: DiscordServer, start: Callable[..., Awaitable[Bot]]) -> None:
    place = server.channel(20, 10)
    bot = await start()
    view = discord.ui.LayoutView(timeout=None)
    view.add_item(discord.ui.TextDisplay("one"))
    view.add_item(discord.ui.Container(discord.ui.TextDisplay("**two**")))

    await bot.get_partial_messageable(20).send(view=view)
    view.stop()

    assert server.screen.of(place.id)[0].text == "one\ntwo"


async def test_a_wrong_token_is_refused_at_login(server: DiscordServer, routes: None) -> None:
    async with discord.Client(intents=discord.Intents.none()) as client:
        with pytest.raises(discord.LoginFailure):
            await client.login("wrong")


async def test_a_privileged_intent_that_was_not_granted_ends_the_client(server: DiscordServer, routes: None) -> None:
    intents = discord.Intents.default()
    intents.message_content = True

    async with discord.Client(intents=intents) as client:
        await client.login(server.token)
        with pytest.raises(discord.PrivilegedIntentsRequired):
            await client.connect()


async def test_the_library_resumes_and_misses_nothing(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    place = server.direct(1)
    bot = await start()
    server.say(place, "before")
    assert (await bot.next("message")).content == "before"

    server.gateway.reconnect()
    server.say(place, "meanwhile")

    assert (await bot.next("message")).content == "meanwhile"
    await bot.next("resumed")
    assert server.gateway.resumed == 1 and len(server.gateway.identified) == 1


async def test_a_refused_message_is_the_librarys_own_error(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    server.channel(20, 10)
    hidden = server.channel(21, 10, member=False)
    bot = await start()

    with pytest.raises(discord.HTTPException) as long:
        await bot.get_partial_messageable(20).send("x" * 2001)
    with pytest.raises(discord.Forbidden) as unseen:
        await bot.get_partial_messageable(int(hidden.id)).send("x")

    assert long.value.code == 50035 and "Must be 2000 or fewer in length." in long.value.text
    assert unseen.value.code == 50001


async def test_a_repeated_send_of_the_library_is_one_message(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    """The answer is lost after the message was made; the same nonce brings the same message back."""
    place = server.channel(20, 10)
    bot = await start()
    channel = bot.get_partial_messageable(20)

    first = await channel.send("once", nonce=7)
    again = await channel.send("once", nonce=7)

    assert first.id == again.id and len(server.screen.of(place.id)) == 1


async def test_a_forward_brings_a_copy_without_its_author(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    """Where the bot may not read what does not mention it, neither may it read what is forwarded."""
    place = server.channel(20, 10, "general")
    bot = await start()
    said = server.say(place, "tea is blue", person=1)
    server.person(7, "Eve")
    private = server.forward(server.direct(7), said)
    public = server.forward(place, said, person=7)
    server.delete(said)

    _, here, there = [await bot.next("message") for _ in range(3)]

    assert (str(here.id), here.content, here.author.display_name) == (private, "", "Eve")
    assert here.reference.type is discord.MessageReferenceType.forward
    assert (str(here.reference.message_id), here.reference.channel_id) == (said, 20)
    assert [snapshot.content for snapshot in here.message_snapshots] == ["tea is blue"]
    assert (str(there.id), [snapshot.content for snapshot in there.message_snapshots]) == (public, [""])
    assert "tea is blue" in server.screen.of(server.direct(7).id, author="7")[0].text


async def test_commands_work_in_direct_messages_of_several_where_no_bot_is(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    @app_commands.command(name="ask", description="ask")
    async def ask(interaction: discord.Interaction[discord.Client]) -> None:
        pass

    bot = await start(command=ask)
    place = server.direct_of_several(40, "friends")
    server.say(place, "the bot hears nothing", person=1)
    server.slash("ask", {}, place, 1)

    interaction = await bot.next("interaction")

    assert interaction.context.private_channel and not interaction.context.dm_channel
    assert not interaction.is_guild_integration()
    assert bot.heard.empty()
