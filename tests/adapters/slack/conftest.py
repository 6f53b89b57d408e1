"""A workspace, our adapter in it, and where its answers go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from adapters.settings import SlackSettings
from adapters.slack.adapter import SlackAdapter, open_adapter
from bot.contract import ReplyTarget
from playground.slack import SlackServer
from tests.conftest import FakeClock
from tests.patience import PATIENCE


@pytest.fixture
async def slack(clock: FakeClock) -> AsyncIterator[SlackServer]:
    async with SlackServer(now=clock.monotonic, wall=clock.wall) as server:
        server.person("U1", "ann")
        server.person("U2", "bob")
        server.channel("C1", "general")
        server.channel("C2", "elsewhere", member=False)
        yield server


async def until(seen: Callable[[], object]) -> None:
    """Wait until something of which nobody tells has happened."""
    async with asyncio.timeout(PATIENCE):
        while not seen():
            await asyncio.sleep(0.001)


def settings_of(server: SlackServer, **changes: str) -> SlackSettings:
    values = {
        "slack_bot_token": server.bot_token,
        "slack_app_token": server.app_token,
        "slack_api_base_url": server.base_url,
    }
    return SlackSettings.model_validate(values | changes)


@pytest.fixture
async def adapter(slack: SlackServer, clock: FakeClock) -> AsyncIterator[SlackAdapter]:
    """It can show and look up; nothing is listened to."""
    async with open_adapter(settings_of(slack), clock) as adapter:
        yield adapter


def thread_target(server: SlackServer, question: str = "why?") -> ReplyTarget:
    """Where the answer to a mention goes."""
    ts = server.say("C1", f"<@{server.bot_user_id}> {question}", person="U1")
    data = {"team": server.team_id, "channel": "C1", "thread": ts, "user": "U1", "asked": ts}
    return ReplyTarget("slack", data)


def direct_target(server: SlackServer) -> ReplyTarget:
    channel = server.direct("U1")
    ts = server.say(channel, "why?", person="U1")
    return ReplyTarget("slack", {"team": server.team_id, "channel": channel, "thread": "", "user": "U1", "asked": ts})
