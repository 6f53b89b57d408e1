"""Where a JSON value ends, found character by character with a position and a state, each looked at once.

The same automaton serves two purposes: in arriving text it finds the end; in a finished body that is not strict JSON it
also records the parts, from which `repair.py` builds the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Final

from tools.contract.json_values import DEEPEST

_CLOSING: Final = {"{": "}", "[": "]"}
_QUOTES: Final = {'"': '"', "'": "'", "“": '”“"', "”": '”"', "‘": "’‘'", "’": "’'"}
_STOPS: Final = {quote: re.compile(f"[\\\\{re.escape(ends)}]") for quote, ends in _QUOTES.items()}
_BARE_END: Final = re.compile(r"[\s,:{}\[\]\"'“”‘’<>()]")
_NUMBER: Final = re.compile(r"[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\Z")
_ITEM: Final = re.compile(r"\s*-?\d{1,300}(?:\.\d{1,300})?\s*,")
"""A number and its comma in a list, read at once: long lists are common."""
_KEY: Final = re.compile(r"[^\W\d][\w.\-]*\Z")
_LITERALS: Final = frozenset({"true", "false", "null", "True", "False", "None"})
_WATCHED: Final = 200


class _In(Enum):
    KEY = 1
    COLON = 2
    VALUE = 3
    AFTER = 4
    STRING = 5
    ESCAPE = 6
    QUOTE = 7
    """After a possible closing quote of a string that is not in plain double quotes."""
    BARE = 8
    DONE = 9


Part = tuple[str, str]
"""`("{", "")`, `("}", "")`, `("key", text)`, `("string", text)` or `("bare", text)`."""


class JsonScan:
    """One object or list, as tolerant as the repair rules: see the beginning of the module.

    `advance` stops at the end, and before a character that JSON has only inside strings (`stopped`), which may begin a
    closing tag; continue with `tolerate`. `begun`: the text is more than a brace in prose.
    """

    __slots__ = (
        "_bare", "_key", "_mode", "_parts", "_piece", "_quote", "_spaces", "_stack",
        "begun", "broken", "on_string", "one_line_strings", "records", "stopped", "strict", "too_deep",
    )  # fmt: skip

    def __init__(self, *, records: bool = False, strict: bool = False, parts: list[Part] | None = None) -> None:
        self._mode = _In.VALUE
        self._stack: list[str] = []
        self._key = False
        self._quote = '"'
        self._piece: list[str] | None = [] if parts is not None else None
        self._bare: list[str] = []
        self._spaces: list[str] = []
        self._parts = parts
        self.records = records
        """A list only counts if its first item is an object."""
        self.strict = strict
        """Stop at the first mistake that has no repair, even once `begun`."""
        self.begun = False
        self.broken = False
        self.stopped = False
        self.too_deep = False
        self.one_line_strings = False
        """A raw line break in a string is a mistake, too."""
        self.on_string: Callable[[int, bool, str], None] | None = None
        """Gets every string: depth, whether it is a key, and the text (only short ones)."""

    @property
    def done(self) -> bool:
        """The value is closed."""
        return self._mode is _In.DONE

    @property
    def closable(self) -> bool:
        """Only closers are missing."""
        return self._mode in (_In.AFTER, _In.QUOTE) and bool(self._stack)

    @property
    def quick(self) -> Callable[[str], object] | None:
        """Finds the end of the present state, if a whole chunk without it changes nothing."""
        if self._mode is _In.STRING and self._piece is None:
            return _STOPS[self._quote].search
        return None

    def finish(self) -> None:
        """The text ended: close a string if its quote may have closed it."""
        if self._mode is _In.QUOTE:
            self._string_ends()

    def flush(self) -> None:
        """The text ended anywhere: accept the unfinished token as it is."""
        if self._mode in (_In.STRING, _In.ESCAPE, _In.QUOTE):
            self._string_ends()
        elif self._mode is _In.BARE:
            self._bare_ends()

    def watch(self, on_string: Callable[[int, bool, str], None] | None) -> None:
        """Report strings to `on_string` from here on, or no longer."""
        self.on_string = on_string
        self._piece = [] if on_string is not None else None

    def tolerate(self) -> None:
        """Count the character that stopped the scan as a mistake and go on."""
        self.stopped = False
        self.broken = True

    def advance(self, text: str, pos: int, end: int) -> int:  # noqa: C901  # every character passes here: no call per state
        """Read `text[pos:end]`, and return where it stopped."""
        while pos < end and not self.stopped and (not self.broken or (self.begun and not self.strict)):
            mode = self._mode
            if mode is _In.STRING:
                match = _STOPS[self._quote].search(text, pos, end)
                stop = match.start() if match else end
                if self._piece is not None:
                    self._piece.append(text[pos:stop])
                if self.one_line_strings and (newline := text.find("\n", pos, stop)) >= 0:
                    self.broken = True
                    return newline
                if match is None:
                    return end
                pos = stop + 1
                if text[stop] == "\\":
                    self._keep("\\")
                    self._mode = _In.ESCAPE
                elif self._quote == '"':
                    self._string_ends()
                else:
                    self._spaces = [text[stop]]
                    self._mode = _In.QUOTE
            elif mode is _In.ESCAPE:
                self._keep(text[pos])
                pos += 1
                self._mode = _In.STRING
            elif mode is _In.BARE:
                match = _BARE_END.search(text, pos, end)
                stop = match.start() if match else end
                self._bare.append(text[pos:stop])
                pos = stop
                if match is not None:
                    self._bare_ends()
            elif mode is _In.DONE:
                return pos
            elif (
                mode is _In.VALUE
                and self.begun
                and self._parts is None
                and self._stack[-1] == "["
                and (match := _ITEM.match(text, pos, end))
            ):
                pos = match.end()
            else:
                c = text[pos]
                if c.isspace():
                    if mode is _In.QUOTE and self._piece is not None:
                        self._spaces.append(c)
                    pos += 1
                elif mode is _In.QUOTE:
                    if c in ",:}]<":
                        self._string_ends()
                    else:
                        for piece in self._spaces:
                            self._keep(piece)
                        self._mode = _In.STRING
                else:
                    pos = self._step(c, pos)
        return pos

    def _step(self, c: str, pos: int) -> int:
        """Take one character outside strings, and return where to go on."""
        mode = self._mode
        if c in "}]":
            self._close(c)
            return pos + 1
        if c in "<(>)" or (c == "[" and mode is not _In.VALUE):
            self.stopped = True
            return pos
        if mode is _In.COLON:
            self.broken = self.broken or c != ":"
            self.begun = self.begun or c == ":"
            self._mode = _In.VALUE
        elif c == "," and mode is _In.AFTER:
            self._mode = _In.KEY if self._stack[-1] == "{" else _In.VALUE
        elif c in ",:":
            self.broken = True
        else:
            if mode is _In.AFTER:  # two values without a comma
                self.broken = True
            if self.records and not self.begun and len(self._stack) == 1 and self._stack[0] == "[" and c != "{":
                self.broken = True
            self._key = mode is _In.KEY
            if c in "{[":
                self.broken = self.broken or self._key
                self._open(c)
            elif c in _QUOTES:
                self._quote = c
                self._mode = _In.STRING
            else:
                self._mode = _In.BARE
                return pos
        return pos + 1

    def _open(self, c: str) -> None:
        self._stack.append(c)
        if len(self._stack) > DEEPEST:
            self.broken = self.too_deep = True
        self._part(c, "")
        self._mode = _In.KEY if c == "{" else _In.VALUE

    def _close(self, c: str) -> None:
        """Close down to the bracket that matches `c`; one without a match is one too many."""
        if self._mode is _In.COLON or (self._mode is _In.VALUE and self._stack[-1] == "{"):
            self.broken = True
        wanted = "{" if c == "}" else "["
        if wanted not in self._stack[-8:]:
            return
        while True:
            opened = self._stack.pop()
            self._part(_CLOSING[opened], "")
            if opened == wanted:
                break
        self._after_value()

    def _after_value(self) -> None:
        if self._stack:
            self._mode = _In.AFTER
        else:
            self.begun = self.begun or not self.broken
            self._mode = _In.DONE

    def _string_ends(self) -> None:
        piece = "".join(self._piece) if self._piece is not None else ""
        if self._piece is not None:
            self._piece.clear()
            if self.on_string is not None and len(piece) <= _WATCHED:
                self.on_string(len(self._stack), self._key, piece)
        self._token_ends("key" if self._key else "string", piece)

    def _bare_ends(self) -> None:
        piece = "".join(self._bare)
        self._bare.clear()
        if self._key:
            self.broken = self.broken or not _KEY.match(piece)
            if self.on_string is not None:
                self.on_string(len(self._stack), True, piece)
        else:
            self.broken = self.broken or not (piece in _LITERALS or _NUMBER.match(piece))
        self._token_ends("key" if self._key else "bare", piece)

    def _token_ends(self, kind: str, piece: str) -> None:
        self._part(kind, piece)
        if self._key:
            self._mode = _In.COLON
        else:
            self._after_value()

    def _keep(self, text: str) -> None:
        if self._piece is not None:
            self._piece.append(text)

    def _part(self, kind: str, text: str) -> None:
        if self._parts is not None:
            self._parts.append((kind, text))
