"""What never leaves, and what never comes in: secrets, and characters that deceive.

Links have a module of their own, `bot.links`; its names may be imported from here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, unquote

from bot.links import LinkFilter, LinkPolicy

__all__ = [
    "AnswerFilter",
    "LinkFilter",
    "LinkPolicy",
    "Redactor",
    "clean_answer",
    "clean_name",
    "clean_untrusted",
    "redact",
    "secret_forms",
]

SHORTEST_SECRET = 12
"""Shorter values are never replaced: they would hit ordinary words."""

REMOVED = "[secret removed]"


_MARKS = re.compile(r"[\\*_~|`\u200b-\u200d\u2060-\u2064\ufeff]+")
"""Signs that a reader does not see, or that Markdown takes away: a secret stays one with them inside."""


class _Automaton:
    """Finds any number of secrets in one pass over a text (Aho and Corasick); never changed once it is built."""

    __slots__ = ("depth", "fall", "first", "following", "forms", "hit")

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = (_MARKS.sub("", form) for form in secret_forms(secrets) if len(form) >= SHORTEST_SECRET)
        self.forms = tuple(form for form in forms if form)
        """The secrets as they are looked for: without marks."""
        self.following: list[dict[str, int]] = [{}]
        """By state: the sign that leads on, and where."""
        self.depth = [0]
        """By state: how many signs of a secret have been read."""
        self.hit = [0]
        """By state: how long the longest secret is that ends here."""
        for form in self.forms:
            self._add(form)
        self.fall = self._falls()
        """By state: the longest suffix of it that begins a secret, where the search goes on."""
        firsts = "".join(re.escape(first) for first in self.following[0])
        self.first = re.compile(f"[{firsts}]") if firsts else None
        """What a secret may begin with; none when there is no secret."""

    def _add(self, secret: str) -> None:
        state = 0
        for sign in secret:
            if sign not in self.following[state]:
                self.following.append({})
                self.depth.append(self.depth[state] + 1)
                self.hit.append(0)
                self.following[state][sign] = len(self.following) - 1
            state = self.following[state][sign]
        self.hit[state] = len(secret)

    def _falls(self) -> list[int]:
        fall = [0] * len(self.following)
        waiting = list(self.following[0].values())
        for state in waiting:
            for sign, child in self.following[state].items():
                waiting.append(child)
                back = fall[state]
                while back and sign not in self.following[back]:
                    back = fall[back]
                fall[child] = self.following[back].get(sign, 0)
                self.hit[child] = max(self.hit[child], self.hit[fall[child]])
        return fall


@lru_cache(maxsize=8)
def _automaton(secrets: frozenset[str]) -> _Automaton:
    """The same for every reply: a process has one set of secrets, or two while it starts."""
    return _Automaton(secrets)


class Redactor:
    """Replaces secrets in a stream of text, also where marks of Markdown or invisible signs stand in them.

    It holds back only a suffix that may still become a secret, nothing otherwise. Any number of secrets costs the
    same, one step per character, and what finds them is built once for all redactors of the same secrets.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._automaton = _automaton(frozenset(secrets))
        self._state = 0
        self._held = ""
        self._given = 0
        """How many characters of the stream are given out or replaced."""
        self._spans: list[tuple[int, int]] = []
        self._places: list[int] = []
        """Where in the stream the signs of the current state stand."""

    def feed(self, text: str) -> str:
        """Take more text; return what may be shown now."""
        automaton, state = self._automaton, self._state
        first, following, fall, hit = automaton.first, automaton.following, automaton.fall, automaton.hit
        if first is None:
            return text
        offset = self._given + len(self._held)
        places = self._places
        position = 0
        while position < len(text):
            if not state:
                found = first.search(text, position)
                if found is None:
                    break
                position = found.start()
            elif marks := _MARKS.match(text, position):
                position = marks.end()
                continue
            sign = text[position]
            while state and sign not in following[state]:
                state = fall[state]
            state = following[state].get(sign, 0)
            places.append(offset + position)
            position += 1
            if hit[state]:
                self._mark(places[-hit[state]], offset + position)
        self._state = state
        depth = automaton.depth[state]
        del places[: len(places) - depth]
        self._held += text
        return self._release(places[0] if depth else self._given + len(self._held))

    def finish(self) -> str:
        """Return what was held back: the text ends here."""
        shown = self._release(self._given + len(self._held))
        self._reset()
        return shown

    def redact(self, text: str) -> str:
        """Replace the secrets in a whole text; the stream is not touched."""
        # Nearly every text holds none, and the built-in search says so a hundred times faster than the automaton.
        bare = _MARKS.sub("", text)
        if not any(form in bare for form in self._automaton.forms):
            return text
        kept = self._state, self._held, self._given, self._spans, self._places
        self._reset()
        shown = self.feed(text) + self.finish()
        self._state, self._held, self._given, self._spans, self._places = kept
        return shown

    def _reset(self) -> None:
        self._state = 0
        self._held = ""
        self._given = 0
        self._spans = []
        self._places = []

    def _mark(self, start: int, end: int) -> None:
        """Note a secret; secrets that overlap become one, so that no part of either shows."""
        while self._spans and self._spans[-1][1] > start:
            start = min(start, self._spans.pop()[0])
        self._spans.append((start, end))

    def _release(self, until: int) -> str:
        """Give out the text before `until`, but for a secret that may still grow."""
        shown: list[str] = []
        for start, end in list(self._spans):
            if end > until:
                until = min(until, start)
                break
            shown.append(self._held[: start - self._given])
            shown.append(REMOVED)
            self._held = self._held[end - self._given :]
            self._given = end
            self._spans.pop(0)
        if until > self._given:
            shown.append(self._held[: until - self._given])
            self._held = self._held[until - self._given :]
            self._given = until
        return "".join(shown)


