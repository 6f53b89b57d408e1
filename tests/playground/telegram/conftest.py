"""A server on a clock that stands still, a real python-telegram-bot `Bot`, and a way to call without any library."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from telegram import Bot

from playground.telegram import TelegramServer
from tests.conftest import RawJson, RawObject

Raw = Callable[..., Awaitable[tuple[int, RawObject]]]


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at

    def pass_(self, seconds: float) -> None:
        self.at += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def server(clock: Clock) -> AsyncIterator[TelegramServer]:
    async with TelegramServer(now=clock, webhook_retry_seconds=0.001) as running:
        running.person(7, "Ada", username="ada", language_code="en")
        running.group(-500, "Friends")
        running.group(-1_001_234_567_890, "Forum", forum=True)
        yield running


@pytest.fixture
def free(server: TelegramServer) -> TelegramServer:
    """The same server without flood control, for tests of everything else."""
    server.world.flood.limits = None
    return server


@pytest.fixture
async def bot(server: TelegramServer) -> AsyncIterator[Bot]:
    async with Bot(
        server.token, base_url=f"{server.base_url}/bot", base_file_url=f"{server.base_url}/file/bot"
    ) as started:
        yield started


@pytest.fixture
async def raw(server: TelegramServer) -> AsyncIterator[Raw]:
    """`await raw("sendMessage", chat_id=7, text="hi")` → (status, body), as a JSON request."""
    async with aiohttp.ClientSession() as session:

        async def call(method: str, **parameters: RawJson) -> tuple[int, RawObject]:
            url = f"{server.base_url}/bot{server.token}/{method}"
            async with session.post(url, json=parameters) as answer:
                return answer.status, await answer.json()

        yield call
