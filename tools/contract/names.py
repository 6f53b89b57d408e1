"""Names that model providers accept: at most 64 of A-Z, a-z, 0-9, `_` and `-`, each used once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

MOST_CHARS = 64
SEPARATOR = "__"

_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_RUN = re.compile(r"__+")


def unique_names(originals: Iterable[str], most: int, *, fallback: str) -> dict[str, str]:
    """Return a unique name for each original, at most `most` characters, without double underscores.

    An original's name depends only on the set, not on its order. A valid name stays as it is; one that lost a
    distinguishing part (other letters, its end) gets six characters of its checksum.
    """
    every = sorted(set(originals))
    made: dict[str, str] = {}
    taken: set[str] = set()
    # Valid names choose first, or a stranger could take their names away.
    for original in sorted(every, key=lambda one: (_plain(one) != one, one)):
        name = _plain(original)
        if not name or len(name) > most or not original.isascii() or name in taken:
            name = _marked(name or fallback, original, most)
        number = 0
        while name in taken:
            number += 1
            name = _marked(_plain(original) or fallback, f"{original}\0{number}", most)
        made[original] = name
        taken.add(name)
    return made


def tool_names(prefix: str, tools: Iterable[str]) -> dict[str, str]:
    """Return `prefix__tool` for each tool of a server."""
    short = unique_names(tools, MOST_CHARS - len(prefix) - len(SEPARATOR), fallback="tool")
    return {tool: f"{prefix}{SEPARATOR}{name}" for tool, name in short.items()}


def owner(name: str) -> str:
    """Return the prefix of a tool's server; empty for a tool of our own."""
    head, separator, _ = name.partition(SEPARATOR)
    return head if separator else ""


def _plain(original: str) -> str:
    return _RUN.sub("_", _OTHER.sub("_", original)).strip("_-")


def _marked(name: str, original: str, most: int) -> str:
    checksum = hashlib.sha256(original.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{name[: most - 7].rstrip('_-')}_{checksum}"
