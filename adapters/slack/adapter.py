"""Slack, over Socket Mode or by web: events and commands → `Incoming`, pages → messages edited in place.

Everything is acknowledged only after it was stored: over Socket Mode by a middleware that runs before any of Bolt's
own, by web with the response to the post (`webhook.py`). Slack sends again what is not acknowledged within three
seconds. See: https://docs.slack.dev/apis/events-api
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any, BinaryIO, Final

import aiohttp
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from adapters import Finding
from adapters.settings import SlackSettings
from adapters.slack.client import Client
from adapters.slack.errors import REFUSED_TOKEN, error_code, field
from adapters.slack.events import people_in
from adapters.slack.installing import Installing
from adapters.slack.missed import Missed
from adapters.slack.sealing import Seal
from adapters.slack.threads import SlackThread
from adapters.slack.webhook import SlackEntrance
from adapters.slack.workspace import Workspace
from adapters.slack.workspaces import Workspaces
from bot.contract import (
    BotError,
    Clock,
    Contested,
    Deliver,
    Enclosure,
    Entrance,
    FindLeftOff,
    Grants,
    Incoming,
    LogThrottle,
    MessageSent,
    ReplyTarget,
    SettingsError,
    StoreError,
    Surface,
    SystemClock,
    Unreachable,
    done_within,
    origin_of,
    time_limit,
)
from bot.network import proxy_before
from tools.contract.json_values import read_json
from tools.programs.cancelling import end_tasks, while_running

log = logging.getLogger(__name__)

STORE_SECONDS: Final = 2.5
"""The time for storing a delivery; after that Slack, which waits three seconds, sends it again."""
CONNECT_SECONDS: Final = 30.0
WATCH_SECONDS: Final = 5.0
ASLEEP_SECONDS: Final = 60.0
"""A look that comes so much later than the one before shows that the machine, or this process, stood still."""
LOST_SECONDS: Final = 5.0
"""How long the library may try to restore its connection before we start again, and learn why there is none."""
CALL_TIMEOUT: Final = aiohttp.ClientTimeout(total=60.0, sock_connect=5.0, sock_read=20.0)
MOST_FRAME_CHARS: Final = 2_000
"""Slack's messages about a connection are short; longer frames are events."""
TOO_MANY: Final = "too_many_websockets"

NEEDED_SCOPES: Final = {
    "app_mentions:read": "hear mentions",
    "chat:write": "answer",
    "commands": "offer /parley",
    "im:history": "hear direct messages",
}
WISHED_SCOPES: Final = {
    "files:write": "post files",
    "files:read": "read files and look at pictures",
    "users:read": "know people by name",
    "reactions:write": "show on a message that it waits",
    "channels:history": "look up in channels what it missed, and whether a post of unknown outcome arrived",
    "groups:history": "do the same in private channels",
    "mpim:history": "do the same in direct messages of several people",
    "channels:read": "find the channels in which it missed something",
    "groups:read": "find such private channels",
    "im:read": "find such direct messages",
    "mpim:read": "find such direct messages of several people",
}


def open_adapter(settings: SlackSettings, clock: Clock | None = None) -> SlackAdapter:
    """Return the adapter for one app."""
    return SlackAdapter(settings, clock)


class _Handler(AsyncSocketModeHandler):
    """Bolt's handler, which also acknowledges what it cannot read: Slack would send that three more times."""

    def __init__(self, app: AsyncApp, app_token: str, **more: Any) -> None:
        super().__init__(app, app_token, **more)
        self.handling: set[asyncio.Future[None]] = set()
        """One for each envelope that is not acknowledged yet."""

    async def handle(self, client: Any, req: SocketModeRequest) -> None:
        handled = asyncio.get_running_loop().create_future()
        self.handling.add(handled)
        try:
            await super().handle(client, req)
        except Exception as error:  # noqa: BLE001 - whatever it is, only this envelope is lost
            log.error("slack: envelope %s cannot be read and is left out: %s", req.envelope_id, origin_of(error))
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=req.envelope_id))
        finally:
            self.handling.discard(handled)
            handled.set_result(None)


