"""Words in the shape of a special token that are in no table: the next model's notation for calls."""

from __future__ import annotations

import re
from typing import Final

from bot.toolsyntax.arguments import Registry
from bot.toolsyntax.reader import Reader, Steps

_TOKEN: Final = re.compile(r"<[|｜‖]{1,4}[\w▁./:-]{1,64}[|｜‖]{0,4}>|<[A-Za-z][\w▁./:-]{1,64}[|｜‖]{1,4}>")
_LABEL: Final = re.compile(r"\[/?[A-Z][A-Z0-9_]{2,40}\]")
_BARS: Final = "|｜‖"
_LONGEST: Final = 72
_NEAR: Final = 200
"""The distance from a token at which a tool's name suggests a call."""
_MOST_KEPT: Final = 400
"""Characters of an unreadable call that are kept."""
_MOST_NOTED: Final = 8


class Guard:
    """Recognises unknown tokens, and whether a call seems to follow one."""

    def __init__(self, reader: Reader, registry: Registry) -> None:
        self._reader = reader
        self._registry = registry
        self.noted: list[str] = []
        """Unknown tokens that were not shown."""

    def token(self) -> Steps[str]:
        """Read a special token of any name; return empty and consume nothing if there is none.

        A word in brackets and capitals counts only before a brace.
        """
        r = self._reader
        start = r.hold()
        first = yield from r.peek()
        r.pos += 1
        second = yield from r.peek()
        found = ""
        if first == "<" and (second in _BARS or second.isalpha()):
            found = yield from self._up_to(">", start, _TOKEN)
        elif first == "[" and (second == "/" or (second.isalpha() and second.isupper())):
            found = yield from self._up_to("]", start, _LABEL)
            if found and found[1] != "/":
                here = r.offset
                c = yield from r.skip()
                r.rewind(here)
                found = found if c and c in "{[" else ""
        if not found:
            r.rewind(start)
        r.drop()
        return found

    def precedes_call(self, *, line: bool) -> Steps[bool]:
        """Return True if a registered name is near; in the middle of a `line`, with the beginning of its arguments."""
        text = yield from self._reader.ahead(_NEAR)
        return self._registry.named_in(text, with_arguments=line)

    def swallow(self, start: int) -> Steps[str]:
        """Consume the rest of the reply, and return its beginning from the held `start` on."""
        r = self._reader
        yield from r.ahead(_MOST_KEPT)
        r.pos = min(len(r.text), r.pos + _MOST_KEPT)
        kept = r.taken(start)
        while not r.ended:
            r.pos = len(r.text)
            yield
        r.pos = len(r.text)
        return kept

    def note(self, token: str) -> None:
        """Keep an unknown token for the log."""
        if token not in self.noted and len(self.noted) < _MOST_NOTED:
            self.noted.append(token)

    def _up_to(self, end: str, start: int, shape: re.Pattern[str]) -> Steps[str]:
        r = self._reader
        yield from r.read_until(f" <[]\n{end}", _LONGEST)
        if (yield from r.peek()) != end:
            return ""
        r.pos += 1
        found = r.taken(start)
        return found if shape.fullmatch(found) else ""
