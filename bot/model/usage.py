"""Tokens without a tokenizer: estimated by script, and corrected by the servers' reports.

A tokenizer takes seconds to load and tens of megabytes, and is right for only one family of models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from bot.contract import AssistantEntry, Entry, SystemEntry, ToolEntry, UserEntry
from tools.contract.base import ToolSpec

CountTokens: TypeAlias = Callable[[Iterable[str]], int]
"""Returns the tokens of several texts together."""

_WIDE = re.compile(r"[^\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]+")
_OTHER_LETTERS = re.compile(r"[\x00-\u00bf\u1100-\u11ff\u2010-\U0010ffff]+")
_NOT_WORDS = re.compile(r"[A-Za-z\s]+")
_NOT_DIGITS = re.compile(r"\D+")
_ASTRAL = re.compile(r"[\x00-\uffff]+")

_WORD_CHARS = 4.6
"""Characters of English words and their spaces in a token."""
_OTHER_LETTER_CHARS = 2.6
_DIGITS = 2.4
_SIGNS = 1.35
"""Punctuation, which fills code: several marks often share one token."""
WIDE_TOKENS = 0.75
"""Tokens of one Chinese, Japanese or Korean character."""
_ASTRAL_TOKENS = 2.0
"""Tokens of one emoji."""

_LEAST, _MOST = 0.4, 2.5
_STEP = 0.3
_ENOUGH = 50
"""Fewer tokens than this say nothing about a model's tokenizer."""
REMEMBERED = 4_096
"""Texts whose weight is remembered: a model's input is the same from turn to turn, except for its end."""


def _raw(text: str) -> float:
    if text.isascii():
        wide = other = astral = 0
    else:
        wide = len(_WIDE.sub("", text))
        other = len(_OTHER_LETTERS.sub("", text))
        astral = len(_ASTRAL.sub("", text))
    signs = _NOT_WORDS.sub("", text)
    digits = len(_NOT_DIGITS.sub("", signs))
    words = len(text) - len(signs)
    marks = max(len(signs) - digits - wide - other - astral, 0)
    return (
        words / _WORD_CHARS
        + digits / _DIGITS
        + marks / _SIGNS
        + other / _OTHER_LETTER_CHARS
        + wide * WIDE_TOKENS
        + astral * _ASTRAL_TOKENS
    )


class Estimator:
    """Estimates tokens for one model, better with every reported usage."""

    def __init__(self) -> None:
        self.factor = 1.0
        """Reported tokens for each estimated one, as learned so far."""
        self._weights: dict[tuple[int, int], float] = {}
        """Weights by a text's hash and length: the texts themselves are not stored."""

    def tokens(self, text: str) -> int:
        """Return roughly how many tokens `text` has; never 0 for a text that is not empty."""
        return self.count((text,))

    def count(self, texts: Iterable[str]) -> int:
        """Return roughly how many tokens these texts have together; at least one for each that is not empty."""
        known, factor, tokens = self._weights, self.factor, 0
        for text in texts:
            if text:
                weight = known.get((hash(text), len(text)))
                tokens += max(1, round((self._weigh(text) if weight is None else weight) * factor))
        return tokens

    def tokens_once(self, text: str) -> float:
        """Estimate a text that will not be seen again, without remembering its weight."""
        return _raw(text) * self.factor

    def _weigh(self, text: str) -> float:
        if len(self._weights) >= REMEMBERED:
            self._weights.clear()
        weight = self._weights[hash(text), len(text)] = _raw(text)
        return weight

    def learn(self, estimate: int, reported: int) -> None:
        """Learn that the server `reported` so many tokens for our `estimate`.

        One report moves the factor only a third of the way: a cached or padded count must not overturn it.
        """
        if estimate < _ENOUGH or reported < _ENOUGH:
            return
        wanted = self.factor * reported / estimate
        self.factor = min(max(self.factor + _STEP * (wanted - self.factor), _LEAST), _MOST)


PER_ENTRY = 6
"""Tokens of a message beside its text."""


TOOL_TOKENS = 80
"""Tokens of a tool beside its parameters."""


def text_of(entry: Entry) -> str:
    """Return everything in an entry that costs tokens."""
    match entry:
        case AssistantEntry():
            calls = "".join(call.name + str(dict(call.arguments)) for call in entry.calls)
            return (entry.written or entry.text) + calls
        case SystemEntry(text) | UserEntry(text) | ToolEntry(text=text):
            return text


PICTURE_TOKENS = 1_000
"""A rough estimate for a picture; each provider counts in its own way, by the size or not."""


def token_count(entries: Sequence[Entry], count: CountTokens) -> int:
    """Return the tokens of `entries`, including their shown pictures."""
    texts = [text_of(entry) if isinstance(entry, AssistantEntry) else entry.text for entry in entries]
    return count(texts) + picture_token_count(entries) + PER_ENTRY * len(entries)


def picture_token_count(entries: Sequence[Entry]) -> int:
    """Return the tokens of the shown pictures of `entries`."""
    told = [entry for entry in entries if isinstance(entry, UserEntry | AssistantEntry)]
    return PICTURE_TOKENS * sum(bool(one.content) for entry in told for one in entry.pictures)


def tool_token_count(specs: Sequence[ToolSpec], count: CountTokens) -> int:
    """Return the tokens of declaring these tools."""
    return count(spec.schema_text for spec in specs) + TOOL_TOKENS * len(specs)
