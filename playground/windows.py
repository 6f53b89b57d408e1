"""The three chats of the page: where a person can write on each emulated platform, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from playground.discord import DiscordServer
from playground.screen import Screen, Shown
from playground.slack import SlackServer
from playground.telegram import TelegramServer
from playground.telegram.media import MOST_CAPTION

NAME = "Ada"
"""Whom the bot believes to write: the person in front of the page."""

MENTION = "@Parley"
"""What a person types to mention the bot; the platforms keep it in their own way."""


Sent: TypeAlias = tuple[str, str, bytes]
"""A file that a person sends: its name, media type and content."""


class Impossible(Exception):
    """What the person wanted cannot be done there; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """One chat of a platform."""

    id: str
    name: str
    mention: str = ""
    """How the bot is mentioned here; empty where it hears everything."""


@dataclass(frozen=True, slots=True)
class Sign:
    """What a notice of the screen means for somebody who looks."""

    kind: str
    """`typing`, `status` (stays until the next message), `clear`, `remark`, or `aside` (for who pressed alone)."""
    text: str = ""


class Window(Protocol):
    """One platform as the page shows it."""

    name: str
    title: str
    places: tuple[Place, ...]
    offers: tuple[str, ...]
    """What the platform lets a person do with messages, and tells bots of: `edit`, `delete`, `reply`."""
    recording: str
    """What the platform's own client calls a recorded voice message, without the ending."""
    most_bytes: int
    """The largest file that can be sent here."""

    @property
    def screen(self) -> Screen: ...

    @property
    def environment(self) -> Mapping[str, str]:
        """The settings that lead the bot here."""
        ...

    def say(self, place: str, text: str, thread: str, reply_to: str = "", files: Sequence[Sent] = ()) -> None:
        """Write as the person; a text beginning with `/` is a command where the platform has them.

        Args:
            reply_to: the message that it replies to, which stands in the same place or thread.
            files: what is sent with the text, which is then no command; several are one message, or one album.

        Raises:
            Impossible: it has no such command, or no such place.
        """
        ...

    def written(self, message: Shown) -> str:
        """What the person wrote in a message of their own, as they would type it again."""
        ...

    def edit(self, message: Shown, text: str) -> None:
        """Change a message of the person's own."""
        ...

    def delete(self, message: Shown) -> None:
        """Delete a message of the person's own, where `offers` has it."""
        ...

    def press(self, place: str, message: str, button: str) -> None:
        """Press a button under a message.

        Raises:
            Impossible: it is not there any more.
        """
        ...

    def commands(self) -> list[str]:
        """What can be typed behind a slash, for the hint under the text field."""
        ...

    def locate(self, message: Shown) -> tuple[str, str]:
        """The place and the thread a message belongs to."""
        ...

    def sign(self, what: str) -> Sign | None:
        """What a notice means; None when a person sees nothing of it."""
        ...


class TelegramWindow:
    """A private chat and a group."""

    name, title = "telegram", "Telegram"
    offers: tuple[str, ...] = ("edit", "reply")
    """Bots are never told of a deletion."""
    recording = "voice"
    most_bytes = 20 * 1024 * 1024
    """What a bot may download. https://core.telegram.org/bots/api#getfile"""

    def __init__(self, server: TelegramServer) -> None:
        self._server = server
        self._person = server.person(1001, NAME, username="ada")
        server.group(-1002003004005, "Reading circle")
        mention = f"@{server.bot['username']}"
        self.places: tuple[Place, ...] = (
            Place("1001", "Private chat"),
            Place("-1002003004005", "Reading circle (group)", mention),
        )

    @property
    def screen(self) -> Screen:
        return self._server.screen

    @property
    def environment(self) -> Mapping[str, str]:
        return {"TELEGRAM_BOT_TOKEN": self._server.token, "TELEGRAM_API_BASE_URL": self._server.base_url}

    def say(self, place: str, text: str, thread: str, reply_to: str = "", files: Sequence[Sent] = ()) -> None:
        where, reply = int(thread or 0), int(reply_to or 0)
        if files and len(text) > MOST_CAPTION:
            raise Impossible(f"a caption has at most {MOST_CAPTION:,} characters on Telegram")
        self._server.say(int(place), text, person=self._person, thread=where, reply_to=reply, files=files)

    def written(self, message: Shown) -> str:
        return message.text

    def edit(self, message: Shown, text: str) -> None:
        self._server.edit(int(message.chat), int(message.id), text)

    def delete(self, message: Shown) -> None:
        raise Impossible("Telegram tells no bot that a message was deleted")

    def press(self, place: str, message: str, button: str) -> None:
        try:
            self._server.press(int(place), int(message), button, person=self._person)
        except LookupError:
            raise Impossible("that button is gone") from None

    def commands(self) -> list[str]:
        return [f"/{word}" for word in self._server.menu]

    def locate(self, message: Shown) -> tuple[str, str]:
        return message.chat, message.thread

    def sign(self, what: str) -> Sign | None:
        kind, _, text = what.partition(": ")
        if kind == "answer":
            return Sign("aside", text)
        return Sign("remark", what) if what.startswith("reaction") else Sign("typing")


