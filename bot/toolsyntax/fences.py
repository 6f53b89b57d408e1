"""Text that is never searched for calls: code fences, inline code, reasoning; except a reply's only JSON fence."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final, Protocol

from bot.toolsyntax.families import CONTROL_TOKENS, ENDINGS, ENDS, Marker, Role, Thought, Trie, trie
from bot.toolsyntax.pieces import Call, Piece, Text
from bot.toolsyntax.protected import Visible
from bot.toolsyntax.reader import PARTIAL, Reader, Steps

_CONTROL: Final = re.compile("|".join(re.escape(token) for token in (*CONTROL_TOKENS, *ENDINGS)))
_LONGEST_WORD: Final = 32
_LONGEST_TAG: Final = 200


class Finder(Protocol):
    """What finds the calls of a text that comes in pieces."""

    def feed(self, text: str) -> list[Piece]: ...
    def finish(self, cut: bool = False) -> list[Piece]: ...
    @property
    def only_json(self) -> bool: ...


class Fences:
    """Reads protected stretches of one reply and shows them."""

    def __init__(self, reader: Reader, visible: Visible, inner: Callable[[], Finder]) -> None:
        self._reader = reader
        self._visible = visible
        self._inner = inner
        self._first = True
        self._unclosed: set[Thought] = set()
        """Reasoning whose end the rest of the reply does not have."""
        self.calls: tuple[Call, ...] = ()
        """The calls of a reply that was one fence."""

    def backticks(self, c: str, *, only: bool) -> Steps[None]:
        """A run of backticks or tildes: a fence, the border of inline code, or nothing special.

        `only` says that nothing came before, so that a fence may turn out to be the whole reply.
        """
        r, v = self._reader, self._visible
        starts = v.starts_fence and not v.inline
        start = r.hold()
        yield from r.skip(c)
        length = r.offset - start
        if starts and length >= 3:
            info = r.offset
            more = yield from r.find("\n")
            if c == "~" or "`" not in r.taken(info):
                r.pos += more
                if more and only and self._first:
                    self._first = False
                    body = r.offset
                    if (yield from self._is_whole_reply(c, length)):
                        r.drop()
                        return
                    r.rewind(body)
                yield from self._content(start, c, length)
                return
            r.rewind(info)
        elif c == "`" and length >= 3 and not v.inline:
            # "Like this: ```json" is no fence in Markdown, but models write it as one, so what follows is code.
            word = yield from r.read_until(" `", _LONGEST_WORD)
            if word and (yield from r.peek()) in ("\n", "\r"):
                r.pos += yield from r.find("\n")
                yield from self._content(start, c, length)
                return
            r.rewind(start + length)
        v.write(r.taken(start))
        r.drop()
        if c == "`" and v.inline in (0, length):
            v.inline = length - v.inline

    def _content(self, start: int, c: str, length: int) -> Steps[None]:
        """Show a fence from the held `start` on, up to the line that closes it. Ends the hold."""
        r, v = self._reader, self._visible
        v.write(r.taken(start))
        r.drop()
        while True:
            yield from self._copy(" \t>")
            run = yield from self._copy(c)
            if run >= length:
                yield from self._copy(" \t\r")
                while (yield from r.peek()) in ("<", "[") and isinstance((yield from r.match(ENDS)), Marker):
                    yield from self._copy(" \t\r")
                if (yield from r.peek()) in ("", "\n"):
                    return
            while True:
                newline = r.text.find("\n", r.pos)
                stop = newline + 1 if newline >= 0 else len(r.text)
                v.write(r.text[r.pos : stop])
                r.pos = stop
                if newline >= 0:
                    break
                if r.ended:
                    return
                yield

    def _copy(self, characters: str) -> Steps[int]:
        """Show as many of these characters as come, and count them."""
        r = self._reader
        count = 0
        while (c := (yield from r.peek())) and c in characters:
            self._visible.write(c)
            r.pos += 1
            count += 1
        return count

    def _is_whole_reply(self, c: str, length: int) -> Steps[bool]:
        """The fence whose body begins here holds nothing but calls, and nothing follows it."""
        r = self._reader
        body = r.offset
        first = yield from r.skip()
        if not first or first not in "{[<":
            return False
        r.rewind(body)
        inner = self._inner()
        pieces: list[Piece] = []
        while True:
            start = r.offset
            more = yield from r.find("\n")
            r.pos += more
            line = r.taken(start)
            closing = _CONTROL.sub("", line).strip()
            if len(closing) >= length and not closing.strip(c):
                break
            pieces += inner.feed(line)
            if not more or not all(_may_stand_alone(piece) for piece in pieces):
                return False
        while (yield from r.skip()):
            marker = yield from r.match(ENDS)
            if marker is PARTIAL or not isinstance(marker, Marker):
                return False
        pieces += inner.finish()
        if not inner.only_json or not pieces or not all(_may_stand_alone(piece) for piece in pieces):
            return False
        self.calls = tuple(piece for piece in pieces if isinstance(piece, Call))
        return True

    # reasoning

    def reasoning(self, thought: Thought, start: int) -> Steps[None]:
        """Split reasoning off, after its opener. In the middle of a line it counts only when it is closed.

        The caller holds from `start`, where the opener stands.
        """
        r, v = self._reader, self._visible
        sure = v.blank
        if not sure and thought in self._unclosed:
            v.write(r.taken(start))
            return
        ends, first = _ends_of(thought)
        begin = r.offset
        while True:
            before = r.pos
            found = first.search(r.text, before)
            r.pos = found.start() if found else len(r.text)
            if sure:
                v.think(r.text[before : r.pos])
            if not found:
                if r.ended:
                    break
                yield
                continue
            at = r.hold()
            end = yield from r.match(ends)
            whole = isinstance(end, Marker) and (not thought.tag or (yield from self.tag_ends()))
            if not whole:
                r.rewind(at)
                r.pos += 1
            if sure and not whole:
                v.think(r.taken(at))
            elif whole and not sure:
                r.rewind(at)
                v.think(r.taken(begin))
                yield from r.match(ends)
                if thought.tag:
                    yield from self.tag_ends()
            r.drop()
            if whole:
                return
        if not sure:
            self._unclosed.add(thought)
            r.rewind(begin)
            v.write(r.taken(start))

    def tag_ends(self) -> Steps[bool]:
        """Read what is left of a tag, a suffix or attributes, up to its `>`; nothing where that does not come."""
        r = self._reader
        start = r.hold()
        yield from r.read_until("<>\n", _LONGEST_TAG)
        ended = (yield from r.peek()) == ">"
        if ended:
            r.pos += 1
        else:
            r.rewind(start)
        r.drop()
        return ended

    def stray_end(self, start: int) -> Steps[None]:
        """An end of reasoning that had no beginning: some servers send only that. In a sentence it is a word."""
        r, v = self._reader, self._visible
        if not v.blank and (yield from r.peek()) not in ("", "\n", "\r"):
            v.write(r.taken(start))


@cache
def _ends_of(thought: Thought) -> tuple[Trie, re.Pattern[str]]:
    """The tree of a thought's closers, and what finds their first character."""
    first = "".join(sorted({re.escape(closer[0]) for closer in thought.closers}))
    return trie(Marker(closer, Role.THINK_END) for closer in thought.closers), re.compile(f"[{first}]")


def _may_stand_alone(piece: Piece) -> bool:
    return not isinstance(piece, Text) and (not isinstance(piece, Call) or piece.known)
