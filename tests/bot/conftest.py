"""The core as it runs, between a platform that is a list in memory and a scripted model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Protocol, TypedDict, Unpack

import pytest

from bot import app
from bot.contract.errors import DeliveryError, MessageGone, Unreachable
from bot.contract.limits import LIMITS, Limits
from bot.contract.messages import (
    ChatId,
    Enclosure,
    File,
    Incoming,
    MessageRef,
    MessageSent,
    Page,
    Quoted,
    ReplyTarget,
    Sender,
)
from bot.contract.surface import CallCost, Deliver, Drawn, SurfaceLimits
from bot.settings.configuration import configure
from bot.store import Store
from playground.model import ModelServer
from tests.conftest import FakeClock
from tests.patience import PATIENCE
from tests.surfaces import DrawnPage, page_of


class MessageDetails(TypedDict, total=False):
    """Of a `MessageSent`, what a test may give it beside its text and its place."""

    also: tuple[str, ...]
    sender: Sender
    target: ReplyTarget
    sent_at: float
    command: str
    message_id: str
    group: bool
    quoted: Quoted | None
    replies_to: str
    replaces: int
    earlier: tuple[Quoted, ...]
    left_out: int
    enclosed: tuple[Enclosure, ...]
    quote_question: bool
    follow_up: bool
    whole_channel: bool
    awaited: bool
    unfinished: bool
    severed: bool
    album: str
    beside: bool


class MessageFields(MessageDetails, total=False):
    """The same, and the delivery."""

    delivery: str


class WhoAsks(MessageFields, total=False):
    """The same, and by whom and where."""

    person: str
    chat: str


class InGroup(TypedDict):
    """A chat of several people."""

    chat: str
    group: bool


class BareSurface:
    """A surface without files, signs and looks; a test gives it the parts that it looks at."""

    def draw(self, page: Page) -> Drawn:
        return DrawnPage(page)

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        return CallCost()

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        raise AssertionError

    async def remove(self, at: MessageRef) -> None:
        raise AssertionError

    async def typing(self, words: str) -> None:
        raise AssertionError

    def receipt_cost(self, waits: bool) -> CallCost | None:
        return None

    async def receipt(self, message_id: str, waits: bool) -> None:
        raise AssertionError

    async def find(self, nonce: str) -> MessageRef | None:
        return None


class Place(BareSurface):
    """One chat of the platform in memory."""

    limits = SurfaceLimits(3000, 4000, len, typing_seconds=0.0)

    def __init__(self, memory: Memory, chat: str) -> None:
        self._memory = memory
        self._chat = chat

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        page = page_of(drawn)
        if self._chat in self._memory.unreachable:
            raise Unreachable("blocked")
        if at is not None and at.id in self._memory.gone:
            raise MessageGone("deleted")
        self._memory.calls += 1
        id = at.id if at is not None else f"m{self._memory.calls}"
        self._memory.pages.setdefault(self._chat, {})[id] = page
        self._memory.changed.set()
        return MessageRef(id)

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        return MessageRef(file.name)

    async def remove(self, at: MessageRef) -> None:
        self._memory.pages.get(self._chat, {}).pop(at.id, None)

    async def typing(self, words: str) -> None:
        return None


class Memory:
    """A platform whose messages are a list."""

    platform = "telegram"
    listening = True
    conflicts = 0
    entrance = None

    def __init__(self) -> None:
        self.pages: dict[str, dict[str, Page]] = {}
        self.unreachable: set[str] = set()
        self.gone: set[str] = set()
        """Messages that somebody deleted."""
        self.calls = 0
        self.changed = asyncio.Event()

    async def __aenter__(self) -> Memory:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    async def listen(self, deliver: Deliver) -> None:
        await asyncio.Event().wait()

    async def fetch(self, source: str, into: BinaryIO, most: int) -> None:
        raise DeliveryError("there is no such file")

    def earlier(self, message: MessageSent) -> None:
        return None

    def surface(self, target: ReplyTarget) -> Place:
        return Place(self, str(target.data["chat"]))


@dataclass
class Rig:
    """The program, and a person's hands and eyes."""

    bot: app.App
    memory: Memory
    model: ModelServer
    number: int = 0
    sent: list[MessageSent] = field(default_factory=list)
    began: float = field(default_factory=time.time)
    """When it began to run: what somebody writes now is not late then."""

    def message(
        self, text: str, *, person: str = "telegram:7", chat: str = "7", **more: Unpack[MessageFields]
    ) -> MessageSent:
        self.number += 1
        word, _, rest = text[1:].partition(" ") if text.startswith("/") else ("", "", text)
        message = MessageSent(
            delivery=f"d{self.number}",
            chat=ChatId("telegram", "42", chat),
            sender=Sender(id=person, name="Ada"),
            target=ReplyTarget("telegram", {"chat": chat}),
            text=rest,
            command=word,
        )
        return replace(message, **more)

    async def deliver(self, *incoming: Incoming) -> None:
        for one in incoming:
            await self.bot.dispatcher.deliver(one)

    async def say(self, text: str, **more: Unpack[WhoAsks]) -> list[str]:
        """Write, wait until everything is answered, and read what is new."""
        message = self.message(text, **more)
        chat = message.chat.chat
        before = len(self.shown(chat))
        await self.deliver(message)
        await self.idle()
        return self.shown(chat)[before:]

    async def idle(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.bot.dispatcher.wait_idle()

    def shown(self, chat: str = "7") -> list[str]:
        return [page.body for page in self.memory.pages.get(chat, {}).values()]

    def more_than(self, count: int, chat: str = "7") -> bool:
        return len(self.shown(chat)) > count

    async def until(self, seen: Callable[[], bool]) -> None:
        """Wait until something can be seen."""
        async with asyncio.timeout(PATIENCE):
            while not seen():
                self.memory.changed.clear()
                await self.memory.changed.wait()


class OpenRig(Protocol):
    """Runs the core with these limits and settings."""

    def __call__(self, limits: Limits = LIMITS, /, **settings: str) -> AbstractAsyncContextManager[Rig]: ...


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenRig:
    """`async with rig(ADMINS="telegram:1") as it:` runs the core with these settings."""

    @asynccontextmanager
    async def run(limits: Limits = LIMITS, /, **settings: str) -> AsyncIterator[Rig]:
        async with AsyncExitStack() as stack:
            model = await stack.enter_async_context(ModelServer())
            values = {
                "MODEL": "openai:scripted",
                "OPENAI_API_KEY": "sk-loopback-key-1234",
                "OPENAI_BASE_URL": model.base_url,
                "OLLAMA_API_URL": model.base_url,
                "ALLOW_ALL": "true",
                "DATABASE_URL": f"sqlite:///{tmp_path}/parley.db",
                "PARLEY_ENV_FILE": "",
            }
            for name, value in (values | settings).items():
                monkeypatch.setenv(name, value)
            memory = Memory()
            configuration = replace(configure(), limits=limits)
            bot = await stack.enter_async_context(app.App(configuration, {"telegram": memory}))
            stop = asyncio.Event()
            serving = asyncio.create_task(bot.serve(stop))
            try:
                async with asyncio.timeout(PATIENCE):
                    while bot.platforms.state["telegram"] != "listening" and not serving.done():
                        await asyncio.sleep(0.001)
                yield Rig(bot, memory, model)
            finally:
                stop.set()
                await serving

    return run


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock) as store:
        yield store
