"""Calls after an opener: the kind of body that follows, and what belongs to a call after it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bot.toolsyntax.arguments import Found, Registry
from bot.toolsyntax.arrows import arrows
from bot.toolsyntax.bodies import COLONS, Bodies
from bot.toolsyntax.families import (
    CLOSERS,
    CLOSERS_AND_CONTROLS,
    IN_PAIRS,
    OPENERS,
    SEPARATORS,
    Body,
    Family,
    Marker,
    Role,
)
from bot.toolsyntax.outcomes import TEXT, UNFINISHED, Outcome, Verdict, fired
from bot.toolsyntax.reader import PARTIAL, Reader, Steps
from bot.toolsyntax.xtml import Xtml

_WORDS_LIMIT: Final = 200
"""How many characters of words can come between an opener and its body, or a body and its closer."""
_MESS_LIMIT: Final = 4000
"""How far a closer is searched after a body that broke off."""
_FENCE_LINE: Final = re.compile(r"\s*`{3,}[\w+-]*\s*\Z")


class Tagged(NamedTuple):
    """What follows an opener."""

    outcome: Outcome
    family: Family | None
    body: Body | None


class TaggedCalls:
    """Reads what follows an opener; the caller holds from the opener."""

    def __init__(self, reader: Reader, registry: Registry, bodies: Bodies) -> None:
        self._reader = reader
        self._registry = registry
        self._bodies = bodies
        self._xtml = Xtml(reader, registry, bodies)
        self._words_allowed = True
        self.no_call_until = 0
        """Openers before this place of the reply lead to the same body, which was found not to be a call."""

    def read(self, opener: Marker) -> Steps[Tagged]:
        """Read the body after an opener."""
        r = self._reader
        openers = 1
        family = opener.family
        while opener.role is Role.OPEN:
            c = yield from r.skip()
            if opener.family is not None and opener.family.colons:
                c = yield from r.skip(COLONS)
            if not c:
                held = UNFINISHED if self._bodies.cut or openers > 1 else TEXT
                return Tagged(held, family, None)
            inner = (yield from r.match(OPENERS)) if c in "<[" else None
            if inner is PARTIAL:
                return Tagged(UNFINISHED if c == "<" else TEXT, family, None)
            if not isinstance(inner, Marker):
                begin = r.offset
                outcome, body = yield from self.body(opener.family, c)
                if outcome.verdict is Verdict.TEXT:
                    self.no_call_until = begin
                return Tagged(outcome, family, body)
            opener = inner
            family = family or opener.family
            openers += 1
        xtml = opener.body is Body.XTML
        outcome = yield from (self._xtml.call() if xtml else self._bodies.element(opener))
        return Tagged(outcome, family, opener.body)

    def body(self, family: Family | None, c: str) -> Steps[tuple[Outcome, Body]]:
        """Read the body that begins here with the character `c`."""
        kinds = family.bodies if family else ()
        if c == "{" and Body.ARROWS in kinds:
            return (yield from arrows(self._reader, self._registry)), Body.ARROWS
        if c in "{[":
            outcome = yield from self._bracketed(kinds, c)
            if family and not family.words and not any(call.name in self._registry for call in outcome.calls):
                outcome = outcome if outcome.verdict is Verdict.UNFINISHED else TEXT  # other XML, or a word
            return outcome, Body.PYTHON if c == "[" and outcome.verdict is Verdict.CALLS else Body.JSON
        here = self._reader.offset
        if Body.BRACES in kinds and c not in "<`(":
            outcome = yield from self._bodies.braces()
            if outcome.verdict is not Verdict.TEXT:
                return outcome, Body.BRACES
            self._reader.rewind(here)
        if not c.isspace() and c not in "<`(":
            outcome, body = yield from self._after_name(family, kinds)
            if outcome.verdict is not Verdict.TEXT:
                return outcome, body
            self._reader.rewind(here)
        if family and family.words and Body.JSON in kinds:
            return (yield from self._after_words()), Body.JSON
        return TEXT, Body.JSON

    def _bracketed(self, kinds: tuple[Body, ...], c: str) -> Steps[Outcome]:
        r = self._reader
        start = r.offset
        if c == "[" and Body.PYTHON in kinds:
            r.pos += 1
            c = yield from r.skip()
            name = (yield from self._bodies.name()) if c and c not in "{[]" else ""
            after = yield from r.peek()
            r.rewind(start)
            if name and after == "(":
                return (yield from self._bodies.python(one_line=False, start=start))
            if name and not after:
                return UNFINISHED if self._registry.begins(name) else TEXT
        if Body.JSON in kinds:
            return (yield from self._bodies.json())
        return TEXT

    def _after_name(self, family: Family | None, kinds: tuple[Body, ...]) -> Steps[tuple[Outcome, Body]]:
        """Read a body that begins with the tool's name."""
        r = self._reader
        start = r.offset
        written = yield from self._bodies.name()
        name = self._registry.name(written)
        c = yield from r.peek()
        if not c:
            return (UNFINISHED if self._bodies.cut or self._registry.begins(written) else TEXT), Body.NAMED
        if not name:
            return TEXT, Body.NAMED
        if c == "(" and Body.PYTHON in kinds:
            outcome = yield from self._bodies.python(one_line=False, start=start)
            known = all(call.name in self._registry for call in outcome.calls)
            if outcome.verdict is not Verdict.CALLS or known or (yield from self._ends_line()):
                return outcome, Body.PYTHON
            return TEXT, Body.PYTHON
        c = yield from r.skip()
        if c == "<" and Body.PAIRS in kinds:
            after = r.offset
            if isinstance((yield from r.match(SEPARATORS)), Marker):
                yield from r.skip()
            here = r.offset
            marker = yield from r.match(IN_PAIRS)
            if isinstance(marker, Marker):
                r.rewind(here)
                if marker.role is Role.KEY:
                    return (yield from self._bodies.pairs(name)), Body.PAIRS
                if marker.role is Role.CLOSE and name in self._registry:
                    return fired(Found(name, {})), Body.PAIRS
            elif marker is PARTIAL and self._registry.begins(written):
                return UNFINISHED, Body.PAIRS
            r.rewind(after)
        if Body.NAMED in kinds:
            plain = name in self._registry or (family is not None and bool(family.separators))
            return (yield from self._bodies.named(name, plain=plain)), Body.NAMED
        return TEXT, Body.NAMED

    def _after_words(self) -> Steps[Outcome]:
        """Read an object after words: only if the closer follows it, or the words are a fence."""
        r = self._reader
        if not self._words_allowed:
            return TEXT
        words = yield from r.read_until("{[<", _WORDS_LIMIT)
        c = yield from r.peek()
        fence = _FENCE_LINE.match(words) is not None
        if not c or c not in "{[":
            return UNFINISHED if fence and not c else TEXT
        self._bodies.fenced = self._bodies.fenced or "```" in words
        outcome = yield from self._bodies.json()
        if fence or outcome.verdict in (Verdict.TEXT, Verdict.UNFINISHED):
            return outcome
        if (yield from self._closed()):
            return outcome
        self._words_allowed = False
        return TEXT

    def _ends_line(self) -> Steps[bool]:
        """Return True if the line ends here, or a closer comes here. Consumes nothing."""
        r = self._reader
        here = r.offset
        c = yield from r.skip(" \t\r")
        marker = (yield from r.match(CLOSERS_AND_CONTROLS)) if c == "<" else None
        r.rewind(here)
        return c in ("", "\n") or isinstance(marker, Marker)

    def _closed(self) -> Steps[bool]:
        """Return True if a closer comes soon. Consumes nothing."""
        r = self._reader
        here = r.offset
        found = yield from self._words_before_closer(_WORDS_LIMIT, broken=False)
        r.rewind(here)
        return found

    # after the body

    def rest(self, tagged: Tagged | None) -> Steps[Outcome | None]:  # noqa: C901  # a branch for each sign that may follow
        """Read what belongs to the call after its body; return an outcome if that is one more body."""
        r = self._reader
        kinds = tagged.family.bodies if tagged and tagged.family else ()
        family = tagged.family if tagged else None
        inside = tagged is not None
        json = tagged is None or tagged.body in (Body.JSON, Body.NAMED)
        broken = tagged is not None and tagged.outcome.verdict is Verdict.BROKEN
        while True:
            here = r.hold()
            outcome: Outcome | None = None
            c = yield from r.skip()
            more = False
            if not c:
                pass
            elif c in "}]" and json:
                r.pos += 1
                more = True
            elif c in ";,":
                r.pos += 1
                following = yield from r.skip()
                more = (
                    not following
                    or following == "{"
                    or (inside and following in "[<")
                    or (inside and self._may_repeat(tagged, kinds) and self._registry.begins(following))
                )
            elif c == "`" and self._bodies.fenced:
                yield from r.skip("`")
                more = True
                self._bodies.fenced = False
            elif c in "<[" and (marker := (yield from r.match(CLOSERS_AND_CONTROLS))) is not None:
                more = True
                if marker is PARTIAL:
                    more = c == "<"
                    r.pos += len(r.text) - r.pos if more else 0
                elif isinstance(marker, Marker) and marker.role is not Role.CONTROL:
                    inside = broken = False
            elif inside and c in "{[" and json and Body.JSON in kinds:
                outcome = yield from self._bodies.json()
            elif inside and self._may_repeat(tagged, kinds) and not c.isspace() and c not in "<`":
                outcome, _ = yield from self._after_name(family, kinds)
                if outcome.verdict is Verdict.CALLS and not all(call.name in self._registry for call in outcome.calls):
                    outcome = TEXT if tagged and tagged.body is Body.PYTHON else outcome
            if outcome is not None and outcome.verdict is not Verdict.TEXT:
                r.drop()
                return outcome
            if not more:
                r.rewind(here)
                if (inside or broken) and c:
                    more = yield from self._words_before_closer(_MESS_LIMIT if broken else _WORDS_LIMIT, broken=broken)
                    inside = broken = False
            r.drop()
            if not more:
                return None

    def _may_repeat(self, tagged: Tagged | None, kinds: tuple[Body, ...]) -> bool:
        return tagged is not None and tagged.body in (Body.NAMED, Body.PYTHON) and tagged.body in kinds

    def _words_before_closer(self, limit: int, *, broken: bool) -> Steps[bool]:
        """Read up to and over a closer that comes soon; nothing if none does."""
        r = self._reader
        here = r.offset
        while r.offset - here < limit:
            yield from r.read_until("<[", limit)
            if not (yield from r.peek()):
                break
            at = r.offset
            marker = yield from r.match(CLOSERS)
            if isinstance(marker, Marker):
                return True
            opener = yield from r.match(OPENERS)
            if isinstance(opener, Marker) and not broken:
                break
            r.rewind(at)
            r.pos += 1
        r.rewind(here)
        return False
