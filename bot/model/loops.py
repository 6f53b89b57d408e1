"""Notice that a model repeats itself without end, before its limit ends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

_LEAST: Final = 20_000
"""Characters of nothing but one repeated text that are a loop; what people ask to be repeated is shorter."""
_REPEATS: Final = 10
_LOOKED_AT: Final = 500
"""A text is examined each time that so many characters were added."""
_NEEDLE: Final = 40


def is_loop(text: str) -> bool:
    """Return True if a text that is read at once ends in a loop."""
    return LoopWatch().feed(text)


@dataclass(eq=False, repr=False)
class LoopWatch:
    """Reads a stream, and tells when its end is a loop."""

    _tail: str = field(default="", init=False)
    _new: list[str] = field(default_factory=list, init=False)
    _unread: int = field(default=0, init=False)

    def feed(self, text: str) -> bool:
        """Take more text; return True if all of the last twenty thousand characters repeat one text."""
        self._new.append(text)
        self._unread += len(text)
        if self._unread < _LOOKED_AT:
            return False
        tail = self._tail = "".join((self._tail, *self._new))[-_LEAST:]
        self._new.clear()
        self._unread = 0
        before = tail.rfind(tail[-_NEEDLE:], 0, len(tail) - 1)
        period = len(tail) - _NEEDLE - before
        if before < 0 or len(tail) < _LEAST or period * _REPEATS > len(tail):
            return False
        return tail.startswith(tail[period:])
