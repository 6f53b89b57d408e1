"""The one HTTP server: health and readiness. Loopback unless the operator says otherwise."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from bot.errors import SettingsError
from tools.base import Json

if TYPE_CHECKING:
    from aiohttp import web

State = Callable[[], Awaitable[Mapping[str, Json]]]


class HttpServer:
    """Serves `/health` (the process lives), `/ready` (it takes messages in) and `/state` (how it is)."""

    def __init__(self, host: str, port: int, state: State) -> None:
        self._host = host
        self._port = port
        self._state = state
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> HttpServer:
        from aiohttp import web

        app = web.Application(client_max_size=1024 * 1024)
        app.router.add_get("/health", self._health)
        app.router.add_get("/ready", self._ready)
        app.router.add_get("/state", self._show)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise SettingsError(
                f"HTTP_PORT {self._port} at {self._host} cannot be used ({error.strerror}); choose another or unset it"
            ) from None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def port(self) -> int:
        """The port it listens on, chosen by the system when the setting is 0."""
        assert self._runner is not None
        return int(self._runner.addresses[0][1])

    async def _health(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        return web.json_response({"ok": True})

    async def _ready(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        state = await self._state()
        return web.json_response({"ready": state["ready"]}, status=200 if state["ready"] else 503)

    async def _show(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        return web.json_response(dict(await self._state()))
