"""A model server on loopback and our client before it, with a clock that only the test moves."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.contract.errors import BotError
from bot.contract.transcript import SystemEntry, UserEntry
from bot.model import ModelOptions, Models
from bot.model.base import Answer, Model, Piece, ReasoningPiece, Request, TextPiece
from playground.model import ModelServer
from tests.conftest import FakeClock, RawJson
from tools.contract.base import ToolSpec

DICE = ToolSpec(
    name="roll_dice",
    purpose="Roll dice.",
    parameters={"type": "object", "properties": {"sides": {"type": "integer"}}, "required": ["sides"]},
)


class RecordingClock:
    """The clock that tests move, which also remembers what our client slept for."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.advance = clock.advance
        self.settle = clock.settle
        self.after = clock.after
        self.monotonic = clock.monotonic
        self.wall = clock.wall
        self.slept: list[float] = []
        self.instant = False
        """Waits end at once and move the time; deadlines still wait for the test."""

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.instant:
            self._clock.now += seconds
            return
        await self._clock.sleep(seconds)


class Asked:
    """Everything one request brought."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.error: BaseException | None = None

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces if isinstance(piece, TextPiece))

    @property
    def reasoning(self) -> str:
        return "".join(piece.text for piece in self.pieces if isinstance(piece, ReasoningPiece))

    @property
    def answer(self) -> Answer:
        if self.error is not None:
            raise self.error
        last = self.pieces[-1]
        assert isinstance(last, Answer)
        return last


async def ask(model: Model, request: Request) -> Asked:
    """Read a stream to its end; what it raises is kept beside what came before."""
    asked = Asked()
    try:
        async with aclosing(model.stream(request)) as pieces:
            async for piece in pieces:
                asked.pieces.append(piece)
    except BotError as error:
        asked.error = error
    return asked


@pytest.fixture
def clock(clock: FakeClock) -> RecordingClock:
    return RecordingClock(clock)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(words_per_second=0) as server:
        yield server


Open = Callable[..., Models]
Ask = Callable[[Model, Request], Coroutine[None, None, Asked]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Events = Callable[..., Handler]
RawServer = Callable[[Handler], Awaitable[str]]


@pytest.fixture
async def opened(server: ModelServer, clock: RecordingClock) -> AsyncIterator[Open]:
    """Open models against the server; every provider's address is its address."""
    async with AsyncExitStack() as stack:

        def open_(name: str = "openai:scripted", **options: RawJson) -> Models:
            given = {
                "tool_mode": "auto",
                "turn_seconds": 300.0,
                "keys": {"openai": "sk-secret-key-of-ours", "deepseek": "k", "gemini": "k", "openrouter": "k"},
                "base_urls": dict.fromkeys(
                    ("openai", "deepseek", "gemini", "openrouter", "ollama", "vllm"), server.base_url
                ),
                **options,
            }
            models = Models(ModelOptions(name=name, **given), clock, jitter=random.Random(1))
            stack.push_async_exit(models)
            return models

        yield open_


@pytest.fixture
def models(opened: Open) -> Models:
    return opened()


@pytest.fixture
def question() -> Request:
    return Request(entries=(SystemEntry("Be brief."), UserEntry("What is the news?")))


@pytest.fixture
def tool_question(question: Request) -> Request:
    return Request(entries=question.entries, tools=(DICE,))


@pytest.fixture
def asking() -> Ask:
    return ask


@pytest.fixture
async def raw_server() -> AsyncIterator[RawServer]:
    """A server that answers exactly what a test's handler writes, for faults no emulator has."""
    async with AsyncExitStack() as stack:

        async def start(handler: Handler) -> str:
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", handler)
            server = TestServer(app)
            await server.start_server()
            stack.push_async_callback(server.close)
            return f"{server.make_url('/v1')}"

        yield start


def sse(*events: str, headers: Mapping[str, str] | None = None, chunks: Sequence[bytes] = ()) -> Handler:
    """A handler that writes these events as they are."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **(headers or {})})
        await response.prepare(request)
        for event in events:
            await response.write(f"data: {event}\n\n".encode())
        for chunk in chunks:
            await response.write(chunk)
        await response.write_eof()
        return response

    return handle


@pytest.fixture
def events() -> Events:
    return sse
