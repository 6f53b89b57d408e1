"""Commands and presses that Discord posts to the public address.

https://docs.discord.com/developers/interactions/overview#preparing-for-interactions
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from bot.contract import Clock, Headers, Proof, SettingsError, WebAnswer, is_recent
from tools.contract.json_values import read_json

log = logging.getLogger(__name__)

_PING: Final = 1
_SIGNATURE: Final = re.compile(r"[0-9a-f]{128}")


class DiscordEntrance:
    """Accepts Discord's interactions; Discord posts each one once."""

    def __init__(self, public_key: str, clock: Clock, read: Callable[[dict[str, Any]], None]) -> None:
        """
        Args:
            public_key: the application's, 64 hexadecimal digits.
            read: handles an interaction like one from the gateway, and answers it by a separate call.

        Raises:
            SettingsError: the library for signatures is missing.
        """
        try:
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        except ImportError:
            raise SettingsError(
                "DISCORD_PUBLIC_KEY needs cryptography, which is not installed: pip install cryptography"
            ) from None
        self._key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        self._invalid = InvalidSignature
        self._clock = clock
        self._read = read

    def expect(self, headers: Headers) -> Proof | None:
        stamp, signature = headers.get("X-Signature-Timestamp", ""), headers.get("X-Signature-Ed25519", "").lower()
        if not _SIGNATURE.fullmatch(signature) or not is_recent(stamp, self._clock.wall()):
            return None
        return partial(self._is_signed, stamp.encode(), bytes.fromhex(signature))

    def _is_signed(self, stamp: bytes, signature: bytes, body: bytes) -> bool:
        try:
            self._key.verify(signature, stamp + body)
        except self._invalid:
            return False
        return True

    async def take_in(self, headers: Headers, body: bytes) -> WebAnswer:
        try:
            interaction = read_json(body)
        except ValueError:
            interaction = None
        if not isinstance(interaction, dict):
            log.error("discord: a post that is not an interaction is left out")
            return WebAnswer()
        if interaction.get("type") == _PING:
            # Sent when the address is entered in the developer portal, and now and then.
            return WebAnswer(body=json.dumps({"type": _PING}).encode())
        self._read(interaction)
        # 202 announces that the answer comes as a call, as for interactions of the gateway.
        # https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-callback
        return WebAnswer(202)
