"""The one notation for ids of people, chats, workspaces and roles, in settings and after `/allow`.

Ids in messages are compared with these lists character by character. An id in another notation (other digits, leading
zeros, lower case) would match nobody, so it is refused with the likely correction. Each platform describes its ids in
the `ids.py` of its package; `use` registers them before settings are read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bot.contract.messages import ChatId
from bot.sentences import say

ADMINS = "admins"
"""In a list of ids: everybody in `ADMINS`, and the admins that an owner made."""

_LONGEST: Final = 300
"""Characters of a text that may be an id in another notation."""
NUMBER: Final = "[1-9][0-9]{0,19}"
"""The pattern of numeric ids."""


@dataclass(frozen=True, slots=True)
class Form:
    """A platform's notation for one kind of id, after `name:`."""

    pattern: str
    example: str = ""
    """An example for people; empty for a platform that nobody is asked to list."""
    kind: str = ""
    """The prefix in messages, before a slash, which a list of this kind can omit: `guild` in `guild/456`."""

    def read(self, rest: str, *, short: bool) -> str | None:
        """Return `rest` in the notation of messages, or None if it is not such an id; `short`: it may omit its kind."""
        before = f"{self.kind}/" if self.kind else ""
        whole = before + rest if short and "/" not in rest else rest
        return whole if re.fullmatch(f"{before}(?:{self.pattern})", whole) else None

    def show(self, *, short: bool) -> str:
        """Return the example in its shortest notation."""
        return f"{self.kind}/{self.example}" if self.kind and self.example and not short else self.example


_NONE: Final = Form("(?!)")


def _never_linked(address: str) -> tuple[str, str] | None:
    return None


@dataclass(frozen=True, slots=True)
class PlatformIds:
    """A platform's notation for its ids."""

    person: Form
    chat: Form
    """In the notation of `str(ChatId)`, thread included."""
    bare_chat: Form = _NONE
    """A chat without its account, if that is unique."""
    account: Form = _NONE
    """All chats of an account: `ACCOUNT/*`."""
    workspace: Form = _NONE
    role: Form = _NONE
    canonical: Callable[[str], str] = str
    """The likely meaning of an id in plain digits but another notation."""
    threads_are_chats: bool = False
    """A thread is a channel with an id of its own."""
    linked: Callable[[str], tuple[str, str] | None] = _never_linked
    """The channel and the message that a link of the platform leads to; None: it is no such link."""


def without_zeros(text: str) -> str:
    """Return the id with leading zeros removed from its numbers."""
    return _ZEROS.sub("", text)


_platforms: Final[dict[str, PlatformIds]] = {}


def use(platforms: Mapping[str, PlatformIds]) -> None:
    """Use the ids of these platforms from now on, and no others."""
    _platforms.clear()
    _platforms.update(platforms)


class MalformedIdError(ValueError):
    """The text is not a valid id; `key` and `values` make the sentence about it in any language (`bot.sentences`)."""

    def __init__(self, key: str, text: str, **values: str) -> None:
        self.key = key
        self.values = {"text": _excerpt(text), **values}
        super().__init__(say(key, "en", **self.values))


def person(text: str) -> str:
    """The id of a person: `telegram:123`, `slack:T1/U1`, `discord:456`.

    Raises:
        MalformedIdError: it is not one.
    """
    return _checked(text, "id_person", "person")


def chat(text: str) -> str:
    """The id of a chat in the notation of `str(ChatId)`: `telegram:BOT/CHAT`, `slack:TEAM/CHANNEL`,
    `discord:APP/CHANNEL`.

    Raises:
        MalformedIdError: it is not one.
    """
    return _checked(text, "id_chat", "chat")


def channel(text: str) -> str:
    """A chat, also without its bot (`telegram:-100123`, `discord:456`), or several: `slack:T1/*`, `telegram:*`.

    Raises:
        MalformedIdError: it is not one.
    """
    platform, _, rest = text.partition(":")
    return text if platform in _platforms and rest == "*" else _checked(text, "id_channel", *_CHANNELS)


def workspace(text: str) -> str:
    """The id of a Slack workspace or Discord server, in the notation of messages: `slack:T1`, `discord:guild/456`.

    Raises:
        MalformedIdError: it is not one; `discord:456` is accepted, too.
    """
    return _checked(text, "id_workspace", "workspace")


def role(text: str) -> str:
    """The id of a Discord role, in the notation of messages: `discord:role/456`.

    Raises:
        MalformedIdError: it is not one; `discord:456` is accepted, too.
    """
    return _checked(text, "id_role", "role")


def anything(text: str) -> str:
    """Any of these ids; `discord:456` is a person.

    Raises:
        MalformedIdError: it is not one.
    """
    return _checked(text, "id_any", "person", "chat", "workspace", "role")


