"""Sending, editing and deleting text, and the drafts that become messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from playground.screen import Shown
from playground.telegram.call import ApiError, Arguments, Json, bad_request
from playground.telegram.entities import Formatted, clean, fix, preview, units
from playground.telegram.markup_html import parse_html
from playground.telegram.world import DRAFT_SECONDS, Chat, Draft, Message, World, button_texts

MOST_TEXT = 4096
_ACTIONS = (
    "typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker "
    "find_location record_video_note upload_video_note"
)
ACTIONS = frozenset(_ACTIONS.split())
THINKING = "Thinking…"

_LEGACY: Final = frozenset("_*`[\\")
"""The signs of the old Markdown; a text without them is the same in it."""


def formatted(arguments: Arguments, name: str = "text") -> Formatted:
    """The text of a call after its markup is parsed.

    Raises:
        ApiError: the markup is wrong, or the parse mode does not exist.
    """
    text = arguments.text(name)
    mode = arguments.text("parse_mode").lower()
    match mode:
        case "html":
            plain, marks = parse_html(clean(text))
        case "":
            plain, marks = clean(text), []
        case "markdown" if not _LEGACY.intersection(text):
            plain, marks = clean(text), []
        case _:
            raise bad_request("unsupported parse_mode")
    return fix(plain, marks)


def message_text(arguments: Arguments) -> Formatted:
    """The text of a message: not empty, and not too long when the markup is gone."""
    if not arguments.text("text"):
        raise bad_request("message text is empty")
    result = formatted(arguments)
    if not result.text:
        raise bad_request("text must be non-empty")
    if units(result.text) > MOST_TEXT:
        raise bad_request("message is too long")
    return result


def keyboard(arguments: Arguments) -> Mapping[str, Any]:
    """The inline keyboard of a call, checked button by button; empty if the call has none."""
    markup = arguments.mapping("reply_markup")
    rows = markup.get("inline_keyboard", [])
    if not isinstance(rows, list):
        raise bad_request("can't parse inline keyboard: expected an Array of Array of InlineKeyboardButton")
    for row in rows:
        if not isinstance(row, list):
            raise bad_request("can't parse inline keyboard: expected an Array of InlineKeyboardButton")
        for button in row:
            if not isinstance(button, dict) or not button.get("text"):
                raise bad_request(
                    "can't parse inline keyboard button: text buttons are unallowed in the inline keyboard"
                )
            data = button.get("callback_data")
            if data is not None and not 1 <= len(str(data).encode()) <= 64:
                raise bad_request("BUTTON_DATA_INVALID")
            url = button.get("url")
            if url is not None and "." not in str(url) and "://" not in str(url):
                raise bad_request("BUTTON_URL_INVALID")
            if len(button.keys() - {"text", "style", "icon_custom_emoji_id"}) != 1:
                raise bad_request(
                    "can't parse inline keyboard button: text buttons are unallowed in the inline keyboard"
                )
    return {"inline_keyboard": rows} if any(rows) else {}


def reply(world: World, chat: Chat, arguments: Arguments) -> Message | None:
    """The message that is answered."""
    parameters = arguments.mapping("reply_parameters")
    number = int(parameters.get("message_id", 0)) or arguments.integer("reply_to_message_id")
    if not number:
        return None
    target = world.messages.get((int(parameters.get("chat_id", chat.id)), number))
    if target is None:
        if parameters.get("allow_sending_without_reply") or arguments.flag("allow_sending_without_reply"):
            return None
        raise bad_request("message to be replied not found")
    return target


def preview_of(arguments: Arguments, result: Formatted) -> tuple[str, Json]:
    """The address that the service would fetch for a text, and the options that the message keeps."""
    options = dict(arguments.mapping("link_preview_options"))
    if options.get("is_disabled") or arguments.flag("disable_web_page_preview"):
        return "", {"link_preview_options": {"is_disabled": True}}
    address = str(options.get("url") or preview(result))
    return address, {"link_preview_options": options} if options else {}


def spend(world: World, chat: Chat, *, light: bool = False) -> None:
    """Count a call against the budgets of its chat and of the bot."""
    world.flood.take(chat.id, group=not chat.private, light=light)


async def send_message(world: World, arguments: Arguments) -> Json:
    chat = world.chat(arguments)
    result = message_text(arguments)
    thread = world.thread(chat, arguments)
    target = reply(world, chat, arguments)
    buttons = keyboard(arguments)
    address, kept = preview_of(arguments, result)
    spend(world, chat)
    message = world.post(
        chat,
        world.bot_user,
        result.json() | kept,
        result,
        thread=thread,
        reply=target,
        keyboard=buttons,
        markup=arguments.text("text"),
    )
    if address:
        world.screen.previews.append(address)
    return message.json()


def editable(world: World, arguments: Arguments) -> Message:
    """The message that an edit names.

    Raises:
        ApiError: it does not exist, or somebody else wrote it.
    """
    chat = world.chat(arguments)
    number = arguments.integer("message_id")
    if not number:
        raise bad_request("message identifier is not specified")
    message = world.messages.get((chat.id, number))
    if message is None:
        raise bad_request("message to edit not found")
    if not message.own:
        raise bad_request("message can't be edited")
    return message


def apply(
    world: World, message: Message, content: Json, result: Formatted, buttons: Mapping[str, Any], markup: str
) -> Json:
    """Put new content into a message; refuse content that it already has."""
    if content == message.content and dict(buttons) == message.keyboard:
        raise bad_request(
            "message is not modified: specified new message content and reply markup are exactly the same "
            "as a current content and reply markup of the message"
        )
    message.content = content
    message.keyboard = dict(buttons)
    message.edited = int(time.time())
    message.shown.buttons = button_texts(buttons)
    message.shown.versions.append(world.version(result, markup))
    world.screen.changed(message.shown)
    world.ping(message.chat, result)
    return message.json()


async def edit_message_text(world: World, arguments: Arguments) -> Json:
    message = editable(world, arguments)
    result = message_text(arguments)
    buttons = keyboard(arguments)
    if "text" not in message.content:
        raise bad_request("there is no text in the message to edit")
    address, kept = preview_of(arguments, result)
    spend(world, message.chat)
    answer = apply(world, message, result.json() | kept, result, buttons, arguments.text("text"))
    if address:
        world.screen.previews.append(address)
    return answer


async def delete_message(world: World, arguments: Arguments) -> bool:
    chat = world.chat(arguments)
    message = world.messages.get((chat.id, arguments.integer("message_id")))
    if message is None:
        raise bad_request("message to delete not found")
    if not message.own and not chat.private:
        # The bot is no administrator in any group here.
        raise bad_request("message can't be deleted")
    world.remove(message)
    return True


async def send_chat_action(world: World, arguments: Arguments) -> bool:
    chat = world.chat(arguments)
    action = arguments.text("action")
    if action not in ACTIONS:
        raise bad_request("wrong parameter action in request")
    world.thread(chat, arguments)
    spend(world, chat, light=True)
    world.screen.notice(str(chat.id), action)
    return True


async def send_message_draft(world: World, arguments: Arguments) -> bool:
    if not world.drafts:
        raise ApiError(404, "Not Found: method not found")
    chat = world.chat(arguments)
    if not chat.private:
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    result = formatted(arguments)
    if units(result.text) > MOST_TEXT:
        raise bad_request("message is too long")
    return show_draft(world, chat, arguments, result, arguments.text("text"))


def show_draft(world: World, chat: Chat, arguments: Arguments, result: Formatted, markup: str) -> bool:
    """Show or change the draft of a chat or topic; a draft with another id takes the place of the one before."""
    number = arguments.integer("draft_id")
    if not number:
        raise bad_request("draft identifier must be non-zero")
    thread = world.thread(chat, arguments)
    spend(world, chat)
    seen = result if result.text else Formatted(THINKING)
    draft = chat.drafts.get(thread)
    if draft is not None and draft.id != number:
        world.drop_draft(chat, thread)
        draft = None
    until = world.now() + DRAFT_SECONDS
    if draft is None:
        shown = Shown(
            id=f"draft-{world.next_draft()}",
            chat=str(chat.id),
            author="bot",
            thread=str(thread or ""),
            versions=[world.version(seen, markup)],
            live=True,
        )
        draft = chat.drafts[thread] = Draft(number, shown, until)
        world.screen.add(shown)
    elif draft.shown.text != seen.text or draft.shown.versions[-1].markup != markup:
        draft.shown.versions.append(world.version(seen, markup))
        world.screen.changed(draft.shown)
    draft.until = until
    draft.can_stop = arguments.flag("can_stop")
    draft.keep_on_stop = arguments.flag("keep_on_stop")
    asyncio.get_running_loop().call_later(DRAFT_SECONDS + 0.01, world.expire)
    return True
