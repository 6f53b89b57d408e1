"""A terminal: what is typed → `MessageSent`, a page → lines that grow. The template for a new platform.

A platform is three things, in this order below: an adapter that logs in, takes in and opens surfaces; a surface
that shows one reply; and `open_adapter` with `check`, which `adapters/__init__.py` and `parley doctor` call.
It knows nothing of models, tools or history, and keeps nothing that a `ReplyTarget` or a `MessageRef` cannot hold.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Final, TextIO

from adapters import Finding
from adapters.console_terminal import Screen, lines_of
from adapters.settings import ConsoleSettings
from bot import commands
from bot.app import App, Configuration
from bot.checkup import standing_faults
from bot.errors import StoreError
from bot.messages import ChatId, File, MessageRef, MessageSent, Page, ReplyTarget, Sender
from bot.outlet import Outlet
from bot.store import locked
from bot.surface import Cost, Deliver, Surface, SurfaceLimits

# Every platform says how long a page may be and how it counts; a terminal has no limit, so the answer is one page.
LIMITS: Final = SurfaceLimits(page_length=100_000, hard_length=200_000, measure=len, typing_seconds=0.0)


class ConsoleAdapter:
    """One person at this terminal, or lines from a pipe."""

    platform = "console"
    listening = True
    conflicts = 0

    def __init__(self, name: str = "me", source: int = 0, out: TextIO | None = None) -> None:
        """
        Args:
            name: whose conversation it is: another name is another history.
            source: the file descriptor that lines are read from.
        """
        self.sender = Sender(id=f"console:{name}", name=name)
        self.chat = ChatId("console", "local", name)
        self.ended = asyncio.Event()
        """Set when the input is over and everything in it was delivered."""
        self.idle: Callable[[], Awaitable[None]] | None = None
        """Waits until everything is answered; with it, lines from a pipe are asked one after the other."""
        self._source = source
        self._screen = Screen(out or sys.stdout, os.isatty(source) and (out or sys.stdout).isatty())

    async def __aenter__(self) -> ConsoleAdapter:
        # Log in here: raise SettingsError for a token that is refused, Unreachable where nobody answers.
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Close here what entering opened. Surfaces work until now, also after `listen` was cancelled.
        return None

    def surface(self, target: ReplyTarget) -> Surface:
        # From `target.data` alone: another process may have stored it.
        return ConsoleSurface(self._screen)

    def earlier(self, message: MessageSent) -> None:
        """A terminal has no threads."""

    async def listen(self, deliver: Deliver) -> None:
        """Deliver line after line, until the input ends."""
        lines = lines_of(self._source)
        answering: asyncio.Task[None] | None = None
        self._screen.ask()
        while (line := await lines.get()) is not None:
            self._screen.heard()
            if not line.strip():
                self._screen.ask()
                continue
            try:
                # Tell the platform "received" only after this returned, so that it delivers again what was not stored.
                await deliver(self._message(line.strip()))
            except StoreError as error:
                self._screen.show(Page(f"Not stored, please write it again: {error}", final=True), None)
                continue
            if answering is not None:
                answering.cancel()
            answering = asyncio.create_task(self._answered(), name="console answer")
            if not self._screen.terminal:
                await answering
        if answering is not None:
            await asyncio.gather(answering, return_exceptions=True)
        self.ended.set()

    def _message(self, line: str) -> MessageSent:
        """The platform's words end here: what goes on has no mention, no markup, no platform type."""
        word, argument = commands.parse(line) or ("", line)
        id = uuid.uuid4().hex
        return MessageSent(
            delivery=id,  # the platform's id of this delivery: a second one with it is dropped
            chat=self.chat,
            sender=self.sender,
            target=ReplyTarget(self.platform, {"name": self.sender.name}),
            sent_at=time.time(),
            text=argument,
            command=word,
            message_id=id,
        )

    async def _answered(self) -> None:
        if self.idle is not None:
            await self.idle()
        self._screen.ask()


class ConsoleSurface:
    """Where one reply is shown."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    @property
    def limits(self) -> SurfaceLimits:
        return LIMITS

    def cost(self, page: Page | None, at: MessageRef | None) -> Cost:
        # Name here the budgets a call draws on; the core waits for them, so that no call is ever refused.
        return Cost()

    async def show(self, page: Page, at: MessageRef | None, nonce: str = "") -> MessageRef:
        # Render, then post (no `at`) or edit; translate the library's errors into those of `bot/errors.py`.
        return self._screen.show(page, at)

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        folder = Path(tempfile.mkdtemp(prefix="parley-"))
        path = folder / (Path(file.name).name or "file")
        await asyncio.to_thread(path.write_bytes, file.content)
        return self._screen.show(Page(f"[file: {path}]", final=True), None)

    async def remove(self, at: MessageRef) -> None:
        return None  # what is printed stays

    async def typing(self, words: str) -> None:
        return None

    def receipt_cost(self, waits: bool) -> None:
        """A terminal shows no sign on what was typed."""

    async def receipt(self, message_id: str, waits: bool) -> None:
        return None

    async def find(self, nonce: str) -> MessageRef | None:
        return None


def open_adapter(settings: ConsoleSettings) -> ConsoleAdapter:
    """The adapter for whoever sits here."""
    return ConsoleAdapter()


async def check(settings: ConsoleSettings) -> list[Finding]:
    """For `parley doctor`: log in, and say what is missing and where to add it."""
    return [Finding(True, "a terminal needs nothing")]


def chat(configuration: Configuration, outlet: Outlet, name: str) -> int:
    """`parley chat`: talk until the input ends; the exit code."""
    # A second one would go on with what the first has under way.
    with locked(configuration.core.database_url, "chat"):
        return 0 if asyncio.run(_chat(configuration, outlet, name)) else 1


async def _chat(configuration: Configuration, outlet: Outlet, name: str) -> bool:
    """Run the whole program with this one platform, and leave when the last question is answered.

    Returns:
        Whether all that was asked was answered.
    """
    # A bot that runs beside this one has the HTTP port already.
    core = configuration.core.model_copy(update={"http_port": None})
    adapter = ConsoleAdapter(name, out=outlet.terminal())
    stop = asyncio.Event()
    alone = dataclasses.replace(configuration, core=core)
    async with App(alone, {adapter.platform: adapter}, people=(adapter.sender.id,), outlet=outlet) as app:
        for sentence in standing_faults(core, (), app.registry.faults):
            print(f"parley: {sentence}", file=sys.stderr)  # noqa: T201
        causes = _Causes(app)
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
        return not app.metrics.turns_ended.value("failed")


class _Causes:
    """Tells the operator, who sits here, why a question was not answered; in other chats that stands in the log."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._told = 0

    async def skip(self) -> None:
        """Tell nothing of what was asked before."""
        self._told = await self._app.store.turns.newest()

    async def tell(self) -> None:
        """Wait until everything is answered, and tell of what was not."""
        await self._app.dispatcher.idle()
        turns = self._app.store.turns
        newest = await turns.newest()
        for turn in range(self._told + 1, newest + 1):
            record = await turns.record(turn)
            if record is not None and record.error and record.chat.platform == ConsoleAdapter.platform:
                print(f"parley: {record.error}", file=sys.stderr, flush=True)  # noqa: T201
        self._told = max(self._told, newest)
