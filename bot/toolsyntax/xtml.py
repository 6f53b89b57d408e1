"""Calls in Kimi K3's notation: elements whose heads and ends are special tokens around plain words.

`<|open|>call tool="NAME" index="1"<|sep|>`, then for each argument
`<|open|>argument key="KEY" type="TYPE"<|sep|>VALUE<|close|>argument<|sep|>`, then `<|close|>call<|sep|>`.
"""

from __future__ import annotations

import re
from typing import Final

from bot.toolsyntax.arguments import Found, Registry
from bot.toolsyntax.bodies import Bodies
from bot.toolsyntax.families import Marker, Role, trie
from bot.toolsyntax.outcomes import BROKEN, TEXT, UNFINISHED, Outcome, fired
from bot.toolsyntax.reader import PARTIAL, Reader, Steps
from bot.toolsyntax.repair import Unreadable, loads, object_in

_LONGEST_HEAD: Final = 300
_ATTRIBUTE: Final = re.compile(r"\b(tool|key|type)\s*=\s*\"([^\"]*)\"")
_HEAD_END: Final = trie([Marker("<|sep|>", Role.CONTROL)])
_PARTS: Final = trie(
    (
        Marker("<|open|>argument ", Role.PARAMETER),
        Marker("<|open|>json", Role.VALUE),
        Marker("<|close|>call<|sep|>", Role.ELEMENT_END),
        Marker("<|close|>tools<|sep|>", Role.CLOSE),
    )
)
_ENDS: Final = {
    Role.PARAMETER: trie([Marker("<|close|>argument<|sep|>", Role.PARAMETER_END)]),
    Role.VALUE: trie([Marker("<|close|>json<|sep|>", Role.VALUE_END)]),
}


class Xtml:
    """Reads such a call from one reply; the caller holds from its opener."""

    def __init__(self, reader: Reader, registry: Registry, bodies: Bodies) -> None:
        self._reader = reader
        self._registry = registry
        self._bodies = bodies

    def call(self) -> Steps[Outcome]:
        """Read a call after the words that open it."""
        r = self._reader
        head = yield from self._head()
        if not head.get("tool"):
            return TEXT if (yield from r.peek()) else UNFINISHED
        name = self._registry.name(head["tool"])
        arguments: dict[str, object] = {}
        while True:
            c = yield from r.skip()
            part = (yield from r.match(_PARTS)) if c == "<" else None
            if not c or part is PARTIAL:
                r.pos = len(r.text)
                return UNFINISHED if self._bodies.cut else fired(Found(name, arguments))
            if not isinstance(part, Marker):
                return BROKEN
            if part.role not in _ENDS:
                return fired(Found(name, arguments))
            head = yield from self._head()
            value = yield from self._value(part.role)
            if value is None:
                return UNFINISHED
            if part.role is Role.VALUE:
                arguments |= object_in(value) or {}
            else:
                arguments[head.get("key", "")] = self._typed(name, head, value)

    def _head(self) -> Steps[dict[str, str]]:
        """Read the attributes of an element, and the token after them."""
        r = self._reader
        written = yield from r.read_until("<\n", _LONGEST_HEAD)
        yield from r.match(_HEAD_END)
        return {key: value.replace("&quot;", '"').replace("&amp;", "&") for key, value in _ATTRIBUTE.findall(written)}

    def _value(self, role: Role) -> Steps[str | None]:
        """Read an element's text and its end; None if the reply ends inside."""
        r = self._reader
        start = r.hold()
        value: str | None = None
        while value is None and (yield from r.find("<")):
            at = r.offset
            if isinstance((yield from r.match(_ENDS[role])), Marker):
                after = r.offset
                r.rewind(at)
                value = r.taken(start)
                r.pos += after - at
            else:
                r.pos += 1
        r.drop()
        return value

    def _typed(self, name: str, head: dict[str, str], value: str) -> object:
        """Return a value as its `type` says; as the schema says if it does not fit."""
        kind = head.get("type", "")
        if kind == "string":
            return value
        try:
            return loads(value) if kind in ("object", "array") else self._registry.typed(name, head["key"], value)
        except (Unreadable, KeyError):
            return value
