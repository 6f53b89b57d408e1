"""What the operator reads: a line each for people, or a JSON object each for machines; never a secret.

Message texts are not logged. Every value of a secret setting is replaced, in traces of exceptions too; bot tokens
are part of Telegram's addresses, so the HTTP clients' own request lines are silenced.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Sequence

from bot.safety import Redactor

_QUIET = (
    "client",
    "mcp",
    "httpx",
    "httpcore",
    "httpx2",
    "httpcore2",
    "openai",
    "telegram",
    "slack_bolt",
    "slack_sdk",
    "discord",
    "aiohttp",
)


class _ForPeople(logging.Formatter):
    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%H:%M:%S")
        self._secrets = tuple(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return _redacted(super().format(record), self._secrets)


class _ForMachines(logging.Formatter):
    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def format(self, record: logging.LogRecord) -> str:
        value = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "where": record.name,
            "what": record.getMessage(),
        }
        if record.exc_info:
            value["trace"] = self.formatException(record.exc_info)
        return _redacted(json.dumps(value, ensure_ascii=False), self._secrets)


def _redacted(line: str, secrets: Sequence[str]) -> str:
    redactor = Redactor(secrets)
    return redactor.feed(line) + redactor.finish()


def set_up(level: str, form: str, secrets: Sequence[str]) -> None:
    """Log to standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_ForMachines(secrets) if form == "json" else _ForPeople(secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
