"""Requests of programs → what a person asks. Only the last user message counts: everything else is the program's word.

https://platform.openai.com/docs/api-reference/chat/create and https://docs.ag-ui.com/concepts/messages.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adapters.web.chores import is_chore
from adapters.web.files import Inline, as_source
from adapters.web.ids import NAME
from bot.contract import LONGEST_TEXT, Control, Enclosure, Headers, parse_button
from tools.contract.json_values import read_json

THREAD_HEADERS: Final = ("X-Thread-Id", "X-OpenWebUI-Chat-Id")
USER_HEADERS: Final = ("X-User-Id", "X-OpenWebUI-User-Id")
RUN_HEADERS: Final = ("X-Run-Id", "Idempotency-Key")
_RETRY_HEADER: Final = "X-Stainless-Retry-Count"
"""How often OpenAI's own clients have sent this very request before."""
_SAME_DIGITS: Final = 32
NOBODY: Final = "client"
"""The person of a request that names none: whoever has the token."""
_LONGEST_ID: Final = 200
_TAG: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_ENCODED: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,")
_KINDS: Final = "text, image_url, input_audio and file"
_AGUI_KINDS: Final = "text, image, audio, video and document"
_MEDIA: Final = frozenset({"image", "audio", "video", "document"})


class MisaskedError(ValueError):
    """The request cannot be answered; its text is for who sent it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person answered to an interrupt."""

    interrupt: str
    """As the client names it."""
    allowed: bool | None
    """None: the person gave it up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request."""

    person: str
    thread: str
    """Empty: it belongs to no conversation."""
    run: str
    text: str = ""
    files: tuple[Enclosure, ...] = ()
    language: str = ""
    stream: bool = False
    usage: bool = False
    """The stream ends with the number of tokens."""
    repeats: str = ""
    """The client sends a request again by itself: the beginning of the run's name; empty: it does not."""
    answers: tuple[Answer, ...] = ()
    abandons: bool = False
    """The person asks something else instead of answering."""
    decision: tuple[Control, int, str] | None = None
    """What a person decided about a call: the button, its turn and its mark."""


def decision_about(question: str, *, allowed: bool) -> tuple[Control, int, str]:
    """Return the decision about a question whether a tool may make a call, named as in `Recalled.asks`; one about
    nothing if it is no such name."""
    control = Control.ALLOW if allowed else Control.DENY
    button = parse_button(f"{control}:{question[:60]}")
    return (control, 0, "") if button is None else (control, button.turn, button.mark)


def read_completion(headers: Headers, body: bytes) -> Asked:
    """Read a request for a chat completion.

    Raises:
        MisaskedError: it is none, or has parts that cannot be read.
    """
    asked = _object(body)
    if (asked.get("n") or 1) != 1:
        raise MisaskedError("n must be 1: there is one answer to a question.")
    user = asked.get("user") or ""
    options = asked.get("stream_options")
    text, files = _last_question(asked.get("messages"), _KINDS)
    thread = _id(_first(headers, THREAD_HEADERS) or user, THREAD_HEADERS[0])
    if is_chore(text):
        thread = ""
    run = _id(_first(headers, RUN_HEADERS), RUN_HEADERS[0])
    same = f"{hashlib.sha256(thread.encode() + b'/' + body).hexdigest()[:_SAME_DIGITS]}-"
    return Asked(
        person=_person(_first(headers, USER_HEADERS) or user),
        thread=thread,
        run=run or f"{same}{uuid.uuid4().hex}",
        repeats=same if not run and headers.get(_RETRY_HEADER, "0") != "0" else "",
        text=text,
        files=files,
        language=_language(headers),
        stream=asked.get("stream") is True,
        usage=isinstance(options, dict) and options.get("include_usage") is True,
    )


