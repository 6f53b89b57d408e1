"""The Web API's front door: tokens, scopes, rate limits and faults before a method runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from playground.calls import Calls, Left
from playground.faults import Fault, Faults
from playground.loopback import odd
from playground.slack.arguments import Arguments, read_arguments
from playground.slack.errors import Json, Refused
from playground.slack.limits import Budgets, Limits
from playground.slack.workspace import Workspace

Method = Callable[[Arguments], Json]

SCOPES: Mapping[str, tuple[str, ...]] = {
    "chat.postMessage": ("chat:write",),
    "chat.postEphemeral": ("chat:write",),
    "chat.update": ("chat:write",),
    "chat.delete": ("chat:write",),
    "chat.startStream": ("chat:write",),
    "chat.appendStream": ("chat:write",),
    "chat.stopStream": ("chat:write",),
    "assistant.threads.setStatus": ("chat:write", "assistant:write"),
    "assistant.threads.setSuggestedPrompts": ("assistant:write",),
    "agents.sessions.setStatus": ("chat:write", "assistant:write"),
    "conversations.history": ("channels:history", "groups:history", "im:history", "mpim:history"),
    "conversations.replies": ("channels:history", "groups:history", "im:history", "mpim:history"),
    "users.conversations": ("channels:read", "groups:read", "im:read", "mpim:read"),
    "users.info": ("users:read",),
    "reactions.add": ("reactions:write",),
    "reactions.remove": ("reactions:write",),
    "files.getUploadURLExternal": ("files:write",),
    "files.completeUploadExternal": ("files:write",),
    "files.info": ("files:read",),
}
"""Any one of these lets a bot call the method; unlisted methods need none."""
HISTORY: Mapping[str, str] = {"D": "im:history", "G": "groups:history", "C": "channels:history"}
"""By the first letter of a place's id: the scope without which nothing is read or heard there."""

ALL_SCOPES = frozenset(scope for scopes in SCOPES.values() for scope in scopes) | {"app_mentions:read", "commands"}
MANIFEST_SCOPES = frozenset(
    {
        "app_mentions:read",
        "channels:history",
        "channels:read",
        "chat:write",
        "commands",
        "files:read",
        "files:write",
        "groups:history",
        "groups:read",
        "im:history",
        "im:read",
        "mpim:history",
        "mpim:read",
        "reactions:write",
        "users:read",
    }
)
"""What whoever sets the app up by its manifest grants, and no more."""


@dataclass(slots=True)
class Call:
    """One call of a method, noted when it arrives and completed when it is answered."""

    at: float
    method: str
    channel: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    status: int = 0
    """0 until it is answered, and when the connection was dropped instead."""
    error: str = ""
    retry_after: float = 0.0
    took: float = 0.0
    """Seconds until it was answered."""
    left: Left | None = None


