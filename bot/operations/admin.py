"""The operator's page: what the store holds, read only, for whoever has `ADMIN_TOKEN`."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from bot.contract import Clock, LogThrottle, StoreError
from bot.operations.export import TABLES, as_csv, as_json
from bot.operations.outlet import Outlet
from bot.operations.session import COOKIE, PATH, SESSION_SECONDS, Sessions, TooManyError
from tools.contract.base import Json
from tools.contract.json_values import map_texts, read_json

log = logging.getLogger(__name__)

Look = Callable[[str, Mapping[str, str]], Awaitable[Mapping[str, Json] | None]]
"""View, parameters → what it shows; None: there is no such thing. Raises ValueError for malformed parameters."""
Refusal = Callable[[web.Request], web.Response | None]

_FOLDER: Final = Path(__file__).resolve().parent / "page"
_KINDS: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_LONGEST_BODY: Final = 4096
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class AdminPage:
    """Serves the page's files to everybody, and what it shows to a session only.

    The files contain nothing of the store. `refuse` answers requests for a host that is not ours.
    """

    def __init__(self, token: str, look: Look, outlet: Outlet, clock: Clock) -> None:
        self._sessions = Sessions(token, clock)
        self._look = look
        self._outlet = outlet
        self._wrong = LogThrottle(log, clock)
        self._files = {path.name: path.read_bytes() for path in _FOLDER.iterdir() if path.suffix in _KINDS}

    def add_to(self, app: web.Application, refuse: Refusal) -> None:
        """Add the page to a server."""
        guarded = partial(partial, self._guard, refuse)
        app.router.add_get(PATH, guarded(self._begin))
        app.router.add_get(f"{PATH}/session", guarded(self._tell))
        app.router.add_get(f"{PATH}/{{name:[a-z]*(?:\\.(?:js|css))?}}", guarded(self._file))
        app.router.add_post(f"{PATH}/session", guarded(self._open))
        app.router.add_post(f"{PATH}/session/end", guarded(self._end))
        app.router.add_get(f"{PATH}/data/{{view:[a-z]+}}", guarded(self._data))
        app.router.add_get(f"{PATH}/export/{{view:[a-z]+}}.{{form:csv|json}}", guarded(self._export))

    async def _guard(
        self, refuse: Refusal, handler: Callable[[web.Request], Awaitable[web.Response]], request: web.Request
    ) -> web.Response:
        answer = refuse(request) or await handler(request)
        answer.headers.update(_HEADERS)
        return answer

    async def _begin(self, request: web.Request) -> web.Response:
        return web.Response(status=308, headers={"Location": "admin/"})

    async def _file(self, request: web.Request) -> web.Response:
        name = request.match_info["name"] or "index.html"
        if name not in self._files:
            return web.Response(status=404)
        return web.Response(body=self._files[name], content_type=_KINDS[Path(name).suffix], charset="utf-8")

    async def _tell(self, request: web.Request) -> web.Response:
        """Say whether a session is open, without an error where none is."""
        return _json({"open": self._is_open(request)})

    def _is_open(self, request: web.Request) -> bool:
        return self._sessions.accepts(request.cookies.get(COOKIE, ""))

    async def _open(self, request: web.Request) -> web.Response:
        """Open a session for a token."""
        if request.content_type != "application/json" or not _is_own_page(request):
            return _problem(403, "only this page opens a session")
        if (request.content_length or _LONGEST_BODY + 1) > _LONGEST_BODY:
            return _problem(413, "this is no token")
        try:
            asked = read_json(await request.read())
            token = asked["token"] if isinstance(asked, dict) else None
        except (ValueError, KeyError):
            token = None
        if not isinstance(token, str):
            return _problem(400, "send a token")
        address = request.remote or ""
        try:
            cookie = self._sessions.open(token, address)
        except TooManyError as error:
            refusal = _problem(429, str(error))
            refusal.headers["Retry-After"] = str(int(error.seconds) + 1)
            return refusal
        if cookie is None:
            self._wrong.warn(f"a wrong token for {PATH} came from {address}")
            return _problem(401, "this is not the token of ADMIN_TOKEN")
        log.info("%s was opened from %s", PATH, address)
        return _with_cookie(request, _json({"open": True}), cookie, SESSION_SECONDS)

    async def _end(self, request: web.Request) -> web.Response:
        if not _is_own_page(request):
            return _problem(403, "only this page ends a session")
        return _with_cookie(request, _json({"open": False}), "", 0)

    async def _data(self, request: web.Request) -> web.Response:
        told = await self._read(request)
        return _json(await asyncio.to_thread(self._masked, told)) if isinstance(told, dict) else told

    async def _export(self, request: web.Request) -> web.Response:
        view, form = request.match_info["view"], request.match_info["form"]
        told = await self._read(request)
        if not isinstance(told, dict):
            return told
        masked = await asyncio.to_thread(self._masked, told)
        text = as_csv(view, masked) if form == "csv" else as_json(masked)
        kind = "text/csv" if form == "csv" else "application/json"
        name = f'attachment; filename="parley-{view}.{form}"'
        return web.Response(text=text, content_type=kind, charset="utf-8", headers={"Content-Disposition": name})

    async def _read(self, request: web.Request) -> dict[str, Json] | web.Response:
        """Return what the requested view shows, or the refusal."""
        if not self._is_open(request):
            return _problem(401, "a session has to be opened first")
        view = request.match_info["view"]
        try:
            told = await self._look(view, dict(request.query)) if view in TABLES else None
        except ValueError as error:
            return _problem(400, self._outlet.line(str(error)))
        except StoreError as error:
            return _problem(503, self._outlet.line(str(error)))
        return _problem(404, "nothing like this is stored") if told is None else dict(told)

    def _masked(self, told: dict[str, Json]) -> dict[str, Json]:
        """Mask secrets and control characters in every text; the same text once."""
        masked = cache(self._outlet.data)
        return {name: map_texts(value, masked) for name, value in told.items()}


def _is_own_page(request: web.Request) -> bool:
    """Return True unless a browser says that another site's page sends this."""
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc.lower() == request.headers.get("Host", "").lower()


def _with_cookie(request: web.Request, answer: web.Response, cookie: str, seconds: int) -> web.Response:
    secure = request.secure or request.headers.get("X-Forwarded-Proto", "") == "https"
    answer.set_cookie(COOKIE, cookie, path=PATH, max_age=seconds, httponly=True, samesite="Strict", secure=secure)
    return answer


def _json(value: Mapping[str, Json], status: int = 200) -> web.Response:
    return web.Response(text=json.dumps(value), status=status, content_type="application/json")


def _problem(status: int, text: str) -> web.Response:
    return _json({"problem": text}, status)
