"""Rank tools by a question: lexical search over the names, descriptions and keywords of tools.

BM25 over fields, in English and Chinese (`terms.py`). Pure and deterministic; a question costs time in proportion
to its length and to the tools that share a word with it.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from bot.sentences import phrases
from bot.toolchoice.terms import names_of, terms_of
from tools.contract.base import Json, ToolSpec
from tools.contract.names import owner

_SATURATION: Final = 1.2
_LENGTH: Final = 0.4
_AGAINST: Final = 0.5
"""What a word of `not_for` takes away, against what it would add."""
_NAME, _KEYWORDS, _PURPOSE, _USE, _CATEGORY, _PARAMETER, _EXAMPLE = 3.0, 2.5, 2.5, 1.5, 1.0, 0.6, 0.4
_WORD: Final = 0.7
"""What a shared word counts against a shared meaning."""
_SERVER: Final = 0.3
"""How much of its server's best match each tool gets: what one finds, another one reads or changes."""

_NAMED_CHARS: Final = 8_000
"""So much of a question is searched for names of tools, half from its beginning and half from its end."""
_WRITTEN_NAME: Final = re.compile(r"[0-9A-Za-z_]+(?:-[0-9A-Za-z_]+)*")

_SAYS_NOTHING: Final = frozenset(
    phrases("search / find / query / fetch / list / lookup / look / check / info / data / details / current / latest")
)
"""Words of a tool's name that tell no subject."""


class ToolIndex:
    """A search index over tools; build it once for one set of tools."""

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        self.specs = tuple(specs)
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self._against: dict[str, list[int]] = defaultdict(list)
        documents = [_document(spec) for spec in self.specs]
        lengths = [sum(document.values()) for document in documents]
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        for number, (spec, document) in enumerate(zip(self.specs, documents, strict=True)):
            norm = _SATURATION * (1 - _LENGTH + _LENGTH * lengths[number] / (mean or 1.0))
            for term, count in document.items():
                self._postings[term].append((number, count * (_SATURATION + 1) / (count + norm)))
            for term in terms_of(spec.not_for):
                if term not in document:
                    self._against[term].append(number)
        self._rarity = {
            term: self._inverse(sum(min(1.0, documents[number][term]) for number, _ in postings))
            for term, postings in self._postings.items()
        }
        self._subjects = {spec.name: _subjects(spec) for spec in self.specs}
        self._longest = max((spec.name.count("-") + 1 for spec in self.specs), default=1)
        """Parts of the longest name, divided at its hyphens."""
        self._by_name = {spec.name.lower(): number for number, spec in reversed(list(enumerate(self.specs)))}
        self._servers = _by_server(self.specs)
        self._number_of = {spec.name: number for number, spec in enumerate(self.specs)}
        self._ours = [number for number, spec in enumerate(self.specs) if not owner(spec.name)]
        self.ours = frozenset(self.specs[number].name for number in self._ours)
        """The names of the tools that no server offers."""
        self._around = [number for one in zip_longest(*self._servers) for number in one if number is not None]

    def _inverse(self, documents: float) -> float:
        return math.log(1 + (len(self.specs) - documents + 0.5) / (documents + 0.5))

    def covers(self, specs: Sequence[ToolSpec]) -> bool:
        """Return True if the index was built from exactly these tools."""
        return len(specs) == len(self.specs) and all(a is b for a, b in zip(specs, self.specs, strict=True))

    def scores(self, question: str) -> dict[str, float]:
        """Return the scores of the tools that share a term with a question, by name, the best first."""
        points = [0.0] * len(self.specs)
        for term, weight in terms_of(question).items():
            value = weight * (1.0 if term.startswith("#") else _WORD)
            for number, part in self._postings.get(term, ()):
                points[number] += value * self._rarity[term] * part
            for number in self._against.get(term, ()):
                points[number] -= value * _AGAINST * self._rarity.get(term, 1.0)
        for numbers in self._servers:
            share = _SERVER * max([points[number] for number in numbers])
            if share > 0:
                for number in numbers:
                    points[number] += share
        matching = [number for number, one in enumerate(points) if one > 0]
        order = sorted(matching, key=points.__getitem__, reverse=True)
        return {self.specs[number].name: points[number] for number in order}

    def about(self, question: str, *, ignored: Container[str] = ()) -> set[str]:
        """Return the tools whose name is the subject of a question: it holds every word of it, or a synonym.

        Hints do not count, and neither do `ignored` terms.
        """
        asked = {term for term, weight in terms_of(question).items() if weight >= 1 and term not in ignored}
        return {
            name
            for name, words in self._subjects.items()
            if words and not any(asked.isdisjoint(word) for word in words)
        }

    def named(self, question: str) -> tuple[ToolSpec, ...]:
        """Return the tools that a question names in full, in that order."""
        if len(question) > _NAMED_CHARS:
            question = f"{question[: _NAMED_CHARS // 2]}\n{question[-_NAMED_CHARS // 2 :]}"
        found: dict[int, None] = {}
        for run in _WRITTEN_NAME.finditer(question):
            parts = run.group().lower().split("-")
            for start in range(len(parts)):
                for length in range(min(self._longest, len(parts) - start), 0, -1):
                    number = self._by_name.get("-".join(parts[start : start + length]))
                    if number is not None:
                        found[number] = None
        return tuple(self.specs[number] for number in found)

    def ranked(self, question: str, used: Sequence[str] = (), most_used: int = 0) -> tuple[ToolSpec, ...]:
        """Return all tools, the best match for a question first.

        First come those that the question names, then those used in this chat, at most `most_used`, the latest first
        (`used` has it last), then those that match. Ours that do not match come before the servers', which go round
        the servers, so that the first ones hold something of each.
        """
        known = self._number_of
        recent = [number for name in dict.fromkeys(reversed(used)) if (number := known.get(name)) is not None]
        named = [known[spec.name] for spec in self.named(question)]
        recent = [number for number in recent if number not in named][:most_used]
        matching = [known[name] for name in self.scores(question)]
        order = dict.fromkeys((*named, *recent, *matching, *self._ours, *self._around))
        return tuple(self.specs[number] for number in order)


