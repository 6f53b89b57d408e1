"""Text that is never searched for calls: code fences, inline code, reasoning; except a reply's only JSON fence."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol

from bot.toolsyntax.arguments import Registry
from bot.toolsyntax.families import ENDS, Marker, Role, Thought, Trie, trie
from bot.toolsyntax.pieces import Call, Piece, Text
from bot.toolsyntax.protected import Visible
from bot.toolsyntax.python_calls import read_script
from bot.toolsyntax.reader import PARTIAL, Reader, Steps
from bot.toolsyntax.tokens import CONTROL_TOKENS, ENDINGS

_CONTROL: Final = re.compile("|".join(re.escape(token) for token in (*CONTROL_TOKENS, *ENDINGS)))
_LONGEST_WORD: Final = 32
_LONGEST_TAG: Final = 200
_IN_SENTENCES: Final = " .,;:!?)\"'"
_PROGRAM: Final = "tool_code"


class Finder(Protocol):
    """Finds the calls of a text that comes in pieces."""

    def feed(self, text: str) -> list[Piece]: ...
    def finish(self, cut: bool = False) -> list[Piece]: ...
    def close(self) -> None: ...
    @property
    def only_json(self) -> bool: ...


@dataclass(eq=False, repr=False)
class Fences:
    """Reads protected stretches of one reply and shows them."""

    reader: Reader
    visible: Visible
    inner: Callable[[], Finder] | None
    """Returns a finder for the calls of a fence or a thought that is the whole reply; None inside such a one."""
    registry: Registry

    def __post_init__(self) -> None:
        self._first = True
        self._unclosed: set[Thought] = set()
        """Reasoning whose end is not in the rest of the reply."""
        self.cut = False
        """The model stopped for length."""
        self.dropped = ""
        """A fence of calls that cannot be read."""
        self.calls: tuple[Call, ...] = ()
        """The calls of a fence that was nothing else."""

    def backticks(self, c: str, *, only: bool) -> Steps[None]:
        """Read a run of backticks or tildes: a fence, the border of inline code, or plain text.

        With `only` nothing came before, so a fence may turn out to be the whole reply.
        """
        r, v = self.reader, self.visible
        starts = v.starts_fence and not v.inline
        start = r.hold()
        yield from r.skip(c)
        length = r.offset - start
        if starts and length >= 3:
            info = r.offset
            more = yield from r.find("\n")
            if c == "~" or "`" not in r.taken(info):
                r.pos += more
                if more and c == "`" and v.blank and r.taken(info).strip() == _PROGRAM:
                    body = r.offset
                    if (yield from self._is_program(length)):
                        r.drop()
                        return
                    r.rewind(body)
                elif more and only and self._first and self.inner is not None:
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
            # "Like this: ```json" is not a fence in Markdown, but models write it as one, so code follows.
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
        r, v = self.reader, self.visible
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
        r = self.reader
        count = 0
        while (c := (yield from r.peek())) and c in characters:
            self.visible.write(c)
            r.pos += 1
            count += 1
        return count

    def _is_program(self, length: int) -> Steps[bool]:
        """Return True if the fence whose body begins here is Gemma 3's notation for calls, and contains nothing
        else."""
        r = self.reader
        body = r.offset
        while True:
            line = r.offset
            more = yield from r.find("\n")
            r.pos += more
            closing = _bare(r.taken(line))
            closed = len(closing) >= length and not closing.strip("`")
            if closed or not more:
                break
        end = r.offset - (closed and more)
        if closed:
            r.rewind(line)
        text = r.taken(body)
        r.rewind(end)
        calls = read_script(text, self.registry) if closed or not self.cut else None
        self.calls = tuple(Call(call.name, call.arguments, True, text) for call in calls or ())
        if calls is None and self.registry.named_in(text):
            self.dropped = text
        return calls is not None or bool(self.dropped)

    def _is_whole_reply(self, c: str, length: int) -> Steps[bool]:
        """Return True if the fence whose body begins here contains only calls, and nothing follows it."""
        r = self.reader
        body = r.offset
        first = yield from r.skip()
        if not first or first not in "{[<":
            return False
        r.rewind(body)
        assert self.inner is not None
        with closing(self.inner()) as inner:
            return (yield from self._holds_calls(inner, c, length))

    def _holds_calls(self, inner: Finder, c: str, length: int) -> Steps[bool]:
        r = self.reader
        pieces: list[Piece] = []
        while True:
            start = r.offset
            more = yield from r.find("\n")
            r.pos += more
            line = r.taken(start)
            closing = _bare(line)
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

    def reasoning(self, thought: Thought, start: int, *, sure: bool, alone: bool) -> Steps[None]:
        """Split off reasoning after its opener. If it is not `sure`, it counts only if it is closed.

        The caller holds from `start`, the opener's position. If nothing came before (`alone`), and it never closes and
        ends in a call, that call runs.
        """
        r, v = self.reader, self.visible
        if not sure and thought in self._unclosed:
            v.write(r.taken(start))
            return
        draft = self.inner() if sure and alone and self.inner is not None else None
        with closing(draft) if draft is not None else nullcontext():
            yield from self._split_off(thought, start, sure, draft)

    def _split_off(self, thought: Thought, start: int, sure: bool, draft: Finder | None) -> Steps[None]:
        r, v = self.reader, self.visible
        ends, first = _ends_of(thought)
        begin = r.offset
        drafts: list[Piece] = []
        while True:
            before = r.pos
            found = first.search(r.text, before)
            r.pos = found.start() if found else len(r.text)
            if sure:
                v.think(r.text[before : r.pos])
            if draft is not None:
                drafts += draft.feed(r.text[before : r.pos])
            if not found:
                if r.ended:
                    break
                yield
                continue
            at = r.hold()
            end = yield from r.match(ends)
            whole = isinstance(end, Marker) and (not thought.tag or (yield from self.tag_ends()))
            after = at if isinstance(end, Marker) and end.role is not Role.THINK_END else r.offset
            if not whole:
                r.rewind(at)
                r.pos += 1
            if sure and not whole:
                v.think(r.taken(at))
                drafts += draft.feed(r.taken(at)) if draft is not None else ()
            elif whole and not sure:
                r.rewind(at)
                v.think(r.taken(begin))
                r.pos += after - at
            if whole and sure:
                r.rewind(after)
            r.drop()
            if whole:
                return
        if draft is not None:
            drafts += draft.finish(self.cut)
            self.calls = _last_calls(drafts)
        if not sure:
            self._unclosed.add(thought)
            r.rewind(begin)
            v.write(r.taken(start))

    def tag_ends(self) -> Steps[bool]:
        """Read the rest of a tag, a suffix or attributes, up to its `>`; consume nothing if that does not come."""
        r = self.reader
        start = r.hold()
        yield from r.read_until("<>\n", _LONGEST_TAG)
        ended = (yield from r.peek()) == ">"
        if ended:
            r.pos += 1
        else:
            r.rewind(start)
        r.drop()
        return ended

    def stray_end(self, thought: Thought, start: int) -> Steps[bool]:
        """Read an end of reasoning without a beginning: return True if that was in the prompt, and all text before it
        is a thought.

        In a sentence it is a word.
        """
        r, v = self.reader, self.visible
        c = yield from r.peek()
        if not v.blank and c not in ("", "\n", "\r") and (v.spaced or c in _IN_SENTENCES):
            v.write(r.taken(start))
            return False
        return not thought.told and not v.thought


def _bare(line: str) -> str:
    """Return a line without the tokens that runtimes leave; a long one closes no fence, and is returned as it is."""
    return _CONTROL.sub("", line).strip() if len(line) < _LONGEST_TAG else line


def _last_calls(pieces: list[Piece]) -> tuple[Call, ...]:
    """Return the calls at the end of a text, if it ends only in calls that can all run."""
    calls: list[Call] = []
    for piece in pieces:
        if isinstance(piece, Call):
            calls.append(piece)
        elif isinstance(piece, Text):
            calls.clear()
    return tuple(calls) if all(call.known for call in calls) else ()


@cache
def _ends_of(thought: Thought) -> tuple[Trie, re.Pattern[str]]:
    """Return the tree of a thought's closers, and a search for their first character."""
    first = "".join(sorted({re.escape(word[0]) for word in (*thought.closers, *thought.until)}))
    ends = [Marker(word, Role.THINK_END) for word in thought.closers]
    return trie([*ends, *(Marker(word, Role.OPEN) for word in thought.until)]), re.compile(f"[{first}]")


def _may_stand_alone(piece: Piece) -> bool:
    return not isinstance(piece, Text) and (not isinstance(piece, Call) or piece.known)
