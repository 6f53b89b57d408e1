"""Redact secrets in a text, whole or while it streams."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from bot.safety.spellings import SPELLED, decode_sign, decode_spelled, encoded_forms, is_spelled_part, secret_forms
from tools.contract.credentials import SHORTEST_SECRET
from tools.contract.plaintext import to_plain

REMOVED = "[secret removed]"

_MARKS = re.compile(r"[\\*_~|`\r\n\u200b-\u200d\u2060-\u2064\ufeff]+")
"""Characters a secret may contain and still be found: invisible ones, Markdown marks, and line breaks in Base64."""


_LET_GO = 2
"""Leading characters of an encoded secret that may be shown: they reveal nothing, and nearly every word ends with such
a character, which would have to be held back."""


class _Automaton:
    """Finds any number of secrets in one pass over a text (Aho and Corasick); never changed once it is built.

    States are numbered along each secret, so that most lead to the next number: 100 spellings take 100 KiB.
    """

    __slots__ = ("branches", "depth", "fall", "first", "first_spelled", "hit", "hold", "needles", "next")

    def __init__(self, secrets: Iterable[str]) -> None:
        plain = [form for form in secret_forms(secrets) if len(form) >= SHORTEST_SECRET]
        encoded = {bare for form in plain for look in encoded_forms(form) if (bare := _MARKS.sub("", look))}
        forms = {bare: 0 for form in plain if (bare := _MARKS.sub("", form))}
        forms = dict.fromkeys(encoded, _LET_GO) | forms
        self.needles = _least(forms)
        """One of these is in every text that holds a secret, once Markdown marks are removed."""
        following: list[dict[str, int]] = [{}]
        self.depth = array("I", [0])
        """By state: how many characters of a secret have been read."""
        self.hit = array("I", [0])
        """By state: how many characters to redact, those of the longest secret that ends here."""
        self.hold = array("I", [0])
        """By state: how many characters to hold back, because they may become part of a secret."""
        for form, let_go in forms.items():
            self._add(form, let_go, following)
        self.fall = self._falls(following)
        """By state: the longest suffix of it that begins a secret, where the search continues."""
        self.next = tuple(
            next((sign for sign, child in signs.items() if child == state + 1), "")
            for state, signs in enumerate(following)
        )
        """By state: the character that leads to the next state."""
        self.branches = {
            state: rest
            for state, signs in enumerate(following)
            if (rest := {sign: child for sign, child in signs.items() if child != state + 1})
        }
        """By state: the other characters that lead on, and to which state."""
        self.first = _first(following, "")
        """Matches the beginning of a secret; None without secrets."""
        self.first_spelled = _first(following, "&%")
        """The same where characters may be encoded."""

    def _add(self, secret: str, let_go: int, following: list[dict[str, int]]) -> None:
        state = 0
        for depth, sign in enumerate(secret, 1):
            if sign not in following[state]:
                following.append({})
                self.depth.append(depth)
                self.hit.append(0)
                self.hold.append(0)
                following[state][sign] = len(following) - 1
            state = following[state][sign]
            self.hold[state] = max(self.hold[state], depth - let_go, 0)
        self.hit[state] = max(self.hit[state], len(secret) - let_go)

    def _falls(self, following: list[dict[str, int]]) -> array[int]:
        fall = array("I", bytes(4 * len(following)))
        waiting = list(following[0].values())
        for state in waiting:
            for sign, child in following[state].items():
                waiting.append(child)
                back = fall[state]
                while back and sign not in following[back]:
                    back = fall[back]
                fall[child] = following[back].get(sign, 0)
                self.hit[child] = max(self.hit[child], self.hit[fall[child]])
                self.hold[child] = max(self.hold[child], self.hold[fall[child]])
        return fall


def _least(forms: Iterable[str]) -> tuple[str, ...]:
    """Return the secrets that contain no other secret."""
    least: list[str] = []
    for form in sorted(forms, key=len):
        if not any(one in form for one in least):
            least.append(form)
    return tuple(least)


def _first(following: list[dict[str, int]], more: str) -> re.Pattern[str] | None:
    """Build the pattern that finds the first two characters of any secret: one alone is too common."""
    pairs = [
        f"{re.escape(sign)}(?=\\Z|{_MARKS.pattern[:-1]}|[{re.escape(''.join(following[child]) + more)}])"
        if following[child]
        else re.escape(sign)
        for sign, child in following[0].items()
    ]
    return re.compile("|".join([*pairs, *more])) if pairs else None


@lru_cache(maxsize=8)
def _automaton(secrets: frozenset[str]) -> _Automaton:
    """Return the automaton of these secrets, cached: a process has one set of secrets, or two while it starts."""
    return _Automaton(secrets)


@dataclass(slots=True)
class _Reader:
    """One reading of the stream: as written, or with every encoded character decoded."""

    spelled: bool
    at: int = 0
    """Its position in the stream."""
    state: int = 0
    places: list[int] = field(default_factory=list)
    """Positions in the stream of the characters of the current state."""

    def same(self, other: _Reader) -> bool:
        return (self.at, self.state, self.places) == (other.at, other.state, other.places)


class Redactor:
    """Redacts secrets in a stream of text, also with Markdown marks or invisible characters inside them, or encoded as
    Base64, hex, percent escapes or HTML character references.

    It holds back only a suffix that may still become a secret, nothing otherwise. Any number of secrets costs the
    same, one step per character, and what finds them is built once for all redactors of the same secrets.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._automaton = _automaton(frozenset(secrets))
        self._reset()

    def _reset(self) -> None:
        self._held = ""
        self._given = 0
        """Characters of the stream given out or replaced so far."""
        self._spans: list[tuple[int, int]] = []
        self._written = _Reader(spelled=False)
        self._spelled: _Reader | None = None
        """The second reading, from an encoded character until both readings agree again."""

    def feed(self, text: str) -> str:
        """Take more text and return what may be shown now."""
        if self._automaton.first is None:
            return text
        self._held += text
        end = self._given + len(self._held)
        written = self._written
        if self._spelled is None and ("&" in text or "%" in text):
            first = min(at for at in (text.find("&"), text.find("%")) if at >= 0)
            self._read(written, written.at + first)
            self._spelled = _Reader(True, written.at, written.state, list(written.places))
        self._read(written, end)
        if self._spelled is not None:
            self._read(self._spelled, end)
            if self._spelled.same(written):
                self._spelled = None
        until = end
        for reader in (written, self._spelled):
            if reader is not None:
                hold = self._automaton.hold[reader.state]
                until = min(until, reader.places[-hold] if hold else reader.at)
        return self._release(until)

    def finish(self) -> str:
        """Return the text held back, at the end of the text."""
        if self._spelled is not None:
            self._read(self._spelled, self._written.at, final=True)
        shown = self._release(self._given + len(self._held))
        self._reset()
        return shown

    def redact(self, text: str) -> str:
        """Redact the secrets in a whole text, without touching the stream, and make it plain."""
        return self.mask(to_plain(text)) if text else text

    def mask(self, text: str) -> str:
        """Redact the secrets in a whole text, and leave everything else as it is."""
        # Nearly every text holds none, and the built-in search says so a hundred times faster than the automaton.
        bare = _MARKS.sub("", text)
        if ("&" in text or "%" in text) and (read := decode_spelled(text)) != text:
            bare += "\n" + _MARKS.sub("", read)
        if not any(needle in bare for needle in self._automaton.needles):
            return text
        other = object.__new__(Redactor)
        other._automaton = self._automaton
        other._reset()
        return other.feed(text) + other.finish()

    def _read(self, reader: _Reader, end: int, *, final: bool = False) -> None:
        """Read up to `end`, or up to an encoded character that may continue after it."""
        automaton, text, base, state, places = self._automaton, self._held, self._given, reader.state, reader.places
        first = automaton.first_spelled if reader.spelled else automaton.first
        ahead, branches, fall, hit = automaton.next, automaton.branches, automaton.fall, automaton.hit
        assert first is not None
        position, stop = reader.at - base, end - base
        while position < stop:
            if not state:
                found = first.search(text, position, stop)
                if found is None:
                    position = stop
                    break
                position = found.start()
            elif marks := _MARKS.match(text, position, stop):
                position = marks.end()
                continue
            sign, after = text[position], position + 1
            if reader.spelled and sign in "&%":
                if not final and is_spelled_part(text, position):
                    break
                if spelled := SPELLED.match(text, position):
                    sign, after = decode_sign(spelled), spelled.end()
                    if _MARKS.match(sign):
                        position = after
                        continue
            while ahead[state] != sign:
                branch = branches.get(state)
                if branch is not None and sign in branch:
                    state = branch[sign] - 1
                    break
                if not state:
                    state = -1
                    break
                state = fall[state]
            state += 1
            places.append(base + position)
            position = after
            if hit[state]:
                self._mark(places[-hit[state]], base + position)
        reader.at, reader.state = base + position, state
        del places[: len(places) - automaton.depth[state]]

    def _mark(self, start: int, end: int) -> None:
        """Mark a secret for redaction; overlapping secrets are merged, so that no part of either shows."""
        spans = self._spans
        first = bisect_left(spans, (start, 0))
        if first and spans[first - 1][1] > start:
            first -= 1
        last = first
        while last < len(spans) and spans[last][0] < end:
            start, end = min(start, spans[last][0]), max(end, spans[last][1])
            last += 1
        spans[first:last] = [(start, end)]

    def _release(self, until: int) -> str:
        """Return the text before `until`, except for a secret that may still grow."""
        shown: list[str] = []
        base = at = self._given
        given = 0
        for start, end in self._spans:
            if end > until:
                until = min(until, start)
                break
            shown += (self._held[at - base : start - base], REMOVED)
            at = end
            given += 1
        if until > at:
            shown.append(self._held[at - base : until - base])
            at = until
        del self._spans[:given]
        self._held = self._held[at - base :]
        self._given = at
        return "".join(shown)
