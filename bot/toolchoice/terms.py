"""Turn a text into weighted terms that are the same for English and Chinese.

English words are stemmed lightly, Chinese is cut into pairs of characters, and both are looked up in the glossary:
what is found there becomes a term of its own, the same in both languages (`#weather`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from bot.toolchoice.glossary import ROWS, SHAPES
from bot.toolchoice.scripts import simplified

MOST_CHARS: Final = 2000
"""So much of a text is looked at, half from its beginning and half from its end: the rest is quoted matter."""
HINT: Final = 0.4
"""How much a word counts that only hints at a meaning."""

_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_RUN: Final = re.compile(rf"[{_HAN}]+|(?:(?![{_HAN}])[^\W_])+(?:['’](?:s|t|re|ll|ve|clock)\b)?")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SHAPES: Final = tuple((re.compile(shape), f"#{meaning}", weight) for shape, meaning, weight in SHAPES)

_QUESTIONING: Final = frozenset(("who", "what", "when", "where", "which", "why", "how"))
_EMPTY: Final = _QUESTIONING | frozenset(
    word
    for line in (
        "a an the and or of to in on at by for from with as is are was were be been it its it's this that these",
        "those there here i i'm me my we our you your he she they them his her their do does did don't have has had",
        "can could will would should may might shall not no if so than then too very just only also any some all both",
        "each more most please want need let get got give make tell show say go come take put use used using one two",
        "about up down out what's",
    )
    for word in line.split()
)
"""English words that say nothing of the subject."""
_EMPTY_HAN: Final = frozenset(
    "的了吗呢吧啊我你他她它是在有和与或就都也请帮把给一个些么什这那哪怎为会能要想可以不没很再去来到对从让被下上"
)

_SUFFIXES: Final = ("ations", "ation", "ions", "ion", "ings", "ing", "ers", "er", "ors", "or", "ed", "es", "e", "s")
_KEPT: Final = frozenset({"news", "gas", "bus", "us", "his", "is", "was", "does", "red", "her", "water", "paper"})


class Meaning(NamedTuple):
    """A meaning of a glossary word, with its weight."""

    term: str
    weight: float


class _Glossary(NamedTuple):
    words: dict[str, list[tuple[tuple[str, ...], Meaning]]]
    """First stem → (all stems, meaning)."""
    han: dict[str, list[Meaning]]
    longest: int
    """Characters of the longest Chinese word."""


def stem(word: str) -> str:
    """Return a word without its ending, so that `translate`, `translation` and `translating` are one."""
    if word.endswith(("'s", "’s")):
        word = word[:-2]
    if word in _KEPT or not word.isascii() or any(c.isdigit() for c in word):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for suffix in _SUFFIXES:
        if not word.endswith(suffix) or len(word) - len(suffix) < 3:
            continue
        if suffix == "s" and word[-2:] in ("ss", "us", "is"):
            continue
        rest = word[: -len(suffix)]
        if not re.search("[aeiouy]", rest):
            continue
        if len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz" and suffix[0] in "aeio":
            rest = rest[:-1]
        return rest
    return word


def names_of(name: str) -> str:
    """Split a tool's name into words: `getWeather_now` → `get Weather now`."""
    return _CAMEL.sub(" ", name).replace("_", " ")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case: English words, and Chinese as runs of characters."""
    return [match.group() for match in _RUN.finditer(text.lower())]


@cache
def _glossary() -> _Glossary:
    words: dict[str, list[tuple[tuple[str, ...], Meaning]]] = {}
    han: dict[str, list[Meaning]] = {}
    for row in ROWS.splitlines():
        columns = [column.split() for column in row.split("|")]
        term = f"#{columns[0][0]}"
        for number, column in enumerate(columns):
            meaning = Meaning(term, HINT if number % 2 else 1.0)
            for written in column:
                if number >= 2 and re.fullmatch(rf"[{_HAN}]+", written):
                    han.setdefault(written, []).append(meaning)
                    continue
                stems = tuple(stem(word) for word in words_of(written.replace("_", " ")))
                if len(stems) > 1 or (written not in _EMPTY) or written in _QUESTIONING:
                    known = words.setdefault(stems[0], [])
                    if not any(each == stems and one.term == term for each, one in known):
                        known.append((stems, meaning))
    return _Glossary(words, han, max(map(len, han)))


def terms_of(text: str) -> dict[str, float]:
    """Return the terms of a text with their weights: a word 1, a meaning that of its strongest word."""
    if len(text) > MOST_CHARS:
        text = f"{text[: MOST_CHARS // 2]}\n{text[-MOST_CHARS // 2 :]}"
    found: dict[str, float] = {}
    lower = simplified(text.lower())
    for shape, term, weight in _SHAPES:
        if shape.search(lower):
            found[term] = max(found.get(term, 0.0), weight)
    runs = words_of(lower)
    stems = [stem(run) for run in runs]
    for place, run in enumerate(runs):
        if "\u3400" <= run[0] <= "\u9fff":
            _collect(found, _meanings_of_han(run))
            for pair in _pairs(run):
                found[pair] = 1.0
        else:
            if run not in _EMPTY and len(run) > 1:
                found[stems[place]] = 1.0
            _collect(found, _meanings_at(stems, place))
    return found


def _collect(found: dict[str, float], meanings: Iterable[Meaning]) -> None:
    for term, weight in meanings:
        found[term] = max(found.get(term, 0.0), weight)


def _meanings_at(stems: list[str], place: int) -> Iterator[Meaning]:
    for phrase, meaning in _glossary().words.get(stems[place], ()):
        if len(phrase) == 1 or tuple(stems[place : place + len(phrase)]) == phrase:
            yield meaning


def _meanings_of_han(run: str) -> Iterator[Meaning]:
    """Return the glossary words in a run of Chinese; single characters only outside longer words."""
    glossary = _glossary()
    covered = 0
    for place in range(len(run)):
        for length in range(min(glossary.longest, len(run) - place), 1, -1):
            meanings = glossary.han.get(run[place : place + length])
            if meanings:
                yield from meanings
                covered = max(covered, place + length)
                break
        if place >= covered:
            for term, weight in glossary.han.get(run[place], ()):
                yield Meaning(term, weight * 0.8)


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1 and run not in _EMPTY_HAN:
        yield run
    for first, second in pairwise(run):
        if first not in _EMPTY_HAN and second not in _EMPTY_HAN:
            yield first + second
