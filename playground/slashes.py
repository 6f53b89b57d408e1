"""What somebody types behind a slash on Discord: the options it fills in, and what the bot offers meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from playground.discord import DiscordServer
from playground.discord.world import Json, Person

_TEXT: Final = 3
_PATIENCE: Final = 3.0
"""Seconds after which Discord itself gives up."""


def listed(scopes: Mapping[str, Mapping[str, Json]]) -> list[Json]:
    """Return the registered commands as the page lists them; see `Window.commands`."""
    known = {one["name"]: one for scope in scopes.values() for one in scope.values() if one["type"] == 1}
    return [
        {
            "name": f"/{name}",
            "about": one.get("description", ""),
            "options": [
                {
                    "name": option["name"],
                    "about": option.get("description", ""),
                    "required": bool(option.get("required")),
                    "completes": bool(option.get("autocomplete")),
                }
                for option in one.get("options") or ()
            ],
        }
        for name, one in sorted(known.items())
    ]


def filled_in(command: Mapping[str, Any], rest: str) -> dict[str, str]:
    """Return the options that `rest`, typed behind a command, stands for.

    Where the bot completes the first of several, that is one word; else all of it is the first one.

    Raises:
        ValueError: a required option is missing.
    """
    options = command.get("options") or []
    needed = " ".join(option["name"].upper() for option in options if option.get("required"))
    if needed and not rest.strip():
        name = command["name"]
        raise ValueError(f"/{name} needs something behind it: /{name} {needed}")
    texts = [option for option in options if option["type"] == _TEXT]
    if not texts or not rest.strip():
        return {}
    first, _, second = rest.strip().partition(" ")
    if len(texts) > 1 and texts[0].get("autocomplete") and second.strip():
        return {texts[0]["name"]: first, texts[1]["name"]: second.strip()}
    return {texts[0]["name"]: rest.strip()}


async def completed(server: DiscordServer, place: str, guild: str, person: Person, typed: str) -> list[str]:
    """Return what the bot offers to somebody who has typed this much of a command, as they would write it."""
    name, space, begun = typed.removeprefix("/").partition(" ")
    command = server.commands.find(name, guild) or {}
    option: Json = next((one for one in command.get("options") or () if one["type"] == _TEXT), {})
    if not space or not option.get("autocomplete"):
        return []
    made = server.type_in(name, {option["name"]: begun}, option["name"], place, person)
    try:
        await server.screen.until(lambda _: made.choices is not None, _PATIENCE)
    except TimeoutError:
        return []
    return [f"/{name} {one['value']}" for one in made.choices or ()]
