"""The server: who may ask, what is refused, which reply answers, and what was asked."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from playground.faults import Faults
from playground.loopback import Loopback, after, before
from playground.model import lengths, ollama, responses, wire
from playground.model.images import Images
from playground.model.reply import Body, Reply, error_object, too_long_error
from playground.model.scripted import ScriptedModel
from playground.model.speech import Speech
from playground.model.streaming import Stream, cuts
from playground.model.strictness import Refused, check, check_reasoning
from playground.model.transcriptions import Transcriptions, read_form

_LARGEST_REQUEST = 64 * 1024 * 1024
_PAGE = "<!doctype html><title>502 Bad Gateway</title><h1>502 Bad Gateway</h1>"


@dataclass(slots=True)
class ModelRequest:
    """One request as it arrived, and what became of it."""

    path: str
    body: Body
    headers: dict[str, str]
    at: float
    """Event loop time (monotonic seconds) at which it arrived; `first_at`, `last_at` and `ended_at` likewise."""
    status: int = 0
    """The status it was answered with; 0 while it is not."""
    error: str = ""
    """Why it was refused."""
    first_at: float = 0.0
    """When the first written characters were sent."""
    last_at: float = 0.0
    """When the last ones were."""
    ended_at: float = 0.0
    sent: int = 0
    """Characters sent."""
    samples: list[tuple[float, int]] = field(default_factory=list)
    """When how many of them were sent, at most ten a second."""
    closed_early: bool = False
    """The client left before the answer was complete."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when nothing more is sent, for whatever reason."""

    def __getitem__(self, key: str) -> Any:
        return self.body[key]

    @property
    def messages(self) -> list[Body]:
        """The messages of a Chat Completions request."""
        return list(self.body.get("messages", []))