class SlackWindow:
    """A channel with threads, and a direct message."""

    name, title = "slack", "Slack"
    offers: tuple[str, ...] = ("edit", "delete")
    person = "U0ADA"
    recording = "audio_message"
    most_bytes = 20 * 1024 * 1024
    """Slack takes a gigabyte; this page keeps everything in memory."""

    def __init__(self, server: SlackServer) -> None:
        self._server = server
        server.person(self.person, NAME)
        server.channel("C0GENERAL", "general")
        mention = f"<@{server.bot_user_id}>"
        self.places: tuple[Place, ...] = (
            Place("C0GENERAL", "#general", mention),
            Place(server.direct(self.person), "Direct message"),
        )

    @property
    def screen(self) -> Screen:
        return self._server.screen

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "SLACK_BOT_TOKEN": self._server.bot_token,
            "SLACK_APP_TOKEN": self._server.app_token,
            "SLACK_API_BASE_URL": self._server.base_url,
        }

    def say(self, place: str, text: str, thread: str, reply_to: str = "", files: Sequence[Sent] = ()) -> None:
        if text.startswith("/") and not files:
            name, _, rest = text.partition(" ")
            if name not in self.commands():
                raise Impossible(f"{name} is no command of this workspace; /parley is")
            self._server.command(name, rest.strip(), place, self.person)
            return
        self._server.say(place, text, person=self.person, thread_ts=thread, files=files)

    def written(self, message: Shown) -> str:
        return message.versions[-1].markup.replace(self.places[0].mention, MENTION)

    def edit(self, message: Shown, text: str) -> None:
        self._server.edit(message.chat, message.id, text)

    def delete(self, message: Shown) -> None:
        self._server.delete(message.chat, message.id)

    def press(self, place: str, message: str, button: str) -> None:
        try:
            self._server.press(place, message, button, self.person)
        except KeyError:
            raise Impossible("that button is gone") from None

    def commands(self) -> list[str]:
        return ["/parley"]

    def locate(self, message: Shown) -> tuple[str, str]:
        return message.chat, "" if message.thread == message.id else message.thread

    def sign(self, what: str) -> Sign | None:
        kind, colon, text = what.partition(":")
        if colon and kind == "status":
            return Sign("status", f"Parley {text}") if text else Sign("clear")
        if colon and kind in ("title", "session", "prompts"):
            return None
        return Sign("remark", what)


class DiscordWindow:
    """A channel of a server with slash commands, and direct messages."""

    name, title = "discord", "Discord"
    offers: tuple[str, ...] = ("edit", "delete", "reply")
    recording = "voice-message"
    _guild, _channel = "800000000000000001", "800000000000000002"

    def __init__(self, server: DiscordServer) -> None:
        self._server = server
        self.most_bytes = server.limits.file
        self._person = server.person("800000000000000003", NAME)
        server.guild(self._guild, "Reading circle")
        server.channel(self._channel, self._guild, "general")
        direct = server.direct(self._person)
        self.places: tuple[Place, ...] = (
            Place(self._channel, "#general", server.mention()),
            Place(direct.id, "Direct message"),
        )

    @property
    def screen(self) -> Screen:
        return self._server.screen

    @property
    def environment(self) -> Mapping[str, str]:
        return {"DISCORD_BOT_TOKEN": self._server.token, "DISCORD_API_BASE_URL": self._server.base_url}

    def say(self, place: str, text: str, thread: str, reply_to: str = "", files: Sequence[Sent] = ()) -> None:
        where = thread or place
        if files or not text.startswith("/"):
            self._server.say(where, text, person=self._person, reply_to=reply_to, files=files)
            return
        words, _, rest = text[1:].partition(" ")
        guild = self._guild if place == self._channel else ""
        command = self._server.commands.find(words, guild)
        if command is None:
            known = ", ".join(self.commands()) or "none yet: the bot registers them when it has started"
            raise Impossible(f"/{words} is no registered command ({known})")
        options = command.get("options") or []
        names = [option["name"] for option in options if option["type"] == 3]
        needed = " ".join(option["name"].upper() for option in options if option.get("required"))
        if needed and not rest.strip():
            raise Impossible(f"/{words} needs something behind it: /{words} {needed}")
        try:
            self._server.slash(words, {names[0]: rest.strip()} if names and rest.strip() else {}, where, self._person)
        except (LookupError, ValueError) as error:
            raise Impossible(str(error)) from None

    def written(self, message: Shown) -> str:
        return message.versions[-1].markup.replace(self.places[0].mention, MENTION)

    def edit(self, message: Shown, text: str) -> None:
        self._server.edit(message.id, text)

    def delete(self, message: Shown) -> None:
        self._server.delete(message.id)

    def press(self, place: str, message: str, button: str) -> None:
        try:
            self._server.press(message, button, self._person)
        except LookupError:
            raise Impossible("that button is gone") from None

    def commands(self) -> list[str]:
        scopes = self._server.commands.registered
        return sorted({f"/{one['name']}" for scope in scopes.values() for one in scope.values() if one["type"] == 1})

    def locate(self, message: Shown) -> tuple[str, str]:
        place = self._server.state.channels.get(message.chat)
        parent = place.parent if place else None
        return (parent.id, message.chat) if parent else (message.chat, "")

    def sign(self, what: str) -> Sign | None:
        if what == "typing":
            return Sign("typing")
        return Sign("status", what) if what.endswith("thinking…") else Sign("remark", what)