def read_run(headers: Headers, body: bytes) -> Asked:
    """Read an AG-UI request for a run.

    Raises:
        MisaskedError: it is none, or has parts that cannot be read.
    """
    asked = _object(body)
    thread, run = (_id(asked.get(name), name) for name in ("threadId", "runId"))
    if not thread or not run:
        raise MisaskedError("threadId and runId are missing; a run needs both.")
    properties = asked.get("forwardedProps")
    user = properties.get("user") or "" if isinstance(properties, dict) else ""
    answers = tuple(_answers(asked.get("resume")))
    resumes = answers and not _ends_with_question(asked.get("messages"))
    text, files = ("", ()) if resumes else _last_question(asked.get("messages"), _AGUI_KINDS)
    return Asked(
        person=_person(_first(headers, USER_HEADERS) or user),
        thread=thread,
        run=run,
        text=text,
        files=files,
        language=_language(headers),
        stream=True,
        answers=answers,
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        asked = read_json(body)
    except ValueError as error:
        raise MisaskedError("The body is not JSON that can be read.") from error
    if not isinstance(asked, dict):
        raise MisaskedError("The body must be a JSON object.")
    return asked


def _person(user: object) -> str:
    """Return the person that a request names."""
    if user and not (isinstance(user, str) and re.fullmatch(NAME, user)):
        raise MisaskedError("X-User-Id or user must be at most 100 letters, digits and signs of _ . @ + and -.")
    return str(user) if user else NOBODY


def _id(value: object, name: str) -> str:
    """Return the id of a thread or a run; empty if there is none."""
    if value in (None, ""):
        return ""
    if not isinstance(value, str) or len(value) > _LONGEST_ID or not value.isprintable() or not value.strip():
        raise MisaskedError(f"{name} must be at most {_LONGEST_ID} printable characters.")
    if value.startswith("{{"):
        raise MisaskedError(f"{name} is a template that was not filled in: one thread would be everybody's.")
    return value


def _first(headers: Headers, names: Iterable[str]) -> str:
    return next((headers[name] for name in names if headers.get(name)), "")


def _language(headers: Headers) -> str:
    first = headers.get("Accept-Language", "")[:100].partition(",")[0].partition(";")[0].strip()
    return first if _TAG.fullmatch(first) else ""


def _last_question(messages: object, kinds: str) -> tuple[str, tuple[Enclosure, ...]]:
    """Return the text and the files of the last user message."""
    if not isinstance(messages, list):
        raise MisaskedError("messages is missing: a list that contains a user message.")
    content = next(
        (one.get("content") for one in reversed(messages) if isinstance(one, dict) and one.get("role") == "user"), None
    )
    if isinstance(content, str):
        return _text([content]), ()
    if not isinstance(content, list):
        raise MisaskedError("messages contains no user message with content.")
    texts, files = list[str](), list[Inline]()
    for part in content:
        read = _read_part(part, kinds)
        if isinstance(read, str):
            texts.append(read)
        else:
            files.append(read)
    text = _text(texts)
    return text, tuple(
        Enclosure.file(one.name, one.media_type, len(one.content), as_source(one.content), alone=not text)
        for one in files
    )


def _text(parts: Sequence[str]) -> str:
    return "\n".join(parts)[:LONGEST_TEXT].strip()


def _read_part(part: object, kinds: str) -> str | Inline:
    """Return the text of a content part, or its file."""
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return _from_address(url, "image_url", "")
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(form)}}:
            return Inline("", f"audio/{form}"[:100], _decoded(data, "input_audio"))
        case {"type": "file", "file": {"file_data": str(data), **rest}}:
            return _from_address(data, "file", _name(rest.get("filename")))
        case {"type": str(kind), "source": {"type": "data", "value": str(data), "mimeType": str(media), **rest}} if (
            kind in _MEDIA
        ):
            return Inline(_name(rest.get("name")), media[:100], _decoded(data, kind))
        case {"type": str(kind), "source": {"type": "url"}} if kind in _MEDIA:
            raise MisaskedError(f"The {kind} names an address, and addresses are not fetched: send its data.")
        case {"type": "binary", "mimeType": str(media), "data": str(data), **rest}:
            return Inline(_name(rest.get("filename")), media[:100], _decoded(data, "binary"))
        case {"type": str(kind)}:
            raise MisaskedError(f"A part of the type {kind[:40]!r} cannot be read so; send {kinds}, with their data.")
    raise MisaskedError(f"A part of the message has no type; send {kinds}.")


def _name(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""


def _from_address(address: str, kind: str, name: str) -> Inline:
    """Return the file in a `data:` address."""
    head = _ENCODED.match(address[:300])
    if head is None:
        raise MisaskedError(f"The {kind} must be a data: address in base64: other addresses are not fetched.")
    return Inline(name, head[1] or "application/octet-stream", _decoded(address[head.end() :], kind))


def _decoded(data: str, kind: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MisaskedError(f"The data of the {kind} is not base64.") from error


def _ends_with_question(messages: object) -> bool:
    """Return True if a user wrote the last message: a client that only answers sends what was said before."""
    last = messages[-1] if isinstance(messages, list) and messages else None
    return isinstance(last, dict) and last.get("role") == "user"


def _answers(resume: object) -> Iterator[Answer]:
    """Yield what a person answered to interrupts."""
    for entry in resume if isinstance(resume, list) else () if resume is None else (None,):
        match entry:
            case {"interruptId": str(id), "status": "cancelled"}:
                yield Answer(id, None)
            case {
                "interruptId": str(id),
                "status": "resolved",
                "payload": bool(allowed) | {"approved": bool(allowed)},
            }:
                yield Answer(id, allowed)
            case _:
                raise MisaskedError(
                    'resume must list, for each interrupt, interruptId and status: "cancelled", or "resolved" with '
                    'the payload {"approved": true} or {"approved": false}.'
                )
