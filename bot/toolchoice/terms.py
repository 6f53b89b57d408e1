"""Turn a text into weighted terms that are the same in every language we have words of.

English words are stemmed lightly; Chinese, Japanese and Thai are cut into pairs of characters. The glossary adds a term
for each word it knows, the same in all languages (`#weather`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from bot.sentences import simplified
from bot.toolchoice import languages
from bot.toolchoice.glossary import ROWS, SHAPES

MOST_CHARS: Final = 2000
"""So much of a text is looked at, half from its beginning and half from its end: the rest is quoted matter."""
HINT: Final = 0.4
"""How much a word counts that only hints at a meaning."""

_UNSPACED: Final = "\u0e00-\u0e7f\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Thai, Japanese and Chinese: written without spaces between words."""
_RUN: Final = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_])+(?:['’](?:s|t|re|ll|ve|clock)\b)?")
_IS_UNSPACED: Final = re.compile(rf"[{_UNSPACED}]")
_ENDING: Final = 5
"""Letters of the shortest word that is found at the end of a longer one, as `termin` in `Zahnarzttermin`."""
_ENDING_ARABIC: Final = 3
"""The same for Arabic, where articles and prepositions are written with the word."""
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


_Meanings: TypeAlias = dict[str, tuple[Meaning, ...]]


class _Glossary(NamedTuple):
    words: dict[str, tuple[tuple[tuple[str, ...], Meaning], ...]]
    """First stem → (all stems, meaning)."""
    unspaced: _Meanings
    lengths: dict[str, list[int]]
    """First character → lengths of the words in `unspaced` that begin with it, the longest first."""
    further: _Further


class _Further(NamedTuple):
    """Words of further languages."""

    whole: _Meanings
    begins: _Meanings
    """Words that may have any ending."""
    phrases: dict[str, tuple[tuple[tuple[str, ...], bool, Meaning], ...]]
    """First word → (all words, the last may have any ending, meaning)."""
    longest: int


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
    """Return the words of a text in lower case; unspaced scripts as runs of characters."""
    return [match.group() for match in _RUN.finditer(text.lower())]


def folded(text: str) -> str:
    """Return a text in one case, without accents and other marks, and with simplified characters."""
    if text.isascii():
        return text.lower()
    # In capitals the Turkish ı is an I like any other.
    apart = unicodedata.normalize("NFKD", simplified(text.casefold().replace("ı", "i")))
    return unicodedata.normalize("NFC", "".join(one for one in apart if unicodedata.category(one)[0] != "M"))


@cache
def _glossary() -> _Glossary:
    words: dict[str, tuple[tuple[tuple[str, ...], Meaning], ...]] = {}
    unspaced: _Meanings = {}
    for row in ROWS.splitlines():
        columns = [column.split() for column in row.split("|")]
        term = f"#{columns[0][0]}"
        for number, column in enumerate(columns):
            meaning = Meaning(term, HINT if number % 2 else 1.0)
            alone = (meaning,)
            for written in column:
                if number >= 2 and re.fullmatch(rf"[{_UNSPACED}]+", written):
                    _add(unspaced, written, alone)
                    continue
                stems = tuple(stem(word) for word in words_of(written.replace("_", " ")))
                if len(stems) > 1 or (written not in _EMPTY) or written in _QUESTIONING:
                    known = words.get(stems[0], ())
                    if not any(each == stems and one.term == term for each, one in known):
                        words[stems[0]] = (*known, (stems, meaning))
    further = _read_further(unspaced)
    lengths: dict[str, set[int]] = {}
    for written in unspaced:
        lengths.setdefault(written[0], set()).add(len(written))
    return _Glossary(words, unspaced, {first: sorted(found, reverse=True) for first, found in lengths.items()}, further)


def _add(found: _Meanings, word: str, alone: tuple[Meaning]) -> None:
    """Add a meaning of a word. Thousands of words have one, so those of the same row share one tuple."""
    found[word] = found[word] + alone if word in found else alone


def _read_further(unspaced: _Meanings) -> _Further:
    """Read the words of further languages; those of unspaced scripts go into `unspaced`."""
    found = _Further({}, {}, {}, max(map(len, languages.ROWS.split())))
    for row in languages.ROWS.splitlines():
        name, *entries = row.split()
        meaning = Meaning(f"#{name}", 1.0)
        alone = (meaning,)
        for entry in entries:
            any_ending = entry.endswith("*")
            words = words_of(folded(entry.rstrip("*").replace("_", " ")))
            if len(words) > 1:
                phrase = (tuple(words), any_ending, meaning)
                found.phrases[words[0]] = (*found.phrases.get(words[0], ()), phrase)
            elif _IS_UNSPACED.match(words[0]):
                _add(unspaced, words[0], alone)
            else:
                _add(found.begins if any_ending else found.whole, words[0], alone)
    return found


def terms_of(text: str) -> dict[str, float]:
    """Return the terms of a text with their weights: a word 1, a meaning that of its strongest word."""
    if len(text) > MOST_CHARS:
        text = f"{text[: MOST_CHARS // 2]}\n{text[-MOST_CHARS // 2 :]}"
    found: dict[str, float] = {}
    lower = folded(text)
    for shape, term, weight in _SHAPES:
        if shape.search(lower):
            found[term] = max(found.get(term, 0.0), weight)
    runs = words_of(lower)
    stems = [stem(run) for run in runs]
    meanings: list[Meaning] = []
    for place, run in enumerate(runs):
        if _IS_UNSPACED.match(run):
            meanings += _meanings_within(run)
            for pair in _pairs(run):
                found[pair] = 1.0
        else:
            if run not in _EMPTY and len(run) > 1:
                found[stems[place]] = 1.0
            for phrase, meaning in _glossary().words.get(stems[place], ()):
                if len(phrase) == 1 or tuple(stems[place : place + len(phrase)]) == phrase:
                    meanings.append(meaning)
        meanings += _further_meanings_at(runs, place)
    for term, weight in meanings:
        found[term] = max(found.get(term, 0.0), weight)
    return found


def _further_meanings_at(runs: list[str], place: int) -> Iterator[Meaning]:
    run, further = runs[place], _glossary().further
    yield from further.whole.get(run, ())
    for length in range(1, min(len(run), further.longest) + 1):
        yield from further.begins.get(run[:length], ())
        # Both kinds of words may stand behind others without a space.
        if _ENDING_ARABIC <= length < len(run) and (length >= _ENDING or "\u0600" <= run[-length] <= "\u06ff"):
            yield from further.begins.get(run[-length:], ())
            yield from further.whole.get(run[-length:], ())
    for words, any_ending, meaning in further.phrases.get(run, ()):
        found = tuple(runs[place : place + len(words)])
        if found == words or (any_ending and found[:-1] == words[:-1] and found[-1].startswith(words[-1])):
            yield meaning


def _meanings_within(run: str) -> Iterator[Meaning]:
    """Return the glossary words in a run without spaces; single characters only outside longer words."""
    glossary = _glossary()
    covered = 0
    for place, first in enumerate(run):
        for length in glossary.lengths.get(first, ()):
            meanings = glossary.unspaced.get(run[place : place + length], ()) if length > 1 else ()
            if meanings:
                yield from meanings
                covered = max(covered, place + length)
                break
        if place >= covered:
            for term, weight in glossary.unspaced.get(first, ()):
                yield Meaning(term, weight * 0.8)


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1 and run not in _EMPTY_HAN:
        yield run
    for first, second in pairwise(run):
        if first not in _EMPTY_HAN and second not in _EMPTY_HAN:
            yield first + second
