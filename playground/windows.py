"""The three chats of the page: where a person can write on each emulated platform, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from playground import facts
from playground.discord import DiscordServer
from playground.facts import PEOPLE, SIGNS, YOU, Json
from playground.screen import Screen, Shown
from playground.slack import SlackServer
from playground.slashes import completed, filled_in, listed
from playground.telegram import TelegramServer
from playground.telegram.media import MOST_CAPTION

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
    kind: str = "direct"
    """`direct`, `group` or `channel`."""
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
    workspace: str
    """What the rail and the list of chats are headed with."""
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

    def say(
        self, place: str, text: str, thread: str, reply_to: str = "", files: Sequence[Sent] = (), author: str = YOU
    ) -> None:
        """Write as a person; a text beginning with `/` is a command where the platform has them.

        Args:
            author: which of `PEOPLE` writes; of a direct chat there is only its own person.
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

    def react(self, message: Shown, sign: str) -> None:
        """Put one of `SIGNS` on a message, or take it off again."""
        ...

    def commands(self) -> list[Json]:
        """What can be typed behind a slash: `name`, `about`, and `options` with `name`, `about` and `required`."""
        ...

    def facts(self, message: Shown) -> Json:
        """What is shown of a message beside its text; see `playground.facts`."""
        ...

    def who(self, author: str) -> tuple[str, str]:
        """The key of a person in `PEOPLE`, or the platform's id, and the name that is shown."""
        ...

    def locate(self, message: Shown) -> tuple[str, str]:
        """The place and the thread a message belongs to."""
        ...

    def sign(self, what: str) -> Sign | None:
        """What a notice means; None when a person sees nothing of it."""
        ...


class TelegramWindow:
    """A private chat and a group."""

    name, title, workspace = "telegram", "Telegram", "Chats"
    offers: tuple[str, ...] = ("edit", "reply")
    """Bots are never told of a deletion."""
    recording = "voice"
    most_bytes = 20 * 1024 * 1024
    """What a bot may download. https://core.telegram.org/bots/api#getfile"""

    def __init__(self, server: TelegramServer) -> None:
        self._server = server
        self._person = server.person(1001, PEOPLE[YOU], username="ada")
        self._people = {YOU: self._person, "lin": server.person(1002, PEOPLE["lin"], username="lin")}
        self._reacted: dict[tuple[str, str], str] = {}
        server.group(-1002003004005, "Reading circle")
        mention = f"@{server.bot['username']}"
        self.places: tuple[Place, ...] = (
            Place("1001", "Parley"),
            Place("-1002003004005", "Reading circle", "group", mention),
        )
        server.world.updates.taken = self._taken

    @property
    def screen(self) -> Screen:
        return self._server.screen

    @property
    def environment(self) -> Mapping[str, str]:
        return {"TELEGRAM_BOT_TOKEN": self._server.token, "TELEGRAM_API_BASE_URL": self._server.base_url}

    def say(
        self, place: str, text: str, thread: str, reply_to: str = "", files: Sequence[Sent] = (), author: str = YOU
    ) -> None:
        where, reply = int(thread or 0), int(reply_to or 0)
        if files and len(text) > MOST_CAPTION:
            raise Impossible(f"a caption has at most {MOST_CAPTION:,} characters on Telegram")
        person = self._people[author] if int(place) < 0 else self._person
        self._server.say(int(place), text, person=person, thread=where, reply_to=reply, files=files)

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

    def react(self, message: Shown, sign: str) -> None:
        key = message.chat, message.id
        # A person has one reaction on a message: the newest takes the place of the one before.
        chosen = "" if self._reacted.pop(key, "") == sign else sign
        if chosen:
            self._reacted[key] = chosen
        self._server.react(int(message.chat), int(message.id), *filter(None, [chosen]), person=self._person)
        self.screen.changed(message)

    def commands(self) -> list[Json]:
        listed = self._server.world.profile.get("commands:default:::", [])
        return [
            {"name": f"/{one['command'].removeprefix('/')}", "about": one["description"], "options": []}
            for one in listed
        ]

    def facts(self, message: Shown) -> Json:
        told = facts.of_telegram(self._server, message)
        if mine := self._reacted.get((message.chat, message.id)):
            told["reactions"] = {**told["reactions"], mine: [*told["reactions"].get(mine, ()), str(self._person.id)]}
        return told

    def who(self, author: str) -> tuple[str, str]:
        return _named(author, {str(person.id): key for key, person in self._people.items()}, {})

    def _taken(self, update: Json) -> None:
        """Draw the second tick of a message when the bot has taken it."""
        content = update.get("message") or update.get("edited_message")
        shown = content and self.screen.get(str(content["chat"]["id"]), str(content["message_id"]))
        if shown:
            self.screen.changed(shown)

    def locate(self, message: Shown) -> tuple[str, str]:
        return message.chat, message.thread

    def sign(self, what: str) -> Sign | None:
        kind, _, text = what.partition(": ")
        if kind == "answer":
            return Sign("aside", text)
        return None if what.startswith("reaction") else Sign("typing")


