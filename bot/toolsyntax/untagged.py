"""Calls without a tag: they begin a line as JSON, as `name(…)`, as `[name(…)]` or in words."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from bot.toolsyntax.arguments import HOLDERS, LISTS, NAME_KEYS, Found, Registry
from bot.toolsyntax.bodies import Bodies
from bot.toolsyntax.families import (
    CLOSERS_AND_CONTROLS,
    ENDS,
    LINE_STARTS,
    OPENERS,
    Body,
    Marker,
    Role,
    Trie,
    trie,
)
from bot.toolsyntax.outcomes import TEXT, UNFINISHED, Outcome, Verdict, fired
from bot.toolsyntax.reader import Reader, Steps
from bot.toolsyntax.repair import Unreadable, loads, partial
from bot.toolsyntax.scan import JsonScan
from bot.toolsyntax.tokens import CONTROL_TOKENS

_HOLD_LIMIT: Final = 8000
"""How many characters of an object are held without a registered name at depth 1."""
_NO_FOLD: Final[dict[str, str]] = {}
_QUOTES: Final = "\"'“”‘’"
_MARK: Final = ">>>"
_LONGEST_NAME: Final = 128
_INPUT: Final = trie([Marker("Action Input:", Role.ACTION)], _NO_FOLD)


class Line(NamedTuple):
    """The beginning of a line. Without calls, `data` means JSON of its own, to be shown whole."""

    outcome: Outcome
    body: Body = Body.JSON
    data: bool = False
    unfinished: JsonScan | None = None
    """Data that is too long to hold any longer, and continues."""


_PLAIN: Final = Line(TEXT)


class Untagged:
    """Reads a possible call at the beginning of a line; the caller holds from there."""

    def __init__(self, reader: Reader, registry: Registry, bodies: Bodies) -> None:
        self._reader = reader
        self._registry = registry
        self._bodies = bodies
        names = tuple(registry.names)
        self._calls = _calls_trie(names)
        self._lines = _calls_trie(names, LINE_STARTS)

    def may_begin(self, c: str) -> bool:
        """Return True if a line that begins with `c` may be a call in words or in brackets."""
        return c in self._lines

    # JSON

    def json(self, start: int, *, records: bool) -> Steps[Line]:
        """Read an object, or a list of them."""
        r = self._reader
        scan = JsonScan(records=records, strict=True)
        watch = _Watch(self._registry, 2 if records else 1)
        scan.watch(watch.see)
        while not scan.done:
            if r.pos >= len(r.text):
                if r.ended:
                    break
                r.quick = scan.quick
                yield
                continue
            end = len(r.text) if watch.named else min(len(r.text), start + _HOLD_LIMIT - r.base)
            r.pos = scan.advance(r.text, r.pos, end)
            if scan.broken or scan.stopped:
                return _PLAIN
            if watch.named and scan.on_string is not None:
                scan.watch(None)
            if not watch.named and not scan.done and r.offset >= start + _HOLD_LIMIT:
                scan.watch(None)
                scan.one_line_strings = True
                return Line(TEXT, data=True, unfinished=scan)
        text = r.taken(start)
        if not scan.done:
            return Line(UNFINISHED) if watch.named or self._names_a_tool(text) else _PLAIN
        try:
            calls = self._registry.calls_in(loads(text), tagged=False)
        except Unreadable:
            return _PLAIN
        return Line(TEXT, data=True) if calls is None else Line(fired(*calls))

    def _names_a_tool(self, text: str) -> bool:
        """Return True if the text stops inside the beginning of a registered name."""
        value = partial(text)
        if isinstance(value, list) and value:
            value = value[-1]
        if not isinstance(value, dict):
            return False
        names = (value.get(key) for key in NAME_KEYS)
        return any(isinstance(name, str) and text.endswith(name) and self._registry.begins(name) for name in names)

    # brackets

    def listed(self, start: int) -> Steps[Line]:
        """Read a list that begins at `start`, unread."""
        r = self._reader
        r.pos += 1
        c = yield from r.skip()
        here = r.offset
        if c == "{":
            r.rewind(start)
            return (yield from self.json(start, records=True))
        if c and (c in "\"'[-" or c.isdigit()):  # data, most likely
            r.rewind(start)
            scan = JsonScan(strict=True)
            scan.one_line_strings = True
            return Line(TEXT, Body.JSON, True, scan)
        marker = yield from r.match(self._calls, _NO_FOLD)
        if not isinstance(marker, Marker):
            r.rewind(here)
            return _PLAIN
        r.rewind(start)
        return (yield from self._python(start, one_line=False))

    def worded(self, start: int, *, alone: bool) -> Steps[Line]:
        """Read `name(…)`, a name on a line of its own, or a call in words; `alone`: the reply begins here."""
        r = self._reader
        marker = yield from r.match(self._lines, _NO_FOLD)
        if not isinstance(marker, Marker):
            return _PLAIN
        if marker.role is Role.NAMED:
            return (yield from self._lined(marker.written, alone=alone))
        if marker.role is Role.STRAY:
            here = r.offset
            opener = (yield from r.match(OPENERS)) if (yield from r.peek()) == "<" else None
            r.rewind(here)
            return Line(fired()) if isinstance(opener, Marker) else _PLAIN
        if marker.role is Role.ACTION:
            return (yield from self._action())
        if marker.role is not Role.CALL:
            return Line((yield from self._sentence(marker.role)), Body.PYTHON)
        r.rewind(r.offset - 1)
        return (yield from self._python(start, one_line=True))

    def _python(self, start: int, *, one_line: bool) -> Steps[Line]:
        """Read a call or a list of them, if nothing follows on the line and all tools are registered."""
        r = self._reader
        outcome = yield from self._bodies.python(one_line=one_line, start=start)
        if outcome.verdict is Verdict.UNFINISHED:
            return Line(outcome, Body.PYTHON)
        if outcome.verdict is not Verdict.CALLS or not all(self._may_run(call) for call in outcome.calls):
            return _PLAIN
        while True:
            c = yield from r.skip(" \t\r")
            if not c or c == "\n":
                return Line(outcome, Body.PYTHON)
            if not isinstance((yield from r.match(CLOSERS_AND_CONTROLS)), Marker):
                return _PLAIN

    def _may_run(self, call: Found) -> bool:
        """Return False for an empty pair of brackets after a tool that needs arguments, which is a mention and not a
        call."""
        return call.name in self._registry and (bool(call.arguments) or not self._registry.needs_arguments(call.name))

    # a name on its line

    def _lined(self, written: str, *, alone: bool) -> Steps[Line]:
        """Read the arguments under a name that fills its line.

        After `>>>` they are a call anywhere; a bare name and its object only if calls are the whole reply.
        """
        r = self._reader
        marked = written.startswith(_MARK)
        name = written.removeprefix(_MARK).rstrip()
        if name == "all":
            return Line(fired()) if (marked or alone) and (yield from r.skip()) else _PLAIN
        if not marked and not alone:
            return _PLAIN
        calls: list[Found] = []
        while (c := (yield from r.skip())) == "{":
            outcome = yield from self._bodies.arguments(name)
            if outcome.verdict is Verdict.UNFINISHED:
                return Line(outcome)
            if outcome.verdict is not Verdict.CALLS:
                return Line(outcome) if marked else _PLAIN
            calls += outcome.calls
            if marked:
                return Line(fired(*calls))
            c = yield from r.skip()
            while c and c in "<[" and isinstance((yield from r.match(ENDS)), Marker):
                c = yield from r.skip()
            if not c:
                return Line(fired(*calls))
            following = yield from r.match(self._lines, _NO_FOLD)
            if not isinstance(following, Marker) or following.role is not Role.NAMED:
                break
            name = following.written.removeprefix(_MARK).rstrip()
        return Line(UNFINISHED) if not c and self._bodies.cut else _PLAIN

    def _action(self) -> Steps[Line]:
        """Read what follows `Action:`: a fence with calls, or a name with `Action Input:` on the next line."""
        r = self._reader
        c = yield from r.skip()
        if c != "`":
            written = (yield from r.read_until("\n", _LONGEST_NAME)).strip()
            name = self._registry.name(written)
            yield from r.skip()
            if name not in self._registry or not isinstance((yield from r.match(_INPUT, _NO_FOLD)), Marker):
                return Line(UNFINISHED) if self._bodies.cut and name in self._registry else _PLAIN
            c = yield from r.skip()
            return Line((yield from self._bodies.arguments(name)) if c == "{" else UNFINISHED if not c else TEXT)
        yield from r.skip(c)
        yield from r.read_until("\n{[", _LONGEST_NAME)
        c = yield from r.skip()
        if not c:
            return Line(UNFINISHED)
        outcome = (yield from self._bodies.json()) if c in "[{" else TEXT
        if outcome.verdict is Verdict.CALLS and (yield from r.skip()) == "`":
            yield from r.skip("`")
        return Line(outcome)

    # words

    def _sentence(self, role: Role) -> Steps[Outcome]:
        """Read what follows `使用工具` or `我需要使用工具` on its line."""
        r = self._reader
        if (yield from r.skip(" \t")) not in ("：", ":"):
            return TEXT
        r.pos += 1
        yield from r.skip(" \t" + _QUOTES)
        name = ""
        while (c := (yield from r.peek())) and not (c.isspace() or c in "：:" or c in _QUOTES):
            name += c
            r.pos += 1
            if not self._registry.begins(name):
                return TEXT
        if not c:
            return UNFINISHED if self._bodies.cut else self._complete(role, self._registry.name(name), "")
        name = self._registry.name(name)
        if name not in self._registry:
            return TEXT
        yield from r.skip(_QUOTES)
        c = yield from r.skip(" \t\r")
        if c in ("：", ":"):
            r.pos += 1
        elif role is Role.USE and c not in ("", "\n"):
            return TEXT
        start = r.hold()
        whole = yield from r.find("\n")
        rest = r.taken(start)
        r.drop()
        if not whole and (
            self._bodies.cut or (c in ("：", ":") and not rest.strip() and self._registry.needs_arguments(name))
        ):
            return UNFINISHED
        return self._complete(role, name, rest)

    def _complete(self, role: Role, name: str, rest: str) -> Outcome:
        """Return the call that a whole line forms."""
        rest = rest.strip()
        for token in CONTROL_TOKENS:
            rest = rest.replace(token, "").strip()
        if name not in self._registry or (not rest and self._registry.needs_arguments(name)):
            return TEXT
        if role is Role.NEED:
            return fired(Found(name, self._registry.first_parameter(name, rest)))
        return fired(Found(name, self._registry.arguments_from_line(name, rest)))


class _Watch:
    """Notices a registered name in a call's position."""

    def __init__(self, registry: Registry, depth: int) -> None:
        self._registry = registry
        self._depth = depth
        self._keys: dict[int, str] = {}
        self.named = False

    def see(self, depth: int, is_key: bool, text: str) -> None:
        """Note one string."""
        if is_key:
            self._keys[depth] = text
        elif self._keys.get(depth) in NAME_KEYS and self._in_place(depth - self._depth):
            self.named = self.named or self._registry.name(text) in self._registry

    def _in_place(self, deeper: int) -> bool:
        outer = self._keys.get(self._depth)
        if deeper == 1:
            return outer == "function" or outer in HOLDERS
        return deeper == 0 or (deeper in (2, 3) and outer in LISTS)


@lru_cache(maxsize=64)
def _calls_trie(names: tuple[str, ...], others: tuple[Marker, ...] = ()) -> Trie:
    """Made once for a set of tools: every pass of every turn reads with it."""
    calls = [Marker(f"{before}{name}(", Role.CALL) for name in names for before in ("", "functions.")]
    lined = [Marker(f"{before}{name}\n", Role.NAMED) for name in names for before in ("", _MARK)] if others else []
    return trie([*calls, *lined, *others], _NO_FOLD)
