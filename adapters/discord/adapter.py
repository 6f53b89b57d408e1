"""Discord: gateway events and commands, also by web → `Incoming`, pages → messages edited in place.

`shards.py` keeps the connections, each a client of `client.py`. Arrivals are read in `events.py` and stored by
`intake.py`; `webhook.py` receives posts, `about.py` has the form for a question about a message, `surface.py` shows
replies, `commands.py` lists the commands. Facts about the API: https://discord.com/developers/docs.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import BinaryIO, Final

import aiohttp
import discord
from discord.http import Route

from adapters import Finding
from adapters.discord import compat
from adapters.discord.client import Client
from adapters.discord.commands import register, registered
from adapters.discord.errors import PauseAsked
from adapters.discord.forwards import Forwards
from adapters.discord.identifying import Identifying
from adapters.discord.intake import Intake
from adapters.discord.shards import TOO_FEW_SHARDS, Shards
from adapters.discord.slots import AnswerSlot
from adapters.discord.surface import DiscordSurface
from adapters.discord.threads import DiscordReplies, DiscordThread
from adapters.discord.webhook import DiscordEntrance
from adapters.download import download, is_of
from adapters.settings import DiscordSettings
from bot.contract import (
    Clock,
    Deliver,
    DeliveryError,
    Entrance,
    FindLeftOff,
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
from tools.programs.cancelling import end_tasks

log = logging.getLogger(__name__)

LOGIN_SECONDS: Final = 20.0
_DEFAULT_BASE: Final = str(DiscordSettings.model_fields["discord_api_base_url"].default)
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
"""The permissions in the invitation; docs/discord.md shows the same number."""
_TOKEN_REFUSED: Final = "DISCORD_BOT_TOKEN is refused by Discord: copy it again from the developer portal, page Bot"
_GATEWAY_TOKEN_REFUSED: Final = 4004


def open_adapter(settings: DiscordSettings) -> DiscordAdapter:
    """Return the adapter for one bot token."""
    return DiscordAdapter(settings)


class DiscordAdapter:
    """One bot account.

    With another `DISCORD_API_BASE_URL` the library is redirected for the whole process, since it keeps its addresses in
    two class attributes: two adapters with different addresses do not fit into one process.
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
        self._identifying = Identifying(self._clock)
        self._forwards = Forwards(self._clock)
        self._gateway = Shards(self._clock, self._identifying, self._open_shard)
        self.shared = False
        self.former = ""
        self._session = ""
        self._intake: Intake | None = None
        self.suggest: Suggest | None = None
        self.find_left_off: FindLeftOff | None = None
        self.entrance: Entrance | None = None
        self._posts: Entrance | None = None
        if settings.by_web:
            self._posts = DiscordEntrance(
                settings.discord_public_key,
                self._clock,
                lambda told: compat.read_interaction(self._gateway.of(told.get("guild_id")), told),
            )

    async def __aenter__(self) -> DiscordAdapter:
        compat.use_api(self._base)
        compat.read_endless_polls()
        # A closed client cannot be reopened.
        self._client = self._make_client()
        self._registered = False
        await self._login(self._client)
        return self

    def _make_client(self) -> Client:
        proxy = proxy_before(self._base, "Discord")
        return Client(self._threads, self._identifying, self._forwards, self._clock, proxy)

    async def _login(self, client: Client) -> None:
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

    async def _open_shard(self) -> Client:
        client = self._make_client()
        await self._login(client)
        return client

    async def __aexit__(self, *_: object) -> None:
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
        """True while the gateway is connected; what it sends in a short break comes after it."""
        return self._gateway.connected

    @property
    def heard(self) -> bool:
        return self._gateway.heard and self._intake is not None and not self._intake.busy

    @property
    def shards(self) -> Mapping[str, str]:
        return self._gateway.states

    @property
    def conflicts(self) -> int:
        return self._rivals.recent

    @property
    def account(self) -> str:
        """All shards are in one process; see `Sole`."""
        return str(self._client.user.id) if self._client.user is not None else ""

    def take_over(self) -> None:
        """Do nothing: the gateway accepts a new session whatever happened to the previous one."""

    @property
    def session(self) -> str:
        """The sessions of all shards, in JSON, at a moment when every arrival was stored."""
        if self._intake is None or not self._intake.busy:
            self._session = json.dumps(self._gateway.sessions) if self._gateway.sessions else ""
        return self._session

    async def listen(self, deliver: Deliver) -> None:
        """Keep the gateway connected; the library resumes a broken connection and misses nothing."""
        intake = self._intake = Intake(deliver=deliver, clock=self._clock, slots=self._slots, rivals=self._rivals)
        self._gateway.resumable = self.shared
        former, self.former = self.former, ""
        announcing = asyncio.create_task(self._announce(), name="discord commands")
        missed = self._gateway.catch_up(compat.read_sessions(former), self._client)
        catching_up = asyncio.create_task(missed, name="discord catches up")
        try:
            await self._find_gateway()
            # From here on there is a client that reads posts.
            self.entrance = self._posts
            await self._gateway.run(self._client, intake, self.suggest, self.find_left_off)
        except discord.PrivilegedIntentsRequired as error:
            raise SettingsError(
                "Discord refuses the bot's intents: none is privileged, look at the bot's page"
            ) from error
        except discord.ConnectionClosed as error:
            if error.code == _GATEWAY_TOKEN_REFUSED:
                raise SettingsError(_TOKEN_REFUSED) from error
            if error.code in TOO_FEW_SHARDS:
                raise Unreachable(f"Discord asks for more shards ({error.code})") from error
            raise SettingsError(f"Discord closed the gateway for good with code {error.code}") from error
        except Unreachable:
            raise
        except PauseAsked as error:
            raise Unreachable("Discord's gateway asks for a pause") from error
        except Exception as error:
            # Also after errors that the library did not expect: the next connection starts afresh.
            raise Unreachable(f"Discord's gateway does not answer ({origin_of(error)})") from error
        finally:
            self.entrance = None
            await end_tasks(announcing, catching_up)
            await intake.close()

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
            Finding.ok(f"the token works; the bot is {client.user}, application {application.id}"),
            Finding.ok("it needs no privileged intent: it reads direct messages and what mentions it"),
            Finding.ok(f"invite it to a server with {invite}"),
            *await _connections(client),
        ]
        findings += [_taken_along(application), *_receiving(application, settings)]
        try:
            known = await registered(client)
        except Exception as error:  # noqa: BLE001 - it is told, whatever it is
            findings.append(Finding.bad(f"the slash commands could not be read ({type(error).__name__})"))
        else:
            findings.append(
                Finding.ok("its slash commands are registered")
                if known
                else Finding.note("its slash commands are not registered yet: the start does that")
            )
        return findings


