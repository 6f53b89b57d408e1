"""Describe a tool beyond its purpose, and distinguish similar tools: which of two that do the same is preferred, and
which is the fallback.

Two servers, or a server and we, often offer the same thing: `search_web` here, `web_search` there. Without guidance a
model calls either, or both. So each description names the other and says which comes first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tools.calling.schema import check, without_unknown
from tools.contract.base import Json, ToolSpec
from tools.contract.names import owner

SAME_PURPOSE = 0.65
"""From this share of common words two purposes count as the same, whatever the names."""
LIKE_PURPOSE = 0.5
"""From this share on, if the names have a word in common."""
MOST_NAMED = 3

_WORD = re.compile(r"[a-z]+|[0-9]+|[^\W\d_a-z]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_EMPTY = (
    "a an and any are as at be by for from get gets given in into is it its of on one or return returns that the "
    "this to tool use using with your 的 了 是 和"
)
_GENERAL = (
    "add call check create delete execute fetch find help info list lookup open query read remove run search send set "
    "status update write"
)
_GENERAL_WORDS = frozenset(_GENERAL.split())
"""Words in the tools of every server: alone they say nothing about what a tool does."""
_EMPTY_WORDS = frozenset(_EMPTY.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A description that replaces its author's; empty fields change nothing."""

    purpose: str = ""
    category: str = ""
    use_when: str = ""
    not_for: str = ""
    examples: tuple[Mapping[str, Json], ...] = ()
    keywords: tuple[str, ...] = ()
    rather: tuple[tuple[str, str], ...] = ()
    """Other tools, each with its advantage."""

    def of(self, spec: ToolSpec) -> ToolSpec:
        """Return `spec` with this description, without examples that do not fit; its behaviour stays."""
        return replace(
            spec,
            purpose=self.purpose or spec.purpose,
            category=self.category or spec.category,
            use_when=self.use_when or spec.use_when,
            not_for=self.not_for or spec.not_for,
            examples=tuple(spec.named(one) for one in self.examples if fits(spec, one)) or spec.examples,
            keywords=self.keywords or spec.keywords,
            rather=self.rather or spec.rather,
        )


def fits(spec: ToolSpec, arguments: Mapping[str, Json]) -> bool:
    """Return True if a call with these arguments would be valid."""
    given = spec.named(arguments)
    return not without_unknown(spec.parameters, given)[1] and not check(spec.parameters, given)


def told_apart(specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return `specs` in order, with near-duplicates referring to each other.

    A tool's own statement about another one stays. Otherwise the first in the order is preferred: our own tools come
    before servers', servers in the order of the file. Tools of one owner are not compared, as their author has
    distinguished them.
    """
    names = {spec.name for spec in specs}
    rather = [{other: what for other, what in spec.rather if other in names} for spec in specs]
    faces = [_face(spec.name, spec.purpose, spec.same) for spec in specs]
    preferred: dict[int, int] = {}
    fallbacks: dict[int, list[int]] = {}
    candidates = _Candidates(faces)
    for later, face in enumerate(faces):
        for earlier in candidates.before(later):
            if specs[earlier].name in rather[later] or specs[later].name in rather[earlier]:
                continue
            if earlier not in preferred and faces[earlier].resembles(face):
                preferred[later] = earlier
                fallbacks.setdefault(earlier, []).append(later)
                break
    made = [
        replace(spec, not_for="; ".join(filter(None, (spec.not_for.rstrip(". "), *map(_rather, others.items())))))
        if others
        else spec
        for spec, others in zip(specs, rather, strict=True)
    ]
    for later, earlier in preferred.items():
        note = f"Fallback for {specs[earlier].name}: only when that one failed or cannot do it"
        made[later] = replace(made[later], use_when=_joined(note, specs[later].use_when))
    for earlier, others in fallbacks.items():
        listed = ", ".join(specs[one].name for one in others[:MOST_NAMED])
        made[earlier] = replace(made[earlier], use_when=_joined(specs[earlier].use_when, f"Preferred over {listed}"))
    return tuple(made)


def _rather(other: tuple[str, str]) -> str:
    return f"for {other[1]} prefer {other[0]}"


@dataclass(frozen=True, slots=True)
class _Face:
    """A tool's appearance to a choosing model."""

    owner: str
    name: frozenset[str]
    purpose: frozenset[str]
    same: frozenset[str]
    """Words in the names of tools that do the same."""
    about: frozenset[str]
    """Words of which such a tool has at least one."""
    owner_words: frozenset[str]
    letters: str
    """The letters of its name in alphabetical order, so that `websearch` matches `search_web`."""

    def resembles(self, other: _Face) -> bool:
        if self.owner == other.owner:
            return False
        if self.about and other.name <= self.same:
            return not self.about.isdisjoint(other.name | other.purpose | other.owner_words)
        common = _share(self.purpose, other.purpose)
        if self.owner and other.owner:
            # Issues of one service are no fallback for issues of another: a service in the name is meant.
            if common < LIKE_PURPOSE or self.purpose & self.owner_words or other.purpose & other.owner_words:
                return False
        elif self.letters == other.letters:
            return not self.name <= _GENERAL_WORDS or common >= LIKE_PURPOSE
        return common >= SAME_PURPOSE or (common >= LIKE_PURPOSE and bool(self.name & other.name))


@lru_cache(maxsize=2_000)
def _face(name: str, purpose: str, same: str) -> _Face:
    whose = owner(name)
    short, owner_words = _words(_HUMP.sub(" ", name[len(whose) :] if whose else name)), _words(whose)
    of_names, _, about = same.partition("|")
    # A server called github names its tools github_…: that word says nothing.
    short = short - owner_words or short
    letters = "".join(sorted("".join(short)))
    return _Face(whose, short, _words(purpose), _words(of_names), _words(about), owner_words, letters)


class _Candidates:
    """Finds the tools that one may resemble, without comparing all with all.

    If two purposes share at least half of their words, one of the rarest words of each is in the other: it is enough to
    look at as many as remain without half of them, plus one.
    """

    def __init__(self, faces: Sequence[_Face]) -> None:
        self._faces = faces
        self._ours = [number for number, face in enumerate(faces) if not face.owner]
        self._count = Counter(word for face in faces for word in face.purpose)
        self._seen: dict[str, list[int]] = {}

    def before(self, later: int) -> list[int]:
        """Return the earlier tools of other owners, in order, that this one may resemble; call it in order."""
        face = self._faces[later]
        rarest = sorted(face.purpose, key=lambda word: (self._count[word], word))
        rarest = rarest[: len(rarest) // 2 + 1]
        found = {number for word in rarest for number in self._seen.get(word, ())}
        for word in rarest if face.owner else ():
            self._seen.setdefault(word, []).append(later)
        found.update(number for number in self._ours if number < later)
        return sorted(number for number in found if self._faces[number].owner != face.owner)


def _words(text: str) -> frozenset[str]:
    """Return the meaningful words, singular and plural alike; for Chinese each character."""
    return frozenset(_singular(word) for word in _WORD.findall(text.lower()) if word not in _EMPTY_WORDS)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    if len(one) < 3 or len(other) < 3:
        return 0.0
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def _joined(*parts: str) -> str:
    return ". ".join(part.rstrip(". ") for part in parts if part)
