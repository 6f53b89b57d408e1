"""What a page needs of a message beside its text: its buttons, cards and reactions, and what was done with it.

Each function takes an emulator and a message on its screen, and reads what the emulator knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from playground.discord import DiscordServer
from playground.discord.interactions import SLASH
from playground.screen import Shown
from playground.slack import SlackServer
from playground.slack.blocks import blocks_of, pressable
from playground.telegram import TelegramServer

Json: TypeAlias = dict[str, Any]
YOU: Final = "you"
PEOPLE: Final = {YOU: "Ada", "lin": "Lin Wei"}
"""Whom the page can write as, by the key the page knows them by."""
SIGNS: Final = {"👍": "+1", "👎": "-1", "❤️": "heart", "🎉": "tada", "👀": "eyes", "😂": "joy"}
"""The reactions that can be chosen, with the names Slack has for them."""
_NAMES: Final = {name: sign for sign, name in SIGNS.items()} | {"thumbsup": "👍", "thumbsdown": "👎", "x": "❌"}
_NOT_MEANT: Final = "Not for the bot: nobody mentions it."
_STYLES: Final = {1: "primary", 2: "", 3: "success", 4: "danger", 5: "link"}
"""https://docs.discord.com/developers/components/reference#button-button-styles"""


def of_telegram(server: TelegramServer, message: Shown) -> Json:
    """Buttons in rows, reactions of the bot, and whether the bot has taken the update."""
    world = server.world
    number = (int(message.chat), int(message.id)) if message.id.isdecimal() else (0, 0)
    known = world.messages.get(number)
    rows = known.keyboard.get("inline_keyboard", []) if known else []
    waiting = any(_about(update) == number for update in world.updates.waiting.values())
    return {
        "buttons": [
            {
                "id": one.get("callback_data", ""),
                "label": one["text"],
                "style": one.get("style", ""),
                "row": index,
                "address": one.get("url", ""),
            }
            for index, row in enumerate(rows)
            for one in row
        ],
        "reactions": {str(one.get("emoji", "")): ["bot"] for one in world.reactions.get(number, ())},
        "read": message.author != "bot" and not waiting,
    }


def _about(update: Json) -> tuple[int, int]:
    """The chat and number of the message that an update brings; zeros for any other update."""
    content = update.get("message") or update.get("edited_message")
    return (content["chat"]["id"], content["message_id"]) if content else (0, 0)


def of_slack(server: SlackServer, message: Shown) -> Json:
    """Buttons, task cards of a stream, and reactions."""
    known = server.workspace.messages.get((message.chat, message.id))
    if known is None:
        return {}
    stream = known.stream
    tasks = stream.tasks.values() if stream else ()
    return {
        "buttons": [
            {
                "id": f"{action['action_id']} {action['value']}",
                "label": label,
                "style": _style(block, action["action_id"]),
                "row": 0,
                "address": "",
            }
            for label, block, action in pressable(blocks_of(known.blocks, known.attachments))
        ],
        "plan": stream.plan if stream else "",
        "cards": [
            {
                "title": task.get("title", ""),
                "state": task.get("status", "pending"),
                "detail": _said(task.get("details")),
                "output": _said(task.get("output")),
                "seconds": task.get("seconds"),
            }
            for task in tasks
        ],
        "reactions": {_NAMES.get(name, f":{name}:"): users for name, users in known.reactions.items()},
    }


def _said(text: object) -> str:
    return text if isinstance(text, str) else ""


def _style(block: Json, action: str) -> str:
    elements: Sequence[Json] = block.get("elements") or [block.get("accessory") or {}]
    return next((str(one.get("style", "")) for one in elements if one.get("action_id") == action), "")


def of_discord(server: DiscordServer, message: Shown) -> Json:
    """Buttons in rows with their styles, reactions, and the slash command that was answered."""
    known = server.state.messages.get(message.id)
    if known is None:
        return {}
    return {
        "buttons": [
            {
                "id": one.get("custom_id", ""),
                "label": one.get("label") or (one.get("emoji") or {}).get("name") or "…",
                "style": _STYLES.get(one.get("style", 2), ""),
                "row": index,
                "address": one.get("url", ""),
            }
            for index, row in enumerate(_rows(known.components))
            for one in row
            if not one.get("disabled")
        ],
        "reactions": known.reactions,
        "embeds": known.embeds,
        "via": _command(server, known.asked_by),
    }


def _rows(components: Iterable[Json]) -> list[list[Json]]:
    """The buttons of a message, row by row, wherever a row is nested."""
    found: list[list[Json]] = []
    for part in components:
        inner = [one for one in part.get("components") or () if isinstance(one, dict)]
        accessory = part.get("accessory")
        row = [one for one in [*inner, accessory] if isinstance(one, dict) and one.get("type") == 2]
        found += [row] if row else []
        found += _rows([one for one in inner if one.get("type") != 2])
    return found


def _command(server: DiscordServer, asked_by: Mapping[str, Any] | None) -> Json | None:
    """Who used which command, where a message answers one."""
    if asked_by is None or asked_by["type"] != SLASH:
        return None
    made = next((one for one in server.interactions.by_token.values() if one.id == asked_by["id"]), None)
    return None if made is None else {"author": made.person.id, "command": str(made.data.get("name", ""))}


def not_meant(message: Shown, mention: str, thread: str, replied: Shown | None) -> str:
    """One line for a message that the bot leaves alone; empty for any other.

    Args:
        mention: how the bot is mentioned in that place; empty where it hears everything.
        replied: the message it replies to.
    """
    if not mention or thread or message.author == "bot" or not message.versions:
        return ""
    last = message.versions[-1]
    written = last.markup or last.text
    to_bot = replied is not None and replied.author == "bot"
    return "" if to_bot or mention in written or written.startswith("/") else _NOT_MEANT
