"""The one way in which an id of a person, chat, workspace or role is written, in settings and after `/allow`.

What adapters put into messages is compared with these lists letter by letter. So an id that is written in any other way
(other digits, leading zeros, small letters) would match nobody, and is refused with what was probably meant.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import partial
from typing import Final

from bot.contract.messages import ChatId
from bot.sentences import say

ADMINS = "admins"
"""Stands in a list of ids for the admins of `ADMINS` and those whom an owner made one."""

_LONGEST: Final = 300
"""Characters of what may be an id that is written in another way."""
_NUMBER: Final = "[1-9][0-9]{0,19}"
_TEAM: Final = "[TE][A-Z0-9]+"
"""A workspace, or an organisation of several."""
_PERSON: Final = re.compile(rf"(?:telegram|discord):{_NUMBER}|slack:{_TEAM}/[UW][A-Z0-9]+|console:\w+")
_CHAT: Final = re.compile(
    rf"telegram:{_NUMBER}/-?{_NUMBER}(?:/{_NUMBER})?|discord:{_NUMBER}/{_NUMBER}(?:/{_NUMBER})?"
    rf"|slack:{_TEAM}/[CDG][A-Z0-9]+(?:/[0-9]+\.[0-9]{{6}})?|console:[^/\s]+/[^/\s]+"
)
_CHANNEL: Final = re.compile(
    rf"(?:telegram|slack|discord|console):\*|(?:telegram|discord):{_NUMBER}/\*|slack:{_TEAM}/\*"
    rf"|telegram:-?{_NUMBER}|discord:{_NUMBER}"
)
"""Several chats at once; a chat of Telegram or Discord whatever the bot."""
_WORKSPACE: Final = re.compile(rf"slack:{_TEAM}|discord:guild/{_NUMBER}")
_ROLE: Final = re.compile(rf"discord:role/{_NUMBER}")
_OWN_IDS: Final = frozenset({"discord"})
"""Platforms on which a thread is a channel with an id of its own."""
_GROUP: Final = re.compile(rf"telegram:-{_NUMBER}")
"""A Telegram group, written as a person is."""


class MalformedIdError(ValueError):
    """It is no such id; `key` and `values` make the sentence that says so, in any language (`bot.sentences`)."""

    def __init__(self, key: str, text: str, **values: str) -> None:
        self.key = key
        self.values = {"text": _excerpt(text), **values}
        super().__init__(say(key, "en", **self.values))


def person(text: str) -> str:
    """The id of a person: `telegram:123`, `slack:T1/U1`, `discord:456`.

    Raises:
        MalformedIdError: it is none.
    """
    return _checked(text, str, "id_person", _PERSON)


def chat(text: str) -> str:
    """The id of a chat as `str(ChatId)` writes it: `telegram:BOT/CHAT`, `slack:TEAM/CHANNEL`, `discord:APP/CHANNEL`.

    Raises:
        MalformedIdError: it is none.
    """
    return _checked(text, _unquoted, "id_chat", _CHAT)


def channel(text: str) -> str:
    """A chat, also without its bot (`telegram:-100123`, `discord:456`), or several: `slack:T1/*`, `telegram:*`.

    Raises:
        MalformedIdError: it is none.
    """
    if _CHANNEL.fullmatch(text):
        return text
    return _checked(text, _unquoted, "id_channel", _CHAT, _CHANNEL)


def workspace(text: str) -> str:
    """The id of a Slack workspace or Discord server, as messages name it: `slack:T1`, `discord:guild/456`.

    Raises:
        MalformedIdError: it is none; `discord:456` is one too.
    """
    return _checked(text, partial(_with_kind, "guild"), "id_workspace", _WORKSPACE)


def role(text: str) -> str:
    """The id of a Discord role, as messages name it: `discord:role/456`.

    Raises:
        MalformedIdError: it is none; `discord:456` is one too.
    """
    return _checked(text, partial(_with_kind, "role"), "id_role", _ROLE)


def anything(text: str) -> str:
    """Any of these ids; `discord:456` is a person.

    Raises:
        MalformedIdError: it is none.
    """
    return _checked(text, _unquoted, "id_any", _PERSON, _CHAT, _WORKSPACE, _ROLE)


def anyone(text: str) -> str:
    """Who writes: a person, a workspace, a server or a role; `discord:456` is a person.

    Raises:
        MalformedIdError: it is none.
    """
    return _checked(text, str, "id_who", _PERSON, _WORKSPACE, _ROLE)


def names_of(chat: ChatId) -> tuple[str, ...]:
    """Return every id under which lists may name a chat, the nearest first: a thread's also name its channel."""
    return tuple(dict.fromkeys(one for one in (str(chat), own_id(chat), str(chat.place)) if one))


def own_id(chat: ChatId) -> str:
    """Return the id of a thread that no other chat or thread has, written without its channel; "" where a platform
    counts its threads in each chat anew."""
    return f"{chat.platform}:{chat.account}/{chat.thread}" if chat.thread and chat.platform in _OWN_IDS else ""


def is_person(id: str) -> bool:
    return _PERSON.fullmatch(id) is not None


def _checked(text: str, named: Callable[[str], str], key: str, *forms: re.Pattern[str]) -> str:
    """`text` as messages name it, if that has one of the forms; else the error says what would have."""
    if any(form.fullmatch(named(text)) for form in forms):
        return named(text)
    if len(text) > _LONGEST:
        raise MalformedIdError(key, text)
    meant = named(_canonical(text))
    if any(form.fullmatch(meant) for form in forms):
        raise MalformedIdError("id_written", text, right=meant)
    if re.fullmatch(rf"-?{_NUMBER}", meant):
        raise MalformedIdError("id_platform", text, number=meant)
    if _GROUP.fullmatch(meant) and _PERSON in forms:
        raise MalformedIdError("id_group", text, number=meant.removeprefix("telegram:"))
    raise MalformedIdError(key, text)


def _canonical(text: str) -> str:
    """What somebody probably meant: plain digits without leading zeros, Slack's ids in capitals."""
    plain = unicodedata.normalize("NFKC", "".join(text.split())).translate(_MINUS)
    plain = "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in plain)
    platform, colon, rest = plain.partition(":")
    platform = platform.lower()
    if platform == "slack":
        return f"slack:{rest.upper()}"
    return f"{platform}{colon}{rest}" if platform == "console" else _ZEROS.sub("", f"{platform}{colon}{rest}")


_MINUS: Final = {ord(sign): "-" for sign in "−–—﹣"}
_ZEROS: Final = re.compile(r"(?<![0-9])0+(?=[0-9])")


def _unquoted(text: str) -> str:
    """A chat written anew, so that there is one way to write it; what is none as it is."""
    try:
        return str(ChatId.parse(text))
    except ValueError:
        return text


def _with_kind(kind: str, text: str) -> str:
    """`discord:456` as messages name it, `discord:guild/456`."""
    platform, colon, rest = text.partition(":")
    named = platform == "discord" and colon and "/" not in rest
    return f"discord:{kind}/{rest}" if named else text


def _excerpt(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
