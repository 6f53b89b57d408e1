"""The one way in which an id of a person, chat, workspace or role is written, in settings and after `/allow`.

What adapters put into messages is compared with these lists letter by letter. So an id that is written in any other way
(other digits, leading zeros, small letters) would match nobody, and is refused with what was probably meant. How each
platform writes its ids is said in `ids.py` of its package; `use` takes these in before settings are read.
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
"""Stands in a list of ids for the admins of `ADMINS` and those whom an owner made one."""

_LONGEST: Final = 300
"""Characters of what may be an id that is written in another way."""
NUMBER: Final = "[1-9][0-9]{0,19}"
"""The pattern of ids that are numbers."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a platform writes one kind of id behind `name:`."""

    pattern: str
    example: str = ""
    """What people are shown; empty on a platform that nobody is asked to list."""
    kind: str = ""
    """What messages put before it, with a slash, and a list of this kind may leave out: `guild` in `guild/456`."""

    def read(self, rest: str, *, short: bool) -> str | None:
        """Return `rest` as messages name it, None if it is no such id; `short`: it may lack its kind."""
        before = f"{self.kind}/" if self.kind else ""
        whole = before + rest if short and "/" not in rest else rest
        return whole if re.fullmatch(f"{before}(?:{self.pattern})", whole) else None

    def show(self, *, short: bool) -> str:
        """Return the example as it may be written."""
        return f"{self.kind}/{self.example}" if self.kind and self.example and not short else self.example


_NONE: Final = Form("(?!)")


@dataclass(frozen=True, slots=True)
class PlatformIds:
    """How one platform writes its ids."""

    person: Form
    chat: Form
    """As `str(ChatId)` writes it, thread included."""
    bare_chat: Form = _NONE
    """A chat without its account, where that is unique."""
    account: Form = _NONE
    """All chats of an account: `ACCOUNT/*`."""
    workspace: Form = _NONE
    role: Form = _NONE
    canonical: Callable[[str], str] = str
    """What somebody probably meant who wrote an id in plain digits, but in another way."""
    threads_are_chats: bool = False
    """A thread is a channel with an id of its own."""


def without_zeros(text: str) -> str:
    """Return it with its numbers written without zeros before them."""
    return _ZEROS.sub("", text)


_platforms: Final[dict[str, PlatformIds]] = {}


def use(platforms: Mapping[str, PlatformIds]) -> None:
    """Read the ids of these platforms from now on, and of no others."""
    _platforms.clear()
    _platforms.update(platforms)


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
    return _checked(text, "id_person", "person")


def chat(text: str) -> str:
    """The id of a chat as `str(ChatId)` writes it: `telegram:BOT/CHAT`, `slack:TEAM/CHANNEL`, `discord:APP/CHANNEL`.

    Raises:
        MalformedIdError: it is none.
    """
    return _checked(text, "id_chat", "chat")


def channel(text: str) -> str:
    """A chat, also without its bot (`telegram:-100123`, `discord:456`), or several: `slack:T1/*`, `telegram:*`.

    Raises:
        MalformedIdError: it is none.
    """
    platform, _, rest = text.partition(":")
    return text if platform in _platforms and rest == "*" else _checked(text, "id_channel", *_CHANNELS)


def workspace(text: str) -> str:
    """The id of a Slack workspace or Discord server, as messages name it: `slack:T1`, `discord:guild/456`.

    Raises:
        MalformedIdError: it is none; `discord:456` is one too.
    """
    return _checked(text, "id_workspace", "workspace")


def role(text: str) -> str:
    """The id of a Discord role, as messages name it: `discord:role/456`.

    Raises:
        MalformedIdError: it is none; `discord:456` is one too.
    """
    return _checked(text, "id_role", "role")


def anything(text: str) -> str:
    """Any of these ids; `discord:456` is a person.

    Raises:
        MalformedIdError: it is none.
    """
    return _checked(text, "id_any", "person", "chat", "workspace", "role")


def anyone(text: str) -> str:
    """Who writes: a person, a workspace, a server or a role; `discord:456` is a person.

    Raises:
        MalformedIdError: it is none.
    """
    return _checked(text, "id_who", "person", "workspace", "role")


def names_of(chat: ChatId) -> tuple[str, ...]:
    """Return every id under which lists may name a chat, the nearest first: a thread's also name its channel."""
    return tuple(dict.fromkeys(one for one in (str(chat), own_id(chat), str(chat.place)) if one))


def own_id(chat: ChatId) -> str:
    """Return the id of a thread that no other chat or thread has, written without its channel; "" where a platform
    counts its threads in each chat anew."""
    known = _platforms.get(chat.platform) if chat.thread else None
    return f"{chat.platform}:{chat.account}/{chat.thread}" if known and known.threads_are_chats else ""


def is_person(id: str) -> bool:
    return _read(id, "person") is not None


def is_workspace(id: str) -> bool:
    """Whether an id is that of a Slack workspace or of a Discord server, as messages name it."""
    return _read(id, "workspace") == id


def examples(*kinds: str) -> str:
    """Return what ids of these kinds look like on each platform, behind commas."""
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
    """Return `text` as messages name it, None if it is an id of none of the kinds."""
    platform, _, rest = text.partition(":")
    if (ids := _platforms.get(platform)) is None:
        return None
    for kind in kinds:
        written = _unquoted(text).removeprefix(f"{platform}:") if kind == "chat" else rest
        if (found := _form(ids, kind).read(written, short=len(kinds) == 1)) is not None:
            return f"{platform}:{found}"
    return None


def _checked(text: str, key: str, *kinds: str) -> str:
    """`text` as messages name it, if it is an id of one of the kinds; else the error says what would be one."""
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
    """What somebody probably meant: plain digits and signs, as the platform writes them."""
    plain = unicodedata.normalize("NFKC", "".join(text.split())).translate(_MINUS)
    plain = "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in plain)
    platform, colon, rest = plain.partition(":")
    known = _platforms.get(platform.lower()) if colon else None
    return f"{platform.lower()}:{known.canonical(rest)}" if known else plain


def _on_each_platform(text: str) -> Iterator[str]:
    """Yield an id without its platform as one of each platform whose people are listed."""
    yield from (f"{name}:{ids.canonical(text)}" for name, ids in _platforms.items() if ids.person.example)


def _with_account(bare: str) -> str:
    """A chat that lacks its account, with a word in place of it."""
    platform, _, rest = bare.partition(":")
    return f"{platform}:{_platforms[platform].chat.example.partition('/')[0]}/{rest}"


_MINUS: Final = {ord(sign): "-" for sign in "−–—﹣"}
_ZEROS: Final = re.compile(r"(?<![0-9])0+(?=[0-9])")


def _unquoted(text: str) -> str:
    """A chat written anew, so that there is one way to write it; what is none as it is."""
    try:
        return str(ChatId.parse(text))
    except ValueError:
        return text


def _excerpt(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
