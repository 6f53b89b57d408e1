"""Processes of the program on one store, behind each `Ownership`: what `test_ownership.py` starts, kills and asks.

An ownership joins with a fleet, and its line in `FLEETS`.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn, Protocol

import pytest

from bot import app
from bot.contract.errors import StoreError, Unreachable
from bot.contract.limits import Limits
from bot.contract.messages import ChatId, Incoming, MessageRef, MessageSent, ReplyTarget, Sender
from bot.contract.surface import Drawn
from bot.intake import Alone
from bot.settings.configuration import configure
from bot.store import Connection, Store
from bot.store.intake import is_idle
from playground.model import ModelServer
from tests.bot.conftest import Memory, Place
from tests.patience import PATIENCE


class Member(Protocol):
    """A process of the program."""

    @property
    def ending(self) -> bool:
        """It was asked to end, and its turns know."""
        ...

    async def deliver(self, *incoming: Incoming) -> None:
        """Hand it what the platform sent, in this order; returns when it is stored."""
        ...

    async def kill(self) -> None:
        """End it as `kill -9` does: it writes and shows nothing more, and says nothing."""
        ...

    async def end(self) -> None:
        """End it in order, as a supervisor does."""
        ...


class Fleet(Protocol):
    """What several processes share: the store, the platform that a person reads, the model."""

    together: bool
    """Several of its processes may run at once."""
    model: ModelServer

    async def start(self) -> Member:
        """Start a process; returns when it takes messages in."""
        ...

    def shown(self, chat: str) -> list[str]:
        """The messages of the bot that stand in a chat."""
        ...

    @property
    def store(self) -> Store:
        """The store, as the newest of its processes has it open."""
        ...


OpenFleet = Callable[[Path, pytest.MonkeyPatch], AbstractAsyncContextManager[Fleet]]


def message(text: str, *, chat: str = "7", thread: str = "", command: str = "") -> MessageSent:
    """A question or command of somebody in a private chat, or in a topic of it."""
    return MessageSent(
        delivery=f"{chat}/{thread}: {command} {text}",
        chat=ChatId("telegram", "42", chat, thread),
        sender=Sender(id="telegram:7", name="Ada"),
        target=ReplyTarget("telegram", {"chat": f"{chat}/{thread}" if thread else chat}),
        text=text,
        command=command,
    )


class Everywhere(Memory):
    """The platform as a person sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.posted: dict[str, MessageRef] = {}
        """By nonce."""


class FoundPlace(Place):
    """A chat in which a message is found that was posted by a process which died before it knew."""

    def __init__(self, memory: Memory, chat: str, posted: dict[str, MessageRef]) -> None:
        super().__init__(memory, chat)
        self._posted = posted

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        ref = self._posted[nonce] = await super().show(drawn, at, nonce)
        return ref

    async def find(self, nonce: str) -> MessageRef | None:
        return self._posted.get(nonce)


class Shared(Memory):
    """The platform as one process reaches it: the same messages for all, and nothing more once it is killed."""

    def __init__(self, everywhere: Everywhere) -> None:
        super().__init__()
        self.pages, self.changed, self.everywhere = everywhere.pages, everywhere.changed, everywhere
        self.posted = everywhere.posted
        self.dead = False

    def surface(self, target: ReplyTarget) -> Place:
        if self.dead:
            raise Unreachable("killed")
        return FoundPlace(self.everywhere, str(target.data["chat"]), self.posted)


class Board:
    """Who serves which place, in the memory of a test."""

    def __init__(self) -> None:
        self.places: dict[str, OnBoard | None] = {}
        """None: it waits for a process."""
        self.members: list[OnBoard] = []
        self.changed = asyncio.Event()
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._loop = asyncio.get_running_loop()

    def want(self, place: str) -> OnBoard | None:
        """Have a place served; called in the thread that writes."""
        owner = self.places.setdefault(place, None)
        self._loop.call_soon_threadsafe(self.changed.set)
        return owner

    def give_back(self, place: str) -> None:
        self.places[place] = None
        self.changed.set()


