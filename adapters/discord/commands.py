"""The slash commands and their registration with Discord.

A command is registered once for the application and stays; Discord limits how many are created in a day. So the list is
read first, and written only if it differs. https://discord.com/developers/docs/interactions/application-commands
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import discord
from discord.http import Route

from bot.contract import words
from bot.sentences import say

Payload: TypeAlias = dict[str, Any]

ASK: Final = "ask"
"""The command that asks the model; every other one is a word of `bot.contract.words`."""

SUGGESTED: Final = frozenset({"model", "tool"})
"""Commands whose first option is completed while a person types."""
_CHAT_INPUT: Final = 1
_MESSAGE: Final = 3
_STRING: Final = 3
# Installed in a server or by a person; used in servers, with the bot alone, and in other direct messages.
_INSTALLS: Final = [0, 1]
_CONTEXTS: Final = [0, 1, 2]
_LOCALES: Final = ("zh-CN", "zh-TW")
"""Discord's languages, beside English, in which commands are described."""


def payloads() -> list[Payload]:
    """Return the registration payload of every command."""
    wanted = [_command(ASK, [_option("question", ASK, required=True)])]
    for one in words.COMMANDS:
        names = names_of(one.word)
        needed = bool(names) and not one.argument.startswith("[")
        options = [_option(name, one.word, required=needed) for name in names[-1:]]
        if len(names) > 1:
            # Some tools need no arguments.
            options = [_option(names[0], f"{one.word}_{names[0]}", required=needed), options[0] | {"required": False}]
        if one.word in SUGGESTED:
            options[0]["autocomplete"] = True
        wanted.append(_command(one.word, options))
    return [*wanted, _menu_entry()]


def names_of(word: str) -> list[str]:
    """Return the names of a command's options, in their written order."""
    argument = words.BY_WORD[word].argument if word in words.BY_WORD else ""
    if " | " in argument:
        return ["how"]
    names = re.findall(r"[a-z]+", argument.lower())
    return names if word == "tool" else names[-1:]


async def registered(client: discord.Client) -> bool:
    """Return True if Discord has exactly our commands."""
    return _essence(await _known(client)) == _essence(payloads())


async def register(client: discord.Client) -> bool:
    """Register our commands if Discord has others; return False if nothing had to change."""
    if await registered(client):
        return False
    await client.http.bulk_upsert_global_commands(_application(client), payloads())
    return True


async def _known(client: discord.Client) -> list[Payload]:
    # Without the parameter Discord omits the translations, and every start would find a difference.
    route = Route("GET", "/applications/{application_id}/commands", application_id=_application(client))
    found: list[Payload] = await client.http.request(route, params={"with_localizations": "true"})
    return found


def _application(client: discord.Client) -> int:
    assert client.application_id is not None, "the client is not logged in"
    return client.application_id


def _command(word: str, options: list[Payload]) -> Payload:
    return {
        "type": _CHAT_INPUT,
        "name": word,
        **_described(f"command_{word}"),
        "options": options,
        "integration_types": _INSTALLS,
        "contexts": _CONTEXTS,
    }


def _menu_entry() -> Payload:
    """The entry in the menu of every message, which has only a name."""
    return {
        "type": _MESSAGE,
        "name": say("about_menu", "en"),
        "name_localizations": {locale: say("about_menu", locale) for locale in _LOCALES},
        "description": "",
        "integration_types": _INSTALLS,
        "contexts": _CONTEXTS,
    }


def _option(name: str, word: str, *, required: bool) -> Payload:
    return {"type": _STRING, "name": name, **_described(f"argument_{word}"), "required": required}


def _described(key: str) -> Payload:
    """The names stay English in every language: our sentences tell people to write them."""
    return {
        "description": say(key, "en"),
        "description_localizations": {locale: say(key, locale) for locale in _LOCALES},
    }


def _essence(found: list[Payload]) -> dict[tuple[int, str], object]:
    """Reduce a list of commands to its essentials, ignoring order and Discord's additions."""
    return {
        (int(one.get("type") or _CHAT_INPUT), str(one["name"])): (
            _words(one),
            [_essence_of(option) for option in one.get("options") or ()],
            sorted(one.get("integration_types") or ()),
            sorted(one.get("contexts") or ()),
        )
        for one in found
    }


def _essence_of(option: Mapping[str, Any]) -> tuple[object, ...]:
    return option["type"], bool(option.get("required")), bool(option.get("autocomplete")), _words(option)


def _words(one: Mapping[str, Any]) -> tuple[str, str, list[tuple[str, str]]]:
    translated = {**(one.get("name_localizations") or {}), **(one.get("description_localizations") or {})}
    return one["name"], one["description"], sorted(translated.items())
