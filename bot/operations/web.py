"""The public address: the one listener that others than the operator reach, for what platforms post."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.contract import Clock, Entrance, LogThrottle, Visited, WebAnswer, origin_of, time_limit
from bot.operations.listener import Port, listen
from bot.operations.metrics import Metrics

if TYPE_CHECKING:
    from aiohttp import web

log = logging.getLogger(__name__)
_WIRE: Final = logging.getLogger(f"{__name__}.wire")
_WIRE.setLevel(logging.CRITICAL)
"""Whoever finds the address can send what is no HTTP, as often as they like."""

MOST_BYTES: Final = 2 * 1024 * 1024
"""Of a body. The largest that a platform sends is the change of a long message in Slack, which holds its text four
times, about 1 MB."""
MOST_READING: Final = 32
"""Bodies that are read at the same time: until one is read, it may be anybody's."""
READ_SECONDS: Final = 5.0
"""What reading a body may take."""


class WebServer(Port):
    """Hands on what platforms post to an address that ends in their name, once it is proven to be theirs.

    What is not is refused (401) unread or unparsed; a body is never read further than `MOST_BYTES` (413). Where a
    platform takes nothing in at the moment it is told so (503), upon which it sends again. `/health` says
    that somebody listens here, and nothing else. A proxy may put anything before these names, or take it away.
    """

    def __init__(
        self,
        host: str,
        port: int,
        platforms: Iterable[str],
        entrance: Callable[[str], Entrance | None],
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        """
        Args:
            entrance: platform → where its requests come in; None: it takes none in now.
        """
        self._host = host
        self._port = port
        self._platforms = tuple(platforms)
        self._entrance = entrance
        self._metrics = metrics
        self._clock = clock
        self._refused = LogThrottle(log, clock)
        self._reading = 0

    async def __aenter__(self) -> WebServer:
        from aiohttp import web

        app = web.Application()
        for platform in self._platforms:
            app.router.add_post(f"/{{before:(?:.*/)?}}{platform}", partial(self._receive, platform))
            app.router.add_get(
                f"/{{before:(?:.*/)?}}{platform}/{{page:[a-z]+}}", partial(self._visit, platform), allow_head=False
            )
        app.router.add_get("/{before:(?:.*/)?}health", self._health)
        self._runner = await listen(app, self._host, self._port, "WEB_PORT", _WIRE)
        return self

    async def _health(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        return web.Response(body=b'{"ok": true}', content_type="application/json")

    async def _visit(self, platform: str, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        entrance = self._entrance(platform)
        if entrance is None:
            return web.Response(status=503)
        if not isinstance(entrance, Visited):
            return web.Response(status=404)
        try:
            answer = await entrance.visit(request.match_info["page"], request.query, request.cookies)
        except Exception as error:  # noqa: BLE001 - whatever it is, the page is opened again
            log.error("web: a page of %s could not be shown: %s", platform, origin_of(error))
            answer = WebAnswer(500)
        headers = {**answer.headers, "Content-Type": answer.media_type}
        return web.Response(status=answer.status, body=answer.body, headers=headers)

    async def _receive(self, platform: str, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        try:
            answer = await self._answer(platform, request)
        except Exception as error:  # noqa: BLE001 - whatever it is, the platform sends again
            log.error("web: what %s posted could not be taken in: %s", platform, origin_of(error))
            answer = web.Response(status=500)
        self._metrics.posts.add(platform, str(answer.status))
        return answer

    async def _answer(self, platform: str, request: web.Request) -> web.Response:
        from aiohttp import web

        entrance = self._entrance(platform)
        if entrance is None:
            return web.Response(status=503)
        proof = entrance.expect(request.headers)
        if proof is None:
            return self._refuse(platform, 401, "no valid signature")
        if (request.content_length or 0) > MOST_BYTES:
            return self._refuse(platform, 413, f"more than {MOST_BYTES:,} bytes")
        if self._reading >= MOST_READING:
            return self._refuse(platform, 503, "too many at once")
        self._reading += 1
        try:
            async with time_limit(self._clock, READ_SECONDS):
                body = await _read(request)
        except TimeoutError:
            return self._refuse(platform, 408, "sent too slowly")
        finally:
            self._reading -= 1
        if body is None:
            return self._refuse(platform, 413, f"more than {MOST_BYTES:,} bytes")
        if not proof(body):
            return self._refuse(platform, 401, "no valid signature")
        answer = await entrance.take_in(request.headers, body)
        return web.Response(status=answer.status, body=answer.body, content_type=answer.media_type)

    def _refuse(self, platform: str, status: int, why: str) -> web.Response:
        from aiohttp import web

        self._refused.warn(f"web: a request for {platform} was refused: {why}")
        return web.Response(status=status)


async def _read(request: web.Request) -> bytes | None:
    """Read the body; None as soon as it has more than `MOST_BYTES`."""
    body = bytearray()
    async for piece in request.content.iter_any():
        body += piece
        if len(body) > MOST_BYTES:
            return None
    return bytes(body)
