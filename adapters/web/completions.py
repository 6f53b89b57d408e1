"""A run as a chat completion, whole or as chunks.

https://platform.openai.com/docs/api-reference/chat/streaming
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

from adapters.web.asking import Asked
from adapters.web.files import as_address
from adapters.web.runs import News, Quiet, Run, Said, Sent
from bot.contract import Clock, Usage, WebAnswer
from bot.sentences import language_of, say

MODEL: Final = "parley"
_GAP: Final = "\n\n"
_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}
BROKEN: Final = "The answer broke off because the program ends. Send the request again under the same run id."


YES: Final = frozenset({"yes", "y", "ok", "是", "好"})
NO: Final = frozenset({"no", "n", "否", "不"})
"""Words that decide about a call: there are no buttons here."""


def language_for(asked: Asked) -> str:
    """Return the language of our own sentences about a request."""
    return language_of(asked.text, asked.language)


class Joined:
    """Joins the messages of a run into one text."""

    def __init__(self) -> None:
        self._message = ""

    def add(self, news: News | Quiet) -> str:
        """Return the text that news adds."""
        match news:
            case Said(message, text):
                begins = self._message not in ("", message)
                self._message = message
                return f"{_GAP}{text}" if begins else text
            case Sent(file):
                before, self._message = self._message, "file"
                mark = "!" if file.media_type.startswith("image/") else ""
                name = "".join(sign for sign in file.name if sign not in "[]\\\n") or "file"
                return f"{_GAP if before else ''}{mark}[{name}]({as_address(file)})"
        return ""


def problem(status: int, why: str) -> WebAnswer:
    """Return an error in the form of this API."""
    error = {"message": why, "type": _TYPES.get(status, "server_error"), "param": None, "code": None}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return WebAnswer(status, json.dumps({"error": error}).encode(), headers=headers)


def list_models(began: float) -> WebAnswer:
    """Return the list of the one model that there is."""
    return WebAnswer(body=json.dumps({"object": "list", "data": [_model(began)]}).encode())


def show_model(began: float) -> WebAnswer:
    """Return that model."""
    return WebAnswer(body=json.dumps(_model(began)).encode())


def _model(began: float) -> dict[str, Any]:
    return {"id": MODEL, "object": "model", "created": int(began), "owned_by": MODEL}


async def complete(run: Run, asked: Asked, clock: Clock) -> WebAnswer:
    """Return the whole completion, once the run is over."""
    joined, texts = Joined(), []
    async with aclosing(run.read(clock)) as news:
        async for one in news:
            texts.append(joined.add(one))
    if run.broken:
        return problem(503, BROKEN)
    message = {
        "role": "assistant",
        "content": "".join(texts) + _ending(run, asked, silent=not any(texts)),
        "refusal": None,
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    whole = {**_head(asked, clock, "chat.completion"), "choices": [choice], "usage": usage_of(run)}
    return WebAnswer(body=json.dumps(whole, ensure_ascii=False).encode(errors="replace"))


async def stream(run: Run, asked: Asked, clock: Clock) -> AsyncGenerator[bytes, None]:
    """Yield the completion as it grows, as server-sent events."""
    head, joined, empty = _head(asked, clock, "chat.completion.chunk"), Joined(), True

    def chunk(delta: Mapping[str, Any], why: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": why}
        return event({**head, "choices": [choice]} | ({"usage": None} if asked.usage else {}))

    yield chunk({"role": "assistant", "content": ""})
    async with aclosing(run.read(clock)) as news:
        async for one in news:
            if isinstance(one, Quiet):
                yield COMMENT
            elif text := joined.add(one):
                empty = False
                yield chunk({"content": text})
    if run.broken:
        yield event(json.loads(problem(503, BROKEN).body))
        return
    if text := _ending(run, asked, silent=empty):
        yield chunk({"content": text})
    yield chunk({}, "stop")
    if asked.usage:
        yield event({**head, "choices": [], "usage": usage_of(run)})
    yield b"data: [DONE]\n\n"


COMMENT: Final = b": still here\n\n"
"""Keeps a connection open, and is no event."""


def event(value: Mapping[str, Any]) -> bytes:
    """Return one server-sent event."""
    return b"data: " + json.dumps(value, ensure_ascii=False).encode(errors="replace") + b"\n\n"


def usage_of(run: Run) -> dict[str, Any]:
    """Return the tokens of all model calls of the run."""
    usage = run.end.usage if run.end is not None else Usage()
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


def _ending(run: Run, asked: Asked, *, silent: bool) -> str:
    """Return what the end of a run adds to its text."""
    if silent:
        return say("answered_elsewhere", language_for(asked))
    return _GAP + say("approval_by_word", language_for(asked)) if run.end is not None and run.end.asks else ""


def _head(asked: Asked, clock: Clock, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{asked.run}", "object": kind, "created": int(clock.wall()), "model": MODEL}
