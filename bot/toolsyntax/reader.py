"""A position in text that is still arriving: look ahead as far as needed, go back as far as held.

Going back costs the length of the way back, and a held stretch is joined once, so that holding a megabyte that arrives
one character at a time stays linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from bot.toolsyntax.families import END, FOLD, Marker, Trie

_Result = TypeVar("_Result")
Steps = Generator[None, None, _Result]
"""A parse that yields whenever it needs more text, and returns its result."""


class _Partial:
    """The type of `PARTIAL`."""


PARTIAL: Final = _Partial()
"""The text ended inside what could have become a marker."""


class Reader:
    """The text of one reply, seen through the chunk that is being read.

    The unread part of the current chunk is `text[pos:]`. A parse may yield only when that is empty.
    """

    __slots__ = ("_before", "_holds", "_later", "base", "ended", "pos", "quick", "text", "unread")

    def __init__(self) -> None:
        self.text = ""
        self.pos = 0
        self.base = 0
        """Where in the reply `text` begins."""
        self.ended = False
        self.quick: Callable[[str], object] | None = None
        """Finds the characters that matter now; a chunk without any need not wake the parse."""
        self.unread = False
        """Chunks that did not wake the parse wait to be read with the next one; otherwise they count as read."""
        self._later: list[str] = []
        self._holds = 0
        self._before: list[str] = []
        """The held text before `text`, oldest first."""

    @property
    def offset(self) -> int:
        """How many characters of the reply were read."""
        return self.base + self.pos

    def feed(self, text: str) -> None:
        """Replace a chunk that was read to its end by the next one."""
        if self._holds and self.text:
            self._before.append(self.text)
        self.base += len(self.text)
        if self._later:
            self._later.append(text)
            text = "".join(self._later)
            self._later.clear()
        self.text = text
        self.pos = 0

    def hold(self) -> int:
        """Keep everything from here on until `drop`, and return this position. Holds nest."""
        self._holds += 1
        return self.base + self.pos

    def drop(self) -> None:
        """End the latest hold."""
        self._holds -= 1
        if not self._holds:
            self._before.clear()

    def rewind(self, offset: int) -> None:
        """Go back to a held place."""
        if offset >= self.base:
            self.pos = offset - self.base
            return
        tail = [self.text]
        while self.base > offset:
            piece = self._before.pop()
            self.base -= len(piece)
            tail.append(piece)
        if offset > self.base:
            front = offset - self.base
            self._before.append(tail[-1][:front])
            tail[-1] = tail[-1][front:]
            self.base = offset
        tail.reverse()
        self.text = "".join(tail)
        self.pos = 0

    def taken(self, start: int) -> str:
        """Return the text from a held place up to here."""
        if start >= self.base:
            return self.text[start - self.base : self.pos]
        tail = [self.text[: self.pos]]
        begin = self.base
        for piece in reversed(self._before):
            begin -= len(piece)
            tail.append(piece)
            if begin <= start:
                break
        tail[-1] = tail[-1][start - begin :]
        tail.reverse()
        return "".join(tail)

    def peek(self) -> Steps[str]:
        """Return the next character without reading it; empty at the end of the reply."""
        while self.pos >= len(self.text):
            if self.ended:
                return ""
            yield
        return self.text[self.pos]

    def skip(self, characters: str = "") -> Steps[str]:
        """Read over any of `characters`, or over whitespace, and return the next other one, unread."""
        while True:
            text, pos = self.text, self.pos
            while pos < len(text) and (text[pos] in characters if characters else text[pos].isspace()):
                pos += 1
            self.pos = pos
            if pos < len(text):
                return text[pos]
            if self.ended:
                return ""
            yield

    def find(self, mark: str) -> Steps[bool]:
        """Read up to `mark`; False at the end of the reply. The caller holds."""
        while True:
            found = self.text.find(mark, self.pos)
            self.pos = found if found >= 0 else len(self.text)
            if found >= 0 or self.ended:
                return found >= 0
            self.quick = re.compile(re.escape(mark)).search
            yield

    def ahead(self, count: int) -> Steps[str]:
        """Return the next `count` characters, or all that are left, without reading them."""
        start = self.hold()
        while True:
            self.pos = min(len(self.text), self.pos + count - (self.offset - start))
            if self.offset - start >= count or self.ended:
                break
            yield
        text = self.taken(start)
        self.rewind(start)
        self.drop()
        return text

    def seek(self, stops: re.Pattern[str]) -> Steps[str]:
        """Read up to a character that `stops` finds, and return it, unread; empty at the end of the reply.

        The caller holds.
        """
        while True:
            found = stops.search(self.text, self.pos)
            self.pos = found.start() if found else len(self.text)
            if found or self.ended:
                return found.group() if found else ""
            self.quick = stops.search
            yield

    def read_until(self, stop: str, limit: int) -> Steps[str]:
        """Read up to one of the characters in `stop` or whitespace if `stop` has a space; at most `limit`."""
        start = self.hold()
        spaces = " " in stop
        while self.offset - start < limit:
            c = yield from self.peek()
            if not c or c in stop or (spaces and c.isspace()):
                break
            self.pos += 1
        found = self.taken(start)
        self.drop()
        return found

    def match(self, trie: Trie, fold: Mapping[str, str] = FOLD) -> Steps[Marker | _Partial | None]:
        """Read one of the markers in `trie` if it comes next, otherwise nothing.

        A run of bars counts as one: some runtimes double them. Returns `PARTIAL` if the reply ends inside what could
        have become one; then, too, nothing is consumed.
        """
        start = self.hold()
        node: dict[str, Any] = trie
        found: Marker | _Partial | None = None
        key = ""
        while True:
            if self.pos >= len(self.text):
                if self.ended:
                    found = PARTIAL if self.offset > start else None
                    break
                yield
                continue
            c = self.text[self.pos]
            before, key = key, fold.get(c, c)
            following = node.get(key)
            if following is None and not (key == before == "|"):
                break
            if isinstance(following, partial):
                following = node[key] = following()
            node = node if following is None else following
            self.pos += 1
            if END in node:
                found = node[END]
                break
        if not isinstance(found, Marker):
            self.rewind(start)
        self.drop()
        return found

    def absorb(self, text: str) -> None:
        """Read a chunk in which `quick` found nothing, without waking the parse."""
        if self.unread:
            self._later.append(text)
            return
        self._before.append(self.text)
        self.base += len(self.text)
        self.text = text
        self.pos = len(text)


def end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return the end of a pattern that matches everywhere, if only an empty text."""
    found = pattern.match(text, start)
    assert found is not None
    return found.end()
