"""`parley chat`: a conversation in this terminal."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import sys
from collections.abc import Awaitable, Callable
from typing import Protocol

from bot.app import App
from bot.cli.standing import standing_faults
from bot.contract import Adapter, Sender
from bot.operations import Outlet
from bot.settings import Configuration
from bot.store import TurnState, lock_database


class Terminal(Adapter, Protocol):
    """The platform that is this terminal."""

    sender: Sender
    idle: Callable[[], Awaitable[None]] | None
    ended: asyncio.Event


def chat(configuration: Configuration, outlet: Outlet, name: str) -> int:
    """Run `parley chat` until the input ends; return the exit code."""
    # A second one would continue the first one's unfinished answers.
    with lock_database(configuration.core.database_url, "chat"):
        return 0 if asyncio.run(_chat(configuration, outlet, name)) else 1


async def _chat(configuration: Configuration, outlet: Outlet, name: str) -> bool:
    """Run the whole program with this one platform, and leave when the last question is answered.

    Returns:
        Whether every question was answered.
    """
    # A bot that runs beside this one already has the HTTP port.
    core = configuration.core.model_copy(update={"http_port": None})
    adapter: Terminal = importlib.import_module("adapters.console.adapter").ConsoleAdapter(name, out=outlet.terminal())
    stop = asyncio.Event()
    alone = dataclasses.replace(configuration, core=core)
    async with App(
        alone, {adapter.platform: adapter}, people=(adapter.sender.id,), outlet=outlet, worker="chat"
    ) as app:
        for sentence in standing_faults(core, ()):
            print(f"parley: {sentence}", file=sys.stderr)  # noqa: T201
        causes = _Causes(app, adapter.platform)
        await causes.skip()
        adapter.idle = causes.tell
        serving = asyncio.create_task(app.serve(stop))
        ended = asyncio.create_task(adapter.ended.wait())
        try:
            await asyncio.wait({serving, ended}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                await causes.tell()
        finally:
            ended.cancel()
            stop.set()
            await serving
        return not app.metrics.turns_ended.value(TurnState.FAILED)


class _Causes:
    """Tells the operator, who sits here, why a question was not answered; for other chats the log says it."""

    def __init__(self, app: App, platform: str) -> None:
        self._app = app
        self._platform = platform
        self._told = 0

    async def skip(self) -> None:
        """Skip all questions until now."""
        self._told = await self._app.store.turns.find_newest()

    async def tell(self) -> None:
        """Wait until everything is answered, and report what was not."""
        await self._app.dispatcher.wait_idle()
        turns = self._app.store.turns
        newest = await turns.find_newest()
        for turn in range(self._told + 1, newest + 1):
            record = await turns.find_record(turn)
            if record is not None and record.error and record.chat.platform == self._platform:
                print(f"parley: {record.error}", file=sys.stderr, flush=True)  # noqa: T201
        self._told = max(self._told, newest)