class SlackWindow:
    """A channel with threads, and a direct message."""

    name, title, workspace = "slack", "Slack", "Reading circle"
    offers: tuple[str, ...] = ("edit", "delete")
    person = "U0ADA"
    _command: Final[Json] = {
        "name": "/parley",
        "about": "ask, or help, new, stop, retry, why",
        "options": [{"name": "words", "about": "a question or a command", "required": False}],
    }
    recording = "audio_message"
    most_bytes = 20 * 1024 * 1024
    """Slack takes a gigabyte; this page keeps everything in memory."""

    def __init__(self, server: SlackServer) -> None:
        self._server = server
        self._people = {YOU: self.person, "lin": "U0LIN"}
        for key, id in self._people.items():
            server.person(id, PEOPLE[key])
        server.channel("C0GENERAL", "general")
        mention = f"<@{server.bot_user_id}>"
        self.places: tuple[Place, ...] = (
            Place("C0GENERAL", "general", "channel", mention),
            Place(server.direct(self.person), "Parley"),
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

    def say(
        self, place: str, text: str, thread: str, reply_to: str = "", files: Sequence[Sent] = (), author: str = YOU
    ) -> None:
        person = self.person if place.startswith("D") else self._people[author]
        if text.startswith("/") and not files:
            name, _, rest = text.partition(" ")
            if name != self._command["name"]:
                raise Impossible(f"{name} is no command of this workspace; /parley is")
            self._server.command(name, rest.strip(), place, person)
            return
        self._server.say(place, text, person=person, thread_ts=thread, files=files)

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

    def react(self, message: Shown, sign: str) -> None:
        known = self._server.workspace.messages.get((message.chat, message.id))
        if known is None or message.ephemeral:
            raise Impossible("nothing can be put on that message")
        name = SIGNS[sign]
        users = known.reactions.get(name, [])
        left = [one for one in users if one != self.person]
        known.reactions[name] = left if len(left) < len(users) else [*users, self.person]
        if not known.reactions[name]:
            del known.reactions[name]
        self.screen.changed(message)

    def commands(self) -> list[Json]:
        return [self._command]

    def facts(self, message: Shown) -> Json:
        return facts.of_slack(self._server, message)

    def who(self, author: str) -> tuple[str, str]:
        return _named(author, {id: key for key, id in self._people.items()}, self._server.workspace.names)

    def locate(self, message: Shown) -> tuple[str, str]:
        return message.chat, "" if message.thread == message.id else message.thread

    def sign(self, what: str) -> Sign | None:
        kind, colon, text = what.partition(":")
        if colon and kind == "status":
            return Sign("status", f"Parley {text}") if text else Sign("clear")
        if colon and kind in ("title", "session", "prompts"):
            return None
        return None if kind.startswith("reaction") else Sign("remark", what)


class DiscordWindow:
    """A channel of a server with slash commands, and direct messages."""

    name, title, workspace = "discord", "Discord", "Reading circle"
    offers: tuple[str, ...] = ("edit", "delete", "reply")
    recording = "voice-message"
    _guild, _channel = "800000000000000001", "800000000000000002"

    def __init__(self, server: DiscordServer) -> None:
        self._server = server
        self.most_bytes = server.limits.file
        self._person = server.person("800000000000000003", PEOPLE[YOU])
        self._people = {YOU: self._person, "lin": server.person("800000000000000004", PEOPLE["lin"])}
        server.guild(self._guild, "Reading circle")
        server.channel(self._channel, self._guild, "general")
        direct = server.direct(self._person)
        self.places: tuple[Place, ...] = (
            Place(self._channel, "general", "channel", server.mention()),
            Place(direct.id, "Parley"),
        )

    @property
    def screen(self) -> Screen:
        return self._server.screen

    @property
    def environment(self) -> Mapping[str, str]:
        return {"DISCORD_BOT_TOKEN": self._server.token, "DISCORD_API_BASE_URL": self._server.base_url}

    def say(
        self, place: str, text: str, thread: str, reply_to: str = "", files: Sequence[Sent] = (), author: str = YOU
    ) -> None:
        where = thread or place
        person = self._people[author] if place == self._channel else self._person
        if files or not text.startswith("/"):
            self._server.say(where, text, person=person, reply_to=reply_to, files=files)
            return
        words, _, rest = text[1:].partition(" ")
        guild = self._guild if place == self._channel else ""
        command = self._server.commands.find(words, guild)
        if command is None:
            names = ", ".join(one["name"] for one in self.commands())
            known = names or "none yet: the bot registers them when it has started"
            raise Impossible(f"/{words} is no registered command ({known})")
        try:
            self._server.slash(words, filled_in(command, rest), where, person)
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

    def react(self, message: Shown, sign: str) -> None:
        self._server.react(message.id, sign, self._person)

    def commands(self) -> list[Json]:
        return listed(self._server.commands.registered)

    async def complete(self, place: str, typed: str) -> list[str]:
        """What the bot offers to somebody who has typed this much of a command there."""
        guild = self._guild if place == self._channel else ""
        return await completed(self._server, place, guild, self._person, typed)

    def facts(self, message: Shown) -> Json:
        told = facts.of_discord(self._server, message)
        if told.get("via"):
            told["via"]["name"] = self.who(told["via"]["author"])[1]
        return told

    def who(self, author: str) -> tuple[str, str]:
        names = {id: person.name for id, person in self._server.state.people.items()}
        return _named(author, {person.id: key for key, person in self._people.items()}, names)

    def locate(self, message: Shown) -> tuple[str, str]:
        place = self._server.state.channels.get(message.chat)
        parent = place.parent if place else None
        return (parent.id, message.chat) if parent else (message.chat, "")

    def sign(self, what: str) -> Sign | None:
        if what == "typing":
            return Sign("typing")
        if what.endswith("thinking…"):
            return Sign("status", what)
        # What people do themselves is seen at the message.
        return (
            None
            if any(word in what for word in (" reacted ", " took back ", " used /", " is offered "))
            else Sign("remark", what)
        )


def _named(author: str, keys: Mapping[str, str], names: Mapping[str, str]) -> tuple[str, str]:
    """The key and the name of somebody by the platform's id."""
    if author == "bot":
        return "bot", "Parley"
    key = keys.get(author, author)
    return key, PEOPLE.get(key) or names.get(author) or "Somebody"
