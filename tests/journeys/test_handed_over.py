"""A process of several that is asked to end at the worst moment: its answers go on elsewhere, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest

from bot import app
from bot.settings.configuration import configure, open_adapters
from bot.turn.run import EndReason
from tests.contract.fleets import Board, OnBoard
from tests.journeys.conftest import World
from tests.journeys.test_kill import PLATFORMS, POSTS, Chats, Outside, answer
from tests.swift import swift


@dataclass
class Part:
    """A whole bot in this process, one of several on one database."""

    bot: app.App
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    serving: asyncio.Task[None] = field(init=False)

    def __post_init__(self) -> None:
        self.serving = asyncio.create_task(self.bot.serve(self.stop))

    async def end(self) -> None:
        """End it in order."""
        self.stop.set()
        await self.serving

    def endings(self) -> list[EndReason | None]:
        """Why each of its running turns is ended; None: it is not."""
        boxes = self.bot.dispatcher.queue._boxes.values()
        return [box.running.ending for box in boxes if box.running is not None]


@pytest.fixture
async def start(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[[], Awaitable[Part]]]:
    """Starts the next of the bots; returns when each platform is received from."""
    board = Board()
    for name, value in world.environment().items():
        monkeypatch.setenv(name, value)

    @asynccontextmanager
    async def run() -> AsyncIterator[Part]:
        owner = OnBoard(board)
        adapters = open_adapters(configure(), PLATFORMS)
        async with app.App(configure(), adapters, ownership=owner, locks=owner, worker=f"{id(owner)}") as bot:
            owner.release_by(bot.store.writer.run)
            part = Part(bot)
            try:
                yield part
            finally:
                await part.end()

    async with AsyncExitStack() as stack:
        stack.enter_context(swift(monkeypatch))

        async def start() -> Part:
            part = await stack.enter_async_context(run())
            await Chats(world).until(lambda: part.bot.platforms.ready)
            return part

        yield start


async def test_a_post_under_way_is_known_before_another_process_goes_on(
    world: World, start: Callable[[], Awaitable[Part]]
) -> None:
    """The platform has made it and not said so yet, when the turn has come to the stage at which it is handed over."""
    chats, outside = Chats(world), Outside(world)
    for name in PLATFORMS:
        outside.hold(getattr(world, name), POSTS[name], after=True)
    first = await start()
    chats.ask()
    await chats.until(lambda: outside.reached == len(PLATFORMS))
    second = await start()

    ending = asyncio.create_task(first.end())
    await chats.until(lambda: first.endings() == [EndReason.HANDED_OVER] * len(PLATFORMS))
    await second.bot.dispatcher.wait_idle()
    assert not second.bot.dispatcher.queue.busy
    outside.let_go.set()
    await ending

    await chats.until(lambda: all(chats.whole(name) for name in PLATFORMS))
    await second.bot.dispatcher.wait_idle()
    texts = {name: chats.texts(name) for name in PLATFORMS}
    assert all(len(found) == 1 and found[0].endswith(answer(name)) for name, found in texts.items()), texts
    assert len(world.tavily.requests) == len(PLATFORMS)
