"""Text as SQLite can hold it: UTF-8, which has no room for half a surrogate pair.

Platforms and models do send such halves (a JSON escape cut in two), and one of them must not make a turn unstorable.
"""

from __future__ import annotations

import json
import re

from bot.contract import Entry, Usage, entry_to_json
from tools.base import Json

_HALF = re.compile("[\ud800-\udfff]")


def plain(text: str) -> str:
    """The text with halves of surrogate pairs joined where they meet, and replaced by U+FFFD where they stand alone."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def to_json(value: Json) -> str:
    """JSON that keeps every string exactly, halves of surrogate pairs included."""
    return escaped(json.dumps(value, ensure_ascii=False))


def escaped(document: str) -> str:
    """A JSON document with surrogate halves written as escapes; they can only stand inside its strings."""
    return _HALF.sub(lambda half: f"\\u{ord(half.group()):04x}", document)


def entry_json(entry: Entry) -> str:
    return escaped(entry_to_json(entry))


def usage_json(usage: Usage) -> str:
    return json.dumps([usage.prompt, usage.completion, usage.cached, usage.reasoning])


def usage_from_json(text: str) -> Usage:
    return Usage(*json.loads(text))
