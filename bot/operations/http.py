"""The HTTP server for health, readiness and metrics; on loopback unless the operator sets another host."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from bot.operations.listener import Port
from bot.operations.metrics import Metrics
from bot.operations.outlet import Outlet
from tools.base import Json

if TYPE_CHECKING:
    from aiohttp import web

State = Callable[[], Awaitable[Mapping[str, Json]]]


class HttpServer(Port):
    """Answers a supervisor's requests for health, readiness and metrics.

    `/health` the process lives and its event loop turns: who gets no answer may restart it. `/ready` it takes messages
    in and can store them: else 503, which heals without a restart. `/state` how it is, for a person. `/metrics` what
    was counted, for Prometheus.
    """

    def __init__(self, host: str, port: int, state: State, metrics: Metrics, outlet: Outlet) -> None:
        self._host = host
        self._port = port
        self._state = state
        self._metrics = metrics
        self._outlet = outlet

    async def __aenter__(self) -> HttpServer:
        from aiohttp import web

        app = web.Application(client_max_size=1024 * 1024)
        app.router.add_get("/health", self._health)
        app.router.add_get("/ready", self._ready)
        app.router.add_get("/state", self._show)
        app.router.add_get("/metrics", self._count)
        await self.listen(app, self._host, self._port, "HTTP_PORT")
        return self

    async def _health(self, request: web.Request) -> web.StreamResponse:
        # A store in trouble is no reason to restart: it recovers by itself, and memory holds what is to be shown.
        return self._answer({"ok": True, "store": (await self._state())["store"]})

    async def _ready(self, request: web.Request) -> web.StreamResponse:
        state = await self._state()
        told = {name: state[name] for name in ("ready", "role", "lack", "platforms", "store") if name in state}
        return self._answer(told, status=200 if state["ready"] else 503)

    async def _show(self, request: web.Request) -> web.StreamResponse:
        return self._answer(dict(await self._state()))

    async def _count(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        text = self._outlet.words(self._metrics.text())
        return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    def _answer(self, value: dict[str, Json], status: int = 200) -> web.Response:
        """Build a JSON answer with secrets masked."""
        from aiohttp import web

        return web.Response(text=json.dumps(self._outlet.value(value)), status=status, content_type="application/json")
