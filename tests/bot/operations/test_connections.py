"""Connections of strangers to a port: they end, they are counted, and they leave room for who has something to ask."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from bot.contract import Headers, Metrics, Proof, WebAnswer, proven
from bot.operations import HttpServer, Outlet, connections, raise_descriptor_limit
from tests.patience import PATIENCE, slowed
from tests.web import Web, serving

HALF = b"POST /parley/slack HTTP/1.1\r\nHost: bot.example\r\nX-Half: "
WHOLE = b"POST /parley/slack HTTP/1.1\r\nHost: bot.example\r\nContent-Length: 2\r\n\r\n{}"


class Gate:
    """An entrance that lets everybody in, as soon as its door is open."""

    def __init__(self) -> None:
        self.door = asyncio.Event()
        self.door.set()
        self.waiting = 0

    def expect(self, headers: Headers) -> Proof | None:
        return proven if "X-Half" not in headers else None

    async def take_in(self, headers: Headers, body: bytes) -> WebAnswer:
        self.waiting += 1
        await self.door.wait()
        return WebAnswer()


@pytest.fixture
async def gate() -> Gate:
    return Gate()


@pytest.fixture
async def web(gate: Gate) -> AsyncIterator[Web]:
    async with serving() as web:
        web.entrance = {"slack": gate}.get
        yield web


@contextlib.asynccontextmanager
async def connected(port: int, said: bytes) -> AsyncIterator[asyncio.StreamReader]:
    """A connection on which something was said."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    try:
        yield reader
    finally:
        writer.close()


async def ended(reader: asyncio.StreamReader) -> bytes:
    """What came until the connection ended."""
    async with asyncio.timeout(PATIENCE):
        with contextlib.suppress(ConnectionError):
            return await reader.read()
    return b""


async def state() -> dict[str, bool | str]:
    return {"ready": True, "store": "writes"}


@pytest.mark.parametrize("said", [b"", HALF, b"\x00"], ids=["nothing", "half a header", "no HTTP"])
async def test_a_connection_without_a_whole_request_ends(
    web: Web, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "FIRST_SECONDS", 0.01)
    async with connected(web.port, said) as reader:
        assert b" 200 " not in await ended(reader)

    async with HttpServer("127.0.0.1", 0, state, Metrics(), Outlet()) as own, connected(own.port, said) as reader:
        assert b" 200 " not in await ended(reader)


async def test_a_connection_that_has_asked_once_stays_open(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    first = slowed(0.2)
    monkeypatch.setattr(connections, "FIRST_SECONDS", first)
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", web.port)
        for pause in (1.2 * first, 0):
            writer.write(WHOLE)
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(pause)
        writer.close()


async def test_strangers_in_a_crowd_are_cut_off_and_who_asks_is_answered(
    web: Web, gate: Gate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 8)
    async with contextlib.AsyncExitStack() as stack:
        gate.door.clear()
        asking = [await stack.enter_async_context(connected(web.port, WHOLE)) for _ in range(4)]
        async with asyncio.timeout(PATIENCE):
            while gate.waiting < len(asking):
                await asyncio.sleep(0.001)
        strangers = [await stack.enter_async_context(connected(web.port, HALF)) for _ in range(20)]
        await asyncio.gather(*(ended(one) for one in strangers[:16]))
        assert not any(one.at_eof() for one in strangers[16:])

        late = asyncio.create_task(web.post("slack"))
        gate.door.set()
        assert await late == 200
        assert [await one.readline() for one in asking] == [b"HTTP/1.1 200 OK\r\n"] * 4

    assert caplog.text.count("more than 8 connections") == 1


async def test_where_all_connections_are_asking_a_new_one_is_refused(
    web: Web, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 1)
    gate.door.clear()
    async with connected(web.port, WHOLE) as reader:
        async with asyncio.timeout(PATIENCE):
            while not gate.waiting:
                await asyncio.sleep(0.001)
        assert await web.post("slack") == 0
        gate.door.set()
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"


async def test_what_is_refused_is_not_read_any_further(web: Web) -> None:
    refused = WHOLE.replace(b"Length: 2", b"Length: 100000").replace(b"\r\n\r\n", b"\r\nX-Half: no\r\n\r\n")
    async with connected(web.port, refused) as reader:
        assert (await ended(reader)).startswith(b"HTTP/1.1 401 ")


@pytest.fixture
def descriptors() -> Iterator[tuple[int, int]]:
    """How many this process may open, as it is again afterwards."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield limits
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


async def test_where_no_descriptor_is_left_one_line_says_so_and_connections_wait(
    web: Web, descriptors: tuple[int, int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(asyncio.constants, "ACCEPT_RETRY_DELAY", 0.01)
    callers = [socket.socket() for _ in range(20)]
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, descriptors[1]))
    for caller in callers:
        caller.connect(("127.0.0.1", web.port))
        caller.sendall(WHOLE)
    for _ in range(20):
        await asyncio.sleep(0.01)
    resource.setrlimit(resource.RLIMIT_NOFILE, descriptors)
    for caller in callers:
        caller.settimeout(PATIENCE)
        assert (await asyncio.to_thread(caller.recv, 12)) == b"HTTP/1.1 200"
        caller.close()

    assert [one.levelname for one in caplog.records] == ["ERROR"]
    assert "no connection can be accepted: [Errno 24]" in caplog.text


def test_a_start_allows_itself_as_many_descriptors_as_the_system_does(descriptors: tuple[int, int]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, descriptors[1]))
    raise_descriptor_limit()
    raised = resource.getrlimit(resource.RLIMIT_NOFILE)
    raise_descriptor_limit()

    assert raised == resource.getrlimit(resource.RLIMIT_NOFILE) == (min(65_536, descriptors[1]), descriptors[1])
