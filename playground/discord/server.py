"""The emulated Discord: REST v10 and the gateway on one loopback port."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from types import TracebackType

from aiohttp import web

from playground.calls import Calls
from playground.discord.channels import Channels
from playground.discord.clock import Clock
from playground.discord.commands import Commands
from playground.discord.gateway import Gateway
from playground.discord.interactions import TYPED, Interaction, Interactions
from playground.discord.limits import Limits
from playground.discord.mentions import Ping, Preview
from playground.discord.people import People
from playground.discord.posts import SignedPosts, Signer
from playground.discord.rest import Answer, Asked, Call, Rest, Route
from playground.discord.state import CONTENT, State
from playground.discord.world import Person
from playground.faults import Faults
from playground.screen import Screen

API = "/api/v10"


class DiscordServer(People):
    """A strict Discord on loopback, for one application and its bot. Leaving closes every connection.

    `now` is the only clock: deadlines, rate windows, dates and ids follow it. `limits` are the service's own
    (True), the same without rates (False), or others.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        now: Callable[[], float] = time.monotonic,
        limits: Limits | bool = True,
    ) -> None:
        self.host = host
        self.port = port
        rules = limits if isinstance(limits, Limits) else Limits(rated=limits)
        clock = Clock(now)
        self.limits = rules
        self.application_id = clock.snowflake()
        self.token = "MTAwMDAwMDAwMDAwMDAwMDAw.playgr.playgroundPlaygroundPlaygroundPlaygro"
        self.public_key = secrets.token_hex(32)
        """Thirty-two bytes as a key looks; nothing is signed with it while interactions come by the gateway."""
        self.bot = Person(self.application_id, "Parley", bot=True)
        self.screen = Screen(now)
        self.faults = Faults()
        state = State(clock, rules, self.screen, self.bot, self.application_id)
        self.rest = Rest(clock, rules, self.faults, self.token)
        gateway = Gateway(state, self.token)
        state.publish = gateway.publish
        super().__init__(state, gateway, Interactions(state), Commands(state), Channels(state, self.public_key))
        self._runner: web.AppRunner | None = None
        self._posts: list[SignedPosts] = []
        self._deadlines: set[asyncio.TimerHandle] = set()

    @property
    def base_url(self) -> str:
        """Stands for https://discord.com/api/v10."""
        return f"http://{self.host}:{self.port}{API}"

    @property
    def gateway_url(self) -> str:
        """Stands for wss://gateway.discord.gg."""
        return f"ws://{self.host}:{self.port}/gateway"

    @property
    def calls(self) -> Calls[Call]:
        """Every REST call, in the order of arrival."""
        return self.rest.calls

    @property
    def refusals(self) -> int:
        """How many calls were answered 429."""
        return sum(call.status == 429 for call in self.calls)

    @property
    def pings(self) -> list[Ping]:
        """Whom the bot's messages would have notified."""
        return self.state.pings

    @property
    def previews(self) -> list[Preview]:
        """Addresses in the bot's messages that Discord would have fetched."""
        return self.state.previews

    @property
    def privileged_intents(self) -> int:
        """The privileged intents the developer portal grants; none at first."""
        return self.gateway.allowed_intents

    @privileged_intents.setter
    def privileged_intents(self, intents: int) -> None:
        self.gateway.allowed_intents = intents
        self.state.reads_all = bool(intents & CONTENT)
        self.channels.flags = self.gateway.flags()

    async def deliver_to(self, url: str | None, signer: Signer | None = None) -> SignedPosts | None:
        """From now on post interactions to `url`; None goes back to the gateway.

        Raises:
            ValueError: the address was refused, as in the developer portal, because it does not check who posts.
        """
        if url is None or signer is None:
            self.channels.endpoint = self.interactions.posts = None
            return None
        posts = SignedPosts(url, signer, self.application_id)
        self._posts.append(posts)
        await posts.check()
        self.channels.public_key, self.channels.endpoint = signer.public_key, url
        self.interactions.posts = posts
        return posts

    async def __aenter__(self) -> DiscordServer:
        app = web.Application(client_max_size=self.limits.request * 4)
        routes = [
            Route("GET", "/gateway", self._gateway, bucket="", open=True),
            Route("GET", "/gateway/bot", self._gateway_bot),
            *self.channels.routes(),
            *self.commands.routes(),
            *self.interactions.routes(),
        ]
        self.rest.bind(app, API, routes)
        app.router.add_get("/gateway", self.gateway.serve)
        app.router.add_get("/gateway/", self.gateway.serve)
        app.router.add_get("/attachments/{channel}/{id}/{name}", self._attachment)
        # A held call must not hold the end of the server.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        self.gateway.url = self.gateway_url
        self.state.root = f"http://{self.host}:{self.port}"
        self.interactions.begun = self._watch
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._deadlines:
            handle.cancel()
        await self.faults.close()
        for posts in self._posts:
            await posts.close()
        await self.gateway.close()
        if self._runner is not None:
            await self._runner.cleanup()

    def _watch(self, made: Interaction) -> None:
        """Show, as the client does, that an interaction was not answered in time."""

        def look() -> None:
            self._deadlines.discard(handle)
            if self.interactions.overdue(made):
                typed = made.kind == TYPED
                self.screen.notice(
                    made.channel.id, "Loading options failed" if typed else "The application did not respond"
                )

        handle = asyncio.get_running_loop().call_later(self.limits.answer_within + 0.05, look)
        self._deadlines.add(handle)

    def _gateway(self, asked: Asked) -> Answer:
        return Answer(200, {"url": self.gateway_url})

    def _gateway_bot(self, asked: Asked) -> Answer:
        limit = {
            "total": 1000,
            "remaining": 1000 - len(self.gateway.identified),
            "reset_after": 0,
            "max_concurrency": self.gateway.max_concurrency,
        }
        return Answer(200, {"url": self.gateway_url, "shards": self.gateway.shards, "session_start_limit": limit})

    async def _attachment(self, request: web.Request) -> web.Response:
        place = self.state.channels.get(request.match_info["channel"])
        for id in place.messages if place else ():
            for file in self.state.messages[id].attachments:
                if file.id == request.match_info["id"]:
                    return web.Response(body=file.content, headers={"Content-Type": file.media_type})
        return web.Response(status=404, text="This content is no longer available.")
