"""Servers that are services: streamable HTTP on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from aiohttp import web

from tests.tools.mcp.conftest import Bench, Serve
from tools.mcp import flood
from tools.mcp.session import _limit


async def test_a_service_is_called_and_its_list_followed(bench: Bench, service: tuple[int, Path]) -> None:
    port, _ = service
    await bench.open({"web": {"url": f"http://127.0.0.1:{port}/mcp"}})
    assert "web__grown" not in bench.names

    assert (await bench.call("web__add", {"a": 20, "b": 22})).text == "42"
    await bench.call("web__grow")
    await bench.until(lambda: "web__grown" in bench.names)


async def test_a_call_that_is_stopped_stops_in_the_service(bench: Bench, service: tuple[int, Path]) -> None:
    port, bench.journal = service
    await bench.open({"web": {"url": f"http://127.0.0.1:{port}/mcp"}})
    call = asyncio.create_task(bench.call("web__wait"))
    await bench.until(lambda: "started" in bench.journalled())

    call.cancel()
    await asyncio.wait([call])

    await bench.until(lambda: "cancelled" in bench.journalled())
    assert (await bench.call("web__add", {"a": 1, "b": 1})).text == "2"


async def test_a_service_that_went_away_is_found_again(bench: Bench, serve: Serve) -> None:
    first, port = await serve(0)
    await bench.open({"web": {"url": f"http://127.0.0.1:{port}/mcp", "timeout": 1}})
    bench.pauses.held = True

    first.kill()
    await first.wait()
    lost = await bench.call("web__add", {"a": 1, "b": 1})
    await bench.until(lambda: bench.registry.unavailable)

    assert not lost.ok
    assert bench.names == []
    await serve(port)
    bench.pauses.held = False
    bench.pauses.go_on()
    await bench.until(lambda: bench.names)
    assert (await bench.call("web__add", {"a": 1, "b": 1})).text == "2"


async def test_a_service_that_is_not_there_is_reported_and_the_bot_goes_on(bench: Bench, unused_tcp_port: int) -> None:
    bench.pauses.held = True

    await bench.open({"web": {"url": f"http://127.0.0.1:{unused_tcp_port}/mcp"}, "e": bench.plain("good")})

    assert bench.names == ["e__echo"]
    assert "MCP web" in bench.registry.unavailable


async def test_an_answer_without_end_costs_the_connection_and_no_memory(bench: Bench, unused_tcp_port: int) -> None:
    """And headers of the file are sent."""
    seen: list[str] = []
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        seen.append(request.headers.get("Authorization", ""))
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        try:
            for _ in range(400):
                await response.write(b" " * 100_000)
                sent += 100_000
        except ConnectionError:
            pass
        return response

    app = web.Application()
    app.router.add_route("*", "/mcp", endless)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
    bench.pauses.held = True

    await bench.open({"web": {"url": f"http://127.0.0.1:{unused_tcp_port}/mcp", "headers": {"Authorization": "key"}}})

    assert bench.registry.unavailable
    assert seen[0] == "key"
    await bench.registry.close()
    await runner.cleanup()
    assert sent < 40_000_000


class Chunks(httpx2.AsyncByteStream):
    """A body that comes in pieces of so many bytes."""

    def __init__(self, body: bytes, size: int) -> None:
        self._pieces = [body[at : at + size] for at in range(0, len(body), size)]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


@pytest.mark.parametrize("size", [7, 4096, 10_000_000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_no_event_holds_more_values_than_can_be_parsed_at_once(size: int, end: str) -> None:
    event = f"event: message{end}data: {json.dumps({'rows': [1] * 30_000})}{end}{end}".encode()
    dense = f"data: {json.dumps([[]] * 30_000)}{end}{end}".encode()

    async def read(body: bytes, kind: str) -> int:
        response = httpx2.Response(200, headers={"Content-Type": kind}, stream=Chunks(body, size))
        await _limit(response)
        return len(await response.aread())

    assert await read(event * 3, "text/event-stream") == 3 * len(event)
    with pytest.raises(httpx2.StreamError, match="values"):
        await read(event + dense, "text/event-stream")
    with pytest.raises(httpx2.StreamError, match="values"):
        await read(event * 2, "application/json")


async def test_a_key_in_an_address_or_a_header_is_not_told(
    bench: Bench, unused_tcp_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.json_response(
            {
                "jsonrpc": "2.0",
                "id": None,
                "error": {"code": -32000, "message": f"no entry with {request.headers['K']}"},
            },
            status=401,
        )

    app = web.Application()
    app.router.add_route("*", "/mcp", refuse)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
    bench.pauses.held = True

    await bench.open(
        {"web": {"url": f"http://127.0.0.1:{unused_tcp_port}/mcp?key=canary-one", "headers": {"K": "canary-two"}}}
    )

    told = bench.registry.unavailable["MCP web"]
    assert told == "MCPError: no entry with ***"
    assert "canary" not in caplog.text
    await bench.registry.close()
    await runner.cleanup()


@pytest.mark.parametrize("size", [7, 4096])
@pytest.mark.parametrize(
    "noise", [b": ping\n\n" * 2_000, b":" + b"x" * 20_000, b"\r\n" * 10_000], ids=["comments", "one", "nothing"]
)
async def test_a_stream_of_nothing_but_noise_is_cut_off(
    noise: bytes, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flood, "MOST_NOISE", 10_000)
    monkeypatch.setattr(flood, "NOISE_PER_SECOND", 0.0)
    event = b"data: " + b"x" * 20_000 + b"\n\n"

    async def read(body: bytes) -> int:
        response = httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, stream=Chunks(body, size))
        await _limit(response)
        return len(await response.aread())

    assert await read(event * 3) == 3 * len(event)
    with pytest.raises(httpx2.StreamError, match="far more than was asked for"):
        await read(event + noise)
