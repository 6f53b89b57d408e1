"""The app in one workspace: its token, its identity there, and Slack's limits for it."""

from __future__ import annotations

import asyncio
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, BinaryIO, Final
from weakref import WeakValueDictionary

import aiohttp

from adapters.slack.about import About
from adapters.slack.client import Client
from adapters.slack.counted import Looks
from adapters.slack.errors import REFUSED_TOKEN, error_code, field
from adapters.slack.events import Me, incoming
from adapters.slack.files import Files, pasted_in
from adapters.slack.people import People
from adapters.slack.prompts import Prompts
from adapters.slack.sessions import AGENT, Sessions
from adapters.slack.streams import Streams
from adapters.slack.surface import SlackSurface
from adapters.slack.threads import MissingScopes, SlackThread
from bot.contract import (
    Clock,
    ControlPressed,
    Enclosure,
    Incoming,
    MessageEdited,
    MessageSent,
    ReplyTarget,
    SettingsError,
    Unreachable,
)
from tools.contract.newest import Newest

_MOST_CHANNELS: Final = 5_000
MOST_NAMED: Final = 5
"""People in one message whose names it waits for: the asker, and people named in the question."""
NAME_SECONDS: Final = 1.0
"""How long it waits; Slack allows three seconds for storing."""


@dataclass(eq=False, repr=False)
class Workspace:
    """The adapter's work in one workspace, from `open_workspace` to `close`."""

    web: Client
    http: aiohttp.ClientSession
    clock: Clock
    me: Me
    scopes: frozenset[str] | None
    """The bot token's scopes; None if Slack did not say."""
    _: KW_ONLY
    of_others: bool = False
    """There are more workspaces, so each file's source begins with its own."""

    def __post_init__(self) -> None:
        self.people = People(self.web, self.clock)
        self._missing = MissingScopes(self.clock)
        self._looks = Looks(self.web, self.clock)
        self._streams = Streams(self.web, self.clock, self.me.user)
        self._sessions = Sessions(self.web, self.clock, self.scopes)
        self._files = Files(web=self.web, http=self.http, clock=self.clock, scopes=self.scopes)
        self._about = About(self.web, self.me, self.people)
        self._prompts = Prompts(self.web, self.clock, self.people, possible=self.me.agent)
        self._inside: Newest[str, None] = Newest(_MOST_CHANNELS)
        self._orders: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By channel: held while a name is looked up."""

    async def close(self) -> None:
        """Stop the background work."""
        await self.people.close()
        await self._sessions.close()

    async def watch(self) -> None:
        """Check the bot token whenever a call was refused for it.

        Raises:
            SettingsError: Slack refuses it.
            Unreachable: Slack does not answer now.
        """
        while True:
            self.web.doubted.clear()
            await self.web.doubted.wait()
            await _log_in(self.web)

    def surface(self, target: ReplyTarget) -> SlackSurface:
        return SlackSurface(
            self.web,
            self.http,
            target,
            self.clock,
            joined=self.joined,
            scopes=self.scopes,
            looks=self._looks,
            streams=self._streams,
            sessions=self._sessions,
        )

    async def fetch(self, source: str, into: BinaryIO, most: int) -> Enclosure | None:
        found = await self._files.fetch(source, into, most)
        if found is None or not self.of_others:
            return found
        return replace(found, within=self._named(found.within))

    def earlier(self, message: MessageSent) -> SlackThread | None:
        """Return a reader for the message's thread; None if the message begins it."""
        if not message.message_id or message.chat.thread in ("", message.message_id):
            return None
        return SlackThread(web=self.web, me=self.me, people=self.people, missing=self._missing, message=message)

    def beside(self, body: dict[str, Any]) -> tuple[asyncio.Task[None], bool] | None:
        """Start the work that a payload requests without being a message; return None if it requests none.

        Returns:
            the work, and whether Slack waits for its end.
        """
        if self._about.is_chosen(body):
            # A form is only for a person who is waiting: the acknowledgement does not wait for it.
            return asyncio.create_task(self._about.open(body, self.clock.wall()), name="slack form"), False
        if self._prompts.is_opened(body):
            return asyncio.create_task(self._prompts.suggest(body), name="slack prompts"), True
        return None

    async def read(self, body: dict[str, Any], named: set[str], *, follow: bool) -> Incoming | None:
        """Return a payload's message to the bot; None if there is none.

        Args:
            named: the people in it. Unknown ones are looked up first if it is a message.
            follow: a message in a thread can be for the bot without a mention.
        """
        told = self._read(body, follow=follow)
        if told is None:
            return None
        # Later messages in the channel wait, too, or they would be stored first.
        async with self._orders.setdefault(told.chat.chat, asyncio.Lock()):
            named = named - {self.me.user}
            if isinstance(told, MessageSent) and await self.people.settle(named, MOST_NAMED, NAME_SECONDS):
                told = self._read(body, follow=follow) or told
            return await self._with_paste(told, body)

    async def _with_paste(self, told: Incoming, body: dict[str, Any]) -> Incoming:
        """Return a message with the text that its writer's client sent as a file."""
        if not isinstance(told, MessageSent) or told.text or told.command or len(told.enclosed) != 1:
            return told
        file = pasted_in(body["event"])
        text = "" if file is None else await self._files.text(file, str(body["event"].get("user") or ""))
        return replace(told, text=text, enclosed=()) if text else told

    def _read(self, body: dict[str, Any], *, follow: bool) -> Incoming | None:
        now = self.clock.wall()
        form = self._about.question(body, self._inside, now)
        told = form or incoming(body, self.me, self.people.name, self._inside, now=now, follow=follow)
        if told is None:
            return None
        if "command" not in body and form is None:
            self.joined(told.chat.chat)
        if isinstance(told, MessageSent | ControlPressed):
            language = self.people.language(told.sender.id.rpartition("/")[2])
            told = replace(told, sender=replace(told.sender, language=language))
        if self.of_others and isinstance(told, MessageSent | MessageEdited):
            told = replace(told, enclosed=self._named(told.enclosed)) if told.enclosed else told
            if isinstance(told, MessageSent) and told.quoted is not None:
                told = replace(told, quoted=replace(told.quoted, enclosed=self._named(told.quoted.enclosed)))
        return told

    def _named(self, enclosed: tuple[Enclosure, ...]) -> tuple[Enclosure, ...]:
        return tuple(replace(one, source=f"{self.me.team} {one.source}") if one.source else one for one in enclosed)

    def stored(self, told: Incoming, named: set[str]) -> None:
        """Note that a payload was stored: people `named` are looked up, and a stopped session rests."""
        self.people.learn(named - {self.me.user})
        if isinstance(told, ControlPressed) and not told.turn:
            self._sessions.stopped(told.chat.chat, told.chat.thread)

    def joined(self, channel: str) -> None:
        """Note that the bot is in a channel, so that commands there get a lasting reply target."""
        self._inside.put(channel, None)


async def open_workspace(web: Client, http: aiohttp.ClientSession, clock: Clock) -> Workspace:
    """Log in with the client's token.

    Raises:
        SettingsError: Slack refuses it.
        Unreachable: Slack does not answer now.
    """
    return Workspace(web, http, clock, *await _log_in(web))


async def _log_in(web: Client) -> tuple[Me, frozenset[str] | None]:
    try:
        answer = await web.auth_test()
        team, user, bot = field(answer, "team_id"), field(answer, "user_id"), str(answer.get("bot_id") or "")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told and tried again
        code = error_code(error)
        if code in REFUSED_TOKEN:
            raise SettingsError(
                f"SLACK_BOT_TOKEN is refused by Slack ({code}): copy it again from the app's page, OAuth & Permissions"
            ) from None
        raise Unreachable(f"Slack at {web.base_url} does not answer ({code or type(error).__name__})") from None
    granted = str(answer.headers.get("x-oauth-scopes", ""))
    scopes = frozenset(scope.strip() for scope in granted.split(",")) if granted else None
    return Me(team, user, bot, agent=AGENT in (scopes or ())), scopes
