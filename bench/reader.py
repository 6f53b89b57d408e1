"""How long a quick reader waits for words: the measure of `bench.delivery`, from what stood on the screen and when.

*Reader waits* are the seconds between the model's first token and the end (the answer whole on the screen) in which a
quick reader has nothing new to read. The reader begins when the first readable text is shown, reads at a fixed speed,
never reads ahead of what is shown, and cannot read half a word at the end of it: a word counts when all of it is there.
Text that is not the beginning of the answer (a tool's status, a typing sign) is nothing to read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

LETTERS_PER_SECOND = 27.0
"""Letters, digits and marks of an alphabet; spaces take no time. Most adults read 200 to 320 English words a minute
silently, 260 on average, so this is the quickest of most: 320 words of five letters.
Brysbaert 2019, "How many words do we read per minute?", https://doi.org/10.1016/j.jml.2019.104047"""
SKIMMED_PER_SECOND = 80.0
"""Letters of somebody who only glances at the answer, in code or a table: three times as quick."""
HAN_PER_SECOND = 7.0
"""Chinese signs. In equal texts read aloud, 255 Chinese signs a minute stand against 987 English letters (table 2 of
Trauzettel-Klosinski & Dietz 2012, https://doi.org/10.1167/iovs.11-8284); the reader above is 1.64 times as quick as
that in English, and so in Chinese: 418 a minute."""
KANA_PER_SECOND = 10.0
"""Japanese syllables: 357 signs a minute in the same table, times 1.64."""
HANGUL_PER_SECOND = 12.0
"""Korean blocks. 202 words a minute silently on average (Rhiu et al. 2017, https://doi.org/10.3341/kjo.2016.0042), of
about three blocks, times 1.2, the quick reader's lead over the average one in English (320 of 260)."""
FIRST_WORDS = 3
FIRST_SIGNS = 6
"""From so many words, or signs of Chinese or Japanese, a beginning is worth reading."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What stood on the screen from `at` on: the text of all of a reply's messages, without markup."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """How one reply was to read. Times are of the clock that the sights were taken with."""

    waits: float
    """Seconds between the model's first token and the end with nothing new to read."""
    first_words: float | None
    """When three whole words, or six signs, were shown; None: never."""
    gap: float
    """The longest time between the model's first token and the end in which no new word appeared."""
    skims: float
    """The waits of who reads `SKIMMED_PER_SECOND`."""
    stale: float
    """How many seconds ago the model had written what stood on the screen and no more, on average until the end."""
    whole: float | None
    """When the answer was whole; None: never."""


class Answer:
    """A text that a model writes, and how far a reader gets with each of its beginnings.

    Beginnings are counted in characters without white space, because platforms change that at the borders of messages.
    """

    def __init__(self, text: str) -> None:
        self.squeezed = squeeze(text)
        self._ends = _word_ends(text)
        seconds = list(accumulate((1 / speed(sign) for sign in self.squeezed), initial=0.0))
        self._seconds = [seconds[end] for end in self._ends]
        wide = [_is_sign(self.squeezed[end - 1]) or _is_mark(self.squeezed[end - 1]) for end in self._ends]
        signs = [1 / FIRST_SIGNS if one else 1 / FIRST_WORDS for one in wide]
        begun = [index for index, share in enumerate(accumulate(signs)) if share > 1 - 1e-9]
        self.first_words = self._seconds[begun[0] if begun else -1] if self._ends else 0.0
        """The reading time of the shortest beginning that is worth reading."""

    @property
    def seconds(self) -> float:
        """How long the reader needs for all of it."""
        return self._seconds[-1] if self._seconds else 0.0

    def readable(self, shown: str) -> float:
        """The reading time of what of `shown` is a beginning of the answer and ends with a whole word."""
        return self.readable_length(_common(squeeze(shown), self.squeezed))

    def readable_length(self, length: int) -> float:
        """The reading time of the whole words in the first `length` characters without white space."""
        index = bisect_right(self._ends, length)
        return self._seconds[index - 1] if index else 0.0


def squeeze(text: str) -> str:
    """`text` without white space."""
    return "".join(text.split())


