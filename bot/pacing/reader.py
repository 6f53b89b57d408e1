"""The reader of a reply: when they have read all of it that is shown, and when a call for it is of use to them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from bot.contract import Pace, RateBudget

LETTERS_A_SECOND: Final = 27.0
"""A quick reader's speed, about 320 English words a minute: who reads slower never waits either."""
WIDE: Final = 4.0
"""Letters that a sign of Chinese, Japanese or Korean takes as long to read as.
https://doi.org/10.1167/iovs.11-8284 has the speeds of 17 languages."""
COLLECT: Final = 0.4
"""Seconds for which first words are collected at most: nobody notices so little, and what a budget allows meanwhile is
lost to all who come later."""
CALM: Final = 30.0
"""Seconds within which a reply that was whole is shown again: nobody waits for it."""
FIRST_WORDS: Final = 4
FIRST_SIGNS: Final = 6
"""Words, or signs of Chinese, Japanese or Korean, with which there is something to read."""


_WIDE_SIGN: Final = re.compile("[\u2e80-\udfff\U00020000-\U0003ffff]")
"""A sign of Chinese, Japanese or Korean, which is a word or a syllable."""


def seconds_to_read(text: str) -> float:
    """Return how long a quick reader takes for `text`."""
    wide = 0 if text.isascii() else len(_WIDE_SIGN.findall(text))
    return (sum(map(str.isalnum, text)) + wide * (WIDE - 1)) / LETTERS_A_SECOND


def is_readable(text: str) -> bool:
    """Return True if there is something to read, and not only the beginning of something."""
    return len(text.split(maxsplit=FIRST_WORDS)) >= FIRST_WORDS or len(_WIDE_SIGN.findall(text)) >= FIRST_SIGNS


@dataclass(slots=True, eq=False)
class Reader:
    """One reply under way, as its reader sees it. All times are monotonic."""

    budgets: tuple[RateBudget, ...]
    """What its calls draw on."""
    calm: bool = False
    """It was whole, and is shown once more: nobody waits for it."""
    pace: Pace = field(default_factory=Pace)
    """How often its platform shows more of it."""
    promised: bool = False
    """It is on screen, or may be, so a call for its end is left free."""
    waits_since: float | None = None
    """When it had its first words, shown or not."""
    seen_at: float | None = None
    """When it was shown last."""
    grew: bool = False
    """More was shown after the first words."""
    in_pieces: bool = False
    """It is shown in messages that are never edited, and nobody needs more of those than the last."""
    out_at: float = float("inf")
    """When they have read all that is shown."""

    words_since: float | None = None
    """When there were first words, shown or not; before, something else may be on screen."""
    words_at: float | None = None
    """When they saw first words."""
    waited: float = 0.0
    """Seconds since there were words in which they had nothing left to read."""

    def see(self, text: str, now: float) -> None:
        """Add `text` to what they can read."""
        self.grew = self.seen_at is not None
        self.seen_at = now
        if self.words_since is not None:
            self.waited += max(0.0, now - max(self.out_at, self.words_since))
        if self.words_at is None and text.strip():
            self.words_at = now
        self.out_at = (now if self.waits_since is None else max(self.out_at, now)) + seconds_to_read(text)
        self.waits_since = now if self.waits_since is None else self.waits_since

    def wait(self, now: float) -> float:
        """Return since when they have waited for first words."""
        if self.waits_since is None:
            self.waits_since = self.out_at = now
        return self.waits_since

    @property
    def needs_at(self) -> float:
        """Return when the next edit is wanted, so that they never wait."""
        wanted = self.out_at - self.pace.ahead
        return wanted if self.seen_at is None else max(wanted, self.seen_at + self.pace.apart)

    def fresh_at(self, spread: float) -> float:
        """Return when an edit may be made that they do not need yet: who looks up sees that the answer grows.

        Args:
            spread: seconds between two of them, by what its calls draw on.
        """
        if self.in_pieces:
            return self.needs_at
        return float("-inf") if self.seen_at is None else self.seen_at + max(self.pace.apart, self.pace.fresh, spread)