class SlackAdapter:
    """One app, in the workspaces that installed it."""

    platform = "slack"

    def __init__(self, settings: SlackSettings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._rivals = LogThrottle(log, self._clock)
        self.shared = False
        """See `Companion`."""
        self._troubles = LogThrottle(log, self._clock)
        self.grants: Grants | None = None
        """See `Installable`."""
        self.entrance: Entrance | None = None
        self._crowded = asyncio.Event()
        """Set when Slack closed our socket because the app has too many."""
        # The libraries write every request and message at DEBUG, and format them even when nobody listens.
        self._wire = logging.getLogger(f"{__name__}.wire")
        self._wire.setLevel(logging.WARNING)
        # Bolt warns that SLACK_BOT_TOKEN is in the environment, too; it is the one it was given.
        self._bolt = self._wire.getChild("bolt")
        self._bolt.setLevel(logging.ERROR)
        self._storing: set[asyncio.Task[None]] = set()
        self.find_left_off: FindLeftOff | None = None
        self._catching_up: asyncio.Task[None] | None = None
        self._socket: AsyncSocketModeHandler | None = None

    async def __aenter__(self) -> SlackAdapter:
        self._http = aiohttp.ClientSession(timeout=CALL_TIMEOUT)
        self._web = self._client("")
        seal = Seal(self._settings.token_keys) if self._settings.installable else None
        self._workspaces = Workspaces(self._client, self._http, self._clock, self.grants, seal)
        try:
            await self._workspaces.open(self._settings.slack_bot_token.get_secret_value(), shared=self.shared)
        except BaseException:
            await self._http.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._workspaces.end_lookups()
        await done_within(self._clock, self._storing, STORE_SECONDS)
        await self._workspaces.close()
        await self._http.close()

    @property
    def workspace(self) -> Workspace:
        """The workspace of SLACK_BOT_TOKEN."""
        assert self._workspaces.home is not None
        return self._workspaces.home

    @property
    def listening(self) -> bool:
        """True while posts are accepted, or a socket is connected or being replaced by the library."""
        if self.entrance is not None:
            return True
        session = self._socket.client.current_session if self._socket is not None else None
        return session is not None and not session.closed

    @property
    def heard(self) -> bool:
        catching_up = self._catching_up is None or not self._catching_up.done()
        return self.listening and not self._storing and not catching_up

    @property
    def identity(self) -> str:
        if (home := self._workspaces.home) is None:
            return self._settings.slack_client_id
        return f"{home.me.team}/{home.me.user}"

    @property
    def conflicts(self) -> int:
        return self._rivals.recent

    def surface(self, target: ReplyTarget) -> Surface:
        return self._workspaces.of(target.data.get("team")).surface(target)

    async def fetch(self, source: str, into: BinaryIO, most: int) -> Enclosure | None:
        workspace, own = self._workspaces.of_file(source)
        return await workspace.fetch(own, into, most)

    def earlier(self, message: MessageSent) -> SlackThread | None:
        return self._workspaces.of(message.chat.account).earlier(message)

    async def listen(self, deliver: Deliver) -> None:
        """Receive events until cancelled; the library replaces the connection whenever Slack asks."""
        missed = Missed(self._workspaces.of, lambda body: self._take_in(body, deliver), self._clock)
        catching_up = missed.catch_up(
            self.find_left_off, lambda: self.listening, self._workspaces.all, shared=self.shared
        )
        self._catching_up = asyncio.create_task(catching_up, name="slack catches up")
        try:
            await self._await(deliver)
        finally:
            await end_tasks(self._catching_up)

    async def _await(self, deliver: Deliver) -> None:
        if (home := self._workspaces.home) is None:
            await self._await_posts(deliver)
            return
        doubting = asyncio.create_task(home.watch(), name="slack token")
        try:
            async with while_running(doubting):
                await (self._await_posts(deliver) if self._settings.by_web else self._await_events(deliver))
            await doubting
        finally:
            await end_tasks(doubting)

    async def _await_events(self, deliver: Deliver) -> None:
        url = await self._ask_for_socket()

        async def take_in(body: dict[str, Any]) -> BoltResponse:
            return BoltResponse(status=200 if await self._take_in(body, deliver) else 503)

        # Before authorization: that would ask Slack for our identity while Slack waits for the acknowledgement.
        app = AsyncApp(
            name="parley", client=self.workspace.web, signing_secret="", logger=self._bolt, before_authorize=take_in
        )
        handler = _Handler(app, self._app_token, logger=self._wire, web_client=self.workspace.web)
        handler.client.proxy = self._web.proxy
        handler.client.wss_uri = url
        handler.client.on_message_listeners.append(self._hear)
        self._crowded.clear()
        self._socket = handler
        try:
            try:
                async with time_limit(self._clock, CONNECT_SECONDS):
                    await handler.connect_async()  # type: ignore[no-untyped-call]  # the library's
            except TimeoutError:
                raise Unreachable("Slack gave an address for a connection, but takes none there") from None
            await self._watch(handler)
        finally:
            self._socket = None
            # Stored first, so that its acknowledgement still finds the connection.
            await done_within(self._clock, handler.handling, STORE_SECONDS)
            await handler.close_async()  # type: ignore[no-untyped-call]  # the library's

    async def _await_posts(self, deliver: Deliver) -> None:
        """Accept Slack's posts until cancelled; later ones are refused, and Slack posts events again."""
        secret = self._settings.slack_signing_secret.get_secret_value()
        self.entrance = SlackEntrance(
            secret, self._clock, lambda body: self._take_in(body, deliver), self._installing()
        )
        try:
            await asyncio.Event().wait()
        finally:
            self.entrance = None

    async def _take_in(self, body: dict[str, Any], deliver: Deliver) -> bool:
        """Store a payload; False leaves it unacknowledged, so that Slack sends it again."""
        try:
            if await self._workspaces.take_out(body):
                return True
            workspace = await self._workspaces.hearing(body)
        except StoreError as unread:
            self._troubles.warn(f"slack: an event will be sent again: {unread}")
            return False
        if workspace is None:
            return True
        if (beside := workspace.beside(body)) is not None:
            task, awaited = beside
            self._keep(task)
            return not awaited or await done_within(self._clock, {task}, STORE_SECONDS)
        try:
            named = people_in(body)
            told = await workspace.read(body, named, follow=self._settings.slack_follow_threads)
        except Exception as unread:  # noqa: BLE001 - whatever it is, only this event is lost
            log.error("slack: event %s cannot be read and is left out: %s", body.get("event_id"), origin_of(unread))
            return True
        if told is None:
            return True
        # Storing continues after the time limit: the second delivery then finds the first.
        storing = asyncio.create_task(_store(told, deliver), name=f"store {told.delivery}")
        self._keep(storing)
        if not await done_within(self._clock, {storing}, STORE_SECONDS):
            self._troubles.warn(f"slack: an event could not be stored in {STORE_SECONDS:.1f} s and will be sent again")
            return False
        error = storing.exception()
        if error is not None:
            why = error if isinstance(error, BotError) else origin_of(error)
            self._troubles.warn(f"slack: an event could not be stored and will be sent again: {why}")
            return False
        workspace.stored(told, named)
        return True

    def _keep(self, task: asyncio.Task[None]) -> None:
        """Keep a reference to a task that the end must wait for."""
        self._storing.add(task)
        task.add_done_callback(self._storing.discard)

    async def _hear(self, frame: aiohttp.WSMessage) -> None:
        """Detect other connections of the app from the first and the last frame of ours."""
        if len(frame.data) > MOST_FRAME_CHARS:
            return
        try:
            said = read_json(frame.data)
        except ValueError:
            return
        many = said.get("num_connections")
        if said.get("type") == "hello" and isinstance(many, int) and many > 1 and not self.shared:
            self._rivals.warn(
                f"slack: the app has {many} connections, and each gets a part of what people write: another program "
                "runs with the same SLACK_APP_TOKEN (end it, or make another app), or a lost connection of ours is "
                "not forgotten yet"
            )
        elif said.get("type") == "disconnect" and said.get("reason") == TOO_MANY:
            self._crowded.set()
            self._rivals.warn(
                "slack: the app has as many connections as Slack allows: other programs run with the same "
                "SLACK_APP_TOKEN; end them, or make another app"
            )

    async def _watch(self, handler: AsyncSocketModeHandler) -> None:
        """Watch the connection; raise once it is lost for too long, or other programs hold all connections."""
        lost_since, looked = None, self._clock.wall()
        while True:
            with contextlib.suppress(TimeoutError):
                async with time_limit(self._clock, WATCH_SECONDS):
                    await self._crowded.wait()
                # The library would immediately request another, again and again.
                raise Contested("other programs have taken all connections of the app")
            looked, before = self._clock.wall(), looked
            if looked - before > ASLEEP_SECONDS:
                # The library would connect anew, and nobody would look up what was missed.
                raise Unreachable("this machine was asleep")
            if await handler.client.is_connected():
                lost_since = None
            elif lost_since is None:
                lost_since = self._clock.monotonic()
            elif self._clock.monotonic() - lost_since > LOST_SECONDS:
                raise Unreachable("the connection to Slack was lost and does not come back")

    async def _ask_for_socket(self) -> str:
        """Request the URL of a new connection.

        Raises:
            SettingsError: the app token is refused.
            Unreachable: Slack does not answer now.
        """
        try:
            return field(await self._web.apps_connections_open(app_token=self._app_token), "url")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told and tried again
            code = error_code(error)
            if code in REFUSED_TOKEN:
                raise SettingsError(
                    f"SLACK_APP_TOKEN is refused by Slack ({code}): under Basic Information, App-Level Tokens, "
                    "make one with the scope connections:write"
                ) from None
            raise Unreachable(
                f"Slack at {self._web.base_url} does not answer ({code or type(error).__name__})"
            ) from None

    def _installing(self) -> Installing | None:
        if not self._settings.installable or self.grants is None:
            return None
        scopes = dict.fromkeys(NEEDED_SCOPES, True) | dict.fromkeys(WISHED_SCOPES, False)
        return Installing(
            settings=self._settings, scopes=scopes, web=self._web, clock=self._clock, grant=self._workspaces.add
        )

    def _client(self, token: str) -> Client:
        """Return a client without retries: the core knows which calls may be repeated."""
        base = self._settings.slack_api_base_url
        client = Client(token, base_url=base, session=self._http, logger=self._wire, retry_handlers=[])
        # The library would take a proxy from the environment without regard to NO_PROXY and ALL_PROXY.
        client.proxy = proxy_before(base, "Slack")
        return client

    @property
    def _app_token(self) -> str:
        return self._settings.slack_app_token.get_secret_value()


async def _store(told: Incoming, deliver: Deliver) -> None:
    await deliver(told)


async def check(settings: SlackSettings) -> list[Finding]:
    """Check both tokens, and report missing scopes."""
    async with SlackAdapter(settings) as adapter:
        if adapter._workspaces.home is None:
            return [Finding.not_asked(f"others install the app at {settings.slack_install_url}")]
        workspace = adapter.workspace
        team, user = workspace.me.team, workspace.me.user
        findings = [Finding.ok(f"the bot token works; the bot is {user} in workspace {team}")]
        findings += _scopes(workspace.scopes)
        findings.append(await _receiving(adapter, settings))
    return findings


async def _receiving(adapter: SlackAdapter, settings: SlackSettings) -> Finding:
    """Describe how events arrive, and what prevents it."""
    if settings.by_web:
        where = "the Request URL of Event Subscriptions, Interactivity and /parley should end in /slack"
        return Finding.not_asked(f"receives {settings.receives}; {where}, and Socket Mode be off")
    try:
        await adapter._ask_for_socket()
    except SettingsError as error:
        return Finding.bad(str(error))
    return Finding.ok("the app token works; Socket Mode is on")


def _scopes(granted: frozenset[str] | None) -> list[Finding]:
    if granted is None:
        return [Finding.note("Slack did not say which scopes the token has")]
    where = "add it under OAuth & Permissions, Bot Token Scopes, and install the app again"
    missing = [
        Finding.bad(f"the scope {scope} is missing, so it cannot {use}: {where}")
        for scope, use in NEEDED_SCOPES.items()
        if scope not in granted
    ]
    wished = [
        Finding.note(f"without the scope {scope} it cannot {use}")
        for scope, use in WISHED_SCOPES.items()
        if scope not in granted
    ]
    return (missing or [Finding.ok("all scopes it needs are granted")]) + wished
