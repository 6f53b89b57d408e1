"""Sending, editing, deleting: what the chat shows afterwards, and what is refused."""

from __future__ import annotations

import json

import aiohttp
import pytest
from telegram import (
    Bot,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    ReplyParameters,
)
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken

from playground.telegram import TelegramServer

FORUM = -1_001_234_567_890


async def test_a_sent_message_stands_on_the_screen_and_comes_back_whole(free: TelegramServer, bot: Bot) -> None:
    message = await bot.send_message(7, "<b>Hello</b> <i>Ada</i>", parse_mode="HTML")

    assert (message.text, message.chat.first_name, message.from_user and message.from_user.id) == (
        "Hello Ada",
        "Ada",
        bot.id,
    )
    assert message.parse_entities() == {message.entities[0]: "Hello", message.entities[1]: "Ada"}
    shown = free.screen.of("7")[0]
    assert shown.text == "Hello Ada"
    assert shown.versions[0].html == "<b>Hello</b> <i>Ada</i>"
    assert shown.versions[0].markup == "<b>Hello</b> <i>Ada</i>"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x" * 4097, "Message is too long"),
        ("😀" * 2049, "Message is too long"),
        ("", "Message text is empty"),
        ("  \n ", "Text must be non-empty"),
        ("<b></b>", "Text must be non-empty"),
    ],
)
async def test_a_text_has_1_to_4096_units_after_its_markup_is_gone(
    free: TelegramServer, bot: Bot, text: str, error: str
) -> None:
    with pytest.raises(BadRequest, match=error):
        await bot.send_message(7, text, parse_mode="HTML")

    assert free.screen.of("7") == []


async def test_markup_and_references_do_not_count_towards_the_length(free: TelegramServer, bot: Bot) -> None:
    message = await bot.send_message(7, "<b>" + "&lt;" * 4096 + "</b>", parse_mode="HTML")

    assert message.text == "<" * 4096


async def test_a_hundred_entities_are_kept_and_the_rest_is_dropped(free: TelegramServer, bot: Bot) -> None:
    message = await bot.send_message(7, "<b>a</b> " * 120, parse_mode="HTML")

    assert len(message.entities) == 100


async def test_an_edit_shows_another_text_in_place(free: TelegramServer, bot: Bot) -> None:
    message = await bot.send_message(7, "one")

    edited = await bot.edit_message_text("two", 7, message.message_id)

    assert not isinstance(edited, bool)
    assert edited.edit_date is not None
    assert [version.text for version in free.screen.of("7")[0].versions] == ["one", "two"]


async def test_an_edit_that_changes_nothing_is_refused(free: TelegramServer, bot: Bot) -> None:
    message = await bot.send_message(7, "<b>same</b>", parse_mode="HTML")

    with pytest.raises(BadRequest) as caught:
        await bot.edit_message_text("<strong>same</strong>", 7, message.message_id, parse_mode="HTML")

    assert caught.value.message == (
        "Message is not modified: specified new message content and reply markup are exactly the same "
        "as a current content and reply markup of the message"
    )


async def test_other_formatting_or_other_buttons_are_a_change(free: TelegramServer, bot: Bot) -> None:
    message = await bot.send_message(7, "same")
    keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Stop", callback_data="stop")]])

    await bot.edit_message_text("<b>same</b>", 7, message.message_id, parse_mode="HTML")
    await bot.edit_message_text("<b>same</b>", 7, message.message_id, parse_mode="HTML", reply_markup=keyboard)
    assert free.screen.of("7")[0].buttons == ["Stop"]
    await bot.edit_message_text("<b>same</b>", 7, message.message_id, parse_mode="HTML")

    assert free.screen.of("7")[0].buttons == []


async def test_edits_of_what_is_gone_or_is_not_ours_are_refused(free: TelegramServer, bot: Bot) -> None:
    message = await bot.send_message(7, "one")
    free.delete(7, message.message_id)
    theirs = free.message_id(free.say(7, "mine"))

    with pytest.raises(BadRequest, match="Message to edit not found"):
        await bot.edit_message_text("two", 7, message.message_id)
    with pytest.raises(BadRequest, match="Message can't be edited"):
        await bot.edit_message_text("two", 7, theirs)


async def test_deleting_takes_a_message_off_the_screen_once(free: TelegramServer, bot: Bot) -> None:
    first = await bot.send_message(7, "one")

    await bot.delete_message(7, first.message_id)

    assert free.screen.of("7") == []
    with pytest.raises(BadRequest, match="Message to delete not found"):
        await bot.delete_message(7, first.message_id)


async def test_in_a_group_the_bot_cannot_delete_what_people_wrote(free: TelegramServer, bot: Bot) -> None:
    update = free.say(-500, "/hello", person=7)

    with pytest.raises(BadRequest, match="Message can't be deleted"):
        await bot.delete_message(-500, free.message_id(update))


