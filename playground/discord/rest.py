"""One REST call from its arrival to its answer: faults, authorization, rate limits, then the route's own work."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aiohttp import BodyPartReader, web

from playground.calls import Calls, Left
from playground.discord.bodies import Upload
from playground.discord.clock import Clock
from playground.discord.errors import (
    INVALID_JSON,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    UNAUTHORIZED,
    Refusal,
    form_error,
)
from playground.discord.limits import Buckets, InvalidRequests, Limits, Standing
from playground.discord.world import Json
from playground.faults import Fault, Faults
from playground.loopback import odd

_SNOWFLAKES = ("channel", "application", "guild", "user", "command", "id")


@dataclass(slots=True)
class Call:
    """One REST call as it arrived, and how it was answered."""

    at: float
    method: str
    route: str
    """The path as a pattern: `/channels/{channel}/messages`."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """The JSON of the call; of a multipart call, its `payload_json`."""
    status: int = 0
    """0 while it is not answered, or when the connection was dropped."""
    retry_after: float = 0.0
    took: float = 0.0
    """Seconds until it was answered."""
    left: Left | None = None

    @property
    def name(self) -> str:
        """As faults name it: `POST /channels/{channel}/messages`."""
        return f"{self.method} {self.route}"

    @property
    def channel(self) -> str:
        return self.parameters.get("channel", "")


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: a status, and JSON unless it is 204."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    """Sent instead of JSON, as a web page or plain text."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a route's handler gets."""

    parameters: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    uploads: Sequence[Upload] = ()

    def fields(self) -> Json:
        """The body as an object.

        Raises:
            Refusal: it is something else.
        """
        if self.body is None:
            return {}
        if not isinstance(self.body, dict):
            raise form_error("_", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
        return self.body


Handler: TypeAlias = Callable[[Asked], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """One thing a bot can ask for."""

    method: str
    path: str
    handler: Handler
    bucket: str = "other"
    """The field of `Limits` that counts it; empty: nothing does."""
    open: bool = False
    """Works without the bot's token (the path holds one of its own), and outside the bot's overall limit."""

    @property
    def major(self) -> str:
        """The parameter each value of which has a bucket of its own."""
        for name in ("token", "channel", "guild"):
            if f"{{{name}}}" in self.path:
                return name
        return ""


class Rest:
    """Everything that happens to a call outside its route."""

    def __init__(self, clock: Clock, limits: Limits, faults: Faults, token: str) -> None:
        self.clock = clock
        self.limits = limits
        self.faults = faults
        self.token = token
        self.calls: Calls[Call] = Calls()
        self.invalid = InvalidRequests(clock.now, limits.invalid)
        self._buckets = Buckets(clock.now)

    def bind(self, app: web.Application, root: str, routes: Sequence[Route]) -> None:
        """Serve `routes` below `root`; any other path there is 404."""
        for route in routes:
            app.router.add_route(route.method, root + route.path, self._serving(route))
        paths = {route.path for route in routes}
        for path in paths:
            app.router.add_route("*", root + path, self._unknown(METHOD_NOT_ALLOWED))
        app.router.add_route("*", root + "/{rest:.*}", self._unknown(NOT_FOUND))

    def _unknown(self, problem: Any) -> Callable[[web.Request], Any]:
        async def refuse(request: web.Request) -> web.StreamResponse:
            call = Call(self.clock.now(), request.method, request.path, {}, None, problem.status)
            self.calls.append(call)
            return _response(Answer(problem.status, Refusal(problem).body()))

        return refuse

    def _serving(self, route: Route) -> Callable[[web.Request], Any]:
        async def serve(request: web.Request) -> web.StreamResponse:
            call = Call(self.clock.now(), route.method, route.path, dict(request.match_info))
            self.calls.append(call)
            try:
                return await self._meet(route, request, call)
            finally:
                self.calls.answered(call, self.clock.now(), call.left)

        return serve

    async def _meet(self, route: Route, request: web.Request, call: Call) -> web.StreamResponse:
        """Answer a call, with the fault that waits for it, if any."""
        body, uploads, broken = await _read(request)
        call.body = body
        fault = self.faults.take(call.name)
        asked = Asked(call.parameters, request.query, body, uploads)
        if fault is not None and fault.drop == "late":

            async def later() -> None:
                self._answer(route, request, asked, broken)

            self.faults.later(fault, later)
            return _dropped(request)
        if fault is not None:
            await asyncio.sleep(fault.delay)
            if fault.hold is not None:
                await fault.hold.wait()
            if fault.drop == "before":
                return _dropped(request)
        if fault is not None and fault.status:
            answer = _faulty(fault)
        else:
            answer = self._answer(route, request, asked, broken)
        if fault is not None:
            if fault.hold_after is not None:
                await fault.hold_after.wait()
            if fault.drop == "after":
                return _dropped(request)
            if fault.answer is not None and answer.status in (200, 201, 204):
                call.status = 200
                return odd(fault)
        call.status = answer.status
        if "X-RateLimit-Remaining" in answer.headers:
            rest = int(answer.headers["X-RateLimit-Remaining"]), int(answer.headers["X-RateLimit-Limit"])
            call.left = (f"{route.method} in this place", *rest)
        if answer.status == 429 and isinstance(answer.body, dict):
            call.retry_after = float(answer.body.get("retry_after") or 0.0)
        return _response(answer)

    def _answer(self, route: Route, request: web.Request, asked: Asked, broken: bool) -> Answer:
        answer = self._limited(route, request, asked, broken)
        if answer.status in (401, 403, 429) and self.limits.rated:
            self.invalid.add()
        return answer

    def _limited(self, route: Route, request: web.Request, asked: Asked, broken: bool) -> Answer:
        limits = self.limits
        if limits.rated and self.invalid.banned:
            # The front door answers now, not Discord: no JSON, and no Via header.
            return Answer(429, text="error code: 1015", headers={"Retry-After": str(int(limits.invalid.seconds))})
        headers: dict[str, str] = {}
        if not route.open:
            if request.headers.get("Authorization") != f"Bot {self.token}":
                return Answer(401, Refusal(UNAUTHORIZED).body())
            if limits.rated:
                overall = self._buckets.draw("overall", "", limits.overall)
                if not overall.allowed:
                    return _too_soon(overall, {"X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}, True)
        if route.bucket and limits.rated:
            major = asked.parameters.get(route.major, "")
            # Deletes, edits and sends of one channel have a bucket each; what shares a bucket shares its name.
            label = f"{route.method} {route.path}" if route.bucket == "other" else route.bucket
            window = limits.window(route.bucket)
            standing = self._buckets.draw(label, major, window)
            headers = {
                "X-RateLimit-Limit": str(standing.limit),
                "X-RateLimit-Remaining": str(standing.remaining),
                "X-RateLimit-Reset": f"{self.clock.wall() + standing.reset_after:.3f}",
                "X-RateLimit-Reset-After": f"{standing.reset_after:.3f}",
                "X-RateLimit-Bucket": Buckets.name(label),
            }
            if not standing.allowed:
                return _too_soon(standing, headers | {"X-RateLimit-Scope": "user"}, False)
        try:
            if broken:
                raise Refusal(INVALID_JSON)
            for name in _SNOWFLAKES:
                value = asked.parameters.get(name, "0")
                if not value.isdecimal():
                    raise form_error(f"{name}_id", "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')
            answer = route.handler(asked)
        except Refusal as refusal:
            answer = Answer(refusal.problem.status, refusal.body())
        return Answer(answer.status, answer.body, {**headers, **answer.headers})


def _too_soon(standing: Standing, headers: Mapping[str, str], everything: bool) -> Answer:
    body = {"message": "You are being rate limited.", "retry_after": standing.reset_after, "global": everything}
    return Answer(429, body, {**headers, "Retry-After": str(math.ceil(standing.reset_after))})


def _faulty(fault: Fault) -> Answer:
    status, headers = fault.status, dict(fault.headers)
    if fault.body:
        return Answer(status, text=fault.body, headers=headers)
    if status == 429:
        body: Json = {"message": "You are being rate limited.", "retry_after": fault.retry_after, "global": False}
        return Answer(429, body, {"Retry-After": str(math.ceil(fault.retry_after)), **headers})
    return Answer(status, {"message": f"{status}: {_reason(status)}", "code": 0}, headers)


def _reason(status: int) -> str:
    reasons = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found"}
    return reasons.get(status, "Internal Server Error" if status == 500 else "upstream error")


def _response(answer: Answer) -> web.Response:
    headers = dict(answer.headers)
    banned = answer.text is not None and answer.status == 429
    if not banned:
        # Clients take a 429 without it for a ban by the front door.
        headers.setdefault("Via", "1.1 google")
    if answer.text is not None:
        kind = headers.pop("Content-Type", "text/plain")
        if answer.text.lstrip().startswith("{"):
            kind = "application/json"
        return web.Response(status=answer.status, body=answer.text.encode(), headers={**headers, "Content-Type": kind})
    if answer.status == 204:
        return web.Response(status=204, headers=headers)
    # Exactly this header: clients compare it, and a charset makes them take the JSON for text.
    headers["Content-Type"] = "application/json"
    return web.Response(status=answer.status, body=json.dumps(answer.body).encode(), headers=headers)


def _dropped(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=499)


async def _read(request: web.Request) -> tuple[Any, list[Upload], bool]:
    """The body's JSON, its files, and whether it could not be read."""
    if request.content_type == "multipart/form-data":
        return await _read_multipart(request)
    raw = await request.read()
    if not raw:
        return None, [], False
    try:
        return json.loads(raw), [], False
    except ValueError:
        return None, [], True


async def _read_multipart(request: web.Request) -> tuple[Any, list[Upload], bool]:
    body: Any = None
    uploads: list[Upload] = []
    broken = False
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            return None, [], True
        content = bytes(await part.read(decode=False))
        name = part.name or ""
        if name == "payload_json":
            try:
                body = json.loads(content)
            except ValueError:
                broken = True
        elif part.filename:
            number = name.removeprefix("files[").removesuffix("]")
            uploads.append(Upload(number, part.filename, part.headers.get("Content-Type", ""), content))
        else:
            body = {**(body or {}), name: content.decode(errors="replace")}
    return body, uploads, broken
