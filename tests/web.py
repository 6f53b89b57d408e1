"""The public address in tests, and requests that no client library would send."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bot.contract import Clock, Entrance, Metrics, SystemClock
from bot.operations import WebServer
from playground.discord.posts import Signer
from tests.patience import PATIENCE

PLATFORMS = ("telegram", "slack", "discord")
HOSTILE = (
    b"",
    b" ",
    b"0",
    b"-1",
    b"1e9",
    b"nan",
    b"None",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    "٣".encode(),
    "ключ".encode(),
    b"v0=" + b"0" * 64,
    b"v0=" + b"z" * 64,
    b"0" * 128,
    b"9" * 5_000,
    b"%00",
    b"a" * 100_000,
)
"""Values of headers: what is no signature and no time, in every way that comes to mind."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Web:
    """The public address of one program; `entrance` is what is open there."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.entrance: Callable[[str], Entrance | None] = lambda platform: None
        self.port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/parley"

    def answered(self, platform: str, status: int) -> float:
        """How often a request was answered so."""
        return self.metrics.posts.value(platform, str(status))

    async def post(self, platform: str, headers: Iterable[tuple[str, bytes]] = (), body: bytes = b"{}") -> int:
        """Post a body behind headers of any bytes; the status of the answer."""
        lines = [f"POST /parley/{platform} HTTP/1.1".encode(), b"Host: bot.example", b"Connection: close"]
        lines += [b"Content-Length: " + str(len(body)).encode()]
        lines += [name.encode() + b": " + value for name, value in headers]
        return await self.send(b"\r\n".join(lines) + b"\r\n\r\n" + body)

    async def send(self, request: bytes) -> int:
        """Send anything; the status of the answer, 0 where the connection ended without one."""
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                writer.write(request)
                line = await reader.readline()
            except ConnectionError:
                line = b""
            finally:
                writer.close()
        return int(line.split()[1]) if line else 0


@asynccontextmanager
async def serving(clock: Clock | None = None) -> AsyncIterator[Web]:
    """A public address on a free port."""
    web = Web()
    server = WebServer(
        "127.0.0.1",
        0,
        PLATFORMS,
        lambda platform: web.entrance(platform),
        web.metrics,
        clock or SystemClock(),
    )
    async with server:
        web.port = server.port
        yield web


def signer(wall: Callable[[], float] = time.time) -> Signer:
    """Signs as Discord does, with a key of its own."""
    key = Ed25519PrivateKey.generate()
    return Signer(key.public_key().public_bytes_raw().hex(), key.sign, wall)
