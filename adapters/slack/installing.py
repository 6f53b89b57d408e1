"""The pages on which other workspaces install the app.

See https://docs.slack.dev/authentication/installing-with-oauth and …/using-pkce. Nothing is stored between the two
pages: the data for the second is signed, and bound to the browser that opened the first, so any process can serve
either.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import html
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode, urlsplit

from slack_sdk.web.async_client import AsyncWebClient

from adapters.settings import SlackSettings
from adapters.slack.errors import error_code, field
from adapters.slack.sealing import Granted
from bot.contract import Clock, LogThrottle, StoreError, WebAnswer, is_same, origin_of

log = logging.getLogger(__name__)

INSTALL: Final = "install"
INSTALLED: Final = "installed"
"""The last parts of the addresses of both pages."""
_COOKIE: Final = "parley_install"
_SECONDS: Final = 600
"""How long choosing a workspace may take."""
_MOST_AT_ONCE: Final = 4
"""Codes that Slack is asked about at the same time: anybody who finds the address may send some."""
_MOST_CHARS: Final = 1_000
"""Characters of a browser's request."""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


@dataclass(eq=False, repr=False, kw_only=True)
class Installing:
    """Sends a browser to Slack, and handles its return."""

    settings: SlackSettings
    scopes: Mapping[str, bool]
    """The scopes that the app requests → whether it is useless without each."""
    web: AsyncWebClient
    """Without a token."""
    clock: Clock
    grant: Callable[[Granted], Awaitable[None]]
    """Stores a workspace's grant; raises StoreError if that fails."""

    def __post_init__(self) -> None:
        self._busy = asyncio.Semaphore(_MOST_AT_ONCE)
        self._refused = LogThrottle(log, self.clock)
        self._secret = self.settings.slack_client_secret.get_secret_value().encode()
        self._back = f"{self.settings.slack_install_url.removesuffix(INSTALL)}{INSTALLED}"

    async def visit(self, page: str, query: Mapping[str, str], cookies: Mapping[str, str]) -> WebAnswer:
        if page == INSTALL:
            return self._begin()
        if page == INSTALLED:
            return await self._finish(query, cookies)
        return WebAnswer(404)

    def _begin(self) -> WebAnswer:
        nonce, stamp = secrets.token_urlsafe(24), str(int(self.clock.wall()))
        asked = {
            "client_id": self.settings.slack_client_id,
            "scope": ",".join(self.scopes),
            "redirect_uri": self._back,
            "state": f"{stamp}.{nonce}.{self._sign('state', stamp, nonce)}",
        }
        if self.settings.slack_pkce:
            asked["code_challenge"] = _base64(hashlib.sha256(self._verifier(nonce).encode()).digest())
            asked["code_challenge_method"] = "S256"
        base = self.web.base_url.removesuffix("api/")
        to = urlsplit(self._back)
        secure = "; Secure" if to.scheme == "https" else ""
        cookie = f"{_COOKIE}={nonce}; Path={to.path}; Max-Age={_SECONDS}; HttpOnly; SameSite=Lax{secure}"
        headers = {"Location": f"{base}oauth/v2/authorize?{urlencode(asked)}", "Set-Cookie": cookie}
        return WebAnswer(302, headers=headers | _HEADERS)

    async def _finish(self, query: Mapping[str, str], cookies: Mapping[str, str]) -> WebAnswer:
        if query.get("error"):
            return _say(200, "Nothing was installed.", again=True)
        nonce, code = cookies.get(_COOKIE, ""), query.get("code", "")
        if not self._is_ours(query.get("state", ""), nonce) or not 0 < len(code) <= _MOST_CHARS:
            self._refused.warn("slack: somebody came back from Slack whom this program did not send there")
            return _say(400, "This page was opened in another browser, or too long ago.", again=True)
        if self._busy.locked():
            return _say(503, "Too many people are installing the app right now.", again=True)
        async with self._busy:
            granted, why = await self._exchange(code, nonce)
            if granted is None:
                return _say(400, why, again=True)
            try:
                await self.grant(granted)
            except StoreError as error:
                log.error("slack: the token that %s granted could not be stored: %s", granted.team, error)
                return _say(503, "The installation could not be stored just now.", again=True)
        log.warning("slack: installed in %s (%s)", granted.team, granted.name)
        return _say(200, f"Installed in {granted.name or granted.team}. Mention the bot in a channel there.")

    async def _exchange(self, code: str, nonce: str) -> tuple[Granted | None, str]:
        """Return what Slack gives for a code, or why the code is useless."""
        brought = {"code": code, "redirect_uri": self._back}
        if self.settings.slack_pkce:
            brought["code_verifier"] = self._verifier(nonce)
        # The library's own call uses what aiohttp has deprecated.
        pair = f"{self.settings.slack_client_id}:{self._secret.decode()}".encode()
        basic = {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        try:
            answer = await self.web.api_call("oauth.v2.access", data=brought, headers=basic)
            if answer.get("is_enterprise_install") or not answer.get("team"):
                return None, "The app can be installed in one workspace, and not in a whole organisation."
            if answer.get("refresh_token") or answer.get("expires_in"):
                log.error("slack: the tokens of the app expire: switch off token rotation (OAuth & Permissions)")
                return None, "The app is not set up for this; its operator finds the reason in the log."
            token, granted = field(answer, "access_token"), str(answer.get("scope") or "")
            if missing := [name for name, needed in self.scopes.items() if needed and name not in granted.split(",")]:
                return None, f"Without {', '.join(missing)} the bot cannot work."
            team, told = answer["team"], await self.web.auth_test(token=token)
            if told.get("team_id") != team.get("id"):
                return None, "Slack named two workspaces."
            user, bot = field(told, "user_id"), str(told.get("bot_id") or "")
            return Granted(str(team["id"]), token, user, bot, granted, str(team.get("name") or "")), ""
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told, without what it holds
            why = error_code(error) or origin_of(error)
            self._refused.warn(f"slack: an installation failed ({why})")
            return None, "Slack did not confirm it."

    def _is_ours(self, state: str, nonce: str) -> bool:
        """Return True if a state was given to the browser that sends it, and not too long ago."""
        stamp, _, rest = state[:_MOST_CHARS].partition(".")
        signed, _, sign = rest.partition(".")
        if not nonce or not is_same(signed, nonce) or not is_same(sign, self._sign("state", stamp, nonce)):
            return False
        return 0 <= self.clock.wall() - int(stamp) <= _SECONDS

    def _verifier(self, nonce: str) -> str:
        return self._sign("verifier", nonce)

    def _sign(self, *parts: str) -> str:
        written = "\n".join(parts).encode(errors="replace")
        return _base64(hmac.digest(self._secret, written, "sha256"))


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _say(status: int, sentence: str, *, again: bool = False) -> WebAnswer:
    words = f"<p>{html.escape(sentence)}</p>" + (f'<p><a href="{INSTALL}">Begin again</a></p>' if again else "")
    page = f"<!doctype html><html lang=en><meta charset=utf-8><title>Slack</title><body>{words}</body></html>"
    return WebAnswer(status, page.encode(), "text/html; charset=utf-8", dict(_HEADERS))
