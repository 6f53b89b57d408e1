"""Events, commands and presses that Slack posts to the public address.

Bolt reads a body before it checks the signature, so nothing reaches it before this check.
https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl

from slack_sdk.signature import SignatureVerifier

from adapters.slack.installing import Installing
from bot.contract import Clock, Headers, Proof, WebAnswer, is_recent, is_same
from tools.contract.json_values import read_json

log = logging.getLogger(__name__)

_FORM: Final = "application/x-www-form-urlencoded"
_SIGNATURE: Final = re.compile(r"v0=[0-9a-f]{64}")
_MOST_FIELDS: Final = 100
"""Of a form; a command has about fifteen."""


@dataclass(eq=False, repr=False)
class SlackEntrance:
    """Accepts Slack's posts; an event that is not answered with 200 comes again, three times in all."""

    secret: str
    """Slack's signing secret."""
    clock: Clock
    store: Callable[[dict[str, Any]], Awaitable[bool]]
    """Stores a payload; False: that failed."""
    installing: Installing | None = None
    """The installation pages; None: the app is installed in one workspace."""

    def __post_init__(self) -> None:
        self._verifier = SignatureVerifier(self.secret)

    def expect(self, headers: Headers) -> Proof | None:
        stamp, signature = headers.get("X-Slack-Request-Timestamp", ""), headers.get("X-Slack-Signature", "")
        if not _SIGNATURE.fullmatch(signature) or not is_recent(stamp, self.clock.wall()):
            return None
        return partial(self._is_signed, stamp, signature)

    def _is_signed(self, stamp: str, signature: str, body: bytes) -> bool:
        try:
            expected = self._verifier.generate_signature(timestamp=stamp, body=body)
        except UnicodeDecodeError:
            # The library signs text.
            return False
        return is_same(signature, expected or "")

    async def visit(self, page: str, query: Mapping[str, str], cookies: Mapping[str, str]) -> WebAnswer:
        return await self.installing.visit(page, query, cookies) if self.installing else WebAnswer(404)

    async def take_in(self, headers: Headers, body: bytes) -> WebAnswer:
        try:
            payload = _read(headers.get("Content-Type", ""), body.decode())
        except ValueError:
            log.error("slack: a post that is not an event is left out")
            return WebAnswer()
        if payload.get("type") == "url_verification":
            # https://docs.slack.dev/reference/events/url_verification
            return WebAnswer(body=json.dumps({"challenge": payload.get("challenge")}).encode())
        return WebAnswer(200 if await self.store(payload) else 503)


def _read(media_type: str, body: str) -> dict[str, Any]:
    """Read a body: JSON with events, a form with commands, and JSON within a form with presses.

    Raises:
        ValueError: it is none of these.
    """
    payload: Any
    if media_type.partition(";")[0].strip().lower() == _FORM:
        form = dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
        payload = read_json(form["payload"]) if "payload" in form else form
    else:
        payload = read_json(body)
    if not isinstance(payload, dict):
        raise ValueError("no object")
    return payload
