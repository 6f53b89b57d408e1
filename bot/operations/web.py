"""The public address: the only listener that others than the operator can reach, for platforms' requests."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.contract import Clock, Entrance, LogThrottle, Metrics, Visited, WebAnswer, origin_of, proven, time_limit
from bot.operations.listener import Port

if TYPE_CHECKING:
    from aiohttp import web

log = logging.getLogger(__name__)
_WIRE: Final = logging.getLogger(f"{__name__}.wire")
_WIRE.setLevel(logging.CRITICAL)
"""Anybody who finds the address can send data that is not HTTP, as often as they like."""

MOST_BYTES: Final = 2 * 1024 * 1024
"""Bytes of a body. The largest that a platform sends is the change of a long message in Slack, which contains its text
four times, about 1 MB."""
MOST_READING: Final = 32
"""Bodies of one platform that are read at the same time before they are verified."""
READ_SECONDS: Final = 5.0
"""The time for reading a body."""


class WebServer(Port):
    """Passes on platforms' posts to an address that ends in their name, once they are verified.

    Unverified requests are refused (401) unread or unparsed; a body is never read beyond `MOST_BYTES` (413). If a
    platform accepts nothing at the moment, the answer is 503, and it sends again. `/health` says that somebody listens
    here, and nothing else. A proxy can add anything before these names, or remove it.
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
            entrance: platform → where its requests arrive; None: it accepts none now.
        """
        self._host = host
        self._port = port
        self._platforms = tuple(platforms)
        self._entrance = entrance
        self._metrics = metrics
        self._clock = clock
        self._refused = LogThrottle(log, clock)
        self._unproven: dict[str, deque[asyncio.Timeout]] = {one: deque() for one in self._platforms}
        """Platform → the timers of its unverified bodies in progress, the oldest first."""

    async def __aenter__(self) -> WebServer:
        from aiohttp import web

        app = web.Application()
        for platform in self._platforms:
            app.router.add_post(f"/{{before:(?:.*/)?}}{platform}", partial(self._receive, platform))
            app.router.add_get(
                f"/{{before:(?:.*/)?}}{platform}/{{page:[a-z]+}}", partial(self._visit, platform), allow_head=False
            )
        app.router.add_get("/{before:(?:.*/)?}health", self._health)
        await self.listen(app, self._host, self._port, "WEB_PORT", _WIRE)
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
            log.error("web: a post of %s could not be stored: %s", platform, origin_of(error))
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
        try:
            async with asyncio.timeout(None) as limit, time_limit(self._clock, READ_SECONDS):
                with self._place(platform, limit) if proof is not proven else nullcontext():
                    body = await _read(request)
        except TimeoutError:
            if limit.expired():
                return self._refuse(platform, 503, "too many at once")
            return self._refuse(platform, 408, "sent too slowly")
        except (ConnectionError, web.RequestPayloadError):
            return self._refuse(platform, 400, "ended before its body")
        if body is None:
            return self._refuse(platform, 413, f"more than {MOST_BYTES:,} bytes")
        if not proof(body):
            return self._refuse(platform, 401, "no valid signature")
        answer = await entrance.take_in(request.headers, body)
        return web.Response(status=answer.status, body=answer.body, content_type=answer.media_type)

    @contextmanager
    def _place(self, platform: str, limit: asyncio.Timeout) -> Iterator[None]:
        """Count a body among the unverified ones: if there are too many, the oldest is given up.

        A platform's own body arrives at once, so it is read before so many strangers' have come after it.
        """
        reading = self._unproven[platform]
        if len(reading) >= MOST_READING:
            reading.popleft().reschedule(asyncio.get_running_loop().time())
        reading.append(limit)
        try:
            yield
        finally:
            with suppress(ValueError):  # it was given up
                reading.remove(limit)

    def _refuse(self, platform: str, status: int, why: str) -> web.Response:
        from aiohttp import web

        self._refused.warn(f"web: a request for {platform} was refused: {why}")
        refusal = web.Response(status=status)
        refusal.force_close()
        return refusal


async def _read(request: web.Request) -> bytes | None:
    """Read the body; return None as soon as it has more than `MOST_BYTES`."""
    body = bytearray()
    async for piece in request.content.iter_any():
        body += piece
        if len(body) > MOST_BYTES:
            return None
    return bytes(body)
