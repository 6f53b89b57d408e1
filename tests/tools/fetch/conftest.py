"""A loopback server that counts who connects, and pages to fetch from it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest
from aiohttp import web

from tools.fetch.client import Fetcher


class Canary:
    """A listener on every loopback address of a free port that must never be connected to."""

    def __init__(self) -> None:
        self.connections = 0
        self.port = 0
        self._servers: list[asyncio.Server] = []

    async def open(self) -> None:
        # The whole of 127/8 and ::1 by their wildcards, which is also what 0.0.0.0 and :: connect to.
        first = await asyncio.start_server(self._accept, "0.0.0.0", 0)
        self.port = first.sockets[0].getsockname()[1]
        self._servers = [first]
        try:
            self._servers.append(await asyncio.start_server(self._accept, "::1", self.port))
        except OSError:
            pass  # a machine without IPv6

    async def close(self) -> None:
        for server in self._servers:
            server.close()
            await server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nsecret")
        writer.close()


class Site:
    """A web site on loopback; `answers` maps a path to what answers it."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = {}
        self.requests: list[web.Request] = []
        self.port = 0
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)

    async def open(self) -> None:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        await self._runner.cleanup()

    @property
    def allowed(self) -> str:
        """What an operator writes into FETCH_ALLOW to have it opened."""
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.allowed}{path}"

    def page(self, path: str, body: bytes | str, kind: str = "text/html; charset=utf-8", **headers: str) -> str:
        """Answer `path` with `body`; its address."""
        content = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()} | {"Content-Type": kind}

        async def answer(request: web.Request) -> web.StreamResponse:
            return web.Response(body=content, headers=named)

        self.answers[path] = answer
        return self.url(path)

    def redirect(self, path: str, target: str, status: int = 302) -> str:
        async def answer(request: web.Request) -> web.StreamResponse:
            return web.Response(status=status, headers={"Location": target})

        self.answers[path] = answer
        return self.url(path)

    def status(self, path: str, status: int, **headers: str) -> str:
        async def answer(request: web.Request) -> web.StreamResponse:
            return web.Response(status=status, headers={name.replace("_", "-"): one for name, one in headers.items()})

        self.answers[path] = answer
        return self.url(path)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        answer = self.answers.get(request.path)
        return await answer(request) if answer is not None else web.Response(status=404)


class Names:
    """A name server: names to lists of addresses, one list a look-up, the last one for ever."""

    def __init__(self, **known: Sequence[Sequence[str]]) -> None:
        self.known = {name.replace("_", "."): list(one) for name, one in known.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self.known.get(host)
        if not answers:
            raise OSError("no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]


@pytest.fixture
async def canary() -> AsyncIterator[Canary]:
    made = Canary()
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def fetcher(site: Site) -> AsyncIterator[Fetcher]:
    """Opens the site, and what is public."""
    made = Fetcher(allow=[site.allowed])
    yield made
    await made.close()


@pytest.fixture
def names() -> type[Names]:
    return Names
