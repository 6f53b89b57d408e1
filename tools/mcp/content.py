"""Convert the answer of an MCP tool to a `ToolResult`: every type of content, cut to size before it is parsed.

All of it is data from outside and marked `untrusted`, so the core puts it behind a boundary.
"""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tools.contract.addresses import split_address
from tools.contract.base import ProducedFile, Source, ToolResult
from tools.mcp.plain import plain_text

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

MOST_TEXT = 200_000
"""Characters that are read; the registry cuts the rest to the length of a result."""
MOST_FILES = 8
MOST_FILE_BYTES = 8_000_000

MOST_DEPTH = 50
LEAST_ENCODED = 400
"""Characters from which Base64 is left out; shorter runs are hashes, keys or identifiers."""

_ENCODED = re.compile(r"(?:[A-Za-z0-9+/_-]{60,}+=*+\s{0,2}+)++[A-Za-z0-9+/_-]*+=*+")
"""Base64, also when wrapped at 64 or 76 characters."""
_IN_ENCODED = (str.islower, str.isupper, str.isdigit)
_WORD = re.compile(r"\w+")
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,80}")
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
_ENDINGS = {"image/jpeg": ".jpg", "audio/mpeg": ".mp3", "audio/wav": ".wav", "text/plain": ".txt"}


@dataclass(slots=True)
class _Parts:
    parts: list[str] = field(default_factory=list)
    """The text for the model, a part for each block."""
    texts: list[str] = field(default_factory=list)
    """The plain texts among them, unchanged."""
    files: list[ProducedFile] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    room: int = MOST_TEXT

    def add(self, text: str) -> None:
        if self.room > 0 and text:
            self.parts.append(text if len(text) <= self.room else text[: self.room] + "\n[… cut off …]")
            self.room -= len(text)


def convert_answer(answer: CallToolResult, stem: str) -> ToolResult:
    """The answer as a result. Files without a name are named after `stem`."""
    made = _Parts()
    for block in answer.content:
        _add_block(block, made, stem)
    structured = _name_encoded_data(answer.structured_content)
    if structured is not None and not _is_repeated(structured, made.texts):
        made.add(json.dumps(structured, ensure_ascii=False, default=str))
    text = "\n\n".join(made.parts) or "The tool finished and returned nothing."
    if answer.is_error:
        return replace(ToolResult.failed(text, own_words=False), untrusted=True)
    return ToolResult(text=text, sources=tuple(made.sources), files=tuple(made.files), untrusted=True)


def _add_block(block: ContentBlock, made: _Parts, stem: str) -> None:
    match block.type:
        case "text":
            text = _name_encoded_data(block.text[: max(0, made.room) + 1])
            made.texts.append(text)
            made.add(text)
        case "image" | "audio":
            _add_file(block.type, stem, block.mime_type, block.data, made)
        case "resource":
            resource = block.resource
            _add_source("", resource.uri, made)
            if hasattr(resource, "text"):
                made.add(f"[resource {plain_text(resource.uri, 300)}]\n{_name_encoded_data(resource.text)}")
            else:
                name = _read_file_name(resource.uri) or stem
                _add_file("resource", name, resource.mime_type, resource.blob, made)
        case "resource_link":
            title = plain_text(block.title or block.name, 200)
            _add_source(title, block.uri, made)
            about = f": {plain_text(block.description, 500)}" if block.description else ""
            made.add(f"[link] {title} <{plain_text(block.uri, 500)}>{about}")


def _read_file_name(uri: str) -> str:
    """Return the last part of an address; empty if it is not an address."""
    try:
        return unquote(split_address(uri).path.rpartition("/")[2])
    except ValueError:
        return ""


def _add_source(title: str, uri: str, made: _Parts) -> None:
    """Add an address as a source if a person can open it."""
    if len(uri) <= 2000 and uri.isprintable() and uri.startswith(("https://", "http://")):
        made.sources.append(Source(title or plain_text(uri, 200), uri))


def _add_file(kind: str, stem: str, media_type: str | None, data: str, made: _Parts) -> None:
    media_type = media_type if media_type and _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream"
    if len(made.files) >= MOST_FILES:
        made.add(f"[{kind} left out: more than {MOST_FILES} files]")
        return
    if len(data) > MOST_FILE_BYTES * 4 // 3 + 4:
        made.add(f"[{kind} left out: larger than {MOST_FILE_BYTES // 1_000_000} MB]")
        return
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        made.add(f"[{kind} left out: it came damaged]")
        return
    name = _make_file_name(stem, media_type, len(made.files) + 1)
    made.files.append(ProducedFile(name, media_type, content))
    made.add(f"[{kind} {name}, {media_type}, {len(content)} bytes; the person receives it as a file]")


def _make_file_name(stem: str, media_type: str, number: int) -> str:
    plain = _NOT_IN_NAMES.sub("_", stem).strip("._")[-60:] or "file"
    ending = _ENDINGS.get(media_type) or mimetypes.guess_extension(media_type) or ".bin"
    head, dot, tail = plain.rpartition(".")
    if dot and head and 1 <= len(tail) <= 5:
        return plain
    return f"{plain}-{number}{ending}"


def _name_encoded_data(value: Any, depth: int = 0) -> Any:
    """Replace long Base64 in the texts of `value` by its length: a model cannot read it, but pays for it."""
    if isinstance(value, str):
        # The rest is cut anyway, and searching it would block the event loop.
        text = value[: MOST_TEXT + 1]
        return _ENCODED.sub(_name_run, text) if len(text) >= LEAST_ENCODED else text
    if depth >= MOST_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {key: _name_encoded_data(one, depth + 1) for key, one in value.items()}
    if isinstance(value, list):
        return [_name_encoded_data(one, depth + 1) for one in value]
    return value


def _name_run(match: re.Match[str]) -> str:
    text = match[0]
    if len(text) < LEAST_ENCODED or not all(any(kind(one) for one in text) for kind in _IN_ENCODED):
        return text
    return f"[… {len(text)} characters of encoded data …]"


def _is_repeated(structured: object, texts: list[str]) -> bool:
    """Return True if the texts contain every value of the structured content, as most servers write both."""
    said = {word for text in texts for word in _WORD.findall(text[:MOST_TEXT].lower())}
    return bool(texts) and all(word in said for word in _iterate_words(structured))


def _iterate_words(value: object, depth: int = 0) -> Iterator[str]:
    if depth >= MOST_DEPTH:
        return
    if isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _iterate_words(one, depth + 1)
    elif value is not None:
        yield from _WORD.findall(str(value).lower())
