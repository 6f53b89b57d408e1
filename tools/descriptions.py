"""What is told of a tool beside its purpose, and how similar tools are told apart: which of two that do the same is
preferred, and which one is the fallback.

Two servers, or a server and we, often offer the same thing: `search_web` here, `web_search` there. A model that is
told nothing calls either, or both. So each description names the other and says which comes first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tools.base import Json, ToolSpec
from tools.mcp.names import owner
from tools.schema import check, without_unknown

SAME_PURPOSE = 0.65
"""From this share of common words two purposes are taken for the same, whatever the names."""
LIKE_PURPOSE = 0.5
"""From this share on, where the names have a word in common."""
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
"""Words that every server has a tool of: alone they say nothing of what it does."""
_EMPTY_WORDS = frozenset(_EMPTY.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Another description of a tool than its author's; empty fields change nothing."""

    purpose: str = ""
    category: str = ""
    use_when: str = ""
    not_for: str = ""
    examples: tuple[Mapping[str, Json], ...] = ()
    keywords: tuple[str, ...] = ()
    rather: tuple[tuple[str, str], ...] = ()
    """Other tools, each with what it is better for."""

    def of(self, spec: ToolSpec) -> ToolSpec:
        """Return `spec` with this description, dropping examples that do not fit; its behaviour stays."""
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

    What a tool says itself of another one of them stands. Else the first in the order is preferred: our own tools come
    before servers', servers stand as in the file. Tools of one owner are not compared, as their author told them apart.
    """
    names = {spec.name for spec in specs}
    rather = [{other: what for other, what in spec.rather if other in names} for spec in specs]
    faces = [_Face.of(spec) for spec in specs]
    preferred: dict[int, int] = {}
    fallbacks: dict[int, list[int]] = {}
    for later, face in enumerate(faces):
        for earlier in range(later):
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
    """What a tool looks like to a model that chooses."""

    owner: str
    name: frozenset[str]
    purpose: frozenset[str]

    @classmethod
    def of(cls, spec: ToolSpec) -> _Face:
        whose = owner(spec.name)
        short = spec.name[len(whose) :] if whose else spec.name
        # A server called github calls its tools github_…: that word tells nothing.
        name = _words(_HUMP.sub(" ", short))
        return cls(whose, name - _words(whose) or name, _words(spec.purpose))

    def resembles(self, other: _Face) -> bool:
        if self.owner == other.owner:
            return False
        common = _share(self.purpose, other.purpose)
        if self.owner and other.owner:
            # Issues of one service are no fallback for issues of another: who names itself means itself.
            if self.purpose & _words(self.owner) or other.purpose & _words(other.owner):
                return False
            return common >= SAME_PURPOSE or (common >= LIKE_PURPOSE and bool(self.name & other.name))
        # Letters are compared, so that `websearch` is `search_web`.
        if sorted("".join(self.name)) == sorted("".join(other.name)):
            return not self.name <= _GENERAL_WORDS or common >= LIKE_PURPOSE
        return common >= SAME_PURPOSE or (common >= LIKE_PURPOSE and bool(self.name & other.name))


def _words(text: str) -> frozenset[str]:
    """Return the meaningful words, singular and plural alike; of Chinese each character."""
    return frozenset(_singular(word) for word in _WORD.findall(text.lower()) if word not in _EMPTY_WORDS)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    if len(one) < 3 or len(other) < 3:
        return 0.0
    return len(one & other) / len(one | other)


def _joined(*parts: str) -> str:
    return ". ".join(part.rstrip(". ") for part in parts if part)
