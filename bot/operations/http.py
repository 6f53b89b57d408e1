"""The HTTP server for health, readiness and metrics; on loopback unless the operator sets another host."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from aiohttp import web

from bot.contract import Metrics
from bot.operations.admin import AdminPage
from bot.operations.listener import Port
from bot.operations.outlet import Outlet
from tools.contract.base import Json

_LOCAL: Final = (".localhost", ".local", ".internal", ".home.arpa", ".lan")
"""Endings of names that no public name has, used by containers, clusters and home networks."""
State = Callable[[], Awaitable[Mapping[str, Json]]]


@dataclass(eq=False, repr=False)
class HttpServer(Port):
    """Answers a supervisor's requests for health, readiness and metrics.

    `/health`: the process lives and its event loop runs; if it does not answer, restart it. `/ready`: it receives
    messages and can store them; else 503, which passes without a restart. `/state`: its state, for a person.
    `/metrics`: its counts, for Prometheus. `/admin`: the operator's page, if there is a token for it. The last three
    answer only requests for a host that is ours: otherwise a page in the operator's browser could read them, through a
    name of its own that leads here.
    """

    host: str
    asked_port: int
    """0: any that is free."""
    state: State
    metrics: Metrics
    outlet: Outlet
    names: Iterable[str] = ()
    """This host's names in requests."""
    admin: AdminPage | None = None
    """The operator's page; None: there is none."""

    def __post_init__(self) -> None:
        self._names = frozenset(name.lower() for name in (*self.names, self.host))

    async def __aenter__(self) -> HttpServer:
        app = web.Application(client_max_size=1024 * 1024)
        app.router.add_get("/health", self._health)
        app.router.add_get("/ready", self._ready)
        app.router.add_get("/state", self._show)
        app.router.add_get("/metrics", self._count)
        if self.admin is not None:
            self.admin.add_to(app, self._refuse)
        await self.listen(app, self.host, self.asked_port, "HTTP_PORT")
        return self

    async def _health(self, request: web.Request) -> web.StreamResponse:
        # A failing store is no reason to restart: it recovers by itself, and memory contains what is still to be shown.
        return self._answer({"ok": True, "store": (await self.state())["store"]})

    async def _ready(self, request: web.Request) -> web.StreamResponse:
        state = await self.state()
        names = ("ready", "role", "lack", "platforms", "rights", "store")
        told = {name: state[name] for name in names if name in state}
        return self._answer(told, status=200 if state["ready"] else 503)

    async def _show(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refuse(request):
            return refusal
        return self._answer(dict(await self.state()))

    async def _count(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refuse(request):
            return refusal
        text = self.outlet.words(self.metrics.text())
        return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    def _refuse(self, request: web.Request) -> web.Response | None:
        """Return the refusal of a request for another host's name; None if it is ours."""
        if is_own(request.headers.get("Host", ""), self._names):
            return None
        return web.Response(status=421, text="HTTP_NAMES of the bot does not list this host\n")

    def _answer(self, value: dict[str, Json], status: int = 200) -> web.Response:
        """Build a JSON answer with secrets masked."""
        return web.Response(text=json.dumps(self.outlet.value(value)), status=status, content_type="application/json")


def is_own(host: str, names: Collection[str] = ()) -> bool:
    """Return True if the host in a request is one of `names`, an address, or a name of the local network, which nobody
    can buy. Browsers always send one."""
    name = host.strip().lower()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = name.partition(":")[0]
    name = name.removesuffix(".")
    if any(fnmatchcase(name, own) for own in names) or ("." not in name and ":" not in name) or name.endswith(_LOCAL):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
