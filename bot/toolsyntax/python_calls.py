"""Calls in Python's notation: where `name(…)` or `[name(…), …]` ends, and what it contains."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from bot.toolsyntax.arguments import Found, Registry, split

_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}
_QUOTES: Final = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_SPECIAL: Final = re.compile(r"[()\[\]{}\"'“‘\n,=:]")
_STOPS: Final = {quote: re.compile(rf"[\\{end}\n]") for quote, end in _QUOTES.items()}
_ASSIGNED: Final = re.compile(r"\w{1,64}\s*=(?!=)\s*")
_PRINTED: Final = "print("
_NAME: Final = re.compile(r"\s*([^\s()\[\]{},;'\"=]{1,128})\(")


class PythonScan:
    """Finds the bracket that closes the first one; a quote only counts where a value begins."""

    def __init__(self, *, one_line: bool) -> None:
        self._one_line = one_line
        self._stack: list[str] = []
        self._quote = ""
        self._triple = False
        self._escaped = False
        self._opening = 0
        """Quotes seen at a string's beginning: two may be an empty string, three open a long one."""
        self._closing = 0
        self._fresh = True
        self.done = False
        self.broken = False

    @property
    def quick(self) -> Callable[[str], object] | None:
        """Finds the end of the present state, if a whole chunk without it changes nothing."""
        if self._quote and not (self._escaped or self._opening or self._closing):
            return _STOPS[self._quote].search
        return None

    def advance(self, text: str, pos: int) -> int:
        """Read `text` from `pos`, and return where it stopped: at its end, or when `done` or `broken`."""
        while pos < len(text) and not self.done and not self.broken:
            pos = self._in_string(text, pos) if self._quote else self._outside(text, pos)
        return pos

    def _in_string(self, text: str, pos: int) -> int:
        end = _QUOTES[self._quote]
        if self._escaped:
            self._escaped = False
            return pos + 1
        if self._opening:
            if text[pos] == end == self._quote:
                self._opening += 1
                if self._opening == 3:
                    self._triple, self._opening = True, 0
                return pos + 1
            if self._opening == 2:
                self._string_ends()
                return pos
            self._opening = 0
        match = _STOPS[self._quote].search(text, pos)
        if match is None or match.start() > pos:
            self._closing = 0
        if match is None:
            return len(text)
        c = match.group()
        if c == end and self._triple:
            self._closing += 1
            if self._closing == 3:
                self._string_ends()
            return match.end()
        self._closing = 0
        if c == end:
            self._string_ends()
        elif c == "\\":
            self._escaped = True
        else:
            self.broken = self._one_line
        return match.end()

    def _string_ends(self) -> None:
        self._quote = ""
        self._triple = self._fresh = False
        self._opening = self._closing = 0

    def _outside(self, text: str, pos: int) -> int:
        match = _SPECIAL.search(text, pos)
        stop = match.start() if match else len(text)
        if stop > pos and not text[pos:stop].isspace():
            self._fresh = False
        if match is None:
            return stop
        c = match.group()
        if c in _QUOTES:
            if self._fresh:
                self._quote = c
                self._opening = 1
        elif c in _PAIRS:
            self._stack.append(c)
            self._fresh = True
        elif c in ")]}":
            if _PAIRS[self._stack[-1]] != c:
                self.broken = True
                return stop
            self._stack.pop()
            self._fresh = False
            self.done = not self._stack
        elif c == "\n":
            self.broken = self._one_line
        else:
            self._fresh = True
        return match.end()


def read_script(text: str, registry: Registry) -> list[Found] | None:
    """Return the calls of a program that contains nothing else, printed or not, or None; all tools must be
    registered."""
    found: list[Found] = []
    for line in split(text, "\n;"):
        line = line.strip()
        if assigned := _ASSIGNED.match(line):
            line = line[assigned.end() :]
        if not line or line.startswith("#"):
            continue
        if line.startswith(_PRINTED) and line.endswith(")"):
            line = line[len(_PRINTED) : -1]
        calls = read_calls(line, registry)
        if calls is None or not all(call.name in registry for call in calls):
            return None
        found += calls
    return found or None


def read_calls(text: str, registry: Registry) -> list[Found] | None:
    """Return the calls of `[name(…), name(…)]` or `name(…)`, or None for anything else."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    found = []
    items = split(text, ",")
    if items and not items[-1].strip():
        items.pop()
    for item in items:
        match = _NAME.match(item)
        item = item.rstrip()
        if match is None or not item.endswith(")"):
            return None
        name = registry.name(match.group(1))
        if name not in registry and name.endswith(".call"):
            name = registry.name(name.removesuffix(".call"))
        arguments = registry.arguments_from_parentheses(name, item[match.end() : -1])
        if arguments is None:
            return None
        found.append(Found(name, arguments))
    return found or None
