"""What the store's tests share: a clock they move, an open store, and messages to put into it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import pytest

from bot.contract.clock import Timer
from bot.contract.messages import ChatId, Incoming, MessageSent, ReplyTarget, Sender
from bot.store import Store
from tests.bot.conftest import MessageDetails

Held = Callable[[], dict[str, bytes]]


class HandClock:
    """Time that stands still, except while somebody sleeps."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.day = 1_800_000_000.0
        self.at: dict[float, Callable[[], None]] = {}
        """What happens when so much time has passed."""

    def monotonic(self) -> float:
        return self.passed

    def wall(self) -> float:
        return self.day + self.passed

    def leap(self, to: float) -> None:
        """Nobody has to sleep through the next part of a long wait."""
        self.at[self.passed] = lambda: setattr(self, "passed", to)

    async def sleep(self, seconds: float) -> None:
        self.passed += seconds
        for time in [time for time in self.at if time <= self.passed]:
            self.at.pop(time)()
        await asyncio.sleep(0)

    def after(self, seconds: float, action: Callable[[], object]) -> Timer:
        raise NotImplementedError("the store sets no timer")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


OF_THE_FILE = pytest.mark.of_the_file
"""For tests of what SQLite's file is, holds or meets; all others run on every database."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of the store on every database."""
    if "database" in metafunc.fixturenames:
        of_the_file = metafunc.definition.get_closest_marker(OF_THE_FILE.name) is not None
        metafunc.parametrize("database", ["sqlite"] if of_the_file else ["sqlite", "postgres"])


@pytest.fixture
def database() -> str:
    """Which database the store is on."""
    raise AssertionError("every test is given one")


@pytest.fixture
def url(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The address of an empty database."""
    return f"sqlite:///{tmp_path}/parley.db" if database == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def held(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Held:
    """All that is kept: the bytes of SQLite's files by name, or the rows of PostgreSQL's tables."""

    def of_files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def of_tables() -> dict[str, bytes]:
        import psycopg

        with psycopg.connect(request.getfixturevalue("postgres_url")) as db:
            tables = db.execute("SELECT relid::regclass::text FROM pg_stat_user_tables ORDER BY 1").fetchall()
            return {name: str(db.execute(f"SELECT * FROM {name}").fetchall()).encode() for (name,) in tables}

    return of_files if database == "sqlite" else of_tables


@pytest.fixture
async def store(url: str, clock: HandClock) -> AsyncIterator[Store]:
    async with Store.open(url, clock=clock, busy_timeout=0.001) as opened:
        yield opened


async def taken_in(store: Store, incoming: Incoming) -> int:
    """The inbox id of a delivery that was never seen before."""
    id = await store.intake.take_in(incoming)
    assert id is not None
    return id


async def ask_again(store: Store, chat: ChatId, turn: int, person: str = "telegram:1") -> int:
    """Let a turn answer the chat's last question again; the turn it replaces."""
    last = await store.turns.find_last(chat)
    assert last is not None
    return await store.turns.take_over(turn, last.id, chat, person, asks_again=True, messages=False)


@pytest.fixture
def chat() -> ChatId:
    return ChatId("telegram", "42", "7")


Message = Callable[..., MessageSent]


@pytest.fixture
def message(chat: ChatId) -> Message:
    """Make a message; every argument is a field of `MessageSent`."""

    def make(
        delivery: str = "1", text: str = "Hello", *, where: ChatId = chat, **fields: Unpack[MessageDetails]
    ) -> MessageSent:
        sender, target = Sender(id="telegram:1", name="Ada"), ReplyTarget(where.platform, {"chat": where.chat})
        message = MessageSent(delivery=delivery, chat=where, sender=sender, target=target, text=text)
        return replace(message, **fields)

    return make


class Program:
    """Another Python program, which says what it does line by line."""

    def __init__(self, code: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )

    def hear(self) -> str:
        """Its next line."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self) -> None:
        """Let it go on."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def close(self) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.wait()


@pytest.fixture
def program() -> Iterator[Callable[..., Program]]:
    """Start other programs, and end them after the test."""
    started: list[Program] = []

    def start(code: str, *arguments: str) -> Program:
        started.append(Program(code, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.close()
