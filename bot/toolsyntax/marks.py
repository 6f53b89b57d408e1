"""Tags and tokens around an answer: heads of turns, wrappers, end marks. They are syntax, or words."""

from __future__ import annotations

from bot.toolsyntax.families import ENDS, STRAYS, Marker, Role
from bot.toolsyntax.guard import Guard
from bot.toolsyntax.protected import Visible
from bot.toolsyntax.reader import Reader, Steps


class Marks:
    """Decides whether one reply's marks are syntax; the caller holds, and shows the words."""

    def __init__(self, reader: Reader, visible: Visible, guard: Guard) -> None:
        self._reader = reader
        self._visible = visible
        self._guard = guard
        self._goes_on_until = 0
        """Up to here no token is the last of the reply; it is not checked again."""
        self._words_until = 0
        """Up to here the line continues after its markers; it is not checked again."""
        self._wrapped = ""
        """The wrapper around the answer, as it was opened."""

    def wraps(self, marker: Marker) -> Steps[bool]:
        """Return True if the tag begins a wrapper around everything after the thoughts, or ends such a one."""
        v = self._visible
        if marker.role is Role.WRAP_END:
            syntax = marker.written[2:] == self._wrapped[1:]
        else:
            syntax = v.fresh and (v.thought or (yield from self._reader.peek()) != " ")
        if syntax:
            v.drop_spaces()
            self._wrapped = marker.written if marker.role is Role.WRAP else ""
        return syntax

    def ends(self) -> Steps[bool]:
        """Return True if only tokens follow this one, and then consume them."""
        r, v = self._reader, self._visible
        here = r.offset
        while here >= self._goes_on_until:
            c = yield from r.skip()
            if not c:
                v.drop_spaces()
                return True
            if isinstance((yield from r.match(ENDS)), Marker) or (c == "<" and (yield from self._guard.token())):
                continue
            self._goes_on_until = r.offset + 1
        r.rewind(here)
        return False

    def ends_line(self) -> Steps[bool]:
        """Read to the end of the line if only closers and control tokens are left on it; otherwise nothing."""
        r = self._reader
        here = r.offset
        if here < self._words_until:
            return False
        while True:
            c = yield from r.skip(" \t\r")
            if c in ("", "\n"):
                return True
            if c not in "<[" or not isinstance((yield from r.match(STRAYS)), Marker):
                break
        self._words_until = r.offset
        r.rewind(here)
        return False
