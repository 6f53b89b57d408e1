"""Discord: gateway events and commands, also by web → `Incoming`, pages → messages edited in place.

What arrives is read in `events.py` and stored by `intake.py`; `webhook.py` has what is posted, `about.py` the form for
a question about a message, `surface.py` what is shown, `commands.py` the list of commands.
Facts about the API: https://discord.com/developers/docs.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, BinaryIO, Final

import aiohttp
import discord
from discord.http import Route

from adapters import Finding
from adapters.discord import compat
from adapters.discord.about import About, is_about
from adapters.discord.commands import register, registered
from adapters.discord.errors import refusals
from adapters.discord.events import being_typed, message_deleted, message_edited, message_sent
from adapters.discord.intake import Intake
from adapters.discord.suggestions import offer
from adapters.discord.surface import AnswerSlot, DiscordSurface
from adapters.discord.threads import DiscordReplies, DiscordThread
from adapters.discord.webhook import DiscordEntrance
from adapters.download import download, is_of
from adapters.settings import DiscordSettings
from bot.contract import (
    Clock,
    Deliver,
    DeliveryError,
    Entrance,
    LogThrottle,
    MessageSent,
    ReplyTarget,
    SettingsError,
    Suggest,
    Surface,
    SystemClock,
    Unreachable,
    origin_of,
    time_limit,
)
from bot.network import proxy_before

log = logging.getLogger(__name__)

LOGIN_SECONDS: Final = 20.0
_DEFAULT_BASE: Final = str(DiscordSettings.model_fields["discord_api_base_url"].default)
_INTENTS: Final = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)
"""None of these is privileged: Discord shows what is written to the bot, and withholds the rest."""
_PERMISSIONS: Final = discord.Permissions(
    view_channel=True,
    send_messages=True,
    send_messages_in_threads=True,
    read_message_history=True,
    attach_files=True,
    add_reactions=True,
    embed_links=True,
    create_public_threads=True,
)
"""What the invitation asks for; the README shows the same number."""
_TOKEN_REFUSED: Final = "DISCORD_BOT_TOKEN is refused by Discord: copy it again from the developer portal, page Bot"
_GATEWAY_TOKEN_REFUSED: Final = 4004


def open_adapter(settings: DiscordSettings) -> DiscordAdapter:
    """Return the adapter for one bot token."""
    return DiscordAdapter(settings)


class _Client(discord.Client):
    """A discord.py client that caches no messages and passes on what arrives."""

    def __init__(self, threads: bool) -> None:
        """
        Args:
            threads: a question in a channel is answered in a thread of its own.
        """
        # Nobody speaks here: the operator need not read at each start what that would take.
        compat.expect_no_voice()
        super().__init__(
            intents=_INTENTS,
            allowed_mentions=discord.AllowedMentions.none(),
            # Nothing is looked up in a cache, so nothing is kept in one.
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            # Longer waits come back as RateLimited, and other replies go on.
            max_ratelimit_timeout=30.0,
            guild_ready_timeout=0.1,
            http_trace=refusals(),
        )
        self.intake: Intake | None = None
        self.suggest: Suggest | None = None
        self._about = About()
        self._threads = threads
        self.greeted = False
        """READY came since listening began."""
        self._identified = False
        self.sockets = compat.Sockets(self)
        compat.wrap_parsers(self, _sparing)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Let only the first identification go at once: Discord allows one in five seconds."""
        await super().before_identify_hook(shard_id, initial=initial and not self._identified)
        self._identified = True

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Ignore events after closing: the library still dispatches some and has no loop for them."""
        if not self.is_closed():
            super().dispatch(event, *args, **kwargs)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        """Log an error in a handler below without its data, which the library would print."""
        _leave_out(event_method, sys.exception())

    async def on_ready(self) -> None:
        self.greeted = True

    # The library starts a task for each event, in the order of arrival; nothing may be awaited before it is queued.

    async def on_message(self, message: discord.Message) -> None:
        if self.intake is None:
            return
        if (sent := message_sent(message, *self._ids, threads=self._threads)) is not None:
            self.intake.message(sent)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        if self.intake is None:
            return
        if (edited := message_edited(payload.message, *self._ids, threads=self._threads)) is not None:
            self.intake.edited(edited)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        self._deleted(payload.channel_id, {payload.message_id})

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        self._deleted(payload.channel_id, payload.message_ids)

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        if self.intake is None:
            return
        if is_about(interaction):
            await self._about.open(interaction, self._ids[1])
        elif (typed := being_typed(interaction)) is not None:
            await offer(interaction, typed, self.suggest)
        else:
            self.intake.command(interaction, self._about.question(interaction))

    def _deleted(self, channel: int, ids: set[int]) -> None:
        application, _ = self._ids
        apart = self._threads and isinstance(self.get_channel(channel), discord.TextChannel)
        if self.intake is not None:
            for id in sorted(ids):
                self.intake.deleted(message_deleted(id, channel, application, apart=apart))

    @property
    def _ids(self) -> tuple[int, int]:
        """The ids of the application and of the bot: the same for all but the oldest bots."""
        bot = self.user.id if self.user is not None else 0
        return self.application_id or bot, bot


def _sparing(event: str, parse: Callable[[Any], None]) -> Callable[[Any], None]:
    """Wrap the library's parser of an event so that an exception does not close the gateway connection."""

    def read(data: Any) -> None:
        try:
            parse(data)
        except Exception as error:  # noqa: BLE001 - whatever it is, only this event is lost
            _leave_out(event, error)

    return read


