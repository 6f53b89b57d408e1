"""The whole bot against the emulators: real adapters, real client libraries, a real database."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Protocol

import pytest

from bot import app
from bot.contract.limits import LIMITS, Limits
from bot.settings.configuration import configure, open_adapters
from playground.discord import DiscordServer
from playground.model import ModelServer
from playground.screen import Screen
from playground.slack import SlackServer
from playground.tavily import TavilyServer
from playground.telegram import TelegramServer
from tests.conftest import Nursery, Started
from tests.patience import PATIENCE
from tests.swift import SwiftLoop, swift

ROOT = Path(__file__).parent.parent.parent


@dataclass
class World:
    """The outside: three platforms, a model and a search, with the settings that lead there."""

    telegram: TelegramServer
    slack: SlackServer
    discord: DiscordServer
    model: ModelServer
    tavily: TavilyServer
    data: Path
    settings: dict[str, str] = field(default_factory=dict)
    limits: Limits = LIMITS

    def environment(self) -> dict[str, str]:
        return {
            "TELEGRAM_BOT_TOKEN": self.telegram.token,
            "TELEGRAM_API_BASE_URL": self.telegram.base_url,
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_APP_TOKEN": self.slack.app_token,
            "SLACK_API_BASE_URL": self.slack.base_url,
            "DISCORD_BOT_TOKEN": self.discord.token,
            "DISCORD_API_BASE_URL": self.discord.base_url,
            "MODEL": "openai:scripted",
            "OPENAI_API_KEY": self.model.key or "sk-loopback-key",
            "OPENAI_BASE_URL": self.model.base_url,
            "TAVILY_API_KEY": self.tavily.key or "tvly-loopback-key",
            "TAVILY_API_BASE_URL": self.tavily.base_url,
            # The sandbox is tried at each start, and hundreds of them run no code.
            "CODE_BACKEND": "off",
            "ALLOW_ALL": "true",
            "DATABASE_URL": f"sqlite:///{self.data}/parley.db",
            "PARLEY_ENV_FILE": "",
            **self.settings,
        }


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """What each journey runs on."""
    return {"swift": SwiftLoop}


@asynccontextmanager
async def outside(data: Path) -> AsyncIterator[World]:
    """A world of its own, whose bot keeps its database in this folder."""
    now = asyncio.get_running_loop().time
    async with AsyncExitStack() as stack:
        yield World(
            telegram=await stack.enter_async_context(TelegramServer(now=now)),
            slack=await stack.enter_async_context(SlackServer(now=now)),
            discord=await stack.enter_async_context(DiscordServer(now=now)),
            model=await stack.enter_async_context(ModelServer()),
            tavily=await stack.enter_async_context(TavilyServer(least_score=0.5)),
            data=data,
        )


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with outside(tmp_path) as world:
        yield world


_LIMITED = """
import json, runpy, sys
from bot.contract import LIMITS
for name, value in json.loads(sys.argv.pop(1)).items():
    object.__setattr__(LIMITS, name, value)
runpy.run_module("bot", run_name="__main__", alter_sys=True)
"""
"""`python -m bot` with other limits."""


class Process:
    """The bot as `python -m bot run`, killed and started at will."""

    def __init__(self, world: World, nursery: Nursery | None, name: str = "") -> None:
        """Without `nursery` the program is loaded anew each time, which costs a second; `name` tells it from others."""
        self.world = world
        self.nursery = nursery
        self._child: Started | asyncio.subprocess.Process | None = None
        self.values: dict[str, float] = {}
        """What constants of the program shall be, where it comes from the nursery."""
        self.options: tuple[str, ...] = ()
        """Options of `parley run`."""
        self.settings: dict[str, str] = {}
        """Settings of this process alone."""
        self._log_file = world.data / f"log{name}.txt"
        self.log = self._log_file.open("wb")
        self.null = os.open(os.devnull, os.O_RDWR)

    async def start(self) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.world.data)}
        environment |= {**self.world.environment(), **self.settings}
        changed = {name: value for name, value in asdict(self.world.limits).items() if value != getattr(LIMITS, name)}
        if self.nursery is None:
            self._child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _LIMITED, json.dumps(changed), "run", *self.options),
                env=environment,
                stderr=self.log,
                cwd=ROOT,
            )
            return
        values = {f"bot.contract.limits.LIMITS.{name}": value for name, value in changed.items()} | self.values
        streams = (self.null, self.null, self.log.fileno())
        self._child = self.nursery.start(
            "bot", "run", *self.options, folder=ROOT, environment=environment, streams=streams, values=values
        )

    @property
    def started(self) -> bool:
        return self._child is not None

    @property
    def child(self) -> Started | asyncio.subprocess.Process:
        """The process that was started last."""
        assert self._child is not None
        return self._child

    @property
    def said(self) -> str:
        """What it has logged."""
        return self._log_file.read_text()

    async def kill(self) -> None:
        if self.child.returncode is None:
            self.child.send_signal(signal.SIGKILL)
        await self.child.wait()

    async def stop(self) -> int:
        """Ask it to end and wait until it has; its exit code."""
        if self.child.returncode is None:
            self.child.terminate()
        return await self.child.wait()


@pytest.fixture
async def process(world: World, request: pytest.FixtureRequest) -> AsyncIterator[Process]:
    """Loaded anew at each start in the long runs, from the nursery in the ordinary suite."""
    long = request.node.get_closest_marker("soak") is not None
    async with process_in(world, None if long else request.getfixturevalue("nursery")) as made:
        yield made


@asynccontextmanager
async def process_in(world: World, nursery: Nursery | None = None, name: str = "") -> AsyncIterator[Process]:
    """The same in another world than the test's own, or one of several in the same."""
    process = Process(world, nursery, name)
    try:
        yield process
    finally:
        if process.started:
            await process.kill()
        process.log.close()
        os.close(process.null)


def more_than(count: int, chat: str | int) -> Callable[[Screen], bool]:
    """Whether more than so many messages stand in a chat."""
    return lambda screen: len(screen.of(str(chat))) > count


class Start(Protocol):
    """Runs the bot on these platforms in this process; where a name ends in `?`, it does not wait for the platform."""

    def __call__(self, *platforms: str, **settings: str) -> AbstractAsyncContextManager[app.App]: ...


@pytest.fixture
def start(world: World, monkeypatch: pytest.MonkeyPatch) -> Start:
    """`async with start("telegram", MAX_TOOL_ROUNDS="2") as bot:` runs the bot on these platforms in this process."""
    return starter(world, monkeypatch)


def starter(world: World, monkeypatch: pytest.MonkeyPatch, *, hurries: bool = True) -> Start:
    """The same in another world than the test's own, or with a clock of the test's own, which waits for nobody."""

    @asynccontextmanager
    async def start(*platforms: str, **settings: str) -> AsyncIterator[app.App]:
        for name, value in {**world.environment(), **settings}.items():
            monkeypatch.setenv(name, value)
        configuration = replace(configure(), limits=world.limits)
        stop = asyncio.Event()
        wanted = [name for name in platforms if not name.endswith("?")]
        adapters = open_adapters(configuration, [name.rstrip("?") for name in platforms])
        with swift(monkeypatch) if hurries else contextlib.nullcontext():
            async with app.App(configuration, adapters) as bot:
                serving = asyncio.create_task(bot.serve(stop))
                try:
                    async with asyncio.timeout(PATIENCE):
                        while not serving.done() and any(bot.platforms.state[name] != "listening" for name in wanted):
                            await asyncio.sleep(0.005)
                    yield bot
                finally:
                    stop.set()
                    await serving

    return start
