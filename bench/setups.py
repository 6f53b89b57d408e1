"""The five ways to ask that `bench.delivery` measures, each on an emulator as the documented set-up leaves it.

`ground` says in words what the emulator grants: an emulator that starts with more or less than the documented set-up
gives would measure another product, so each figure names it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from bench import limits
from bench.limits import Limits
from bench.writer import question
from playground.discord import DiscordServer
from playground.slack import SlackServer
from playground.telegram import TelegramServer

_GUILD_CHANNELS = 400
"""Discord takes 500 channels in a server."""
START_SECONDS = 120.0
"""How long a bot may take to start, on a machine that does much else."""


class Setup:
    """One way to ask, with as many places as wanted: each question has a place and a person of its own."""

    name: ClassVar[str]
    limits: ClassVar[Limits]
    server: Any

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        """Place on the emulator's screen → number of its question."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The settings with which the bot finds the emulator."""
        raise NotImplementedError

    @property
    def ground(self) -> str:
        """What the emulated platform grants."""
        raise NotImplementedError

    def meet(self, number: int) -> None:
        """Let a place and a person exist."""
        self.numbers[self._place(number)] = number

    def _place(self, number: int) -> str:
        raise NotImplementedError

    async def ready(self) -> None:
        """Wait until the bot takes questions."""
        raise NotImplementedError

    def ask(self, number: int) -> None:
        """Ask the question of that number."""
        raise NotImplementedError

    def answer_in(self, number: int, text: str) -> str:
        """What of a message's text is the answer, and not what the person wrote."""
        return text

    def called(self, call: Any) -> str:
        """What a call to the emulator was for."""
        return str(call.method)

    def purse(self, call: Any) -> str:
        """Which shared budget of `limits` a call drew on; `-`: none of them; empty: it was made for no reply."""
        raise NotImplementedError


class TelegramPrivate(Setup):
    """Each in a private chat."""

    name, limits = "Telegram private", limits.TELEGRAM

    def __init__(self) -> None:
        super().__init__()
        self.server = TelegramServer()

    @property
    def environment(self) -> Mapping[str, str]:
        return {"TELEGRAM_BOT_TOKEN": self.server.token, "TELEGRAM_API_BASE_URL": self.server.base_url}

    @property
    def ground(self) -> str:
        privacy = "off" if self.server.bot["can_read_all_group_messages"] else "on"
        return f"privacy mode {privacy}"

    async def ready(self) -> None:
        await _until(lambda: any(call.method == "getUpdates" for call in self.server.calls))

    def _place(self, number: int) -> str:
        self.server.person(100_000 + number, f"P{number}")
        return str(100_000 + number)

    def ask(self, number: int) -> None:
        self.server.say(100_000 + number, question(number), person=100_000 + number)

    def purse(self, call: Any) -> str:
        return "bot" if call.chat else ""


class TelegramGroup(TelegramPrivate):
    """Each in a group of its own, by mention."""

    name, limits = "Telegram group", limits.TELEGRAM_GROUP

    def _place(self, number: int) -> str:
        super()._place(number)
        self.server.group(-100_000 - number, f"Group {number}")
        return str(-100_000 - number)

    def ask(self, number: int) -> None:
        text = f"@{self.server.bot['username']} {question(number)}"
        self.server.say(-100_000 - number, text, person=100_000 + number)


class SlackMention(Setup):
    """Each in a channel of its own, by mention."""

    name, limits = "Slack mention", limits.SLACK
    _PURSES: ClassVar = {
        "chat.postMessage": "post",
        "chat.update": "update",
        "chat.startStream": "start",
        "chat.appendStream": "append",
        "chat.stopStream": "stop",
        "auth.test": "",
        "apps.connections.open": "",
    }

    def __init__(self) -> None:
        super().__init__()
        self.server = SlackServer()

    @property
    def environment(self) -> Mapping[str, str]:
        server = self.server
        tokens = {"SLACK_BOT_TOKEN": server.bot_token, "SLACK_APP_TOKEN": server.app_token}
        return tokens | {"SLACK_API_BASE_URL": server.base_url}

    @property
    def ground(self) -> str:
        return f"scopes {', '.join(sorted(self.server.scopes))}; events {', '.join(sorted(self.server.subscriptions))}"

    async def ready(self) -> None:
        await self.server.sockets.until_connected(1, START_SECONDS)

    def _place(self, number: int) -> str:
        self.server.person(f"U{100_000 + number}", f"P{number}")
        return str(self.server.channel(f"C{100_000 + number}", f"channel-{number}").id)

    def ask(self, number: int) -> None:
        text = f"<@{self.server.bot_user_id}> {question(number)}"
        self.server.say(f"C{100_000 + number}", text, person=f"U{100_000 + number}")

    def purse(self, call: Any) -> str:
        return self._PURSES.get(call.method, "-")


class DiscordMention(Setup):
    """Each in a channel of its own, by mention."""

    name, limits = "Discord mention", limits.DISCORD_MENTION

    def __init__(self) -> None:
        super().__init__()
        self.server = DiscordServer()

    @property
    def environment(self) -> Mapping[str, str]:
        return {"DISCORD_BOT_TOKEN": self.server.token, "DISCORD_API_BASE_URL": self.server.base_url}

    @property
    def ground(self) -> str:
        granted = next(iter(self.server.state.guilds.values())).granted
        return f"permissions {granted}, privileged intents {self.server.privileged_intents}"

    async def ready(self) -> None:
        await self.server.gateway.until_ready(1, START_SECONDS)
        await _until(lambda: self.server.commands.find("ask", "") is not None)

    def _place(self, number: int) -> str:
        guild = 900_000 + number // _GUILD_CHANNELS
        if str(guild) not in self.server.state.guilds:
            self.server.guild(guild)
        self.server.person(100_000 + number, f"P{number}")
        return str(self.server.channel(200_000 + number, guild).id)

    def ask(self, number: int) -> None:
        text = f"{self.server.mention()} {question(number)}"
        self.server.say(200_000 + number, text, person=100_000 + number)

    def called(self, call: Any) -> str:
        return str(call.name)

    def purse(self, call: Any) -> str:
        if call.route.startswith(("/webhooks/", "/interactions/")):
            return "-"
        return "bot" if "{channel}" in call.route else ""


class DiscordCommand(DiscordMention):
    """Each in a channel of its own, by /ask."""

    name, limits = "Discord command", limits.DISCORD_COMMAND

    def ask(self, number: int) -> None:
        self.server.slash("ask", {"question": question(number)}, 200_000 + number, 100_000 + number)

    def answer_in(self, number: int, text: str) -> str:
        # Others cannot see what was asked with a command, so the reply quotes it.
        return text.removeprefix(question(number))


SETUPS: Mapping[str, Callable[[], Setup]] = {
    "telegram": TelegramPrivate,
    "telegram-group": TelegramGroup,
    "slack": SlackMention,
    "discord": DiscordCommand,
    "discord-mention": DiscordMention,
}


async def _until(seen: Callable[[], bool], seconds: float = START_SECONDS) -> None:
    async with asyncio.timeout(seconds):
        while not seen():
            await asyncio.sleep(0.02)
