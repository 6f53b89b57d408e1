"""What a platform posts to the program's public address: proven to be the platform's before anything reads it."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias, runtime_checkable

Headers: TypeAlias = Mapping[str, str]
"""The headers of a request; a name is found however it is capitalised."""
Proof: TypeAlias = Callable[[bytes], bool]
"""A body → whether the platform sent it."""


def proven(body: bytes) -> bool:
    """The proof of what its headers alone prove, whatever the body is."""
    return True


_STAMP: Final = re.compile(r"[0-9]{1,12}")
_MOST_AGE: Final = 300.0
"""Seconds between signing and coming in; what was signed earlier may be somebody's recording of it.
https://docs.slack.dev/authentication/verifying-requests-from-slack asks for five minutes."""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """What a request is answered with."""

    status: int = 200
    body: bytes = b""
    media_type: str = "application/json"
    headers: Headers = field(default_factory=dict)


class Entrance(Protocol):
    """Where the requests of one platform come in."""

    def expect(self, headers: Headers) -> Proof | None:
        """Return what tells whether the body behind these headers is the platform's; None where no body can be, and
        `proven` where any is.

        Both are asked before anything is parsed, and raise nothing, whatever they are given.
        """
        ...

    async def take_in(self, headers: Headers, body: bytes) -> WebAnswer:
        """Store what a proven request says, and answer it: with 2xx only when it is stored, or says nothing to us."""
        ...


@runtime_checkable
class Visited(Protocol):
    """An entrance that people open in a browser, too."""

    async def visit(self, page: str, query: Mapping[str, str], cookies: Mapping[str, str]) -> WebAnswer:
        """Answer a GET of `page`, the last part of the address behind the platform's name. It may be anybody's, and
        raises nothing that tells of it."""
        ...


def is_same(given: str, expected: str) -> bool:
    """Compare two secrets in a time that tells nothing of where they differ."""
    # As bytes: of texts only ASCII can be compared, and a header may hold anything.
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())


def is_recent(stamp: str, now: float) -> bool:
    """Tell whether a header's time, in seconds since the epoch, is that of a request under way."""
    return bool(_STAMP.fullmatch(stamp)) and abs(now - int(stamp)) <= _MOST_AGE