_ACCOUNT = re.compile(r"://[^\s/:@]*:([^\s/]+)@(?=[^\s/@]*(?:[/?,\s]|\Z))")
_BEARER = re.compile(r"(?:bearer|basic|token|bot)\s+(\S+)", re.IGNORECASE)


def secret_forms(values: Iterable[str]) -> tuple[str, ...]:
    """The values with what must stay secret of each by itself, in every spelling in which it may turn up.

    That are passwords in addresses, what follows `Bearer`, and the second half of a Telegram token; as they are,
    percent-decoded and -encoded, and as JSON writes them.
    """
    found: dict[str, None] = {}
    for value in values:
        parts = [value, *_ACCOUNT.findall(value), *_BEARER.findall(value)]
        number, colon, rest = value.partition(":")
        if colon and number.isdigit():
            parts.append(rest)
        for part in parts:
            for form in (part, unquote(part), quote(part, safe=""), json.dumps(part)[1:-1]):
                if form:
                    found[form] = None
    return tuple(found)


def redact(text: str, secrets: Iterable[str]) -> str:
    """Replace the secrets in a whole text."""
    return Redactor(secrets).redact(text)


_FLAG = "\U0001f3f4[\U000e0020-\U000e007e]{3,7}\U000e007f"
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_OVERRIDES = "\u202a-\u202e\u2066-\u2069"
_TAGS = "\U000e0000-\U000e007f"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028\u2029\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0100-\U000e01ef"
)

_HIDDEN = "\u180e\u200b\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_VARIANTS = "\U000e0100-\U000e01ef"
_SELECTORS = "\ufe00-\ufe0f"

_ANSWER = re.compile(
    f"({_FLAG})|[\ud800-\udbff][\udc00-\udfff]|([\u2028\u2029])|[{_CONTROLS}{_OVERRIDES}{_HIDDEN}{_TAGS}\ud800-\udfff]"
)
_STRAY = re.compile(f"(?<![{_IDEOGRAPHS}])[{_VARIANTS}]+")
_REPEATED = re.compile(f"(?<=[{_SELECTORS}])[{_SELECTORS}]+")
"""One selector belongs to what it selects; more of them hide a text."""
_SELECTED = re.compile(f"(?:[{_IDEOGRAPHS}][{_VARIANTS}]?|[{_SELECTORS}])\\Z")
_UNTRUSTED = re.compile(
    f"({_FLAG})|[\ud800-\udbff][\udc00-\udfff]|[{_CONTROLS}{_OVERRIDES}{_TAGS}{_INVISIBLE}\ud800-\udfff]"
    # A joiner belongs between two letters of a script that joins, or in an emoji; a selector after what it selects.
    "|(?<![^\x00-\x7f])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f])|(?<=[\u200c\u200d])[\u200c\u200d]+"
    "|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]+"
)
_UNDECIDED = re.compile("(?:\U0001f3f4[\U000e0020-\U000e007e]{0,7}|[\ud800-\udbff])\\Z")


def _replacement(found: re.Match[str]) -> str:
    text = found.group()
    if found.group(1):
        return text
    if text in ("\u2028", "\u2029"):
        return "\n"
    if len(text) == 2 and "\ud800" <= text[0] <= "\udbff":
        # The two halves of one character, which a model's JSON may bring in two pieces.
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    return "\ufffd" if "\ud800" <= text[0] <= "\udfff" else ""


def clean_answer(text: str) -> str:
    """Take from a whole answer what deceives or breaks: controls, bidi overrides and isolates, stray tag characters,
    and what has no width and no use.

    Joiners, RTL letters and marks, combining marks and flags stay as they are.
    """
    return _REPEATED.sub("", _STRAY.sub("", _ANSWER.sub(_replacement, text)))


class AnswerFilter:
    """`clean_answer` for a stream; it holds back only a flag or half a character that is not complete."""

    def __init__(self) -> None:
        self._held = ""
        self._before = ""
        """The last signs given out, where what follows depends on them."""

    def feed(self, text: str) -> str:
        """Take more text; return what may be shown now."""
        text = self._held + text
        undecided = _UNDECIDED.search(text, max(0, len(text) - 9))
        at = undecided.start() if undecided else len(text)
        self._held = text[at:]
        return self._clean(text[:at])

    def finish(self) -> str:
        """Return what was held back: the text ends here."""
        text, self._held = self._held, ""
        return self._clean(text)

    def _clean(self, text: str) -> str:
        known = len(self._before)
        shown = clean_answer(self._before + text)
        selected = _SELECTED.search(shown, max(0, len(shown) - 2))
        self._before = selected.group() if selected else ""
        return shown[known:]


def clean_untrusted(text: str) -> str:
    """Take from a text that others wrote (a web page, a tool's result) everything that cannot be seen."""
    return _UNTRUSTED.sub(_replacement, text)


def clean_name(text: str) -> str:
    """Make a shown name safe to stand in a line: nothing invisible, one line, single spaces."""
    return " ".join(clean_untrusted(re.sub(r"[\s\x85\u2028\u2029]+", " ", text)).split())
