"""The wires: turn a request into a body, and a stream into an answer. Chat Completions here, Responses beside it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

import httpx2

from bot.model.api import Api
from bot.model.assembly import Assembly, ChatAssembly
from bot.model.base import Request
from bot.model.learned import Learned
from bot.model.options import ModelOptions
from bot.model.protocol import RESULT_OPENING, must_call
from bot.model.providers import ModelName, place_of
from bot.model.rendering import ChatRendering, Declarations
from bot.model.schemas import simplified
from bot.model.sse import Decoder, EventDecoder

Body: TypeAlias = dict[str, Any]
Opening: TypeAlias = AbstractAsyncContextManager[httpx2.Response]


class Wire(Protocol):
    """One way to ask one model."""

    identity: str
    """The mark in history for raw messages that this wire takes back."""
    assembly: type[Assembly]
    """An empty answer, to be filled from the stream's events."""
    decoder: type[Decoder]
    """What finds the events in the stream."""

    def body(self, request: Request, *, native: bool) -> Body:
        """Return the body to send. With `native` the tools are declared, otherwise taught in words."""
        ...

    def open(self, body: Body) -> Opening:
        """Send it; entering waits for the headers, leaving closes the HTTP stream."""
        ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at its server, with everything known of both that a wire needs."""

    api: Api
    name: ModelName
    base_url: str
    options: ModelOptions
    learned: Learned

    @property
    def place(self) -> str:
        """The mark in history for this server's messages."""
        return f"{self.name.provider.name} {place_of(self.base_url)}"

    @property
    def server(self) -> str:
        """The host, with the port if it is named, as people read it."""
        parts = urlsplit(self.base_url)
        return parts.hostname + (f":{parts.port}" if parts.port else "") if parts.hostname else self.base_url

    def most_tokens(self, request: Request) -> int:
        """The tokens that an answer may have; 0: no limit."""
        return self.learned.limit(self.options.max_tokens, request.max_tokens)


class ChatWire:
    """Chat Completions, in the dialect of one provider."""

    assembly: type[Assembly] = ChatAssembly
    decoder: type[Decoder] = EventDecoder

    def __init__(self, at: Endpoint) -> None:
        self._at = at
        self.identity = at.place
        self._rendering = ChatRendering(at.name.provider, self.identity, at.learned)
        self._declarations = Declarations(lambda schema: {"type": "function", "function": schema})
        self._simple = Declarations(
            lambda schema: {
                "type": "function",
                "function": {**schema, "parameters": simplified(schema["parameters"])},
            }
        )

    def body(self, request: Request, *, native: bool) -> Body:
        provider, refused = self._at.name.provider, self._at.learned.refused
        chooses = provider.tool_choice and "tool_choice" not in refused
        if request.tools and request.tool_choice not in ("auto", "none") and not (native and chooses):
            name = "" if request.tool_choice == "required" else request.tool_choice
            request = replace(request, reminder=f"{request.reminder}\n{must_call(name)}".strip())
        keeps = request.tool_choice != "none" or (provider.last_pass_keeps_tools and chooses)
        declared = native and bool(request.tools) and keeps
        body: Body = {
            "model": self._at.name.model,
            "messages": self._rendering.messages(request, native=declared, protocol=not native),
            "stream": True,
        }
        if "usage" not in refused:
            body["stream_options"] = {"include_usage": True}
        if declared:
            body["tools"] = (self._simple if "schemas" in refused else self._declarations).of(request.tools)
            if request.tool_choice != "auto" and chooses:
                body["tool_choice"] = (
                    request.tool_choice
                    if request.tool_choice in ("none", "required")
                    else {"type": "function", "function": {"name": request.tool_choice}}
                )
        elif request.tools and not native and provider.stop_words and "stop" not in refused:
            body["stop"] = [RESULT_OPENING]
        if (most := self._at.most_tokens(request)) and (name := self._most_name):
            body[name] = most
        if self._at.options.reasoning_effort and "effort" not in refused:
            body["reasoning_effort"] = self._at.options.reasoning_effort
        return body

    @property
    def _most_name(self) -> str:
        """The name of the answer's limit at this server; empty if it has none."""
        own = self._at.name.provider.max_tokens_name
        other = "max_completion_tokens" if own == "max_tokens" else "max_tokens"
        return next((name for name in (own, other) if name not in self._at.learned.refused), "")

    def open(self, body: Body) -> Opening:
        return self._at.api.post("/chat/completions", body)
