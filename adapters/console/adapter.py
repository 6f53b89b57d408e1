"""The terminal: typed lines → `MessageSent`, pages → growing output. The template for a new platform.

A platform is three things, in this order below: an adapter that logs in, takes in and opens surfaces; a surface
that shows one reply; and `open_adapter` with `check`, which `adapters/__init__.py` and `parley doctor` call.
It knows nothing of models, tools or history, and keeps nothing that a `ReplyTarget` or a `MessageRef` cannot hold.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import BinaryIO, Final, TextIO

from adapters import Finding
from adapters.console.terminal import DrawnText, Screen, draw, lines_of
from adapters.settings import ConsoleSettings
from bot.contract import (
    CallCost,
    ChatId,
    Clock,
    ControlPressed,
    Deliver,
    DeliveryError,
    Drawn,
    File,
    MessageRef,
    MessageSent,
    Page,
    ReplyTarget,
    Sender,
    StoreError,
    Surface,
    SurfaceLimits,
    SystemClock,
    words,
)

# Every platform says how long a page may be and how it counts; a terminal has no limit, so the answer is one page.
LIMITS: Final = SurfaceLimits(page_length=100_000, hard_length=200_000, measure=len, typing_seconds=0.0)

_LEAVE: Final = ("/quit", "/exit", "quit", "exit")
"""Lines that end the conversation."""


class ConsoleAdapter:
    """Reads one person's lines from a terminal or a pipe."""

    platform = "console"
    listening = True
    conflicts = 0
    entrance = None

    def __init__(
        self, name: str = "me", source: int = 0, out: TextIO | None = None, clock: Clock | None = None
    ) -> None:
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
        self._clock = clock or SystemClock()
        self._screen = Screen(out or sys.stdout, os.isatty(source) and (out or sys.stdout).isatty())

    async def __aenter__(self) -> ConsoleAdapter:
        # Log in here: raise SettingsError for a token that is refused, Unreachable if there is no answer.
        return self

    async def __aexit__(self, *_: object) -> None:
        # Close here what entering opened. Surfaces work until now, also after `listen` was cancelled.
        return None

    def surface(self, target: ReplyTarget) -> Surface:
        # From `target.data` alone: another process may have stored it.
        return ConsoleSurface(self._screen)

    async def fetch(self, source: str, into: BinaryIO, most: int) -> None:
        raise DeliveryError("nothing is sent along in a terminal")

    def earlier(self, message: MessageSent) -> None:
        """A terminal has no threads."""

    async def listen(self, deliver: Deliver) -> None:
        """Deliver each line, until the input ends or a line asks to quit."""
        lines = lines_of(self._source)
        answering: asyncio.Task[None] | None = None
        self._screen.welcome(f"Ctrl-D or {_LEAVE[0]} ends this, /help shows what else there is.")
        self._screen.ask()
        while (line := await lines.get()) is not None and line.strip().lower() not in _LEAVE:
            self._screen.heard()
            if not line.strip():
                self._screen.ask()
                continue
            try:
                # Tell the platform "received" only after this returned, so that it delivers again what was not stored.
                await deliver(self._read(line.strip()))
            except StoreError as error:
                self._screen.show(draw(Page(f"Not stored, please write it again: {error}", final=True)), None)
                continue
            if answering is not None:
                answering.cancel()
            answering = asyncio.create_task(self._answered(), name="console answer")
            if not self._screen.terminal:
                await answering
        if answering is not None:
            await asyncio.gather(answering, return_exceptions=True)
        self.ended.set()

    def _read(self, line: str) -> MessageSent | ControlPressed:
        """Build what the core takes in: a decision where one waits and the line is one, else a message."""
        button = self._screen.find_choice(line)
        if button is None:
            return self._message(line)
        return ControlPressed(
            delivery=uuid.uuid4().hex,
            chat=self.chat,
            sender=self.sender,
            target=ReplyTarget(self.platform, {"name": self.sender.name}),
            sent_at=self._clock.wall(),
            control=button.control,
            turn=button.turn,
            mark=button.mark,
        )

    def _message(self, line: str) -> MessageSent:
        """Build the message for the core: no mention, no markup, no platform type."""
        word, argument = words.parse(line) or ("", line)
        id = uuid.uuid4().hex
        return MessageSent(
            delivery=id,  # the platform's id of this delivery: a second one with it is dropped
            chat=self.chat,
            sender=self.sender,
            target=ReplyTarget(self.platform, {"name": self.sender.name}),
            sent_at=self._clock.wall(),
            text=argument,
            command=word,
            message_id=id,
        )

    async def _answered(self) -> None:
        if self.idle is not None:
            await self.idle()
        self._screen.ask()


class ConsoleSurface(Surface):
    """Where one reply is shown."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    @property
    def limits(self) -> SurfaceLimits:
        return LIMITS

    def draw(self, page: Page) -> DrawnText:
        # Render, and keep no state: raise TooLong or Unrenderable for what cannot be shown so.
        return draw(page)

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        # Name here the budgets a call draws on; the core waits for them, so that no call is ever refused.
        return CallCost()

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        # Post (no `at`) or edit; translate the library's errors into those of `bot/contract/errors.py`.
        assert isinstance(drawn, DrawnText)
        return self._screen.show(drawn, at)

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        folder = Path(tempfile.mkdtemp(prefix="parley-"))
        path = folder / (Path(file.name).name or "file")
        await asyncio.to_thread(path.write_bytes, file.content)
        return self._screen.show(draw(Page(f"[file: {path}]", final=True)), None)

    async def remove(self, at: MessageRef) -> None:
        return None  # printed text stays


def open_adapter(settings: ConsoleSettings) -> ConsoleAdapter:
    """Return the adapter for this terminal."""
    return ConsoleAdapter()


async def check(settings: ConsoleSettings) -> list[Finding]:
    """Log in for `parley doctor`, and report each missing right and where to add it."""
    return [Finding.ok("a terminal needs nothing")]
