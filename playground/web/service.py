"""What the public services have in common: a port, a rate limit, faults on request, and what was asked."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web

from playground.faults import Faults
from playground.loopback import Loopback, after, before


@dataclass(frozen=True, slots=True)
class Question:
    """One request as it arrived."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]


class Refused(Exception):
    """A request the service answers with an error; `body` is the whole JSON of it."""

    def __init__(self, status: int, body: Mapping[str, Any], **headers: str) -> None:
        super().__init__(str(status))
        self.status = status
        self.body = dict(body)
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class PublicService:
    """A service that answers GET requests with JSON. Faults go by `get`."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.requests: list[Question] = []
        self.faults = Faults()
        self.per_minute = 600
        """Requests in a minute before 429."""
        self._recent: deque[float] = deque()
        self._app = web.Application()
        self._http = Loopback(self._app, host, port)

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL; no slash at the end."""
        return self._http.url

    async def __aenter__(self) -> Self:
        await self._http.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.close()

    def serve(self, path: str, answer: Callable[[web.Request], Any]) -> None:
        """Answer `path` with what `answer` makes of a request; it may raise `Refused`."""
        self._app.router.add_get(path, self._handler(answer))

    def too_many(self) -> Refused:
        """How this service says 429."""
        return Refused(429, {"error": True, "reason": "Too many requests"}, Retry_After="60")

    def _handler(self, answer: Callable[[web.Request], Any]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            self.requests.append(Question(request.path, dict(request.query), dict(request.headers)))
            fault = self.faults.take("get")
            failed = await before(fault, request, json.dumps({"error": "Fault"}))
            if failed is not None:
                return failed
            try:
                self._check_rate()
                body = answer(request)
            except Refused as refused:
                return web.json_response(refused.body, status=refused.status, headers=refused.headers)
            lost = await after(fault, request)
            return lost if lost is not None else web.json_response(body)

        return handle

    def _check_rate(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._recent and self._recent[0] <= now - 60:
            self._recent.popleft()
        if len(self._recent) >= self.per_minute:
            raise self.too_many()
        self._recent.append(now)