def _leave_out(event: str, error: BaseException | None) -> None:
    log.error("discord: an event %s cannot be read and is left out: %s", event, origin_of(error) if error else "")


class DiscordAdapter:
    """One bot account.

    With another `DISCORD_API_BASE_URL` the library is pointed there for the whole process, since it keeps its
    addresses in two class attributes: two adapters with different addresses do not fit into one process.
    """

    platform = "discord"

    def __init__(self, settings: DiscordSettings, clock: Clock | None = None) -> None:
        self._token = settings.discord_bot_token.get_secret_value()
        self._base = settings.discord_api_base_url.rstrip("/")
        self._clock = clock or SystemClock()
        self._threads = settings.discord_threads
        self._slots: dict[int, AnswerSlot] = {}
        self._registered = False
        self._rivals = LogThrottle(log, self._clock)
        self.suggest: Suggest | None = None
        self.entrance: Entrance | None = None
        self._posts: Entrance | None = None
        if settings.by_web:
            self._posts = DiscordEntrance(
                settings.discord_public_key, self._clock, lambda told: compat.read_interaction(self._client, told)
            )

    async def __aenter__(self) -> DiscordAdapter:
        compat.use_api(self._base)
        # A client that was closed cannot be opened again.
        self._client = client = _Client(self._threads)
        self._registered = False
        try:
            async with time_limit(self._clock, LOGIN_SECONDS):
                await client.login(self._token)
        except BaseException as error:
            await client.close()
            if isinstance(error, discord.LoginFailure):
                raise SettingsError(_TOKEN_REFUSED) from None
            if not isinstance(error, Exception):
                raise
            raise Unreachable(f"Discord at {self._base} does not answer ({type(error).__name__})") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    def surface(self, target: ReplyTarget) -> Surface:
        slot = self._slots.get(int(str(target.data.get("interaction") or 0)))
        return DiscordSurface(self._client, target, self._clock, slot)

    async def fetch(self, source: str, into: BinaryIO, most: int) -> None:
        """See `Adapter.fetch`: the address of a file works for a day.

        https://docs.discord.com/developers/reference#signed-attachment-cdn-urls
        """
        if not is_of(source, self._base, "discordapp.com", "discordapp.net"):
            raise DeliveryError("a file is not kept by Discord")
        async with aiohttp.ClientSession(proxy=proxy_before(source, "Discord")) as http:
            await download(http, source, into, most, clock=self._clock)

    def earlier(self, message: MessageSent) -> DiscordThread | DiscordReplies | None:
        """Return a reader for the message's thread, else for the chain of replies; None if neither applies."""
        bot = self._client.user.id if self._client.user is not None else 0
        if message.message_id and message.target.data.get("thread"):
            return DiscordThread(self._client, message, bot)
        quoted = message.quoted
        if quoted is None or quoted.forwarded or quoted.from_bot or not message.group:
            return None
        if quoted.text and not quoted.replies:
            return None
        return DiscordReplies(self._client, message, bot)

    @property
    def listening(self) -> bool:
        """True once the gateway sent READY; a connection that breaks later is resumed without loss."""
        return self._client.intake is not None and self._client.greeted

    @property
    def conflicts(self) -> int:
        return self._rivals.recent

    async def listen(self, deliver: Deliver) -> None:
        """Keep the gateway connected; the library resumes a broken connection and misses nothing."""
        client = self._client
        client.greeted = False
        client.suggest = self.suggest
        client.intake = intake = Intake(deliver, self._clock, self._slots, self._rivals)
        self.entrance = self._posts
        announcing = asyncio.create_task(self._announce(), name="discord commands")
        connecting = asyncio.create_task(self._connect(), name="discord gateway")
        try:
            await asyncio.shield(connecting)
        except discord.PrivilegedIntentsRequired as error:
            raise SettingsError(
                "Discord refuses the bot's intents: none is privileged, look at the bot's page"
            ) from error
        except discord.ConnectionClosed as error:
            if error.code == _GATEWAY_TOKEN_REFUSED:
                raise SettingsError(_TOKEN_REFUSED) from error
            raise SettingsError(f"Discord closed the gateway for good with code {error.code}") from error
        except Exception as error:
            # Of a library that meets what it did not expect, too: the next connection begins afresh.
            raise Unreachable(f"Discord's gateway does not answer ({origin_of(error)})") from error
        finally:
            client.intake = self.entrance = None
            announcing.cancel()
            await self._disconnect(connecting)
            if client.ws is not None and not client.is_closed():
                await client.ws.close(code=1000)
            await client.sockets.close()
            await intake.close()
            await asyncio.gather(announcing, return_exceptions=True)
        raise Unreachable("the connection to Discord's gateway ended")

    async def _connect(self) -> None:
        await self._find_gateway()
        await self._client.connect(reconnect=True)

    @staticmethod
    async def _disconnect(connecting: asyncio.Task[None]) -> None:
        """End the connection, however often that takes.

        The library waits for its websocket with a limit of asyncio's, which up to Python 3.11 loses a cancellation that
        comes as it opens or breaks: https://github.com/python/cpython/issues/86296. Nothing in it holds a cancellation
        up, so that it ends within a few turns of the loop.
        """
        while not connecting.done():
            connecting.cancel()
            await asyncio.sleep(0)

    async def _find_gateway(self) -> None:
        if self._base == _DEFAULT_BASE:
            compat.use_gateway(None)
            return
        found = await self._client.http.request(Route("GET", "/gateway"))
        compat.use_gateway(found["url"])

    async def _announce(self) -> None:
        """Register the commands, so that Discord offers them while a person types."""
        if self._registered:
            return
        try:
            if await register(self._client):
                log.info("discord: the slash commands were registered")
            self._registered = True
        except Exception as error:  # noqa: BLE001 - they are tried again at the next connection
            log.warning("discord: the slash commands could not be registered (%s)", type(error).__name__)


