"""The client-server API of Matrix, and its refusals as errors of the core.

Calls and codes: https://spec.matrix.org/latest/client-server-api/
"""

from __future__ import annotations

import contextlib
import json
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import aiohttp

import parley_chat.adapter as parley

TEXT: Final = partial(json.dumps, ensure_ascii=False)
Json = dict[str, Any]


class Api:
    """One homeserver, as one account."""

    def __init__(self, base: str, token: str, clock: parley.Clock) -> None:
        self.base, self.clock, self.user, self.most = base.rstrip("/"), clock, "", 0
        self.headers, proxy = {"Authorization": f"Bearer {token}"}, parley.proxy_before(base, "Matrix")
        self.http = aiohttp.ClientSession(headers=self.headers, proxy=proxy, json_serialize=TEXT, middlewares=(_once,))

    async def log_in(self) -> None:
        self.user = text_of(await self.call("GET", "/client/v3/account/whoami"), "user_id")
        size = (await self.call("GET", "/client/v1/media/config")).get("m.upload.size")
        self.most = size if isinstance(size, int) else 10 * 1024 * 1024

    async def call(self, method: str, path: str, body: object = None, seconds: float = 30, **how: Any) -> Json:
        """Make a call and return the object that is its answer. Raises as `Surface.show` does."""
        try:
            async with (
                parley.time_limit(self.clock, seconds),
                self.http.request(
                    method, f"{self.base}/_matrix{path}", json=body, allow_redirects=False, **how
                ) as response,
            ):
                status, after, text = response.status, response.headers.get("Retry-After"), await response.read()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise parley.DeliveryError(f"no connection to Matrix ({type(error).__name__})") from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise parley.Unclear(f"Matrix did not answer ({type(error).__name__})") from error
        answer: object = None
        with contextlib.suppress(ValueError):
            answer = parley.read_json(text)
        if status == 200 and isinstance(answer, dict):
            return answer
        raise _refused(status, after, answer if isinstance(answer, dict) else {})

    async def send(self, room: str, content: Json, transaction: str) -> str:
        """Send a message; the homeserver takes each transaction once, and returns the same id."""
        return text_of(await self.call("PUT", at(room, "send", "m.room.message", transaction), content), "event_id")

    async def event(self, room: str, event: str) -> Json:
        found = await self.call("GET", at(room, "event", event))
        text_of(found, "event_id")
        return found


def at(room: str, *names: str) -> str:
    return "/client/v3/rooms/" + "/".join(quote(name, safe="") for name in (room, *names))


def text_of(answer: Json, name: str) -> str:
    if not isinstance(value := answer.get(name), str) or not value:
        raise parley.Unclear(f"Matrix's answer has no {name}")
    return value


def within(value: object, *names: str) -> Json:
    """Return the object under these names, or an empty one: what others send may have any form."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


async def _once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """aiohttp repeats a PUT whose connection broke, which may overwrite a later one: that is for the core to decide."""
    try:
        return await send(request)
    except aiohttp.ServerDisconnectedError as error:
        raise parley.Unclear("Matrix closed the connection") from error


def _refused(status: int, after: str | None, answer: Json) -> parley.DeliveryError:
    said = f"Matrix: {status} {str(answer.get('errcode', ''))[:60]}"
    if status == 429:
        wait = answer.get("retry_after_ms")  # what servers name that are older than version 1.10
        old = wait / 1000 if isinstance(wait, int | float) else None
        return parley.RateLimited(said, retry_after=old if after is None else after)
    if status >= 500 or status < 400:
        return parley.Unclear(said)
    if status == 401:
        return parley.Refused(said, lasting=parley.RightMissing(f"MATRIX_TOKEN is refused: {said}"))
    gone = {403: parley.Unreachable, 404: parley.MessageGone}.get(status, parley.Refused)
    return parley.TooLong(said, by=250) if status == 413 else gone(said)
