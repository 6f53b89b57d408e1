"""Writing a stream at its pace, and letting go wrong what the reply says goes wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from itertools import chain, repeat
from typing import Protocol

from aiohttp import web

from playground.loopback import hang_up
from playground.model.reply import Reply, error_object
from playground.model.wire import Frame, event

_PING = b": ping\n\n"
_PING_SECONDS = 0.02
_SAMPLED = 0.1
"""Seconds between two notes of how much was sent."""


class Watched(Protocol):
    """Where the stream notes what it has sent."""

    first_at: float
    last_at: float
    sent: int
    samples: list[tuple[float, int]]


def cuts(reply: Reply) -> list[int]:
    """The positions at which something happens to the stream of `reply`."""
    positions = (
        *(reply.drop_after, reply.cut_after, reply.reset_after),
        *(reply.malformed_line, reply.error_object, reply.hang_after),
    )
    return [position for position in positions if position is not None]


def endless(frames: Iterable[Frame]) -> Iterable[Frame]:
    """The written frames again and again; the closing ones never come."""
    written = [frame for frame in frames if frame.weight]
    return chain.from_iterable(repeat(written))


class Stream:
    """One event stream to one client."""

    def __init__(
        self,
        request: web.Request,
        reply: Reply,
        seen: Watched,
        headers: dict[str, str],
        kind: str = "text/event-stream; charset=utf-8",
    ) -> None:
        self._request = request
        self._reply = reply
        self._seen = seen
        self._answer = web.StreamResponse(headers={**headers, "Content-Type": kind, "Cache-Control": "no-cache"})

    async def write(  # noqa: C901  # a branch for each fault, in the order in which they are checked
        self, frames: Iterable[Frame]
    ) -> web.StreamResponse:
        """Send `frames`, or as many of them as the reply's faults let through."""
        reply, answer = self._reply, self._answer
        await answer.prepare(self._request)
        if reply.comments_forever and reply.hang_after is None:
            await self._hang()
        if reply.endless:
            frames = endless(frames)
        clock = asyncio.get_running_loop().time
        started, written = clock(), 0
        malformed, hang = reply.malformed_line, reply.hang_after
        for frame in chain(frames, [None]):
            ending = frame is None or (frame.weight == 0 and written > 0)
            if hang is not None and self._reached(hang, ending):
                hang = None
                await self._hang()
            if malformed is not None and self._reached(malformed, ending):
                malformed = None
                await self._send(b"data: {this is no JSON\n\n")
            if self._reached(reply.error_object, ending):
                error = reply.error or error_object("The server had an error while processing.", "server_error")
                await self._send(event(json.dumps({"error": error})))
                break
            if self._reached(reply.drop_after, ending):
                if reply.half_line and frame is not None:
                    await self._send(frame.data[: len(frame.data) // 2])
                break
            if self._reached(reply.cut_after, ending):
                return self._hang_up()
            if self._reached(reply.reset_after, ending):
                return self._hang_up(reset=True)
            if frame is None:
                break
            if frame.weight:
                if reply.words_per_second:
                    await asyncio.sleep(max(0.0, started + written / reply.words_per_second - clock()))
                written += 1
            if reply.pings:
                await self._send(_PING)
            await self._send(frame.data)
            if reply.endless:
                await asyncio.sleep(0)
            if frame.weight:
                self._seen.last_at = clock()
                self._seen.first_at = self._seen.first_at or self._seen.last_at
                self._seen.sent += frame.weight
                if not self._seen.samples or self._seen.last_at - self._seen.samples[-1][0] >= _SAMPLED:
                    self._seen.samples.append((self._seen.last_at, self._seen.sent))
        await answer.write_eof()
        return answer

    def _reached(self, position: int | None, ending: bool) -> bool:
        return position is not None and (self._seen.sent >= position or ending)

    def _hang_up(self, *, reset: bool = False) -> web.StreamResponse:
        hang_up(self._request, reset=reset)
        return self._answer

    async def _hang(self) -> None:
        until = self._reply.until or asyncio.Event()
        if not self._reply.comments_forever:
            await until.wait()
        while not until.is_set():
            await self._send(_PING)
            await asyncio.sleep(_PING_SECONDS)

    async def _send(self, data: bytes) -> None:
        size = self._reply.chunk_bytes or len(data)
        for start in range(0, len(data), size):
            await self._answer.write(data[start : start + size])
            if self._reply.chunk_bytes:
                await asyncio.sleep(0)
