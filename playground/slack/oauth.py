"""Several workspaces that install one app, behind one address: what stands for slack.com.

https://docs.slack.dev/authentication/installing-with-oauth
"""

from __future__ import annotations

import base64
import hashlib
import itertools
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlencode

import aiohttp
from aiohttp import web

from playground.slack.server import SlackServer

_HOP: Final = frozenset({"content-length", "transfer-encoding", "host", "content-encoding"})


class SlackService:
    """Hands each call to the workspace of its token. `async with` listens; the workspaces are entered by the caller."""

    def __init__(self, *workspaces: SlackServer, pkce: bool = False) -> None:
        self.client_id, self.client_secret = "1.2", "a-client-secret"
        self.workspaces = {server.team_id: server for server in workspaces}
        self.pkce = pkce
        self.redirect_uris: list[str] = []
        """Those that stand on the app's page."""
        self.removed: set[str] = set()
        """Workspaces in which the app was removed: their tokens are refused."""
        self.extra: dict[str, Any] = {}
        """What `oauth.v2.access` answers beside what it always does."""
        self._codes: dict[str, tuple[str, str, str]] = {}
        self._places: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._runner: web.AppRunner | None = None
        self.address = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/api/oauth.v2.access", self._exchange)
        app.router.add_route("*", "/{path:.*}", self._forward)
        self._http = aiohttp.ClientSession(auto_decompress=False)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.address = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        for server in self.workspaces.values():
            self._places[server.team_id] = server.workspace.base
            server.workspace.base = self.address  # so that addresses which it tells lead here, too
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        await self._http.close()

    @property
    def base_url(self) -> str:
        """What stands for `https://slack.com/api/`."""
        return f"{self.address}/api/"

    def allow(self, authorize: str, team: str) -> str:
        """What an admin of `team` does who presses Allow behind a link; returns where the browser is sent.

        Raises:
            ValueError: Slack shows an error page in its place.
        """
        asked = {name: values[0] for name, values in parse_qs(authorize.partition("?")[2]).items()}
        if asked.get("client_id") != self.client_id:
            raise ValueError("invalid_client_id")
        if asked.get("redirect_uri") not in self.redirect_uris:
            raise ValueError("bad_redirect_uri")
        if not self.pkce and "code_challenge" in asked:
            raise ValueError("pkce_not_enabled")
        code = f"code-{next(self._numbers)}"
        self._codes[code] = team, asked["redirect_uri"], asked.get("code_challenge", "")
        self.workspaces[team].scopes.intersection_update(asked["scope"].split(","))
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    async def _exchange(self, request: web.Request) -> web.Response:
        form = await request.post()
        pair = base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {pair}":
            return web.json_response({"ok": False, "error": "bad_client_secret"})
        if (found := self._codes.pop(str(form.get("code")), None)) is None:
            return web.json_response({"ok": False, "error": "invalid_code"})
        team, uri, challenge = found
        verifier = hashlib.sha256(str(form.get("code_verifier", "")).encode()).digest()
        if form.get("redirect_uri") != uri:
            return web.json_response({"ok": False, "error": "bad_redirect_uri"})
        if challenge and base64.urlsafe_b64encode(verifier).decode().rstrip("=") != challenge:
            return web.json_response({"ok": False, "error": "invalid_code_verifier"})
        server = self.workspaces[team]
        self.removed.discard(team)
        told = {
            "ok": True,
            "app_id": server.workspace.app_id,
            "authed_user": {"id": "U1"},
            "scope": ",".join(sorted(server.scopes)),
            "token_type": "bot",
            "access_token": server.bot_token,
            "bot_user_id": server.bot_user_id,
            "team": {"id": team, "name": server.workspace.team_name},
            "enterprise": None,
            "is_enterprise_install": False,
        }
        return web.json_response(told | self.extra)

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if request.path.startswith(("/upload/", "/commands/")):
            # Addresses that need no token: whoever made them knows them.
            for place in self._places.values():
                if (answer := await self._hand_on(place, request, body)).status != 404:
                    return answer
        server = next((one for one in self.workspaces.values() if token and one.bot_token == token), None)
        if server is None:
            return web.json_response({"ok": False, "error": "invalid_auth" if token else "not_authed"})
        if server.team_id in self.removed:
            return web.json_response({"ok": False, "error": "account_inactive"})
        return await self._hand_on(self._places[server.team_id], request, body)

    async def _hand_on(self, place: str, request: web.Request, body: bytes) -> web.Response:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
        async with self._http.request(
            request.method, f"{place}{request.path_qs}", data=body, headers=headers
        ) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP}
            return web.Response(status=answer.status, body=await answer.read(), headers=kept)
