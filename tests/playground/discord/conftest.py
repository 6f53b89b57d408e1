"""The emulated Discord under a clock that only a test moves, and ways to reach it: raw HTTP, and discord.py itself."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
import yarl

from playground.discord.interactions import Interaction
from playground.discord.world import Channel
from tests.conftest import RawJson, RawObject
from tests.patience import PATIENCE

with warnings.catch_warnings():
    # The library's voice part still imports a module that Python is about to drop.
    warnings.simplefilter("ignore", DeprecationWarning)
    import discord
    from discord import app_commands

from playground.discord import DiscordServer


@dataclass
class Time:
    """A clock that stands still until it is told."""

    at: float = 1000.0

    def __call__(self) -> float:
        return self.at

    def pass_(self, seconds: float) -> None:
        self.at += seconds


@dataclass
class Reply:
    """An HTTP answer, read."""

    status: int
    body: RawJson
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def code(self) -> int:
        return int(self.body["code"])

    @property
    def text(self) -> str:
        return str(self.body["message"])


class Raw:
    """Calls that no library would make."""

    def __init__(self, server: DiscordServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self.session = session

    async def __call__(
        self,
        method: str,
        path: str,
        body: RawJson = None,
        *,
        token: str | None = None,
        form: aiohttp.FormData | bytes | None = None,
        **options: RawJson,
    ) -> Reply:
        headers = {"Authorization": f"Bot {self.server.token if token is None else token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        data = json.dumps(body) if body is not None else form
        async with self.session.request(
            method, self.server.base_url + path, data=data, headers=headers, **options
        ) as answer:
            raw = await answer.text()
            if answer.headers.get("Content-Type") == "application/json":
                return Reply(answer.status, json.loads(raw), {k.lower(): v for k, v in answer.headers.items()})
            return Reply(answer.status, raw, {k.lower(): v for k, v in answer.headers.items()})

    async def send(self, channel: Channel, content: RawJson = "hello", **more: RawJson) -> Reply:
        return await self("POST", f"/channels/{channel.id}/messages", {"content": content, **more})

    async def edit(self, channel: Channel, message: str, content: str, **more: RawJson) -> Reply:
        return await self("PATCH", f"/channels/{channel.id}/messages/{message}", {"content": content, **more})

    async def answer(self, made: Interaction, kind: int, data: RawJson = None) -> Reply:
        body = {"type": kind} if data is None else {"type": kind, "data": data}
        return await self("POST", f"/interactions/{made.id}/{made.token}/callback?with_response=1", body)

    async def hook(self, method: str, made: Interaction, rest: str = "", body: RawJson = None) -> Reply:
        return await self(method, f"/webhooks/{self.server.application_id}/{made.token}{rest}", body, token="none")


class Gate:
    """A bare gateway connection."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, server: DiscordServer) -> None:
        self.socket = socket
        self.server = server
        self.seen: list[RawObject] = []

    async def take(self) -> RawObject:
        frame: RawObject = await self.socket.receive_json(timeout=PATIENCE)
        self.seen.append(frame)
        return frame

    async def until(self, event: str) -> RawObject:
        while True:
            frame = await self.take()
            if frame["t"] == event:
                body: RawObject = frame["d"]
                return body

    async def send(self, op: int, body: RawJson) -> None:
        await self.socket.send_json({"op": op, "d": body})

    async def identify(self, intents: int = 0, token: str | None = None, **more: RawJson) -> None:
        token = self.server.token if token is None else token
        await self.send(2, {"token": token, "intents": intents, "properties": {}, **more})

    async def closed(self) -> int:
        while True:
            message = await self.socket.receive(timeout=PATIENCE)
            if message.type is not aiohttp.WSMsgType.TEXT:
                return self.socket.close_code or 0


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def server(time: Time) -> AsyncIterator[DiscordServer]:
    async with DiscordServer(now=time) as server:
        server.guild(10, "Library")
        server.permit(10, "MENTION_EVERYONE")
        server.person(1, "Ada")
        yield server


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def raw(server: DiscordServer, session: aiohttp.ClientSession) -> Raw:
    return Raw(server, session)


@pytest.fixture
async def gate(server: DiscordServer, session: aiohttp.ClientSession) -> AsyncIterator[Callable[[], Awaitable[Gate]]]:
    opened: list[Gate] = []

    async def connect(query: str = "?v=10&encoding=json") -> Gate:
        gate = Gate(await session.ws_connect(server.gateway_url + query), server)
        opened.append(gate)
        hello = await gate.take()
        assert hello["op"] == 10
        return gate

    yield connect
    for gate in opened:
        await gate.socket.close()


class Bot(discord.Client):
    """The real client, which keeps what it hears."""

    def __init__(self, intents: discord.Intents, **options: RawJson) -> None:
        super().__init__(intents=intents, guild_ready_timeout=0.01, **options)
        self.tree = app_commands.CommandTree(self)
        self.heard: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Identify again at once: the library would wait five seconds."""

    async def on_message(self, message: discord.Message) -> None:
        self.heard.put_nowait(("message", message))

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        self.heard.put_nowait(("edit", payload))

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        self.heard.put_nowait(("delete", payload))

    async def on_raw_reaction_add(self, payload: discord.RawReactionActionEvent) -> None:
        self.heard.put_nowait(("reaction", payload))

    async def on_interaction(self, interaction: discord.Interaction[discord.Client]) -> None:
        self.heard.put_nowait(("interaction", interaction))

    async def on_resumed(self) -> None:
        self.heard.put_nowait(("resumed", None))

    async def next(self, kind: str) -> Any:
        async with asyncio.timeout(PATIENCE):
            while True:
                what, value = await self.heard.get()
                if what == kind:
                    return value


@pytest.fixture
def routes(server: DiscordServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point the library at the emulator; undone after the test."""
    monkeypatch.setattr(discord.http.Route, "BASE", server.base_url)
    monkeypatch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(server.gateway_url))


@pytest.fixture
async def start(server: DiscordServer, routes: None) -> AsyncIterator[Callable[..., Awaitable[Bot]]]:
    running: list[tuple[Bot, asyncio.Task[None]]] = []

    async def start(intents: discord.Intents | None = None, command: Any = None, **options: RawJson) -> Bot:
        bot = Bot(discord.Intents.default() if intents is None else intents, **options)
        if command is not None:
            bot.tree.add_command(command)
        await bot.login(server.token)
        if command is not None:
            await bot.tree.sync()
        running.append((bot, asyncio.create_task(bot.connect())))
        await server.gateway.until_ready(len(running))
        return bot

    yield start
    for bot, task in running:
        await bot.close()
        await asyncio.gather(task, return_exceptions=True)
