"""Whatever Telegram and Discord refuse while an answer is written, or never answer, its final text is the same."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import pytest
from pydantic import SecretStr

from adapters.discord.adapter import DiscordAdapter
from adapters.settings import DiscordSettings, TelegramSettings
from adapters.telegram.adapter import TelegramAdapter
from bot.contract.messages import ReplyTarget
from bot.pacing.pacer import Pacer
from playground.discord import DiscordServer
from playground.faults import Fault
from playground.screen import Shown
from playground.telegram import TelegramServer
from tests.conftest import FakeClock
from tests.documents import LOST, Calls, Write, refuse_each_call, write_document

REFUSALS = {
    "limited": Fault(status=429, retry_after=3),
    "away": Fault(status=503),
    "lost": Fault(drop="before"),
    **LOST,
}


@asynccontextmanager
async def telegram(clock: FakeClock, *, drafts: bool = False, fresh: bool = False) -> AsyncIterator[Write]:
    async with TelegramServer(now=clock.monotonic, limits=False) as server:
        server.person(1, "Ada")
        settings = TelegramSettings(
            _env_file=None,  # type: ignore[call-arg]  # what pydantic-settings takes, unknown to mypy
            telegram_bot_token=SecretStr(server.token),
            telegram_api_base_url=server.base_url,
            telegram_drafts=drafts,
        )
        async with TelegramAdapter(settings, clock) as adapter:
            assert adapter._greeting is not None
            await adapter._greeting
            data = {"chat": 1, "thread": None, "reply_to": None, "group": False}

            async def write(text: str, calls: Calls) -> list[Shown]:
                before, target = len(server.screen.of("1")), ReplyTarget("telegram", data)
                with calls.of_server(server.faults):
                    await write_document(adapter.surface(target), Pacer(clock), clock, text, fresh=fresh)
                return server.screen.of("1")[before:]

            yield write


@asynccontextmanager
async def discord(clock: FakeClock, *, fresh: bool = False) -> AsyncIterator[Write]:
    clock.started = time.time()
    async with DiscordServer(now=clock.monotonic, limits=False) as server:
        server.guild(10)
        server.person(1, "Ada")
        server.channel(20, 10)
        settings = DiscordSettings(
            _env_file=None,  # type: ignore[call-arg]  # what pydantic-settings takes, unknown to mypy
            discord_bot_token=SecretStr(server.token),
            discord_api_base_url=server.base_url,
        )
        async with DiscordAdapter(settings, clock) as adapter:
            target = ReplyTarget("discord", {"channel": 20, "group": True, "reply_to": None})

            async def write(text: str, calls: Calls) -> list[Shown]:
                before = len(server.screen.of("20"))
                with calls.of_server(server.faults):
                    await write_document(adapter.surface(target), Pacer(clock), clock, text, fresh=fresh)
                return server.screen.of("20")[before:]

            yield write


PLACES: dict[str, Callable[[FakeClock], AbstractAsyncContextManager[Write]]] = {
    "telegram": telegram,
    "telegram drafts": partial(telegram, drafts=True),
    "telegram fresh": partial(telegram, fresh=True),
    "discord": discord,
    "discord fresh": partial(discord, fresh=True),
}


async def check(write: Write, seed: int, dice: random.Random | None = None) -> set[tuple[str, str]]:
    """Refuse the calls of a document, all of them or one that the dice choose; which methods met which refusals."""
    return await refuse_each_call(write, seed, None, REFUSALS, dice=dice, blind="sendMessage")


@pytest.mark.parametrize("place", PLACES)
async def test_the_final_text_is_the_same_whatever_is_refused(clock: FakeClock, place: str) -> None:
    async with PLACES[place](clock) as write:
        for seed in range(6):
            assert await check(write, seed, random.Random(seed))


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1_000, 1_500, 25))
@pytest.mark.parametrize("place", PLACES)
async def test_no_refusal_of_any_call_changes_the_final_text_of_five_hundred_documents(
    clock: FakeClock, place: str, first: int
) -> None:
    met: set[tuple[str, str]] = set()
    async with PLACES[place](clock) as write:
        for seed in range(first, first + 25):
            met |= await check(write, seed)
    assert len({method for method, _ in met}) > 1, "posts and edits"
    assert {refusal for _, refusal in met} == {*REFUSALS}
