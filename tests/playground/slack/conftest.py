"""One workspace with a clock of its own, and the real libraries pointed at it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from playground.slack import SlackServer
from playground.slack.api import ALL_SCOPES


class Clock:
    """Time that passes only when told to."""

    def __init__(self) -> None:
        self.time = 1_000.0

    def __call__(self) -> float:
        return self.time

    def pass_(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def server(clock: Clock) -> AsyncIterator[SlackServer]:
    async with SlackServer(now=clock) as server:
        # Everything it can do, not only what an app with our manifest asks for.
        server.scopes.update(ALL_SCOPES)
        server.subscriptions.update({"agent_session_stopped", "app_home_opened"})
        # Each test asks for the channels that it listens to.
        server.subscriptions.difference_update({"message.channels", "message.groups", "message.mpim"})
        server.person("U1", "ann")
        server.person("U2", "bob")
        server.channel("C1", "general")
        server.channel("C2", "elsewhere", member=False)
        yield server


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def client(server: SlackServer) -> AsyncWebClient:
    return AsyncWebClient(token=server.bot_token, base_url=server.base_url)


Refusal = Callable[[Awaitable[object]], Awaitable[str]]


@pytest.fixture
def refusal() -> Refusal:
    """Await a call that must be refused; the service's error string."""

    async def error_of(call: Awaitable[object]) -> str:
        with pytest.raises(SlackApiError) as caught:
            await call
        return str(caught.value.response["error"])

    return error_of


@pytest.fixture
async def bolt(server: SlackServer, client: AsyncWebClient) -> AsyncIterator[AsyncApp]:
    """A Bolt app connected by Socket Mode."""
    app = AsyncApp(client=client, signing_secret=server.signing_secret)
    handler = AsyncSocketModeHandler(app, server.app_token, ping_interval=30)
    await handler.connect_async()
    await server.sockets.until_connected()
    yield app
    await handler.close_async()