class OnBoard:
    """A member of a board: it takes what nobody serves, unless it has more places than another."""

    shared = True
    answered_since = 0.0

    def __init__(self, board: Board) -> None:
        self._board = board
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._hint: Callable[[str], object] = lambda place: None
        self._release: Callable[[str], Awaitable[bool]]
        board.members.append(self)

    def release_by(self, run: Callable[[Callable[[Connection], bool]], Awaitable[bool]]) -> None:
        """Give places up in transactions that `run` makes."""

        def release(db: Connection, place: str) -> bool:
            if idle := is_idle(db, place):
                del self._board.places[place]
            return idle

        self._release = lambda place: run(lambda db: release(db, place))

    def fence(self, db: Connection) -> None:
        pass

    async def living(self) -> None:
        pass

    async def gone(self) -> None:
        pass

    def ensure(self, db: Connection, place: str, row: int) -> bool:
        return self._board.want(place) is self

    async def run(self, serve: Callable[[str], Awaitable[None]], hint: Callable[[str], object]) -> None:
        self._hint = hint
        while self in self._board.members:
            self._board.changed.clear()
            least = min(len(member._tasks) for member in self._board.members)
            for place in [place for place, owner in self._board.places.items() if owner is None]:
                if len(self._tasks) > least:
                    self._board.changed.set()  # the others' turn
                    break
                self._board.places[place] = self
                self._tasks[place] = asyncio.create_task(self._keep(place, serve), name=f"place {place}")
            await self._board.changed.wait()
            await asyncio.sleep(0)

    async def _keep(self, place: str, serve: Callable[[str], Awaitable[None]]) -> None:
        try:
            while True:
                await serve(place)
                if await self._release(place):
                    return
        except BaseException:
            self._board.give_back(place)
            raise
        finally:
            del self._tasks[place]

    async def tell(self, place: str, row: int) -> None:
        owner = self._board.places.get(place)
        if owner is not None:
            owner._hint(place)

    def is_heard(self) -> bool:
        return True

    def owns(self, place: str) -> bool:
        return self._board.places.get(place) is self

    async def hand_over(self) -> None:
        if self in self._board.members:
            self._board.members.remove(self)
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def while_held(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        async with self._board.locks[name]:
            await work()


class InProcess:
    """A process of the program inside of the test's."""

    def __init__(self, bot: app.App, memory: Shared) -> None:
        self.bot, self._memory = bot, memory
        self._stop = asyncio.Event()
        self._serving = asyncio.create_task(bot.serve(self._stop))

    async def ready(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.bot.platforms.state["telegram"] != "listening":
                await asyncio.sleep(0.001)

    async def deliver(self, *incoming: Incoming) -> None:
        for one in incoming:
            await self.bot.dispatcher.deliver(one)

    async def kill(self) -> None:
        async def refuse(*_: object, **__: object) -> NoReturn:
            raise StoreError("killed")

        self._memory.dead = True
        self.bot.store.writer.run = refuse  # type: ignore[method-assign]
        for box in list(self.bot.dispatcher.queue._boxes.values()):
            box.waiting.clear()
            if box.worker is not None:
                box.worker.cancel()
        await self.end()

    async def end(self) -> None:
        if not self.bot.ownership.shared:
            await self.bot.dispatcher.close(0.0)  # without the seconds that turns have
        self._stop.set()
        await self._serving

    @property
    def ending(self) -> bool:
        running = [box.running for box in self.bot.dispatcher.queue._boxes.values() if box.running is not None]
        return not self.bot.dispatcher._open and all(one.leaving or one.ending for one in running)


UNLIMITED = Limits(waiting_per_person=0, turns_per_person=0)


@dataclass
class InProcesses:
    """Processes of the program inside of the test's, on one SQLite file."""

    model: ModelServer
    together: bool
    _stack: AsyncExitStack
    _everywhere: Everywhere = field(default_factory=Everywhere)
    _members: list[InProcess] = field(default_factory=list)
    _board: Board = field(default_factory=Board)

    async def start(self) -> InProcess:
        memory = Shared(self._everywhere)
        ownership = OnBoard(self._board) if self.together else Alone()
        configuration = replace(configure(), limits=UNLIMITED)
        bot = app.App(configuration, {"telegram": memory}, ownership=ownership, locks=ownership)
        await self._stack.enter_async_context(bot)
        if isinstance(bot.ownership, OnBoard):
            bot.ownership.release_by(bot.store.writer.run)
        self._members.append(InProcess(bot, memory))
        self._stack.push_async_callback(self._members[-1].end)
        await self._members[-1].ready()
        return self._members[-1]

    def shown(self, chat: str) -> list[str]:
        return [page.body for page in self._everywhere.pages.get(chat, {}).values()]

    @property
    def store(self) -> Store:
        return self._members[-1].bot.store


def in_processes(*, together: bool) -> OpenFleet:
    @asynccontextmanager
    async def opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
        async with AsyncExitStack() as stack:
            model = await stack.enter_async_context(ModelServer())
            values = {
                "MODEL": "openai:scripted",
                "OPENAI_API_KEY": "sk-loopback-key-1234",
                "OPENAI_BASE_URL": model.base_url,
                "ALLOW_ALL": "true",
                "DATABASE_URL": f"sqlite:///{path}/parley.db",
                "PARLEY_ENV_FILE": "",
                "MESSAGES_PER_MINUTE": "0",
                "TOKENS_PER_DAY_PERSON": "0",
                "TOKENS_PER_DAY": "0",
            }
            for name, value in values.items():
                monkeypatch.setenv(name, value)
            monkeypatch.setattr("bot.intake.background.LOOK_SECONDS", 0.05)
            yield InProcesses(model, together, await stack.enter_async_context(AsyncExitStack()))

    return opened


FLEETS: dict[str, OpenFleet] = {
    "alone": in_processes(together=False),
    "in memory": in_processes(together=True),
}