def anyone(text: str) -> str:
    """The id of a writer: a person, a workspace, a server or a role; `discord:456` is a person.

    Raises:
        MalformedIdError: it is not one.
    """
    return _checked(text, "id_who", "person", "workspace", "role")


def names_of(chat: ChatId) -> tuple[str, ...]:
    """Return every id by which a list can name a chat, the nearest first: for a thread, its channel's, too."""
    return tuple(dict.fromkeys(one for one in (str(chat), own_id(chat), str(chat.place)) if one))


def own_id(chat: ChatId) -> str:
    """Return the id of a thread without its channel, if no other chat or thread has the same; "" if a platform numbers
    its threads in each chat separately."""
    known = _platforms.get(chat.platform) if chat.thread else None
    return f"{chat.platform}:{chat.account}/{chat.thread}" if known and known.threads_are_chats else ""


def linked_message(address: str) -> tuple[str, str, str] | None:
    """Return the platform, channel and message that a link leads to, as `https://t.me/c/123/45` does; None: it is no
    link to a message."""
    if len(address) > _LONGEST:
        return None
    for name, ids in _platforms.items():
        if (found := ids.linked(address.strip())) is not None:
            return (name, *found)
    return None


def is_person(id: str) -> bool:
    return _read(id, "person") is not None


def is_workspace(id: str) -> bool:
    """Return True if an id is a Slack workspace's or a Discord server's, in the notation of messages."""
    return _read(id, "workspace") == id


def examples(*kinds: str) -> str:
    """Return examples of these kinds of ids on each platform, separated by commas."""
    shown = (
        f"{name}:{form.show(short=len(kinds) == 1)}"
        for kind in kinds
        for name, form in ((name, _form(ids, kind)) for name, ids in _platforms.items())
        if form.example
    )
    return ", ".join(shown)


_CHANNELS: Final = ("chat", "bare_chat", "account")


def _form(ids: PlatformIds, kind: str) -> Form:
    found: Form = getattr(ids, kind)
    return found


def _read(text: str, *kinds: str) -> str | None:
    """Return `text` in the notation of messages, or None if it is an id of none of the kinds."""
    platform, _, rest = text.partition(":")
    if (ids := _platforms.get(platform)) is None:
        return None
    for kind in kinds:
        written = _unquoted(text).removeprefix(f"{platform}:") if kind == "chat" else rest
        if (found := _form(ids, kind).read(written, short=len(kinds) == 1)) is not None:
            return f"{platform}:{found}"
    return None


def _checked(text: str, key: str, *kinds: str) -> str:
    """Return `text` in the notation of messages if it is an id of one of the kinds; the error otherwise names a valid
    one."""
    if (found := _read(text, *kinds)) is not None:
        return found
    if len(text) <= _LONGEST:
        named = _canonical(text)
        meant = [named] if named.partition(":")[0] in _platforms else list(_on_each_platform(named))
        if rights := [right for one in meant if (right := _read(one, *kinds)) is not None]:
            raise MalformedIdError("id_written" if meant == [named] else "id_platform", text, right=", ".join(rights))
        if "person" in kinds and (groups := [_with_account(one) for one in meant if _read(one, "bare_chat")]):
            raise MalformedIdError("id_group", text, right=", ".join(groups))
    raise MalformedIdError(key, text, examples=examples(*kinds))


def _canonical(text: str) -> str:
    """Return the likely meaning: plain digits and characters, in the platform's notation."""
    plain = unicodedata.normalize("NFKC", "".join(text.split())).translate(_MINUS)
    plain = "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in plain)
    platform, colon, rest = plain.partition(":")
    known = _platforms.get(platform.lower()) if colon else None
    return f"{platform.lower()}:{known.canonical(rest)}" if known else plain


def _on_each_platform(text: str) -> Iterator[str]:
    """Yield an id without a platform as one of each platform whose people are listed."""
    yield from (f"{name}:{ids.canonical(text)}" for name, ids in _platforms.items() if ids.person.example)


def _with_account(bare: str) -> str:
    """Return a chat without an account with a placeholder for it."""
    platform, _, rest = bare.partition(":")
    return f"{platform}:{_platforms[platform].chat.example.partition('/')[0]}/{rest}"


_MINUS: Final = {ord(sign): "-" for sign in "−–—﹣"}
_ZEROS: Final = re.compile(r"(?<![0-9])0+(?=[0-9])")


def _unquoted(text: str) -> str:
    """Return a chat in its one notation, or the text as it is if it is not a chat."""
    try:
        return str(ChatId.parse(text))
    except ValueError:
        return text


def _excerpt(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
