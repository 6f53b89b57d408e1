"""A door in front of a server: while it is shut, connections to it are refused, as when the service is down."""

from __future__ import annotations

import asyncio
from typing import Self
from urllib.parse import urlsplit, urlunsplit


class Gate:
    """Passes connections on to the server behind a URL; `url` is the same place by way of the gate.

    `shut` cuts what is open and refuses what comes; `open` lets everything pass again, at the same address.
    """

    def __init__(self, behind: str) -> None:
        self._parts = urlsplit(behind)
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[None]] = set()
        self._port = 0
        self.url = ""

    async def __aenter__(self) -> Self:
        await self.open()
        self.url = urlunsplit(self._parts._replace(netloc=f"127.0.0.1:{self._port}"))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.shut()

    async def open(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def shut(self) -> None:
        """Refuse connections, and cut those that stand."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._passing):
            task.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        opened = [writer]
        try:
            there, back = await asyncio.open_connection(self._parts.hostname, self._parts.port)
            opened.append(back)
            async with asyncio.TaskGroup() as both:
                both.create_task(_pump(reader, back))
                both.create_task(_pump(there, writer))
        except* OSError:
            pass
        finally:
            self._passing.discard(task)
            for one in opened:
                one.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
