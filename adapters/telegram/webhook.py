"""Updates that Telegram posts to the public address. https://core.telegram.org/bots/api#setwebhook"""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from bot.contract import Headers, Proof, WebAnswer, is_same, proven
from tools.contract.json_values import read_json

log = logging.getLogger(__name__)

_HEADER: Final = "X-Telegram-Bot-Api-Secret-Token"


def secret_of(token: str) -> str:
    """Return the secret that Telegram sends with each update: the same after every start, and revealing nothing of the
    token."""
    return hmac.new(token.encode(), b"parley: secret of the webhook", hashlib.sha256).hexdigest()


class TelegramEntrance:
    """Accepts Telegram's updates; an update that is not answered with 2xx comes again."""

    def __init__(self, secret: str, store: Callable[[list[dict[str, Any]]], Awaitable[bool]]) -> None:
        """
        Args:
            store: stores a batch of updates; False: some of it could not be stored.
        """
        self._secret = secret
        self._store = store

    def expect(self, headers: Headers) -> Proof | None:
        # The header alone proves it: the body is not signed.
        return proven if is_same(headers.get(_HEADER, ""), self._secret) else None

    async def take_in(self, headers: Headers, body: bytes) -> WebAnswer:
        try:
            update = read_json(body)
        except ValueError:
            update = None
        if not isinstance(update, dict) or not isinstance(update.get("update_id"), int):
            log.error("telegram: a post that is not an update is left out")
            return WebAnswer()
        return WebAnswer(200 if await self._store([update]) else 503)
