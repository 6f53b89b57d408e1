"""Files that come within a request. Their key is their content, so any process that answers the question has them."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Final, NamedTuple

from bot.contract import DeliveryError, File

_DIGITS: Final = 16


class Inline(NamedTuple):
    """A file within a request."""

    name: str
    media_type: str
    content: bytes


def as_source(content: bytes) -> str:
    """Return the key of a file."""
    return f"{_digest(content)}:{base64.b64encode(content).decode()}"


def content_of(source: str) -> bytes:
    """Return the file of a key.

    Raises:
        DeliveryError: it is no key.
    """
    digest, _, encoded = source.partition(":")
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        content = b""
    if not digest or _digest(content) != digest:
        raise DeliveryError("the file of a request cannot be read")
    return content


def as_address(file: File) -> str:
    """Return a file as a `data:` address."""
    return f"data:{file.media_type or 'application/octet-stream'};base64,{base64.b64encode(file.content).decode()}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]
