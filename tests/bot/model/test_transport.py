"""HTTP to the models' servers: what is sent and read, proxies, and failures by the name the SDK knows."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from bot.contract.errors import SettingsError
from bot.model import ModelOptions, Models
from bot.model.readbatcher import ReadBatcher
from bot.model.transport import ENDING, StreamTransport
from tests.bot.model.conftest import RecordingClock
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("no_proxy_of_this_machine")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[tuple[str, list[web.BaseRequest]]]:
    """A server, its address, and what it was asked."""
    asked: list[web.BaseRequest] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request)
        return await handler(request)  # type: ignore[arg-type]

    server = RawTestServer(handle)
    await server.start_server()
    try:
        yield f"http://127.0.0.1:{server.port}", asked
    finally:
        await server.close()


@pytest.fixture
def batcher(clock: RecordingClock) -> ReadBatcher:
    return ReadBatcher(clock)


@pytest.fixture
async def http(batcher: ReadBatcher) -> AsyncIterator[httpx2.AsyncClient]:
    transport = StreamTransport(batcher, connections=4, keep_seconds=30.0)
    async with httpx2.AsyncClient(transport=transport, timeout=httpx2.Timeout(None, connect=5.0)) as client:
        yield client


async def echo(request: web.Request) -> web.StreamResponse:
    return web.json_response(
        {"path": request.raw_path, "method": request.method, "body": await request.text(),
         "headers": [[name, value] for name, value in request.headers.items()]},
        status=418,
        headers={"X-Request-Id": "r1"},
    )  # fmt: skip


async def test_a_request_arrives_as_it_is_and_so_does_its_answer(http: httpx2.AsyncClient) -> None:
    async with serving(echo) as (url, _):
        headers = [("X-Two", "a"), ("X-Two", "b"), ("Authorization", "Bearer k")]
        answer = await http.post(f"{url}/v1/a%2Fb?x=1%20+", content="日本 {}".encode(), headers=headers)

    told = answer.json()
    assert (answer.status_code, answer.headers["x-request-id"]) == (418, "r1")
    assert (told["method"], told["path"], told["body"]) == ("POST", "/v1/a%2Fb?x=1%20+", "日本 {}")
    assert [value for name, value in told["headers"] if name == "X-Two"] == ["a", "b"]
    assert [value for name, value in told["headers"] if name == "Authorization"] == ["Bearer k"]


async def test_a_body_is_read_as_it_arrives_and_unpacked(http: httpx2.AsyncClient) -> None:
    go_on = asyncio.Event()

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Encoding": "gzip"})
        await response.prepare(request)
        await response.write(gzip.compress(b"one"))
        await go_on.wait()
        await response.write_eof()
        return response

    async with serving(stream) as (url, _), http.stream("GET", url) as answer:
        chunks = answer.aiter_bytes()
        assert await anext(chunks) == b"one"
        go_on.set()
        assert [chunk async for chunk in chunks] == []


async def test_a_connection_serves_again_once_its_answer_was_read_and_no_other_one(http: httpx2.AsyncClient) -> None:
    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one")
        if request.path == "/forever":
            await asyncio.Event().wait()
        await response.write_eof()
        return response

    def ports(asked: list[web.BaseRequest]) -> list[int]:
        return [request.transport.get_extra_info("peername")[1] for request in asked if request.transport]

    async with serving(stream) as (url, asked):
        await http.get(url)
        await http.get(url)
        first, second = ports(asked)
        assert first == second
        async with http.stream("GET", f"{url}/forever"):
            pass
        await http.get(url)
        assert ports(asked)[-1] != first


async def cut_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b"one")
    assert request.transport is not None
    request.transport.close()
    return response


async def hang_up(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def say_nothing(_: web.Request) -> web.StreamResponse:
    await asyncio.sleep(3600)
    raise AssertionError


@pytest.mark.parametrize(
    ("handler", "failure"),
    [(cut_off, httpx2.ReadError), (hang_up, httpx2.ReadError), (say_nothing, httpx2.ReadTimeout)],
)
async def test_an_answer_that_does_not_come_whole_is_a_failure_to_read(
    http: httpx2.AsyncClient, handler: Handler, failure: type[Exception]
) -> None:
    async with serving(handler) as (url, _):
        with pytest.raises(failure):
            await http.get(url, timeout=httpx2.Timeout(None, read=0.05 if handler is say_nothing else None))


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n"


@pytest.mark.parametrize(
    ("rest", "left"), [(b"3\r\ntwo\r\n", [b"two"]), (b"", []), (b"3\r\ntwo\r\nno number\r\n", [b"two"])]
)
async def test_what_arrived_before_the_connection_broke_is_read_also_by_who_gathers(
    http: httpx2.AsyncClient, batcher: ReadBatcher, clock: RecordingClock, rest: bytes, left: list[bytes]
) -> None:
    go_on, gone = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        await go_on.wait()
        writer.write(rest)
        writer.close()
        await writer.wait_closed()
        gone.set()

    for _ in range(1_000):
        batcher.join()
    read: list[bytes] = []
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with http.stream("GET", url) as answer:
            chunks = answer.aiter_bytes()
            read.append(await anext(chunks))
            await clock.advance(60.0)
            following = asyncio.ensure_future(anext(chunks))
            await clock.settle()
            go_on.set()
            await gone.wait()
            await clock.settle()
            assert not following.done(), "it gathers: the clock stands still"
            await clock.advance(1.0)
            with pytest.raises(httpx2.ReadError):
                read.append(await following)
                following = asyncio.ensure_future(anext(chunks))
                await clock.advance(1.0)
                await following

    assert read == [b"one", *left]


async def test_who_ends_soon_reads_as_it_comes_again(
    http: httpx2.AsyncClient, batcher: ReadBatcher, clock: RecordingClock
) -> None:
    """The clock stands still: nobody who gathers is woken by it."""
    more = asyncio.Event()
    for _ in range(1_000):
        batcher.join()

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one")
        await more.wait()
        await response.write(b"two")
        await asyncio.sleep(3600)
        return response

    async with serving(stream) as (url, _), http.stream("GET", url) as answer:
        chunks = answer.aiter_bytes()
        assert await anext(chunks) == b"one"
        await clock.advance(60.0)
        answer.extensions[ENDING]()
        more.set()
        assert await asyncio.wait_for(anext(chunks), PATIENCE) == b"two"


async def test_a_body_that_was_made_in_pieces_is_sent_in_one(http: httpx2.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    async with serving(echo) as (url, _):
        told = (await http.post(url, content=pieces())).json()

    sent = {name.lower(): value for name, value in told["headers"]}
    assert told["body"] == "ab" and sent["content-length"] == "2" and "transfer-encoding" not in sent


async def test_calls_end_with_an_error_when_the_connections_are_closed(batcher: ReadBatcher) -> None:
    transport = StreamTransport(batcher, connections=1, keep_seconds=30.0)
    async with serving(say_nothing) as (url, asked):
        calls = [asyncio.create_task(transport.handle_async_request(httpx2.Request("GET", url))) for _ in range(2)]
        async with asyncio.timeout(PATIENCE):
            while not asked:
                await asyncio.sleep(0.01)
        await transport.aclose()
        for call in calls:
            with pytest.raises(httpx2.TransportError):
                await call
        with pytest.raises(httpx2.TransportError):
            await transport.handle_async_request(httpx2.Request("GET", url))


async def test_nobody_there_is_a_failure_to_connect_and_names_no_address(http: httpx2.AsyncClient) -> None:
    with pytest.raises(httpx2.ConnectError) as caught:
        await http.get("http://127.0.0.1:1/key-in-path")

    assert "key" not in str(caught.value)


async def test_the_proxy_that_the_environment_names_is_used_but_for_its_exceptions(
    http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(echo) as (url, asked), serving(echo) as (model, asked_there):
        monkeypatch.setenv("http_proxy", url)
        monkeypatch.setenv("no_proxy", "model.test")
        await http.post("http://model.invalid/v1", content="hello")
        await http.get(model)
        with pytest.raises(httpx2.ConnectError):
            await http.get("http://model.test:1")

    assert [request.raw_path for request in asked] == ["http://model.invalid/v1"]
    assert len(asked_there) == 1


async def test_a_proxy_that_cannot_be_used_is_named_before_anybody_asks(
    clock: RecordingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("all_proxy", "socks5://me:secret@127.0.0.1:1080")

    with pytest.raises(SettingsError, match=r"socks5 proxy, which .* the model at api\.openai\.com") as caught:
        Models(ModelOptions(name="openai:scripted", tool_mode="auto", turn_seconds=300.0, keys={"openai": "k"}), clock)

    assert "secret" not in str(caught.value)