async def test_a_preview_is_fetched_unless_it_is_disabled_on_send_and_on_edit(free: TelegramServer, bot: Bot) -> None:
    off = LinkPreviewOptions(is_disabled=True)
    message = await bot.send_message(7, "see https://evil.example/?q=secret now", link_preview_options=off)
    await bot.edit_message_text("see https://evil.example/?q=2", 7, message.message_id, link_preview_options=off)
    assert free.screen.previews == []

    await bot.edit_message_text("see https://evil.example/?q=3.", 7, message.message_id)
    await bot.send_message(7, '<a href="https://evil.example/4">x</a>', parse_mode="HTML")
    await bot.send_message(7, "<code>https://evil.example/5</code>", parse_mode="HTML")

    assert free.screen.previews == ["https://evil.example/?q=3", "https://evil.example/4"]


async def test_a_mention_in_a_bot_message_is_seen_as_a_ping(free: TelegramServer, bot: Bot) -> None:
    await bot.send_message(
        -500, "hello @ada and <code>@bob</code> and <a href='tg://user?id=7'>you</a>", parse_mode="HTML"
    )

    assert free.screen.pings == [("-500", "@ada"), ("-500", "7")]


async def test_a_reply_names_its_message(free: TelegramServer, bot: Bot) -> None:
    question = free.message_id(free.say(7, "what is this"))

    message = await bot.send_message(7, "that", reply_parameters=ReplyParameters(question))

    assert message.reply_to_message is not None and message.reply_to_message.text == "what is this"
    assert free.screen.of("7")[0].reply_to == str(question)


async def test_a_reply_to_a_deleted_message_needs_permission_to_go_without(free: TelegramServer, bot: Bot) -> None:
    with pytest.raises(BadRequest, match="Message to be replied not found"):
        await bot.send_message(7, "x", reply_parameters=ReplyParameters(99))

    message = await bot.send_message(7, "x", reply_parameters=ReplyParameters(99, allow_sending_without_reply=True))

    assert message.reply_to_message is None


async def test_a_topic_keeps_its_messages_apart(free: TelegramServer, bot: Bot) -> None:
    free.say(FORUM, "/ask", person=7, thread=42)

    message = await bot.send_message(FORUM, "in there", message_thread_id=42)

    assert message.is_topic_message and message.message_thread_id == 42
    assert [shown.text for shown in free.screen.of(str(FORUM), thread="42")] == ["in there"]
    with pytest.raises(BadRequest, match="Message thread not found"):
        await bot.send_message(FORUM, "nowhere", message_thread_id=43)


async def test_unknown_blocked_and_upgraded_chats_are_told_apart(free: TelegramServer, bot: Bot) -> None:
    free.block(7)
    free.block(-500)
    free.group(-600, "Old")
    free.upgrade(-600, -1_000_000_000_600)

    with pytest.raises(BadRequest, match="Chat not found"):
        await bot.send_message(8, "x")
    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        await bot.send_message(7, "x")
    with pytest.raises(Forbidden, match="bot was kicked from the group chat"):
        await bot.send_message(-500, "x")
    with pytest.raises(ChatMigrated) as caught:
        await bot.send_message(-600, "x")
    assert caught.value.new_chat_id == -1_000_000_000_600


async def test_a_button_holds_64_bytes(free: TelegramServer, bot: Bot) -> None:
    def keyboard(data: str) -> InlineKeyboardMarkup:
        return InlineKeyboardMarkup([[InlineKeyboardButton("Go", callback_data=data)]])

    await bot.send_message(7, "x", reply_markup=keyboard("é" * 32))

    with pytest.raises(BadRequest, match="Button_data_invalid"):
        await bot.send_message(7, "x", reply_markup=keyboard("é" * 33))


async def test_a_form_a_json_body_and_a_query_string_are_all_read(free: TelegramServer) -> None:
    root = f"{free.base_url}/bot{free.token}"
    buttons = {"inline_keyboard": [[{"text": "Go", "callback_data": "go"}]]}
    async with aiohttp.ClientSession() as session:
        await session.post(
            f"{root}/sendMessage", data={"chat_id": "7", "text": "one", "reply_markup": json.dumps(buttons)}
        )
        await session.post(f"{root}/sendmessage", json={"chat_id": 7, "text": "two", "reply_markup": buttons})
        await session.get(f"{root}/SENDMESSAGE", params={"chat_id": "7", "text": "three"})

    assert [(shown.text, shown.buttons) for shown in free.screen.of("7")] == [
        ("one", ["Go"]),
        ("two", ["Go"]),
        ("three", []),
    ]
    assert [call.method for call in free.calls] == ["sendMessage"] * 3


async def test_a_wrong_token_is_401_and_an_unknown_method_404(free: TelegramServer, bot: Bot) -> None:
    async with aiohttp.ClientSession() as session:
        answer = await session.get(f"{free.base_url}/bot1:wrong/getMe")
        assert (answer.status, await answer.json()) == (
            401,
            {"ok": False, "error_code": 401, "description": "Unauthorized"},
        )
        answer = await session.get(f"{free.base_url}/bot{free.token}/makeCoffee")
        assert (answer.status, await answer.json()) == (
            404,
            {"ok": False, "error_code": 404, "description": "Not Found"},
        )
    with pytest.raises(InvalidToken):
        async with Bot("1:wrong", base_url=f"{free.base_url}/bot"):
            pass
