"""The adapter with the real client library against the emulated Discord, under one clock that only a test moves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from pydantic import SecretStr

from adapters.discord.adapter import DiscordAdapter
from adapters.settings import DiscordSettings
from bot.contract.errors import StoreError
from bot.contract.messages import Incoming, MessageSent, ReplyTarget
from bot.contract.surface import Surface
from bot.contract.words import COMMANDS
from playground.discord import DiscordServer
from playground.discord.world import Channel
from tests.conftest import FakeClock, RawJson, RawObject
from tests.patience import PATIENCE


class Mailbox:
    """Where deliveries are stored; a test may hold the database, or break it."""

    def __init__(self) -> None:
        self.stored: list[Incoming] = []
        self.broken = False
        self.refused = 0
        self.held: dict[str, asyncio.Event] = {}
        """Text of a delivery → what it waits for."""
        self._news = asyncio.Condition()
        self._read = 0

    async def __call__(self, incoming: Incoming) -> None:
        if hold := self.held.get(getattr(incoming, "text", "")):
            await hold.wait()
        if self.broken:
            self.refused += 1
            raise StoreError("the disk is full")
        self.stored.append(incoming)
        async with self._news:
            self._news.notify_all()

    async def next(self) -> RawJson:
        """The next delivery nobody has looked at."""
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: len(self.stored) > self._read)
        self._read += 1
        return self.stored[self._read - 1]

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.stored if isinstance(one, MessageSent)]


async def until(seen: Callable[[], object]) -> None:
    """Wait until something of which nobody tells has happened."""
    async with asyncio.timeout(PATIENCE):
        while not seen():
            await asyncio.sleep(0.001)


class Stage:
    """One emulated Discord, and adapters for its bot."""

    def __init__(self, server: DiscordServer, clock: FakeClock, stack: AsyncExitStack) -> None:
        self.server = server
        self.clock = clock
        self.mailbox = Mailbox()
        self.place = server.channel(20, 10, "general")
        self.listening: asyncio.Task[None] | None = None
        self._stack = stack

    def settings(
        self, *, token: str = "", base: str = "", public_key: str = "", threads: bool = False
    ) -> DiscordSettings:
        return DiscordSettings(
            _env_file=None,  # type: ignore[call-arg]  # what pydantic-settings takes, unknown to mypy
            discord_bot_token=SecretStr(token or self.server.token),
            discord_api_base_url=base or self.server.base_url,
            discord_public_key=public_key,
            discord_threads=threads,
        )

    async def enter(self) -> DiscordAdapter:
        """A process that only writes."""
        return await self._stack.enter_async_context(DiscordAdapter(self.settings(), self.clock))

    async def listen(self, adapter: DiscordAdapter | None = None) -> DiscordAdapter:
        """A process that takes in, ready to hear."""
        adapter = adapter or await self.enter()
        before = len(self.server.gateway.identified)
        self.listening = asyncio.create_task(adapter.listen(self.mailbox))
        self._stack.push_async_callback(self._end, self.listening)
        await until(lambda: len(self.server.gateway.identified) > before or self.listening_ended)
        await until(lambda: len(self.commands) == len(COMMANDS) + 2 or self.listening_ended)
        return adapter

    async def stop(self) -> None:
        """End listening, as at the end of a process."""
        assert self.listening is not None
        await self._end(self.listening)

    @property
    def listening_ended(self) -> bool:
        return self.listening is not None and self.listening.done()

    @property
    def commands(self) -> RawObject:
        return self.server.commands.registered.get("", {})

    async def answer_to(
        self, adapter: DiscordAdapter, place: Channel | None = None, question: str = "why?"
    ) -> tuple[Surface, ReplyTarget]:
        """Somebody asks with a slash command; the surface of its acknowledged answer."""
        self.server.slash("ask", {"question": question}, place or self.place, 1)
        sent = await self.mailbox.next()
        chat = (place or self.place).id
        await self.server.screen.until(lambda screen: screen.of(chat) and screen.of(chat)[-1].live)
        return adapter.surface(sent.target), sent.target

    def said(self, chat: str = "20") -> list[str]:
        """What the bot's messages show now."""
        return [shown.text for shown in self.server.screen.of(chat)]

    @staticmethod
    async def _end(task: asyncio.Task[None]) -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def stage(clock: FakeClock) -> AsyncIterator[Stage]:
    clock.started = time.time()
    async with DiscordServer(now=clock.monotonic, limits=False) as server, AsyncExitStack() as stack:
        server.guild(10, "Library")
        server.permit(10, "MENTION_EVERYONE")
        server.person(1, "Ada")
        server.person(2, "Bob")
        yield Stage(server, clock, stack)


Wait = Callable[[Callable[[], object]], Awaitable[None]]


@pytest.fixture
def wait() -> Wait:
    return until
