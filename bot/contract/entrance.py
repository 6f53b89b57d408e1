"""Requests of platforms to the program's public address: verified before anything parses them."""

from __future__ import annotations

import hmac
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias, runtime_checkable

Headers: TypeAlias = Mapping[str, str]
"""The headers of a request; names are found in any capitalisation."""
Proof: TypeAlias = Callable[[bytes], bool]
"""A body → whether the platform sent it."""


def proven(body: bytes) -> bool:
    """The proof for a request that its headers alone verify, whatever its body."""
    return True


_STAMP: Final = re.compile(r"[0-9]{1,12}")
_MOST_AGE: Final = 300.0
"""The most seconds between signing and arrival: an older request may be a replay.
https://docs.slack.dev/authentication/verifying-requests-from-slack asks for five minutes."""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """The response to a request."""

    status: int = 200
    body: bytes = b""
    media_type: str = "application/json"
    headers: Headers = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WebStream:
    """A response that is sent while it is made."""

    pieces: AsyncGenerator[bytes, None]
    """Closed as soon as nobody reads them any more."""
    media_type: str = "text/event-stream"


class Entrance(Protocol):
    """Accepts the requests of one platform."""

    def expect(self, headers: Headers) -> Proof | None:
        """Return the check for the body behind these headers; None if no body could pass, `proven` if every body does.

        This method and the check run before anything is parsed, and never raise, whatever the input.
        """
        ...

    async def take_in(self, headers: Headers, body: bytes) -> WebAnswer:
        """Store a verified request and answer it: with 2xx only when it is stored, or has nothing for us."""
        ...


@runtime_checkable
class Visited(Protocol):
    """An entrance that people also open in a browser."""

    async def visit(self, page: str, query: Mapping[str, str], cookies: Mapping[str, str]) -> WebAnswer:
        """Answer a GET of `page`, the part of the address after the platform's name. The visitor may be anybody; errors
        reveal nothing about the request."""
        ...


@runtime_checkable
class Served(Protocol):
    """An entrance that answers programs, at addresses of its own."""

    def refuse(self, status: int, why: str) -> WebAnswer:
        """Return the response to a request that is not read."""
        ...

    async def answer(self, address: str, headers: Headers, body: bytes) -> WebAnswer | WebStream:
        """Answer a verified request to one of the addresses. Never raises for anything in the request."""
        ...


def is_same(given: str, expected: str) -> bool:
    """Compare two secrets in constant time."""
    # As bytes: for texts the comparison accepts only ASCII, and a header can contain anything.
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())


def is_recent(stamp: str, now: float) -> bool:
    """Return True if a header's time, in seconds since the epoch, is recent."""
    return bool(_STAMP.fullmatch(stamp)) and abs(now - int(stamp)) <= _MOST_AGE