async def _connections(client: Client) -> list[Finding]:
    """Report how many connections the bot will keep; nothing if it is one, as for most."""
    try:
        count, _, starts = await client.http.get_bot_gateway()
    except discord.GatewayNotFound:
        return [Finding.bad("how many connections Discord recommends could not be read")]
    left = f"{starts['remaining']} of {starts['total']} sessions are left until the next day"
    if starts["remaining"] < count:
        return [Finding.bad(f"it needs {count} gateway connections, and {left}: wait, or start it less often")]
    return [Finding.ok(f"it keeps {count} gateway connections (shards), {left}")] if count > 1 else []


def _taken_along(application: discord.AppInfo) -> Finding:
    """Report how people can use the commands where the bot is not a member.

    https://docs.discord.com/developers/resources/application#installation-context
    """
    if application.user_integration_config is None:
        return Finding.note(
            "people cannot take it along: allow User Install in the developer portal, page Installation"
        )
    link = discord.utils.oauth_url(application.id, scopes=("applications.commands",))
    return Finding.ok(f"people take its commands along to every server and chat with {link}&integration_type=1")


def _receiving(application: discord.AppInfo, settings: DiscordSettings) -> list[Finding]:
    """Describe how commands arrive, and what prevents it."""
    address = application.interactions_endpoint_url
    if not settings.by_web:
        away = "slash commands go to an HTTP address instead of the bot: remove the Interactions Endpoint URL in the "
        away += "developer portal, or set DISCORD_PUBLIC_KEY if it is this bot's"
        return [Finding.bad(away)] if address else []
    if settings.discord_public_key.lower() != application.verify_key.lower():
        return [Finding.bad("DISCORD_PUBLIC_KEY is another application's: copy it from General Information")]
    if not address:
        return [Finding.note("its commands come over the gateway: no Interactions Endpoint URL is set")]
    return [Finding.ok(f"its commands come by web, at {address}")]
