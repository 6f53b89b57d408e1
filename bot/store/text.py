"""Convert text for SQLite, whose UTF-8 cannot hold half a surrogate pair.

Platforms and models do send such halves (a JSON escape cut in two), and one of them must not make a turn unstorable.
"""

from __future__ import annotations

import json
import re

from bot.contract import Entry, Usage, entry_to_json
from tools.base import Json

_HALF = re.compile("[\ud800-\udfff]")


def to_plain(text: str) -> str:
    """Join adjacent halves of surrogate pairs, and replace single ones by U+FFFD."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def to_json(value: Json) -> str:
    """Write JSON that keeps every string exactly, including halves of surrogate pairs."""
    return escape_halves(json.dumps(value, ensure_ascii=False))


def escape_halves(document: str) -> str:
    """Escape the surrogate halves in a JSON document; they can only occur inside its strings."""
    return _HALF.sub(lambda half: f"\\u{ord(half.group()):04x}", document)


def entry_json(entry: Entry) -> str:
    return escape_halves(entry_to_json(entry))


def usage_json(usage: Usage) -> str:
    return json.dumps([usage.prompt, usage.completion, usage.cached, usage.reasoning])


def usage_from_json(text: str) -> Usage:
    return Usage(*json.loads(text))
