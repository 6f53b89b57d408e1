"""The public address: the only listener that others than the operator can reach, for platforms' requests."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import aclosing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from aiohttp import web

from bot.contract import (
    Clock,
    Entrance,
    LogThrottle,
    Metrics,
    Served,
    Visited,
    WebAnswer,
    WebStream,
    origin_of,
    proven,
    time_limit,
)
from bot.operations.connections import cut_off
from bot.operations.listener import Port

log = logging.getLogger(__name__)
_WIRE: Final = logging.getLogger(f"{__name__}.wire")
_WIRE.setLevel(logging.CRITICAL)
"""Anybody who finds the address can send data that is not HTTP, as often as they like."""

MOST_BYTES: Final = 2 * 1024 * 1024
"""Bytes of a body. The largest that a platform sends is the change of a long message in Slack, which contains its text
four times, about 1 MB."""
MOST_READING: Final = 32
"""Bodies of one platform that are read at the same time before they are verified."""
MOST_DISCARDED: Final = 32 * 1024 * 1024
"""Bytes of a body that are read and thrown away, so that a program which sends too much gets the answer that says so:
it reads none before it has sent everything."""
READ_SECONDS: Final = 5.0
"""The time for reading a body."""
SEND_SECONDS: Final = 30.0
"""The time in which a reader must take a piece of a stream; a later one is cut off."""
Addresses = Collection[tuple[str, str]]
"""Method and address of each request that an entrance answers itself."""


class _RefusedError(Exception):
    """The request is not answered: the status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


