"""Ollama's own chat interface, for the one parameter that its Chat Completions lack: the size of the window.

Ollama loads a model with a window, 4,096 tokens by default, and silently drops what does not fit.
`/v1/chat/completions` ignores `num_ctx`; `/api/chat` reads it as `options.num_ctx`. A `num_ctx` other than the loaded
one reloads the model, so it grows in powers of two and never shrinks. See https://docs.ollama.com/api/chat and
https://docs.ollama.com/context-length.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

from bot.contract import ContextTooLong
from bot.model.api import Refused, read_value
from bot.model.assembly import Assembly, ChatAssembly, Delta, StreamFault, table_in, tables_in
from bot.model.base import Request
from bot.model.endings import WHOLE
from bot.model.failures import NETWORK_ERRORS
from bot.model.rendering import Weighed
from bot.model.sse import Decoder, LineDecoder
from bot.model.wire import Body, ChatWire, Endpoint, Opening

log = logging.getLogger(__name__)

LEAST_WINDOW = 4_096
ANSWER_TOKENS = 2_048
"""Room for thoughts and answer beside the prompt."""
_LOOK_SECONDS = 5.0
_OPTIONS = {"max_tokens": "num_predict", "stop": "stop"}
"""The names in Chat Completions, and Ollama's."""


class OllamaAssembly(ChatAssembly):
    """An answer of `/api/chat`: each line is read as the equivalent chunk of Chat Completions."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0

    def add(self, event: Mapping[str, Any], delta: Delta) -> None:
        if event.get("error"):
            raise StreamFault(event["error"])
        if not isinstance(event.get("message"), dict) and not event.get("done"):
            self._pass_over(event)
            return
        said = table_in(event.get("message"))
        delta_of = {"content": "content", "reasoning": "thinking", "images": "images"}
        choice: dict[str, Any] = {"delta": {name: said.get(own) for name, own in delta_of.items()}}
        for call in tables_in(said.get("tool_calls")):
            choice["delta"].setdefault("tool_calls", []).append({**call, "index": self._calls})
            self._calls += 1
        chunk: dict[str, Any] = {"choices": [choice]}
        if event.get("done"):
            choice["finish_reason"] = event.get("done_reason") or WHOLE
            counts = (event.get("prompt_eval_count"), event.get("eval_count"))
            if all(isinstance(count, int) for count in counts):
                chunk["usage"] = dict(zip(("prompt_tokens", "completion_tokens"), counts, strict=True))
        super().add(chunk, delta)


class OllamaWire:
    """`/api/chat` of one model; usable once `look` has found an Ollama there."""

    assembly: type[Assembly] = OllamaAssembly
    decoder: type[Decoder] = LineDecoder

    def __init__(self, at: Endpoint) -> None:
        self._chat = ChatWire(at)
        self.identity = at.place
        self._model = at.name.model
        self._root = at.base_url.removesuffix("/v1")
        self._api = at.api.beside(self._root)
        self._looked = not at.base_url.endswith("/v1")
        self._looking = asyncio.Lock()
        self._longest = 0
        self._window = 0
        """The window that was last requested."""

    @property
    def found(self) -> bool:
        """The server is an Ollama that has this model."""
        return self._longest > 0

    async def look(self) -> None:
        """Find out whether this is an Ollama, the model's longest window, and its loaded one.

        If the server does not answer, the next request looks again.
        """
        if self._looked:
            return
        async with self._looking:
            if self._looked:
                return
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    async with self._api.post("/api/show", {"model": self._model}) as told:
                        self._longest = _context_length(await read_value(told))
                    self._window = min(_loaded_window(await self._api.get("/api/ps"), self._model), self._longest)
            except Refused as error:
                # An Ollama without this model may get it later; another server is never one. The request tells the
                # person.
                self._looked = self.found or not isinstance(error.body, str)
                return
            except (TimeoutError, *NETWORK_ERRORS) as error:
                if not self._longest:
                    log.debug("could not ask %s which server it is: %s", self._root, type(error).__name__)
                    return
            self._looked = True

    def body(self, request: Request, *, native: bool) -> Body:
        chat = self._chat.body(request, native=native)
        body: Body = {"model": chat["model"], "messages": _messages(chat["messages"]), "stream": True}
        if "tools" in chat:
            body["tools"] = chat["tools"]
        if effort := chat.get("reasoning_effort"):
            body["think"] = False if effort == "none" else effort
        # A request that does not fit after all is refused, and a full window ends the answer.
        body |= {"truncate": False, "shift": False}
        body["options"] = {own: chat[name] for name, own in _OPTIONS.items() if name in chat}
        return body

    def fit(self, body: Body, prompt: int) -> None:
        """Request a window for a prompt of so many tokens, and an answer.

        Raises:
            ContextTooLong: the model has none that large.
        """
        if prompt > self._longest:
            raise ContextTooLong(
                f"the conversation is too long for {self._model}, which takes {self._longest:,} tokens",
                window=self._longest,
            )
        wanted = max(LEAST_WINDOW, 1 << (prompt + ANSWER_TOKENS - 1).bit_length())
        if wanted > self._window:
            before, self._window = self._window, min(wanted, self._longest)
            if self._window != before:
                log.info("ollama:%s is asked for a window of %d tokens", self._model, self._window)
        body["options"]["num_ctx"] = self._window

    def grow(self) -> bool:
        """Request twice the window from now on, because the server counts more than we do; return whether that is
        possible."""
        before, self._window = self._window, min(2 * self._window, self._longest)
        return self._window > before

    def open(self, body: Body) -> Opening:
        return self._api.post("/api/chat", body)


def _messages(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages of Chat Completions in Ollama's form: arguments are objects, and a result names its tool."""
    names: dict[str, str] = {}
    written: list[dict[str, Any]] = []
    for message in messages:
        own: dict[str, Any] = {"role": message["role"], "content": message.get("content") or ""}
        if isinstance(message, Weighed):
            # Here pictures are beside the text, bare. https://docs.ollama.com/api/chat
            urls = [part["image_url"]["url"] for part in message["content"] if part["type"] != "text"]
            images = [url.partition(",")[2] for url in urls]
            own = Weighed({**own, "content": message.text, "images": images}, message.text, len(images))
        if calls := message.get("tool_calls"):
            names |= {call["id"]: call["function"]["name"] for call in calls}
            own["tool_calls"] = [
                {"function": {"name": one["name"], "arguments": json.loads(one["arguments"])}}
                for one in (call["function"] for call in calls)
            ]
        if message["role"] == "tool":
            own["tool_name"] = names.get(message["tool_call_id"], "")
        written.append(own)
    return written


def _context_length(told: object) -> int:
    """Return the longest window of a model, from `/api/show`; 0 if unknown."""
    facts = table_in(table_in(told).get("model_info"))
    windows = (value for name, value in facts.items() if str(name).endswith(".context_length"))
    return max((value for value in windows if isinstance(value, int)), default=0)


def _loaded_window(told: object, model: str) -> int:
    """Return the loaded window of a model, from `/api/ps`; 0 if it is not loaded."""
    for one in tables_in(table_in(told).get("models")):
        if str(one.get("name")).removesuffix(":latest") == model.removesuffix(":latest"):
            window = one.get("context_length")
            return window if isinstance(window, int) else 0
    return 0
