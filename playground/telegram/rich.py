"""Rich messages, for a server that knows them (Bot API 10.1 and later): stored as sent, shown as plain text."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

from playground.telegram.call import ApiError, Arguments, Json, bad_request
from playground.telegram.entities import Formatted
from playground.telegram.messages import apply, edit_message_text, editable, keyboard, reply, show_draft, spend
from playground.telegram.world import World

MOST_RICH = 32_768
MOST_BLOCKS = 500


def _rich(world: World, arguments: Arguments) -> tuple[Json, Formatted, str]:
    """The rich message, what it shows, and what the bot wrote."""
    if not world.rich:
        raise ApiError(404, "Not Found")
    rich = dict(arguments.mapping("rich_message"))
    given = [name for name in ("markdown", "html", "blocks") if rich.get(name)]
    if len(given) != 1:
        raise bad_request("exactly one of the fields markdown, html and blocks must be specified")
    source = rich[given[0]]
    match given[0]:
        case "markdown":
            text = str(source)
        case "html":
            text = unescape(re.sub(r"<[^>]*>", "", str(source)))
        case _:
            if not isinstance(source, list) or len(source) > MOST_BLOCKS:
                raise bad_request("RICH_MESSAGE_TOO_MANY_BLOCKS")
            text = "\n".join(_words(block) for block in source)
    if not text.strip():
        raise bad_request("message text is empty")
    if len(text) > MOST_RICH:
        raise bad_request("message is too long")
    written = source if isinstance(source, str) else json.dumps(source, ensure_ascii=False)
    return rich, Formatted(text), written


def _words(block: Any) -> str:
    """All text inside a block, in reading order."""
    if isinstance(block, str):
        return block
    if isinstance(block, list):
        return "".join(_words(part) for part in block)
    if isinstance(block, dict):
        return "".join(_words(value) for name, value in block.items() if name not in ("type", "language", "url"))
    return ""


async def send_rich_message(world: World, arguments: Arguments) -> Json:
    rich, shown, written = _rich(world, arguments)
    chat = world.chat(arguments)
    thread = world.thread(chat, arguments)
    target, quote = reply(world, chat, arguments)
    buttons = keyboard(arguments)
    spend(world, chat)
    message = world.post(
        chat,
        world.bot_user,
        {"rich_message": rich},
        shown,
        thread=thread,
        reply=target,
        quote=quote,
        keyboard=buttons,
        markup=written,
    )
    return message.json()


async def send_rich_draft(world: World, arguments: Arguments) -> bool:
    _, shown, written = _rich(world, arguments)
    chat = world.chat(arguments)
    if not chat.private:
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    return show_draft(world, chat, arguments, shown, written)


async def edit_text(world: World, arguments: Arguments) -> Json:
    """editMessageText, which takes a rich message on a server that knows them."""
    if not world.rich or "rich_message" not in arguments.values:
        return await edit_message_text(world, arguments)
    rich, shown, written = _rich(world, arguments)
    message = editable(world, arguments)
    buttons = keyboard(arguments)
    spend(world, message.chat)
    return apply(world, message, {"rich_message": rich}, shown, buttons, written)