class ModelServer:
    """An OpenAI-compatible server on loopback: Chat Completions, Responses, pictures, transcripts, speech, the models.

    What answers a request: the next waiting `reply(…)`, else `script`, else the built-in scripted model.
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 0, *, key: str = "", words_per_second: float = 50.0
    ) -> None:
        self.key = key
        """Asked for when set; another one, or none, is a 401."""
        self.models: list[str] = ["scripted"]
        self.requests: list[ModelRequest] = []
        self.faults = Faults()
        """By method: `chat.completions`, `responses`, `models`, `images`, `transcriptions`, `speech`."""
        self.script: Callable[[Body], Reply | Awaitable[Reply]] | None = None
        """Called with the request; of a Responses request with its Chat Completions form."""
        self.scripted = ScriptedModel(words_per_second)
        self.supports_tools = True
        """False: a request with tools is refused in Ollama's words."""
        self.tools_with_history = True
        """Tool messages are refused when `tools` is left out, as by several servers."""
        self.context_tokens = 128_000
        """What prompt and answer may have together."""
        self.completion_tokens = 0
        """What an answer may have, so that a request for more is refused; 0: as much as the window holds."""
        self.completion_tokens_name = ""
        """The only name under which a request may limit its answer, as `max_completion_tokens`; empty: both."""
        self.keeps_to_max_tokens = True
        """False: answers are as long as they are, whatever was asked, as of some servers."""
        self.wants_reasoning = ""
        """`calls` or `answers`: messages of the model that hold these are refused without the reasoning before them."""
        self.images = Images()
        """What `POST /v1/images/generations` does; its faults are those of the method `images`."""
        self.transcriptions = Transcriptions()
        """What `POST /v1/audio/transcriptions` does; its faults are those of the method `transcriptions`."""
        self.speech = Speech()
        """What `POST /v1/audio/speech` does; its faults are those of the method `speech`."""
        self.ollama: ollama.Ollama | None = None
        """Set: the server is an Ollama, with its own interface and its window."""
        self._waiting: deque[Reply] = deque()
        self._arrived = asyncio.Condition()
        self._calls = 0
        self._answers = 0
        app = web.Application(client_max_size=_LARGEST_REQUEST)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/responses", self._respond)
        app.router.add_post("/v1/images/generations", self._paint)
        app.router.add_post("/v1/audio/transcriptions", self._transcribe)
        app.router.add_post("/v1/audio/speech", self._speak)
        app.router.add_get("/v1/images/made/{name}", self._painted)
        app.router.add_get("/v1/models", self._list)
        app.router.add_get("/v1/models/{name}", self._list)
        app.router.add_post("/api/chat", self._own_chat)
        app.router.add_post("/api/show", self._show)
        app.router.add_get("/api/ps", self._loaded)
        app.router.add_route("*", "/{path:.*}", self._nowhere)
        self._http = Loopback(app, host, port)

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL; ends with `/v1`."""
        return f"{self._http.url}/v1"

    async def __aenter__(self) -> Self:
        await self._http.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.close()

    def reply(self, *replies: Reply) -> None:
        """Let the next requests be answered with `replies`, one each, first in, first out."""
        self._waiting.extend(replies)

    async def asked(self, count: int = 1, seconds: float = 60.0) -> ModelRequest:
        """Wait until `count` requests have arrived since the start; the last of these.

        Raises:
            TimeoutError: they did not arrive in `seconds`.
        """
        async with asyncio.timeout(seconds), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._handle(request, "chat.completions")

    async def _own_chat(self, request: web.Request) -> web.StreamResponse:
        return await self._nowhere(request) if self.ollama is None else await self._handle(request, "ollama")

    async def _show(self, request: web.Request) -> web.StreamResponse:
        if self.ollama is None:
            return await self._nowhere(request)
        name = (await request.json()).get("model")
        if name not in self.models:
            return web.json_response({"error": f"model '{name}' not found"}, status=404)
        return web.json_response(self.ollama.show())

    async def _loaded(self, request: web.Request) -> web.StreamResponse:
        if self.ollama is None:
            return await self._nowhere(request)
        return web.json_response(self.ollama.loaded(self.models[0]))

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        return await self._handle(request, "responses")

    async def _paint(self, request: web.Request) -> web.StreamResponse:
        return await self._handle(request, "images")

    async def _transcribe(self, request: web.Request) -> web.StreamResponse:
        return await self._handle(request, "transcriptions")

    async def _speak(self, request: web.Request) -> web.StreamResponse:
        return await self._handle(request, "speech")

    async def _painted(self, request: web.Request) -> web.StreamResponse:
        try:
            return self.images.file(request.match_info["name"])
        except Refused as refused:
            return web.json_response({"error": refused.error}, status=refused.status)

    async def _handle(self, request: web.Request, method: str) -> web.StreamResponse:
        body = await read_form(request) if method == "transcriptions" else _parsed(await request.read())
        clock = asyncio.get_running_loop().time
        seen = ModelRequest(request.path, body if isinstance(body, dict) else {}, dict(request.headers), clock())
        self.requests.append(seen)
        async with self._arrived:
            self._arrived.notify_all()
        complete = False
        try:
            answer = await self._answer(request, method, seen, isinstance(body, dict))
            seen.status = answer.status
            complete = True
            return answer
        except Refused as refused:
            seen.status, seen.error = refused.status, str(refused)
            complete = True
            error = str(refused) if method == "ollama" else refused.error
            return web.json_response({"error": error}, status=refused.status)
        finally:
            # Cancelled, or a write that failed: the client has gone.
            seen.closed_early = not complete
            seen.ended_at = clock()
            seen.ended.set()

    async def _answer(
        self, request: web.Request, method: str, seen: ModelRequest, readable: bool
    ) -> web.StreamResponse:
        fault = self.faults.take(method)
        failed = await before(fault, request, json.dumps({"error": error_object("The server failed.", "server_error")}))
        if failed is not None:
            return failed
        self._check_key(request)
        if not readable:
            kind = "multipart form" if method == "transcriptions" else "JSON body"
            raise Refused(f"We could not parse the {kind} of your request: expected an object.")
        if method in ("images", "transcriptions", "speech"):
            made = await self._make(method, seen.body)
            lost = await after(fault, request)
            return made if lost is None else lost
        chat = self._check_body(method, seen.body)
        if self.ollama is not None:
            chat = self.ollama.fitted(seen.body if method == "ollama" else {}, chat)
        reply = wire.spoken(await self._choose(chat))
        _, most = lengths.asked(chat)
        if most and self.keeps_to_max_tokens:
            reply = lengths.limited(reply, most)
        lost = await after(fault, request)
        if lost is not None:
            return lost
        if reply.hang_before_headers:
            await (reply.until or asyncio.Event()).wait()
        if reply.status:
            headers = {} if reply.retry_after is None else {"Retry-After": f"{reply.retry_after:g}"}
            error = reply.error or error_object("The server failed.", "server_error")
            seen.error = str(error.get("message", ""))
            return web.json_response({"error": dict(error)}, status=reply.status, headers=headers)
        if reply.html_200:
            return web.Response(text=_PAGE, content_type="text/html")
        if reply.body:
            return web.Response(text=reply.body, content_type="application/json")
        return await self._send(request, method, seen, reply)

    async def _make(self, method: str, body: Body) -> web.Response:
        """What is no stream of words."""
        match method:
            case "images":
                return self.images.answer(body, self.base_url)
            case "speech":
                return await self.speech.answer(body)
            case _:
                return self.transcriptions.answer(body)

    def _check_key(self, request: web.Request) -> None:
        if not self.key:
            return
        given = request.headers.get("Authorization", "").removeprefix("Bearer").strip()
        if not given:
            raise Refused("You didn't provide an API key.", status=401)
        if given != self.key:
            shown = f"{given[:3]}***{given[-2:]}"
            raise Refused(f"Incorrect API key provided: {shown}.", status=401, code="invalid_api_key")

    def _check_body(self, method: str, body: Body) -> Body:
        """The request in its Chat Completions form, when it keeps the rules."""
        name = body.get("model")
        if not isinstance(name, str) or not name:
            raise Refused("You must provide a model parameter.", "model")
        if name not in self.models:
            message = f"The model `{name}` does not exist or you do not have access to it."
            raise Refused(message, "model", status=404, code="model_not_found")
        chat = responses.as_chat(body) if method == "responses" else body
        chat = ollama.as_chat(body) if method == "ollama" else chat
        check(chat, tools_with_history=self.tools_with_history)
        check_reasoning(chat["messages"], self.wants_reasoning)
        if chat.get("tools") and not self.supports_tools:
            raise Refused(f"registry.ollama.ai/library/{name} does not support tools")
        weight = 0 if self.ollama is not None else wire.prompt_tokens(chat)
        if weight > self.context_tokens:
            error = too_long_error(self.context_tokens, weight)
            raise Refused(error["message"], "messages", code="context_length_exceeded")
        lengths.check(
            chat,
            prompt=weight,
            window=self.context_tokens,
            most=self.completion_tokens,
            name="" if method == "responses" else self.completion_tokens_name,
        )
        return chat

    async def _choose(self, chat: Body) -> Reply:
        if self._waiting:
            return self._waiting.popleft()
        if self.script is None:
            return self.scripted(chat)
        chosen = self.script(chat)
        return await chosen if inspect.isawaitable(chosen) else chosen

    async def _send(self, request: web.Request, method: str, seen: ModelRequest, reply: Reply) -> web.StreamResponse:
        self._answers += 1
        ids = [*reply.call_ids]
        while len(ids) < len(reply.calls):
            self._calls += 1
            ids.append(f"call_{self._calls:06d}")
        headers = {"x-request-id": f"req_{self._answers:06d}"}
        body, now = seen.body, int(time.time())
        if method == "ollama":
            lines = ollama.frames(body, reply, ollama.as_chat(body), cuts(reply))
            if reply.lines:
                lines = (wire.Frame(f"{line}\n".encode()) for line in reply.lines)
            return await Stream(request, reply, seen, headers, "application/x-ndjson").write(lines)
        if method == "responses":
            head = {"id": f"resp_{self._answers:06d}", "created_at": now, "model": body["model"]}
            whole, frames = responses.answer, responses.frames
        else:
            head = {"id": f"chatcmpl-{self._answers:06d}", "created": now, "model": body["model"]}
            whole, frames = wire.completion, wire.frames
        if not body.get("stream"):
            return web.json_response(whole(body, reply, head, ids), headers=headers)
        streamed = frames(body, reply, head, ids, cuts(reply))
        if reply.lines or reply.only_done:
            streamed = (wire.Frame(f"{line}\n\n".encode()) for line in reply.lines or ("data: [DONE]",))
        return await Stream(request, reply, seen, headers).write(streamed)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        fault = self.faults.take("models")
        failed = await before(fault, request)
        if failed is not None:
            return failed
        try:
            self._check_key(request)
            listed = [{"id": name, "object": "model", "created": 0, "owned_by": "playground"} for name in self.models]
            name = request.match_info.get("name", "")
            if not name:
                return web.json_response({"object": "list", "data": listed})
            if name not in self.models:
                raise Refused(f"The model '{name}' does not exist", "model", status=404, code="model_not_found")
            return web.json_response(listed[self.models.index(name)])
        except Refused as refused:
            return web.json_response({"error": refused.error}, status=refused.status)

    async def _nowhere(self, request: web.Request) -> web.StreamResponse:
        message = f"Invalid URL ({request.method} {request.path})"
        return web.json_response({"error": error_object(message, "invalid_request_error")}, status=404)


def _parsed(raw: bytes) -> object:
    """What a body holds; None where it is no JSON."""
    try:
        return json.loads(raw)
    except ValueError:
        return None
