"""The emulated service on loopback, with everything a test or the page may ask of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from aiohttp import web

from playground.calls import Calls
from playground.faults import Faults
from playground.screen import Screen
from playground.slack.agents import AgentMethods
from playground.slack.api import MANIFEST_SCOPES, Api, Call
from playground.slack.arguments import Arguments
from playground.slack.conversations import ConversationMethods
from playground.slack.delivery import Deliveries, Delivery
from playground.slack.errors import Json
from playground.slack.events import Events
from playground.slack.files import FileMethods, read_upload
from playground.slack.limits import Limits
from playground.slack.messages import ChatMethods
from playground.slack.people import PeopleSide
from playground.slack.posts import SignedPosts
from playground.slack.responses import Responses
from playground.slack.socket import Sockets
from playground.slack.streams import StreamMethods
from playground.slack.workspace import Ping, Preview, Workspace

TICK = 0.2
"""Real seconds between two looks at the clock; tests with a clock of their own call `tick` instead."""
MOST_BODY = 128 * 1024 * 1024


class SlackServer(PeopleSide):
    """A workspace with one app in it. `async with` listens; leaving closes every connection.

    `limits=False` leaves the rate limits out; lengths, lifetimes and deadlines stay. `now` is the only clock, except
    that signatures are stamped with `wall`, because the library that checks them looks at the machine's own.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        now: Callable[[], float] = time.monotonic,
        limits: bool | Limits = True,
        *,
        wall: Callable[[], float] = time.time,
        team: str = "T0PARLEY",
    ) -> None:
        self._host, self._port, self._wall = host, port, wall
        self.limits = limits if isinstance(limits, Limits) else Limits()
        self.screen, self.faults = Screen(now), Faults()
        number = "1" if team == "T0PARLEY" else team
        self.bot_token, self.app_token = f"xoxb-{number}-playground", "xapp-1-A0PARLEY-playground"
        self.signing_secret = "8f742231b10e8888abcd99yyyzzz85a5"
        workspace = Workspace(self.screen, self.limits, wall(), MANIFEST_SCOPES, team)
        self._deliveries = Deliveries(self.limits, now)
        events = Events(workspace, self._deliveries)
        self._streams, self._agents = StreamMethods(workspace), AgentMethods(workspace, events.subscriptions)
        self._answers = Responses(workspace)
        super().__init__(workspace, events, self._deliveries, self._answers, self._streams)
        workspace.changed = events.changed
        self.sockets = Sockets(workspace, self._deliveries)
        self._deliveries.transport = self.sockets
        self._posts: list[SignedPosts] = []
        self._files = FileMethods(workspace, self.bot_token)
        self.api = Api(workspace, self.faults, self.limits, bool(limits), self.bot_token, self.app_token)
        self.api.methods = self._methods()
        self._runner: web.AppRunner | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=MOST_BODY)
        app.router.add_route("*", "/api/{method}", self.api.handle)
        app.router.add_get("/link/", self.sockets.handle)
        app.router.add_post("/upload/v1/{id}", self._upload)
        app.router.add_post("/commands/{team}/{key}", self._respond)
        app.router.add_get("/files-pri/{key}/{name}", self._files.download)
        app.router.add_get("/files-email-priv/{key}/{number}/{name}", self._files.download)
        app.router.add_get("/files-pri/{key}/download/{name}", self._files.download)
        app.router.add_get("/signin", self._files.sign_in)
        # A call that arrived is carried out even if its caller was killed meanwhile, so handlers are not cancelled.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        self.workspace.base = f"http://{self._host}:{self._port}"
        self._tasks = [asyncio.create_task(self._deliveries.run()), asyncio.create_task(self._watch_the_clock())]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.faults.close()
        await self.sockets.drop()
        for posts in self._posts:
            await posts.close()
        if self._runner:
            await self._runner.cleanup()

    @property
    def base_url(self) -> str:
        """What stands for `https://slack.com/api/`."""
        return f"{self.workspace.base}/api/"

    @property
    def team_id(self) -> str:
        return self.workspace.team_id

    @property
    def bot_user_id(self) -> str:
        return self.workspace.bot_user_id

    @property
    def bot_id(self) -> str:
        return self.workspace.bot_id

    @property
    def calls(self) -> Calls[Call]:
        """Every call of a method (and of `response_url`), in the order they arrived."""
        return self.api.calls

    @property
    def refusals(self) -> int:
        """How often the answer was 429."""
        return self.api.refusals

    @property
    def pings(self) -> list[Ping]:
        """Who was notified."""
        return self.workspace.pings

    @property
    def previews(self) -> list[Preview]:
        """What the service fetched because a message linked to it."""
        return self.workspace.previews

    @property
    def subscriptions(self) -> set[str]:
        """The events the app is told of, at first those of its manifest; add `message.channels` to hear every message
        of its channels."""
        return self.events.subscriptions

    @property
    def scopes(self) -> set[str]:
        """What the bot token was granted: at first what the app's manifest asks for."""
        return self.workspace.scopes

    @property
    def deliveries(self) -> list[Delivery]:
        """Everything that was to be delivered to the app, oldest first."""
        return self._deliveries.all

    def status(self, channel: str, thread_ts: str) -> str:
        """The status line of a thread as it stands now."""
        self._agents.tick()
        return self.workspace.statuses.get((channel, thread_ts), ("", 0.0))[0]

    async def until_delivery(self, seen: Callable[[list[Delivery]], object], seconds: float = 60.0) -> None:
        """Wait until `seen(deliveries)` is true; look again after every attempt, failure and acknowledgement.

        Raises:
            TimeoutError: it did not become true in `seconds`.
        """
        await self._deliveries.until(seen, seconds)

    def redeliver(self, id: str, reason: str = "timeout") -> Delivery:
        """Send an event (by its `event_id`), command or press again, as a retry."""
        return self._deliveries.again(id, reason)

    def send_event(self, event: Json) -> Delivery:
        """Any event, whatever the subscriptions."""
        return self.events.send(event)

    def deliver_to(self, url: str | None, *, secret: str | None = None, age: float = 0.0) -> SignedPosts | None:
        """From now on post everything to `url`, signed; None goes back to sockets.

        Another `secret`, or a signature of some `age`, makes the forgeries an app must refuse.
        """
        if url is None:
            self._deliveries.transport = self.sockets
            return None
        posts = SignedPosts(url, secret or self.signing_secret, self._deliveries, self._wall, age=age)
        self._posts.append(posts)
        self._deliveries.transport = posts
        return posts

    def tick(self) -> None:
        """Let everything happen that is due by now: retries, closing streams, fading statuses."""
        self._deliveries.tick()
        self._streams.tick()
        self._agents.tick()

    async def _watch_the_clock(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            self.tick()

    def _methods(self) -> dict[str, Callable[[Arguments], Json]]:
        chat, talk = ChatMethods(self.workspace), ConversationMethods(self.workspace)
        return {
            "auth.test": talk.auth_test,
            "apps.connections.open": lambda sent: {"url": self.sockets.ticket()},
            "chat.postMessage": chat.post,
            "chat.postEphemeral": chat.post_ephemeral,
            "chat.update": chat.update,
            "chat.delete": chat.delete,
            "chat.startStream": self._streams.start,
            "chat.appendStream": self._streams.append,
            "chat.stopStream": self._streams.stop,
            "assistant.threads.setStatus": self._agents.set_status,
            "assistant.threads.setSuggestedPrompts": self._agents.set_prompts,
            "agents.sessions.setStatus": self._agents.set_session,
            "conversations.history": talk.history,
            "conversations.replies": talk.replies,
            "users.conversations": talk.conversations,
            "users.info": talk.user_info,
            "reactions.add": talk.react,
            "reactions.remove": talk.unreact,
            "files.getUploadURLExternal": self._files.get_upload_url,
            "files.completeUploadExternal": self._files.complete,
            "files.info": self._files.info,
            "views.open": self.views.show,
        }

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        call = Call(self.screen.now(), "response_url")
        self.calls.append(call)

        body_text = await request.text()

        async def answer() -> web.Response:
            status, body = self._answers.handle(request.match_info["key"], body_text)
            call.error = str(body.get("error", ""))
            return web.json_response(body, status=status)

        return await self.api.meet(request, call, answer)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        call = Call(self.screen.now(), "upload")
        self.calls.append(call)
        content = await read_upload(request)

        async def answer() -> web.Response:
            return self._files.upload(request.match_info["id"], content)

        return await self.api.meet(request, call, answer)
