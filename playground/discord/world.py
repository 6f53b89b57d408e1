"""What exists on the emulated Discord: people, servers, channels, threads and messages. Plain data, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

TEXT, DIRECT, SEVERAL, THREAD, FORUM = 0, 1, 3, 11, 15
"""Channel types."""
DEFAULT, REPLY, COMMAND, THREAD_STARTER = 0, 19, 20, 21
"""Message types."""
SUPPRESS_EMBEDS, EPHEMERAL, LOADING, SUPPRESS_NOTIFICATIONS, COMPONENTS_V2 = 1 << 2, 1 << 6, 1 << 7, 1 << 12, 1 << 15
"""Message flags."""

PERMISSIONS = {
    "ADD_REACTIONS": 1 << 6,
    "VIEW_CHANNEL": 1 << 10,
    "SEND_MESSAGES": 1 << 11,
    "MANAGE_MESSAGES": 1 << 13,
    "EMBED_LINKS": 1 << 14,
    "ATTACH_FILES": 1 << 15,
    "READ_MESSAGE_HISTORY": 1 << 16,
    "MENTION_EVERYONE": 1 << 17,
    "CREATE_PUBLIC_THREADS": 1 << 35,
    "SEND_MESSAGES_IN_THREADS": 1 << 38,
}
"""What a bot may be granted, by name; a channel may deny any of it."""
INVITED = 309237763136
"""What the invitation of docs/discord.md grants: everything above but to manage messages and to mention everyone."""


@dataclass(slots=True)
class Person:
    """Somebody with an account: a human, a bot, or the face of a webhook."""

    id: str
    name: str
    bot: bool = False
    blocked: bool = False
    """Takes no direct messages from the bot."""
    locale: str = "en-US"
    """The language of their app, which only interactions tell."""


@dataclass(slots=True)
class Guild:
    """A server, as its people call it."""

    id: str
    name: str
    member: bool = True
    """The bot is in it; otherwise only its commands, installed by a person, can be used there."""
    granted: int = INVITED
    """The bot's permissions: those of its invitation, and what the server's people give it besides."""
    roles: dict[str, str] = field(default_factory=dict)
    own_role: str = ""
    """The id of the role that Discord made with the bot's invitation: it has the bot's name, and stands beside it in
    the list that completes a mention."""
    held: dict[str, list[str]] = field(default_factory=dict)
    """The ids of the roles that a person has here, by the person's id; everybody has the server's own besides."""


@dataclass(slots=True)
class Channel:
    """A text channel, a forum, a thread, one person's direct messages, or those of several, which no bot is in."""

    id: str
    name: str
    kind: int = TEXT
    guild: Guild | None = None
    member: bool = True
    """The bot can see it."""
    denied: set[str] = field(default_factory=set)
    """Names out of `PERMISSIONS` that the bot does not have here."""
    recipient: Person | None = None
    parent: Channel | None = None
    owner: str = ""
    created: float = 0.0
    archived: bool = False
    locked: bool = False
    archive_after: int = 1440
    messages: list[str] = field(default_factory=list)

    @property
    def visible(self) -> bool:
        """The bot can see it and read in it."""
        if self.guild is None:
            return self.kind != SEVERAL
        return self.guild.member and self.member and (self.parent is None or self.parent.visible)

    def may(self, permission: str) -> bool:
        """Whether the bot has `permission` here."""
        if self.guild is None:
            return True
        if permission in self.denied or not self.guild.granted & PERMISSIONS[permission]:
            return False
        return self.parent is None or permission == "SEND_MESSAGES" or self.parent.may(permission)

    def permissions(self) -> int:
        """The bot's permissions here as Discord writes them."""
        return sum(bit for name, bit in PERMISSIONS.items() if self.may(name))


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that hangs on a message."""

    id: str
    name: str
    media_type: str
    content: bytes

    @property
    def voice(self) -> bool:
        """Recorded in the client, which gives it this name."""
        return self.name.startswith("voice-message.")


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What a forward carries: a copy of the message as it stood then, without its author."""

    reference: Json
    snapshot: Json


@dataclass(slots=True)
class Message:
    """One message as it stands now."""

    id: str
    channel: Channel
    author: Person
    created: float
    content: str = ""
    edited: float | None = None
    kind: int = DEFAULT
    flags: int = 0
    embeds: list[Json] = field(default_factory=list)
    components: list[Json] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    stickers: list[str] = field(default_factory=list)
    """Their names."""
    poll: str = ""
    """The question of a poll."""
    poll_ends: bool = True
    mentions: list[str] = field(default_factory=list)
    mention_roles: list[str] = field(default_factory=list)
    mention_everyone: bool = False
    reference: str = ""
    """The message it replies to; that one may be gone."""
    forwarded: Forwarded | None = None
    nonce: str | int | None = None
    webhook: str = ""
    application: str = ""
    asked_by: Json | None = None
    """The interaction it answers, as Discord tells about it."""
    reactions: dict[str, list[str]] = field(default_factory=dict)
    thread: Channel | None = None
    deleted: bool = False

    @property
    def ephemeral(self) -> bool:
        return bool(self.flags & EPHEMERAL)

    @property
    def loading(self) -> bool:
        return bool(self.flags & LOADING)

    def buttons(self) -> list[Json]:
        """Every component a person can use, wherever it is nested."""
        return [part for part in parts(self.components) if part.get("custom_id")]

    def visible_parts(self) -> list[str]:
        """The pieces of text a person reads, in order."""
        said = [self.content] if self.content else []
        if self.forwarded is not None and self.forwarded.snapshot["content"]:
            said.append(self.forwarded.snapshot["content"])
        said += [part["content"] for part in parts(self.components) if part.get("type") == 10]
        for embed in self.embeds:
            said += [str(embed[key]) for key in ("title", "description") if embed.get(key)]
            for entry in embed.get("fields") or ():
                said += [str(entry["name"]), str(entry["value"])]
            if footer := (embed.get("footer") or {}).get("text"):
                said.append(str(footer))
        return said


def parts(components: list[Json]) -> list[Json]:
    """All components of a message, outer ones before what they hold."""
    found: list[Json] = []
    for part in components:
        found.append(part)
        inner = part.get("components")
        found += parts(inner if isinstance(inner, list) else [])
        if isinstance(accessory := part.get("accessory"), dict):
            found += parts([accessory])
    return found
