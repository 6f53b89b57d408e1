"""What a workspace granted, sealed with a key that stands in the settings: nobody reads a token in a copy of the store.

The form is Fernet's: AES-128-CBC with HMAC-SHA256, see https://cryptography.io/en/latest/fernet/.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tools.contract.json_values import read_json


@dataclass(frozen=True, slots=True)
class Granted:
    """What one workspace granted."""

    team: str
    token: str
    user: str
    """The bot's id there."""
    bot: str = ""
    scopes: str = ""
    """Separated by commas."""
    name: str = ""


class Seal:
    """Seals with the first of several keys, and opens with each, so that a key can be replaced."""

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
        """Return what the workspace `team` granted; None where it was sealed with another key, or for another one."""
        from cryptography.fernet import InvalidToken

        try:
            granted = Granted(**read_json(self._keys.decrypt(sealed.encode())))
        except (InvalidToken, TypeError, ValueError):
            return None
        return granted if granted.team == team else None
