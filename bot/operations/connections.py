"""Limits on the connections to our ports: their number, and their time without a request."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from aiohttp import web

from bot.contract import LogThrottle, SystemClock

log = logging.getLogger(__name__)

MOST_CONNECTIONS: Final = 256
"""To one port at the same time. Platforms and proxies keep some dozens."""
FIRST_SECONDS: Final = 10.0
"""The time for sending the first request, until its headers are complete."""
IDLE_SECONDS: Final = 75.0
"""The time for sending another one. Proxies close after 60 seconds or less."""
MOST_HEADERS: Final = 64


class Connections:
    """Opens each connection to a port. If there are too many, the one that has waited longest for a request is closed,
    and if each has one in progress, the newest."""

    def __init__(self, app: web.Application, logger: logging.Logger) -> None:
        """
        Args:
            app: not set up yet.
            logger: gets requests that are not HTTP, with a traceback for each.
        """
        app.middlewares.append(self._follow)
        self.server: web.Server | None = None
        """The server that answers; set before the first connection."""
        self._logger = logger
        self._waiting: dict[web.RequestHandler, None] = {}
        """Those without a request in progress, in the order in which they became so."""
        self._asking = 0
        self._crowded = LogThrottle(log, SystemClock())

    def __call__(self) -> web.RequestHandler:
        assert self.server is not None
        # Compressed bodies stay so: a signature covers the bytes as they were sent. And refused bodies are not read on.
        return _Connection(
            self,
            self.server,
            loop=asyncio.get_running_loop(),
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=0,
            logger=self._logger,
            max_headers=MOST_HEADERS,
        )

    def enter(self, connection: web.RequestHandler) -> None:
        """Count a new connection, and close one if there are too many."""
        self._waiting[connection] = None
        if len(self._waiting) + self._asking > MOST_CONNECTIONS:
            self._crowded.warn(f"more than {MOST_CONNECTIONS} connections at once; who sends no request is cut off")
            longest = next(iter(self._waiting))
            del self._waiting[longest]
            cut_off(longest)

    def leave(self, connection: web.RequestHandler) -> None:
        """Forget a connection that is closed."""
        self._waiting.pop(connection, None)

    @web.middleware
    async def _follow(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Keep the connection of a request until it is answered."""
        connection = request.protocol
        assert isinstance(connection, _Connection)
        connection.asked = True
        self._waiting.pop(connection, None)
        self._asking += 1
        try:
            response: web.StreamResponse = await handler(request)
            return response
        finally:
            self._asking -= 1
            if connection.transport is not None:
                self._waiting[connection] = None


def cut_off(connection: web.RequestHandler) -> None:
    """Close a connection at once, whatever was not sent to it yet."""
    if isinstance(connection.transport, asyncio.Transport):
        connection.transport.abort()


class _Connection(web.RequestHandler):
    """A connection that is closed unless its first request comes in time."""

    def __init__(self, all: Connections, server: web.Server, **options: Any) -> None:
        super().__init__(server, **options)
        self.asked = False
        self._all = all
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._limit = asyncio.get_running_loop().call_later(FIRST_SECONDS, self._end_unless_asked)
        self._all.enter(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._limit is not None:
            self._limit.cancel()
        self._all.leave(self)
        super().connection_lost(exc)

    def _end_unless_asked(self) -> None:
        if not self.asked:
            cut_off(self)