@dataclass(eq=False, repr=False)
class WebServer(Port):
    """Passes on platforms' posts to an address that ends in their name, once they are verified.

    Unverified requests are refused (401) unread or unparsed; a body is never kept beyond `MOST_BYTES` (413). If a
    platform accepts nothing at the moment, the answer is 503, and it sends again. `/health` says that somebody listens
    here, and nothing else. A proxy can add anything before these names, or remove it. A platform that serves addresses
    of its own gets requests to these, and may answer in a stream.
    """

    host: str
    asked_port: int
    """0: any that is free."""
    platforms: Collection[str]
    entrance: Callable[[str], Entrance | None]
    """Platform → where its requests arrive; None: it accepts none now."""
    metrics: Metrics
    clock: Clock
    serves: Mapping[str, Addresses] = field(default_factory=dict)
    """Platform → the addresses that it answers itself."""

    def __post_init__(self) -> None:
        self._refused = LogThrottle(log, self.clock)
        self._unproven: dict[str, deque[asyncio.Timeout]] = {one: deque() for one in self.platforms}
        """Platform → the timers of its unverified bodies in progress, the oldest first."""

    async def __aenter__(self) -> WebServer:
        app = web.Application()
        for platform, addresses in self.serves.items():
            for method, address in addresses:
                path = f"/{{before:(?:.*/)?}}{address}"
                app.router.add_route(method, path, partial(self._serve, platform, address))
            known = "|".join(re.escape(address) for _, address in addresses)
            tops = "|".join(sorted({re.escape(address.split("/")[0]) for _, address in addresses if "/" in address}))
            for status, below in ((405, known), (404, f"(?:{tops})(?:/.*)?" if tops else "")):
                if below:
                    refuse = partial(self._refuse_address, platform, status)
                    app.router.add_route("*", f"/{{before:(?:.*/)?}}{{address:{below}}}", refuse)
        for platform in self.platforms:
            if self.serves.get(platform):
                continue
            app.router.add_post(f"/{{before:(?:.*/)?}}{platform}", partial(self._receive, platform))
            app.router.add_get(
                f"/{{before:(?:.*/)?}}{platform}/{{page:[a-z]+}}", partial(self._visit, platform), allow_head=False
            )
        app.router.add_get("/{before:(?:.*/)?}health", self._health)
        await self.listen(app, self.host, self.asked_port, "WEB_PORT", _WIRE)
        return self

    async def _health(self, request: web.Request) -> web.StreamResponse:
        return web.Response(body=b'{"ok": true}', content_type="application/json")

    async def _visit(self, platform: str, request: web.Request) -> web.StreamResponse:
        entrance = self.entrance(platform)
        if entrance is None:
            return web.Response(status=503)
        if not isinstance(entrance, Visited):
            return web.Response(status=404)
        try:
            answer = await entrance.visit(request.match_info["page"], request.query, request.cookies)
        except Exception as error:  # noqa: BLE001 - whatever it is, the page is opened again
            log.error("web: a page of %s could not be shown: %s", platform, origin_of(error))
            answer = WebAnswer(500)
        return _response(answer)

    async def _receive(self, platform: str, request: web.Request) -> web.StreamResponse:
        try:
            answer = await self._answer(platform, request)
        except Exception as error:  # noqa: BLE001 - whatever it is, the platform sends again
            log.error("web: a post of %s could not be stored: %s", platform, origin_of(error))
            answer = web.Response(status=500)
        self.metrics.posts.add(platform, str(answer.status))
        return answer

    async def _answer(self, platform: str, request: web.Request) -> web.Response:
        entrance = self.entrance(platform)
        if entrance is None:
            return web.Response(status=503)
        try:
            body = await self._read_proven(platform, entrance, request)
        except _RefusedError as error:
            return self._refuse(platform, error, WebAnswer(error.status))
        return _response(await entrance.take_in(request.headers, body))

    async def _read_proven(self, platform: str, entrance: Entrance, request: web.Request) -> bytes:
        """Return the body of a verified request.

        Raises:
            _RefusedError: it is none.
        """
        proof = entrance.expect(request.headers)
        if proof is None:
            raise _RefusedError(401, "no valid signature")
        served = isinstance(entrance, Served)
        most = MOST_DISCARDED if served else MOST_BYTES
        if (request.content_length or 0) > most:
            raise _RefusedError(413, f"more than {MOST_BYTES:,} bytes")
        # Of a platform that proves itself, all bodies are its own; programs with a token can be anybody's.
        trusted = proof is proven and not served
        try:
            async with asyncio.timeout(None) as limit, time_limit(self.clock, READ_SECONDS):
                with nullcontext() if trusted else self._place(platform, limit):
                    body = await _read(request, most)
        except TimeoutError:
            if limit.expired():
                raise _RefusedError(503, "too many at once") from None
            raise _RefusedError(408, "sent too slowly") from None
        except (ConnectionError, web.RequestPayloadError):
            raise _RefusedError(400, "ended before its body") from None
        if body is None:
            raise _RefusedError(413, f"more than {MOST_BYTES:,} bytes")
        if not proof(body):
            raise _RefusedError(401, "no valid signature")
        return body

    async def _serve(self, platform: str, address: str, request: web.Request) -> web.StreamResponse:
        """Answer a request to an address that the platform answers itself, whole or in a stream."""
        entrance = self.entrance(platform)
        if not isinstance(entrance, Served):
            return web.Response(status=503)
        try:
            body = await self._read_proven(platform, entrance, request)
            answer = await entrance.answer(address, request.headers, body)
        except _RefusedError as error:
            answer = entrance.refuse(error.status, error.why)
            response: web.StreamResponse = self._refuse(platform, error, answer)
        except Exception as error:  # noqa: BLE001 - whatever it is, the program may send it again
            log.error("web: a request of %s could not be answered: %s", platform, origin_of(error))
            answer = entrance.refuse(500, "an error of our own")
            response = _response(answer)
        else:
            response = _response(answer) if isinstance(answer, WebAnswer) else await self._stream(answer, request)
        self.metrics.posts.add(platform, str(response.status))
        return response

    async def _refuse_address(self, platform: str, status: int, request: web.Request) -> web.StreamResponse:
        """Answer a request below the platform's addresses to none of them, or in another method, in its own form."""
        entrance = self.entrance(platform)
        if not isinstance(entrance, Served):
            return web.Response(status=503)
        error = _RefusedError(status, "no such address" if status == 404 else "another method")
        response = self._refuse(platform, error, entrance.refuse(error.status, error.why))
        if status == 405:
            asked = request.match_info["address"]
            response.headers["Allow"] = ", ".join(method for method, known in self.serves[platform] if known == asked)
        self.metrics.posts.add(platform, str(response.status))
        return response

    async def _stream(self, answer: WebStream, request: web.Request) -> web.StreamResponse:
        """Send pieces while they are made. A reader that takes none for a while is cut off; one that leaves stops
        nothing."""
        # Nginx keeps a response back until it is complete, unless this header says otherwise.
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}
        response = web.StreamResponse(headers={"Content-Type": answer.media_type, **headers})
        try:
            async with aclosing(answer.pieces) as pieces:
                await response.prepare(request)
                async for piece in pieces:
                    async with time_limit(self.clock, SEND_SECONDS):
                        await response.write(piece)
                async with time_limit(self.clock, SEND_SECONDS):
                    await response.write_eof()
        except TimeoutError:
            self._refused.warn("web: a reader took nothing of a stream, and was cut off")
            cut_off(request.protocol)
        except ConnectionError:
            log.debug("web: a reader left a stream")
        return response

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

    def _refuse(self, platform: str, error: _RefusedError, answer: WebAnswer) -> web.Response:
        self._refused.warn(f"web: a request for {platform} was refused: {error.why}")
        refusal = _response(answer)
        refusal.force_close()
        return refusal


def _response(answer: WebAnswer) -> web.Response:
    headers = {**answer.headers, "Content-Type": answer.media_type}
    return web.Response(status=answer.status, body=answer.body, headers=headers)


async def _read(request: web.Request, most: int) -> bytes | None:
    """Read the body, at most so many bytes; return None if it has more than `MOST_BYTES`, which are thrown away."""
    body, size = bytearray(), 0
    async for piece in request.content.iter_any():
        size += len(piece)
        if size > most:
            return None
        if size > MOST_BYTES:
            body.clear()
        else:
            body += piece
    return bytes(body) if size <= MOST_BYTES else None
