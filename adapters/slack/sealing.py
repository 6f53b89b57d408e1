"""A workspace's grant, encrypted with a key in the settings: nobody can read a token in a copy of the store.

The format is Fernet: AES-128-CBC with HMAC-SHA256, see https://cryptography.io/en/latest/fernet/.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tools.contract.json_values import read_json


@dataclass(frozen=True, slots=True)
class Granted:
    """A workspace's grant."""

    team: str
    token: str
    user: str
    """The bot's id there."""
    bot: str = ""
    scopes: str = ""
    """Separated by commas."""
    name: str = ""


class Seal:
    """Encrypts with the first of several keys, and decrypts with any, so that a key can be replaced."""

    def __init__(self, keys: Sequence[str]) -> None:
        """
        Raises:
            ValueError: one is not 32 bytes in URL-safe base64.
            ImportError: the package cryptography is not installed (extra `web`).
        """
        from cryptography.fernet import Fernet, MultiFernet

        self._keys = MultiFernet([Fernet(key) for key in keys])

    def close(self, granted: Granted) -> str:
        return str(self._keys.encrypt(json.dumps(asdict(granted)).encode()), "ascii")

    def open(self, team: str, sealed: str) -> Granted | None:
        """Return the grant of the workspace `team`; None if it was encrypted with another key, or for another
        workspace."""
        from cryptography.fernet import InvalidToken

        try:
            granted = Granted(**read_json(self._keys.decrypt(sealed.encode())))
        except (InvalidToken, TypeError, ValueError):
            return None
        return granted if granted.team == team else None