async def check(settings: DiscordSettings) -> list[Finding]:
    """Check the token and the application's permissions, and say how to invite the bot."""
    adapter = DiscordAdapter(settings)
    async with adapter:
        client = adapter._client
        application = client.application
        assert application is not None
        invite = discord.utils.oauth_url(
            application.id, permissions=_PERMISSIONS, scopes=("bot", "applications.commands")
        )
        findings = [
            Finding(True, f"the token works; the bot is {client.user}, application {application.id}"),
            Finding(True, "it needs no privileged intent: it reads direct messages and what mentions it"),
            Finding(True, f"invite it to a server with {invite}"),
        ]
        findings += [_taken_along(application), *_receiving(application, settings)]
        try:
            known = await registered(client)
        except Exception as error:  # noqa: BLE001 - it is told, whatever it is
            findings.append(Finding(False, f"the slash commands could not be read ({type(error).__name__})"))
        else:
            findings.append(
                Finding(
                    True, "its slash commands are registered" if known else "its slash commands are registered at start"
                )
            )
        return findings


def _taken_along(application: discord.AppInfo) -> Finding:
    """Say how people use the commands where the bot is not.

    https://docs.discord.com/developers/resources/application#installation-context
    """
    if application.user_integration_config is None:
        return Finding(
            True, "people cannot take it along: allow User Install in the developer portal, page Installation"
        )
    link = discord.utils.oauth_url(application.id, scopes=("applications.commands",))
    return Finding(True, f"people take its commands along to every server and chat with {link}&integration_type=1")


def _receiving(application: discord.AppInfo, settings: DiscordSettings) -> list[Finding]:
    """Say how commands come in, and what keeps them from it."""
    address = application.interactions_endpoint_url
    if not settings.by_web:
        away = "slash commands go to an HTTP address instead of the bot: remove the Interactions Endpoint URL in the "
        away += "developer portal, or set DISCORD_PUBLIC_KEY if it is this bot's"
        return [Finding(False, away)] if address else []
    if settings.discord_public_key.lower() != application.verify_key.lower():
        return [Finding(False, "DISCORD_PUBLIC_KEY is another application's: copy it from General Information")]
    if not address:
        return [Finding(True, "its commands come over the gateway: no Interactions Endpoint URL is set")]
    return [Finding(True, f"its commands come by web, at {address}")]


__all__ = ["DiscordAdapter", "check", "open_adapter"]
