"""Mattermost's REST API, and its refusals as errors of the core.

Calls and codes: https://developers.mattermost.com/api-documentation/; a refused edit of a deleted post is a 403 there.
"""

from __future__ import annotations

import contextlib
from typing import Any, Final

import aiohttp

import parley_chat.adapter as parley

CALL_SECONDS: Final = 30.0


class Api:
    """One server, as one bot account."""

    def __init__(self, base: str, token: str, clock: parley.Clock) -> None:
        self.base, self.clock = base.rstrip("/"), clock
        headers, proxy = {"Authorization": f"Bearer {token}"}, parley.proxy_before(base, "Mattermost")
        self.http = aiohttp.ClientSession(headers=headers, proxy=proxy, middlewares=(_once,))

    def address(self, path: str) -> str:
        return f"{self.base}/api/v4{path}"

    async def call(self, method: str, path: str, body: object = None, **how: Any) -> dict[str, Any]:
        """Make a call and return the object that is its answer. Raises as `Surface.show` does."""
        try:
            async with (
                parley.time_limit(self.clock, CALL_SECONDS),
                self.http.request(method, self.address(path), json=body, allow_redirects=False, **how) as response,
            ):
                status, headers, text = response.status, response.headers, await response.text(errors="replace")
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise parley.DeliveryError(f"no connection to Mattermost ({type(error).__name__})") from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise parley.Unclear(f"Mattermost did not answer ({type(error).__name__})") from error
        answer: object = None
        with contextlib.suppress(ValueError):
            answer = parley.read_json(text)
        said = answer if isinstance(answer, dict) else {}
        if status == 429:
            # The header is there wherever the server itself limits: docs.mattermost.com, "Rate limiting".
            raise parley.RateLimited("Mattermost asks for a pause", retry_after=headers.get("Retry-After"))
        if status >= 300:
            raise _refused(status, str(said.get("id", "")), str(said.get("message", ""))[:200])
        if not isinstance(answer, dict):
            raise parley.Unclear("Mattermost's answer cannot be read")
        return answer

    async def call_for_id(self, method: str, path: str, body: object) -> str:
        """Make a call that answers with a post or a channel, and return its id."""
        answer = await self.call(method, path, body)
        if not isinstance(id := answer.get("id"), str):
            raise parley.Unclear("Mattermost's answer has no id")
        return id

    async def patch(self, post: str, body: object) -> None:
        """Change a post; Mattermost refuses this of a deleted one as it does of somebody else's."""
        try:
            await self.call_for_id("PUT", f"/posts/{post}/patch", body)
        except parley.RightMissing:
            await self.call("GET", f"/posts/{post}")  # raises MessageGone if it is deleted
            raise


async def _once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """aiohttp repeats a PUT whose connection broke, which may overwrite a later one: that is for the core to decide."""
    try:
        return await send(request)
    except aiohttp.ServerDisconnectedError as error:
        raise parley.Unclear("Mattermost closed the connection") from error


def _refused(status: int, code: str, words: str) -> parley.DeliveryError:
    said = f"Mattermost: {words or status} ({code})"
    if status >= 500:
        return parley.Unclear(said)
    if status == 404:
        return parley.MessageGone(said)
    if status == 401:
        return parley.Refused(said, lasting=parley.RightMissing(f"MATTERMOST_TOKEN is refused: {said}"))
    if "time_limit" in code:
        return parley.Uneditable(said)
    if status == 403:
        return parley.RightMissing(f"the bot may not do this there: {said}")
    if status == 413 or "message_length" in code:
        return parley.TooLong(said, by=1 if status == 413 else 250)
    return parley.Unrenderable(said) if status == 400 else parley.Refused(said)
