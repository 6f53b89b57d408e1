"""The messages of OpenAI's Harmony: their heads name the recipient, a person or a tool, and thoughts."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bot.toolsyntax.arguments import Found, Registry
from bot.toolsyntax.bodies import Bodies
from bot.toolsyntax.families import HEAD_TOKENS, MESSAGE_ENDS, OPENERS, Marker
from bot.toolsyntax.outcomes import BROKEN, UNFINISHED, Outcome, fired
from bot.toolsyntax.reader import PARTIAL, Reader, Steps

_LONGEST_HEAD: Final = 300
_RECIPIENT: Final = re.compile(r"(?:^|\s)to=([^\s<]+)")
_CHANNELS: Final = frozenset({"analysis", "commentary", "final"})
_ROLES: Final = ("assistant", "user", "system", "developer", "tool", "functions.")
_MOST_WORDS: Final = 4
_PEOPLE: Final = frozenset({"", "assistant", "user", "all"})
_NOBODY: Final = "self"
"""The recipient of a thought (Muse)."""
_TOKEN: Final = re.compile("<")


class Head(NamedTuple):
    """The part between the token that begins a message and its text."""

    role: str
    channel: str
    recipient: str
    whole: bool
    """The text follows; otherwise the reply ended before it."""

    @property
    def is_call(self) -> bool:
        """The message is for a tool."""
        return self.recipient not in _PEOPLE and self.recipient != _NOBODY

    @property
    def is_thought(self) -> bool:
        """The message is for nobody: an analysis, or a turn of somebody else that the model invents."""
        return self.recipient == _NOBODY or self.channel == "analysis" or self.role not in ("", "assistant")


class Channels:
    """Reads the heads of messages, and the calls behind them."""

    def __init__(self, reader: Reader, registry: Registry, bodies: Bodies) -> None:
        self._reader = reader
        self._registry = registry
        self._bodies = bodies

    def head(self, first: str) -> Steps[Head | None]:
        """Read the head after its first token, `first`; consume and return nothing if there is none."""
        r = self._reader
        start = r.hold()
        fields: dict[str, str] = {}
        whole = True
        while True:
            fields[first] = fields.get(first, "") + " " + (yield from r.read_until("<\n{", _LONGEST_HEAD))
            near = r.offset - start < _LONGEST_HEAD and (yield from r.peek()) == "<"
            marker = (yield from r.match(HEAD_TOKENS)) if near else None
            if not isinstance(marker, Marker) or marker.written == "<|message|>" or marker.written in fields:
                break
            first = marker.written
        said = " ".join(fields.values())
        recipient = _RECIPIENT.search(said)
        role = _RECIPIENT.sub("", fields.get("<|start|>", "")).split()[:1]
        channel = _RECIPIENT.sub("", fields.get("<|channel|>", "")).split()[:1]
        if not isinstance(marker, Marker) or marker.written != "<|message|>":
            c = yield from r.peek()
            whole = bool(c) and marker is not PARTIAL
            known = any(name.startswith("".join(channel)) for name in _CHANNELS) and len(said.split()) <= _MOST_WORDS
            known = known and any(name.startswith("".join(role)) for name in _ROLES)
            if not known or (whole and not (c == "\n" and channel) and not (c == "{" and recipient)):
                r.rewind(start)
                r.drop()
                return None
        r.drop()
        meant = recipient.group(1) if recipient else ""
        return Head("".join(role), "".join(channel), meant, whole)

    def wraps_call(self) -> Steps[bool]:
        """Return True if the message after its head holds a call in another notation (Muse). Consumes nothing."""
        r = self._reader
        start = r.hold()
        opener = (yield from r.match(OPENERS)) if (yield from r.skip()) == "<" else None
        r.rewind(start)
        r.drop()
        return isinstance(opener, Marker)

    def call(self, head: Head) -> Steps[Outcome]:
        """Read the call in the message after its head."""
        r = self._reader
        name = self._registry.name(head.recipient)
        c = yield from r.skip()
        if c == "{":
            return (yield from self._bodies.arguments(name))
        if not c:
            return UNFINISHED
        start = r.hold()
        while True:
            c = yield from r.seek(_TOKEN)
            here = r.offset
            if not c or isinstance((yield from r.match(MESSAGE_ENDS)), Marker):
                break
            r.pos += 1
        if c:
            r.rewind(here)
        said = r.taken(start).strip()
        r.drop()
        return BROKEN if said else fired(Found(name, {}))
