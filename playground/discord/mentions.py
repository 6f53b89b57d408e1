"""Whom a message would wake, and which pages Discord would fetch because of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_CODE = re.compile(r"```[\s\S]*?```|(`+)[\s\S]*?[^`]\1(?!`)")
_USER = re.compile(r"<@!?(\d+)>")
_ROLE = re.compile(r"<@&(\d+)>")
_QUIET_URL = re.compile(r"<https?://[^ >]+>")
_URL = re.compile(r"https?://[^\s<>|]+")


@dataclass(frozen=True, slots=True)
class Ping:
    """One message that would have notified somebody."""

    at: float
    channel: str
    message: str
    whom: tuple[str, ...]
    """`@everyone`, `@here`, `<@person>`, `<@&role>`."""
    edit: bool = False
    """It came with an edit: Discord marks the message for them, without a sound."""


@dataclass(frozen=True, slots=True)
class Preview:
    """One address that Discord would fetch to show a preview."""

    at: float
    channel: str
    message: str
    url: str


@dataclass(frozen=True, slots=True)
class Mentioned:
    """What a text addresses, before anything is allowed or not."""

    users: tuple[str, ...]
    roles: tuple[str, ...]
    everyone: tuple[str, ...]


def mentioned(text: str) -> Mentioned:
    """Read the mentions of `text`; code contains none."""
    text = _CODE.sub(" ", text)
    everyone = tuple(word for word in ("@everyone", "@here") if word in text)
    return Mentioned(tuple(dict.fromkeys(_USER.findall(text))), tuple(dict.fromkeys(_ROLE.findall(text))), everyone)


def allowed(found: Mentioned, rule: Mapping[str, Any] | None, replied_to: str = "") -> Mentioned:
    """What of `found` wakes somebody under an `allowed_mentions` object; without one, everything does."""
    if rule is None:
        users = found.users + ((replied_to,) if replied_to and replied_to not in found.users else ())
        return Mentioned(users, found.roles, found.everyone)
    parse = rule.get("parse") or ()
    users = tuple(user for user in found.users if "users" in parse or user in map(str, rule.get("users") or ()))
    if replied_to and rule.get("replied_user") and replied_to not in users:
        users += (replied_to,)
    roles = tuple(role for role in found.roles if "roles" in parse or role in map(str, rule.get("roles") or ()))
    return Mentioned(users, roles, found.everyone if "everyone" in parse else ())


def names(found: Mentioned) -> tuple[str, ...]:
    """`found` as it is written in a message."""
    return found.everyone + tuple(f"<@{user}>" for user in found.users) + tuple(f"<@&{role}>" for role in found.roles)


def previewed(text: str) -> list[str]:
    """The addresses in `text` that become previews: not in code, not written as `<https://…>`."""
    text = _QUIET_URL.sub(" ", _CODE.sub(" ", text))
    return [url.rstrip(".,:;\"')]*_~") for url in _URL.findall(text)]
