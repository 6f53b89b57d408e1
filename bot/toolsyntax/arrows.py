"""Calls between `[TOOL_CALL]` and `[/TOOL_CALL]`: JSON, or MiniMax's `{tool => "name", args => {--key "value"}}`."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from bot.toolsyntax.arguments import Registry
from bot.toolsyntax.families import BRACKETED, Marker, Role, trie
from bot.toolsyntax.outcomes import BROKEN, UNFINISHED, Outcome, fired
from bot.toolsyntax.reader import Reader, Steps
from bot.toolsyntax.repair import Unreadable, loads

_END: Final = trie([Marker(BRACKETED.closers[0], Role.CLOSE)])
_TOKEN: Final = re.compile(r"\"(?:[^\"\\]|\\.)*(?:\"|\Z)|=>|--([\w-]{1,64})[ \t=]+|[{}\[\],:]|[^\s{}\[\],:\"=]+|\S")


def arrows(reader: Reader, registry: Registry) -> Steps[Outcome]:
    """Read such a body up to its end; the caller holds."""
    start = reader.hold()
    text = None
    while text is None and (yield from reader.find("[")):
        at = reader.offset
        if isinstance((yield from reader.match(_END)), Marker):
            reader.rewind(at)
            text = reader.taken(start)
        else:
            reader.pos += 1
    whole = text or reader.taken(start)
    reader.drop()
    try:
        calls = registry.calls_in(_value(whole), tagged=True)
    except Unreadable:
        return UNFINISHED if text is None else BROKEN
    return BROKEN if calls is None else fired(*calls)


def _value(text: str) -> Any:
    """Return the JSON value that a body means.

    Raises:
        Unreadable: it means none.
    """
    try:
        return loads(text)
    except Unreadable:
        pass
    written: list[str] = []
    for token in _TOKEN.finditer(text):
        if token[1]:
            written += ["," if written and written[-1] != "{" else "", f"{json.dumps(token[1])}:"]
        else:
            written.append(":" if token[0] == "=>" else token[0])
    return loads(" ".join(written))
