"""The calls that are about the bot and its chats and write nothing into them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from playground.telegram.call import Arguments, Json, bad_request
from playground.telegram.world import World

_SIGNS = (
    "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤\u200d🔥 🌚 🌭 💯 🤣 ⚡ "
    "🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨\u200d💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 "
    "🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷\u200d♂ 🤷 🤷\u200d♀ 😡"
)
REACTIONS = frozenset(_SIGNS.split())

Handler = Callable[[World, Arguments], Awaitable[object]]


async def get_me(world: World, arguments: Arguments) -> Json:
    return world.bot


def _scope(arguments: Arguments) -> str:
    """The place a command list is for; lists of different scopes and languages do not touch."""
    scope = arguments.mapping("scope")
    parts = [scope.get("type", "default"), scope.get("chat_id", ""), scope.get("user_id", "")]
    return ":".join(map(str, [*parts, _language(arguments)]))


def _language(arguments: Arguments) -> str:
    """The language that a text is for; empty for everybody else. Regions and scripts are not told apart."""
    code = arguments.text("language_code")
    if code and not re.fullmatch(r"[a-z]{2}", code):
        raise bad_request("invalid language code specified")
    return code


async def set_my_commands(world: World, arguments: Arguments) -> bool:
    commands = arguments.structure("commands")
    if not isinstance(commands, list):
        raise bad_request("can't parse commands: expected an Array of BotCommand")
    if len(commands) > 100:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not re.fullmatch(r"[a-z0-9_]{1,32}", str(command.get("command", "")).removeprefix("/")):
            raise bad_request("BOT_COMMAND_INVALID")
        if not 1 <= len(str(command.get("description", ""))) <= 256:
            raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    world.profile[f"commands:{_scope(arguments)}"] = commands
    return True


async def get_my_commands(world: World, arguments: Arguments) -> object:
    return world.profile.get(f"commands:{_scope(arguments)}", [])


async def answer_callback_query(world: World, arguments: Arguments) -> bool:
    """Show a notice of at most 200 characters to who pressed a button.

    https://core.telegram.org/bots/api#answercallbackquery
    """
    query = arguments.text("callback_query_id")
    if query not in world.callbacks:
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    if len(arguments.text("text")) > 200:
        raise bad_request("MESSAGE_TOO_LONG")
    text = arguments.text("text")
    world.callbacks[query] = {"text": text, "show_alert": arguments.flag("show_alert")}
    if text:
        world.screen.notice(world.pressed_in.get(query, ""), f"answer: {text}")
    return True


async def set_message_reaction(world: World, arguments: Arguments) -> bool:
    chat = world.chat(arguments)
    message = world.messages.get((chat.id, arguments.integer("message_id")))
    if message is None:
        raise bad_request("message to react not found")
    wanted = arguments.structure("reaction") or []
    if not isinstance(wanted, list):
        raise bad_request("can't parse reaction types: expected an Array of ReactionType")
    if len(wanted) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    for reaction in wanted:
        if reaction.get("type") == "emoji" and str(reaction.get("emoji")).rstrip("\ufe0f") not in REACTIONS:
            raise bad_request("REACTION_INVALID")
    world.reactions[chat.id, message.id] = wanted
    signs = "".join(str(reaction.get("emoji", "")) for reaction in wanted)
    world.screen.notice(str(chat.id), f"reaction {signs}".strip())
    world.screen.changed(message.shown)
    return True
