"""Files both ways, and the calls that say who the bot is."""

from __future__ import annotations

import pytest
from telegram import Bot, BotCommand, BotCommandScopeAllGroupChats, ReactionTypeEmoji
from telegram.error import BadRequest, TelegramError

from playground.telegram import TelegramServer

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (3).to_bytes(4, "big") + (2).to_bytes(4, "big")


async def test_a_document_arrives_whole_with_its_caption(free: TelegramServer, bot: Bot) -> None:
    message = await bot.send_document(7, b"a,b\n", filename="t.csv", caption="<b>Table</b>", parse_mode="HTML")

    assert message.document is not None and message.document.file_name == "t.csv"
    shown = free.screen.of("7")[0]
    assert (shown.text, shown.files[0][0], shown.files[0][2]) == ("Table", "t.csv", b"a,b\n")
    again = await bot.send_document(7, message.document.file_id)
    assert again.document is not None and again.document.file_name == "t.csv"
    with pytest.raises(BadRequest, match="There is no text in the message to edit"):
        await bot.edit_message_text("x", 7, message.message_id)


async def test_a_photo_is_a_picture_with_a_size(free: TelegramServer, bot: Bot) -> None:
    message = await bot.send_photo(7, PNG)

    assert (message.photo[0].width, message.photo[0].height) == (3, 2)
    with pytest.raises(BadRequest, match="Image_process_failed"):
        await bot.send_photo(7, b"no picture")


async def test_files_have_their_limits(free: TelegramServer, bot: Bot) -> None:
    with pytest.raises(BadRequest, match="Message caption is too long"):
        await bot.send_document(7, b"x", caption="x" * 1025)
    with pytest.raises(BadRequest, match="File must be non-empty"):
        await bot.send_document(7, b"")
    with pytest.raises(BadRequest, match="File is too big"):
        await bot.send_photo(7, PNG + b"\0" * (10 * 1024 * 1024))
    with pytest.raises(TelegramError, match="Request Entity Too Large"):
        await bot.send_document(7, b"\0" * (50 * 1024 * 1024 + 1))


async def test_what_a_person_sends_can_be_downloaded_up_to_20_mb(free: TelegramServer, bot: Bot) -> None:
    free.say(7, "", files=[("note.txt", "text/plain", b"hello")])
    free.say(7, "", files=[("big.bin", "application/zip", bytes(20 * 1024 * 1024 + 1))])
    small, big = await bot.get_updates()
    assert small.message and small.message.document and big.message and big.message.document

    file = await small.message.document.get_file()

    assert bytes(await file.download_as_bytearray()) == b"hello"
    with pytest.raises(BadRequest, match="File is too big"):
        await big.message.document.get_file()
    with pytest.raises(BadRequest, match="Wrong file_id"):
        await bot.get_file("nothing")


async def test_the_bot_says_who_it_is(free: TelegramServer, bot: Bot) -> None:
    assert bot.bot.username == "parley_test_bot"
    commands = [BotCommand("new", "Start over")]
    await bot.set_my_commands(commands)

    assert list(await bot.get_my_commands()) == commands
    assert free.menu == ["new"]
    assert list(await bot.get_my_commands(BotCommandScopeAllGroupChats())) == []
    with pytest.raises(BadRequest, match="Bot_command_invalid"):
        await bot.set_my_commands([BotCommand("No Spaces", "x")])


async def test_a_reaction_is_one_of_the_known_ones(free: TelegramServer, bot: Bot) -> None:
    question = free.message_id(free.say(7, "hi"))

    await bot.set_message_reaction(7, question, "👀")

    assert free.screen.notices[-1][1:] == ("7", "reaction 👀")
    with pytest.raises(BadRequest, match="Reaction_invalid"):
        await bot.set_message_reaction(7, question, ReactionTypeEmoji("🧨"))
    with pytest.raises(BadRequest, match="Message to react not found"):
        await bot.set_message_reaction(7, 99, "👀")


async def test_typing_is_a_notice_and_has_to_be_a_known_action(free: TelegramServer, bot: Bot) -> None:
    await bot.send_chat_action(7, "typing")

    assert free.screen.notices[-1][1:] == ("7", "typing")
    with pytest.raises(BadRequest, match="Wrong parameter action in request"):
        await bot.send_chat_action(7, "thinking")
