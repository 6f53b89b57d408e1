"""What a person sees: the messages of an emulated platform with every version each one ever showed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Version:
    """A message as it looked from `at` on."""

    at: float
    """Monotonic seconds."""
    text: str
    """The visible text, with the platform's markup taken away."""
    html: str = ""
    """The same as safe HTML, for the page."""
    markup: str = ""
    """What the bot sent, byte for byte."""


@dataclass(slots=True)
class Shown:
    """One message on the screen."""

    id: str
    chat: str
    author: str
    """The person's id, or `bot`."""
    thread: str = ""
    versions: list[Version] = field(default_factory=list)
    deleted: bool = False
    live: bool = False
    """A draft or an open stream: it does not stay by itself."""
    ephemeral: bool = False
    files: list[tuple[str, str, bytes]] = field(default_factory=list)
    """(name, media type, content)."""
    reply_to: str = ""
    buttons: list[str] = field(default_factory=list)
    cards: list[str] = field(default_factory=list)
    """What tools do or did, each in a card of its own: no part of the text."""

    @property
    def text(self) -> str:
        return self.versions[-1].text if self.versions else ""


class Screen:
    """All messages of one emulated platform, and a way to wait for what a person would wait for."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.messages: list[Shown] = []
        self.notices: list[tuple[float, str, str]] = []
        """(at, chat, what): typing, statuses, reactions: signs that are no messages."""
        self._by_id: dict[tuple[str, str], Shown] = {}
        self._changed = asyncio.Condition()
        self._listeners: set[asyncio.Queue[Shown]] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, message: Shown) -> Shown:
        """Put a new message at the end."""
        self.messages.append(message)
        self._by_id[message.chat, message.id] = message
        self.changed(message)
        return message

    def get(self, chat: str, id: str) -> Shown | None:
        return self._by_id.get((chat, id))

    def edit(self, message: Shown, text: str, *, html: str = "", markup: str = "") -> None:
        """Show another text in place."""
        message.versions.append(Version(self.now(), text, html, markup))
        self.changed(message)

    def notice(self, chat: str, what: str) -> None:
        self.notices.append((self.now(), chat, what))
        self._wake()

    def changed(self, message: Shown) -> None:
        """Tell everyone who looks that `message` looks different now."""
        for queue in self._listeners:
            queue.put_nowait(message)
        self._wake()

    def listen(self) -> asyncio.Queue[Shown]:
        """A queue of messages as they change; give it back with `unlisten`."""
        queue: asyncio.Queue[Shown] = asyncio.Queue()
        self._listeners.add(queue)
        return queue

    def unlisten(self, queue: asyncio.Queue[Shown]) -> None:
        self._listeners.discard(queue)

    def of(self, chat: str, *, author: str = "bot", thread: str | None = None) -> list[Shown]:
        """The messages of one chat that still stand, oldest first."""
        return [
            message
            for message in self.messages
            if message.chat == chat
            and message.author == author
            and not message.deleted
            and (thread is None or message.thread == thread)
        ]

    async def until(self, seen: Callable[[Screen], object], seconds: float = 60.0) -> None:
        """Wait until `seen(self)` is true; look again at every change.

        Raises:
            TimeoutError: it did not become true in `seconds`.
        """
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: bool(seen(self)))

    def _wake(self) -> None:
        try:
            task = asyncio.get_running_loop().create_task(self._notify())
        except RuntimeError:
            return
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