class Api:
    """Answers calls of methods, and of any other address under a name of its own (`response_url`)."""

    def __init__(
        self, workspace: Workspace, faults: Faults, limits: Limits, rates: bool, bot_token: str, app_token: str
    ) -> None:
        self._workspace, self._faults = workspace, faults
        self._budgets = Budgets(limits) if rates else None
        self._tokens = {bot_token: "bot", app_token: "app"}
        self.methods: dict[str, Method] = {}
        self.calls: Calls[Call] = Calls()
        self.refusals = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """`/api/<method>`, by GET or POST."""
        call = Call(self._workspace.now(), request.match_info["method"])
        self.calls.append(call)
        # The body is read before any fault: a call that is held must be doable when its caller has gone.
        sent: Arguments | Refused
        try:
            sent = await read_arguments(request)
        except Refused as refused:
            sent = refused
        if isinstance(sent, Arguments):
            call.parameters = {name: value for name, value in sent.values.items() if name != "token"}
            call.channel = sent.text("channel") or sent.text("channel_id")

        async def answer() -> web.Response:
            try:
                body: Json = {"ok": True} | self._answer(call, request, sent)
            except Refused as refused:
                call.error = refused.error
                body = {"ok": False, "error": refused.error} | refused.extra
            if call.retry_after:
                return self._too_many(call, call.retry_after)
            return web.json_response(body, headers={"x-oauth-scopes": ",".join(sorted(self._workspace.scopes))})

        return await self.meet(request, call, answer)

    async def meet(self, request: web.Request, call: Call, answer: Callable[[], Any]) -> web.StreamResponse:
        """Apply the fault that waits for this call, if any, around `answer`."""
        try:
            return await self._meet(request, call, answer)
        finally:
            now = self._workspace.now()
            known = self._budgets if call.method in self.methods else None
            self.calls.answered(call, now, known.left(call.method, now) if known else None)

    async def _meet(self, request: web.Request, call: Call, answer: Callable[[], Any]) -> web.StreamResponse:
        fault = self._faults.take(call.method)
        if fault is None:
            response: web.StreamResponse = await answer()
            call.status = response.status
            return response
        if fault.drop == "late":
            self._faults.later(fault, answer)
            return self._drop(request)
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.hold:
            await fault.hold.wait()
        if fault.drop == "before":
            return self._drop(request)
        response = self._spoiled(call, fault) if fault.status else await answer()
        if fault.drop == "after":
            return self._drop(request)
        if fault.hold_after:
            await fault.hold_after.wait()
        call.status = response.status
        return odd(fault) if fault.answer is not None and not call.error else response

    def _answer(self, call: Call, request: web.Request, sent: Arguments | Refused) -> Json:
        if isinstance(sent, Refused):
            raise sent
        method = self.methods.get(call.method)
        if method is None:
            raise Refused("unknown_method", req_method=call.method)
        self._authorise(call, request, sent)
        if self._budgets and (wait := self._budgets.admit(call.method, call.channel, self._workspace.now())):
            call.retry_after = wait
            raise Refused("ratelimited")
        return method(sent)

    def _authorise(self, call: Call, request: web.Request, sent: Arguments) -> None:
        method, granted = call.method, self._workspace.scopes
        header = request.headers.get("Authorization", "")
        token = header.removeprefix("Bearer ").strip() if header.startswith("Bearer ") else sent.text("token")
        if not token:
            raise Refused("not_authed")
        kind = self._tokens.get(token)
        if kind is None:
            raise Refused("invalid_auth")
        if kind != ("app" if method == "apps.connections.open" else "bot"):
            raise Refused("not_allowed_token_type")
        needed = SCOPES.get(method, ())
        if method in ("conversations.history", "conversations.replies") and call.channel[:1] in HISTORY:
            place = self._workspace.channels.get(call.channel)
            several = place is not None and place.several
            needed = ("mpim:history" if several else HISTORY[call.channel[:1]],)
        if needed and not granted.intersection(needed):
            raise Refused("missing_scope", needed=needed[0], provided=",".join(sorted(granted)))

    def _too_many(self, call: Call, wait: float, body: str = "") -> web.Response:
        self.refusals += 1
        call.error, call.retry_after = "ratelimited", wait
        headers = {"Retry-After": str(int(wait))}
        if body:
            return web.Response(status=429, text=body, headers=headers)
        return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)

    def _spoiled(self, call: Call, fault: Fault) -> web.Response:
        if fault.status == 429:
            response = self._too_many(call, max(1, round(fault.retry_after)), fault.body)
            response.headers.update(fault.headers)
            return response
        call.error = f"status {fault.status}"
        text = fault.body or "upstream connect error or disconnect/reset before headers"
        kind = "application/json" if text.startswith("{") else "text/html"
        headers = dict(fault.headers)
        kind = headers.pop("Content-Type", kind)
        return web.Response(status=fault.status, text=text, headers=headers, content_type=kind)

    def _drop(self, request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()
