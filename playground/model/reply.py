"""One answer of the model, with everything that may go wrong while it is streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias

Body: TypeAlias = "dict[str, Any]"
"""A parsed JSON object as a client sent it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says to one request.

    Positions (`drop_after`, `error_object` …) count the characters streamed so far: reasoning, text and arguments,
    in this order. A position beyond the end happens just before the closing chunks.
    """

    text: str = ""
    _: KW_ONLY
    reasoning: str = ""
    reasoning_field: str = "reasoning_content"
    """Where the reasoning stands in a delta; some servers say `reasoning`."""
    calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    """(name, arguments); a string is sent as the arguments byte for byte, valid or not."""
    call_ids: tuple[str, ...] = ()
    """The ids of the calls; missing ones are numbered by the server."""
    text_calls: str = ""
    """Write the calls into the text in this format (a key of `textcalls.FORMATS`) instead of natively."""
    chunks: tuple[Mapping[str, Any], ...] = ()
    """These deltas, as they are, instead of text, reasoning and calls."""
    words_per_second: float = 0.0
    """The pace; 0: at once."""
    finish_reason: str | None = ""
    """Empty: `tool_calls` or `stop`, as fits; None: the server never says why it finished."""
    usage: Mapping[str, Any] | None = None
    """None: counted; an empty mapping: not reported."""

    call_indexes: str = "given"
    """`given`; `missing` (no index at all); `same` (every call says index 0, with an id of its own)."""
    whole_calls: bool = False
    """Each call arrives in one chunk, as from Ollama."""
    call_extras: Mapping[str, Any] = field(default_factory=dict)
    """Added to every call, as Gemini's `{"extra_content": {"google": {"thought_signature": "…"}}}`."""
    message_extras: Mapping[str, Any] = field(default_factory=dict)
    """Added to the first delta (or to the whole message), as OpenRouter's `reasoning_details`."""

    status: int = 0
    """An HTTP status to refuse with."""
    retry_after: float | None = None
    error: Mapping[str, Any] = field(default_factory=dict)
    """The error object that goes with `status` or `error_object`."""
    html_200: bool = False
    """A web page with status 200, as from a proxy that lost its server."""
    body: str = ""
    """This body with status 200 in place of an answer."""
    lines: tuple[str, ...] = ()
    """These lines in place of the stream, as they are, each followed by an empty one (none on Ollama's own wire)."""
    only_done: bool = False
    """Nothing but `[DONE]`."""
    drop_after: int | None = None
    """The stream ends in good order here, without a finish reason and without `[DONE]`."""
    half_line: bool = False
    """With `drop_after`: half of the next line still arrives."""
    cut_after: int | None = None
    """The connection closes here, in the middle of the chunked body."""
    reset_after: int | None = None
    """The connection is reset here."""
    malformed_line: int | None = None
    """Here comes one line that is no JSON; the stream goes on behind it."""
    error_object: int | None = None
    """Here comes `{"error": …}`, and the stream ends."""
    hang_before_headers: bool = False
    """Nothing is answered until `until` is set."""
    hang_after: int | None = None
    """Silence from here on, until `until` is set."""
    until: asyncio.Event | None = None
    """Ends a hang; None: only the client does, by leaving."""
    pings: bool = False
    """A `: ping` comment goes before every chunk."""
    comments_forever: bool = False
    """While it hangs, and after the headers when it hangs nowhere else, `: ping` comments keep coming."""
    endless: bool = False
    """The text is repeated until the client leaves."""
    chunk_bytes: int = 0
    """The bytes are written so many at a time, also inside a character; 0: a line at a time."""

    @classmethod
    def refusal(cls, status: int, message: str, *, kind: str = "", code: str = "", param: str = "") -> Reply:
        """A refusal with OpenAI's error object."""
        return cls(status=status, error=error_object(message, kind or _KINDS.get(status, "server_error"), code, param))

    @classmethod
    def rate_limited(cls, retry_after: float) -> Reply:
        """429 with the wait in the header."""
        error = error_object("Rate limit reached for requests.", "requests", "rate_limit_exceeded")
        return cls(status=429, retry_after=retry_after, error=error)

    @classmethod
    def refuses_tools(cls, model: str = "x") -> Reply:
        """What Ollama says when a model has no template for tools."""
        error = error_object(f"registry.ollama.ai/library/{model} does not support tools", "api_error")
        return cls(status=400, error=error)

    @classmethod
    def too_long(cls, limit: int = 8192, tokens: int = 9000) -> Reply:
        """The conversation does not fit the model's window."""
        return cls(status=400, error=too_long_error(limit, tokens))

    @classmethod
    def filtered(cls) -> Reply:
        """The request itself was refused by a content filter; a filtered answer has the finish reason instead."""
        return cls.refusal(
            400,
            "The response was filtered due to the prompt triggering the content management policy.",
            code="content_filter",
            param="prompt",
        )


_KINDS = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    403: "invalid_request_error",
    404: "invalid_request_error",
    429: "requests",
}


def error_object(message: str, kind: str, code: str = "", param: str = "") -> Body:
    """The inside of OpenAI's `{"error": …}`."""
    return {"message": message, "type": kind, "param": param or None, "code": code or None}


def too_long_error(limit: int, tokens: int) -> Body:
    """OpenAI's words for a conversation that does not fit."""
    return error_object(
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens. "
        "Please reduce the length of the messages.",
        "invalid_request_error",
        "context_length_exceeded",
        "messages",
    )
