"""The wires: how a request becomes a body, and a stream an answer. Chat Completions here, Responses beside it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import openai

from bot.model.assembly import Assembly, ChatAssembly
from bot.model.base import Request
from bot.model.learned import Learned
from bot.model.protocol import RESULT_OPENING, must_call
from bot.model.providers import ModelName, place_of
from bot.model.rendering import ChatRendering, Declarations
from bot.model.sse import Decoder, EventDecoder

Body: TypeAlias = dict[str, Any]
Opening: TypeAlias = AbstractAsyncContextManager[openai.AsyncAPIResponse[Any]]


class Wire(Protocol):
    """One way to ask one model."""

    @property
    def identity(self) -> str:
        """How history marks the raw messages that this wire takes back."""
        ...

    def body(self, request: Request, *, native: bool) -> Body:
        """What is sent. With `native` the tools are declared, else taught in words."""
        ...

    def open(self, body: Body) -> Opening:
        """Send it; entering waits for the headers, leaving closes the HTTP stream."""
        ...

    def assembly(self) -> Assembly:
        """An empty answer, to be filled from the stream's events."""
        ...

    def decoder(self) -> Decoder:
        """What finds the events in the stream."""
        ...


class ChatWire:
    """Chat Completions, in the dialect of one provider."""

    def __init__(
        self, client: openai.AsyncOpenAI, name: ModelName, base_url: str, learned: Learned, *, effort: str, tokens: int
    ) -> None:
        self._client = client
        self._provider = name.provider
        self._model = name.model
        self._base_url = base_url
        self._learned = learned
        self._effort = effort
        self._tokens = tokens
        self._rendering = ChatRendering(name.provider, self.identity)
        self._declarations = Declarations(lambda schema: {"type": "function", "function": schema})

    @property
    def identity(self) -> str:
        return f"{self._provider.name} {place_of(self._base_url)}"

    def body(self, request: Request, *, native: bool) -> Body:
        provider = self._provider
        chooses = provider.tool_choice and not self._refuses("tool_choice")
        if request.tools and request.tool_choice not in ("auto", "none") and not (native and chooses):
            name = "" if request.tool_choice == "required" else request.tool_choice
            request = replace(request, reminder=f"{request.reminder}\n{must_call(name)}".strip())
        keeps = request.tool_choice != "none" or (provider.last_pass_keeps_tools and chooses)
        declared = native and bool(request.tools) and keeps
        body: Body = {
            "model": self._model,
            "messages": self._rendering.messages(request, native=declared, protocol=not native),
            "stream": True,
        }
        if provider.stream_usage and not self._refuses("usage"):
            body["stream_options"] = {"include_usage": True}
        if declared:
            body["tools"] = self._declarations.of(request.tools)
            if request.tool_choice != "auto" and chooses:
                body["tool_choice"] = (
                    request.tool_choice
                    if request.tool_choice in ("none", "required")
                    else {"type": "function", "function": {"name": request.tool_choice}}
                )
            if provider.parallel_tool_calls is not None:
                body["parallel_tool_calls"] = provider.parallel_tool_calls
        elif request.tools and not native and provider.stop_words and not self._refuses("stop"):
            body["stop"] = [RESULT_OPENING]
        most, name = self._learned.limit(self._base_url, self._model, self._tokens, request.max_tokens), self._most_name
        if most and name:
            body[name] = most
        if self._effort and not self._refuses("effort"):
            body["reasoning_effort"] = self._effort
        return {**body, **provider.extra_body}

    @property
    def _most_name(self) -> str:
        """How this server calls the limit on the answer; empty where it takes none."""
        own = self._provider.max_tokens_name
        other = "max_completion_tokens" if own == "max_tokens" else "max_tokens"
        return next((name for name in (own, other) if not self._refuses(name)), "")

    def _refuses(self, part: Any) -> bool:
        return self._learned.refuses(self._base_url, self._model, part)

    def open(self, body: Body) -> Opening:
        # The walk of the SDK's types through every message and every tool's schema takes longer than all else a
        # request needs, and changes nothing in plain values; what it does not know, it sends as it is.
        # https://github.com/openai/openai-python#undocumented-request-params
        create = self._client.chat.completions.with_streaming_response.create
        return create(model=self._model, messages=(), stream=True, extra_body=body)

    def assembly(self) -> Assembly:
        return ChatAssembly()

    def decoder(self) -> Decoder:
        return EventDecoder()