def _by_server(specs: Sequence[ToolSpec]) -> list[list[int]]:
    """Return the numbers of the tools of each server."""
    servers: dict[str, list[int]] = {}
    for number, spec in enumerate(specs):
        if whose := owner(spec.name):
            servers.setdefault(whose, []).append(number)
    return list(servers.values())


def _document(spec: ToolSpec) -> dict[str, float]:
    """Return a tool's terms with their frequencies, weighted by field."""
    document: dict[str, float] = defaultdict(float)
    for text, weight in _fields(spec):
        for term, strength in terms_of(text).items():
            # In a description a word that only hints at a meaning is mostly there for another reason.
            document[term] += weight * (strength if strength >= 1 else strength / 6)
    return dict(document)


def _subjects(spec: ToolSpec) -> list[frozenset[str]]:
    """Return, for each telling word of a tool's name, the terms that match it."""
    own = spec.name.rpartition("__")[2]  # a tool of a server is called server__tool
    words = [word for word in names_of(own).lower().split() if word not in _SAYS_NOTHING]
    found = [frozenset(term for term, weight in terms_of(word).items() if weight >= 1) for word in words]
    return [terms for terms in found if terms]


def _fields(spec: ToolSpec) -> Iterator[tuple[str, float]]:
    yield names_of(spec.name), _NAME
    yield " ; ".join(spec.keywords), _KEYWORDS
    yield spec.purpose, _PURPOSE
    yield spec.use_when, _USE
    yield spec.category, _CATEGORY
    properties = spec.parameters.get("properties")
    if isinstance(properties, dict):
        parts = [names_of(name) for name in properties]
        parts += [str(one.get("description", "")) for one in properties.values() if isinstance(one, dict)]
        yield " ; ".join(parts), _PARAMETER
    if spec.examples:
        yield " ; ".join(_values(spec.examples)), _EXAMPLE


def _values(examples: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    for example in examples:
        for value in example.values():
            yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