def speed(sign: str) -> float:
    """How many characters like `sign` the reader takes in a second."""
    if sign < "\u1100":
        return LETTERS_PER_SECOND
    if _is_han(sign):
        return HAN_PER_SECOND
    if _is_kana(sign):
        return KANA_PER_SECOND
    if "\uac00" <= sign <= "\ud7af" or "\u1100" <= sign <= "\u11ff":
        return HANGUL_PER_SECOND
    return LETTERS_PER_SECOND


def sights(messages: Iterable[Sequence[tuple[float, str]]]) -> list[Sight]:
    """What stood on the screen and when, from the versions (at, text) of each message of a reply, in their order."""
    latest: list[str] = []
    changes = []
    for number, versions in enumerate(messages):
        latest.append("")
        changes += [(at, number, text) for at, text in versions]
    seen = []
    for at, number, text in sorted(changes, key=lambda change: change[0]):
        latest[number] = text
        seen.append(Sight(at, "\n".join(latest)))
    return seen


def read(answer: Answer, seen: Sequence[Sight], begin: float, last: float, until: float) -> Reading:
    """How a reply was to read whose model wrote from `begin` to `last`; one that never was whole ends at `until`."""
    shares = [(sight.at, answer.readable(sight.text)) for sight in seen]
    whole = next((sight.at for sight in seen if squeeze(sight.text) == answer.squeezed), None)
    first = next((at for at, share in shares if share >= answer.first_words - 1e-9), None)
    end = until if whole is None else whole
    waits, gap = follow(shares, begin, end)
    quick = LETTERS_PER_SECOND / SKIMMED_PER_SECOND
    skims, _ = follow([(at, share * quick) for at, share in shares], begin, end)
    return Reading(waits, first, gap, skims, _stale(shares, answer.seconds, begin, last, end), whole)


def _stale(shares: Sequence[tuple[float, float]], whole: float, begin: float, last: float, end: float) -> float:
    """How old what is shown is, on average: the model wrote evenly from `begin` to `last`."""
    total, now, written = 0.0, begin, begin
    for at, share in (*shares, (end, whole)):
        moment = min(max(at, begin), max(begin, end))
        total += (moment - now) * ((now + moment) / 2 - written)
        now, written = moment, max(written, begin + (last - begin) * share / whole if whole else last)
    return total / (end - begin) if end > begin else 0.0


def follow(shares: Sequence[tuple[float, float]], begin: float, end: float) -> tuple[float, float]:
    """How long the reader waits between `begin` and `end`, and the longest time without a new word.

    Args:
        shares: (at, reading time of what can be read from then on), in order of time.
    """
    waits = gap = 0.0
    position = available = most = 0.0
    now = grown = begin
    for at, share in (*shares, (end, available)):
        moment = min(max(at, begin), max(begin, end))
        reading = min(moment - now, max(0.0, available - position))
        position += reading
        waits += moment - now - reading
        now = moment
        available = share
        if at >= end or share > most + 1e-9:
            gap = max(gap, moment - grown)
            grown, most = moment, max(most, share)
        if at >= end:
            break
    return waits, gap


def _word_ends(text: str) -> list[int]:
    """Where a word, or a sign that is one by itself, ends; counted without white space."""
    ends: list[int] = []
    length = 0
    for word in text.split():
        for index, sign in enumerate(word):
            following = word[index + 1 : index + 2]
            if not following or _is_sign(sign) or _is_sign(following):
                ends.append(length + index + 1)
        length += len(word)
    return ends


def _common(one: str, other: str) -> int:
    """The length of the longest common beginning."""
    if other.startswith(one):
        return len(one)
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _is_han(sign: str) -> bool:
    return "\u3400" <= sign <= "\u9fff" or "\uf900" <= sign <= "\ufaff" or sign >= "\U00020000"


def _is_kana(sign: str) -> bool:
    return "\u3040" <= sign <= "\u30ff" or "\uff66" <= sign <= "\uff9f"


def _is_mark(sign: str) -> bool:
    """A mark of punctuation as wide as a Chinese sign."""
    return "\u3000" <= sign <= "\u303f" or "\uff00" <= sign <= "\uff65"


def _is_sign(sign: str) -> bool:
    """Written without spaces between words, so that each can be read as it appears."""
    return _is_han(sign) or _is_kana(sign)
