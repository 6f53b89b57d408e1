"""The reader of a reply: when they run out of shown text, and when a call is useful to them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from bot.contract import Pace, RateBudget

LETTERS_A_SECOND: Final = 27.0
"""A quick reader's speed, about 320 English words a minute: slower readers never wait either."""
WIDE: Final = 4.0
"""A Chinese, Japanese or Korean character takes as long to read as this many letters.
https://doi.org/10.1167/iovs.11-8284 has the speeds of 17 languages."""
COLLECT: Final = 0.4
"""The most seconds for collecting first words: nobody notices so little, but budget that is free meanwhile is lost to
later replies."""
CALM: Final = 30.0
"""Seconds within which a complete reply is shown again: nobody waits for it."""
FIRST_WORDS: Final = 4
FIRST_SIGNS: Final = 6
"""Words, or Chinese, Japanese or Korean characters, that make a readable beginning."""


_WIDE_SIGN: Final = re.compile("[\u2e80-\udfff\U00020000-\U0003ffff]")
"""A Chinese, Japanese or Korean character, which is a word or a syllable."""


def seconds_to_read(text: str) -> float:
    """Return how long a quick reader takes for `text`."""
    wide = 0 if text.isascii() else len(_WIDE_SIGN.findall(text))
    return (sum(map(str.isalnum, text)) + wide * (WIDE - 1)) / LETTERS_A_SECOND


def is_readable(text: str) -> bool:
    """Return True if there is something to read, and not only the beginning of something."""
    return len(text.split(maxsplit=FIRST_WORDS)) >= FIRST_WORDS or len(_WIDE_SIGN.findall(text)) >= FIRST_SIGNS


@dataclass(slots=True, eq=False)
class Reader:
    """One reply in progress, from its reader's point of view. All times are monotonic."""

    budgets: tuple[RateBudget, ...]
    """The budgets that its calls use."""
    calm: bool = False
    """It was complete, and is shown once more: nobody waits for it."""
    pace: Pace = field(default_factory=Pace)
    """How often its platform shows more of it."""
    promised: bool = False
    """It is on screen, or may be, so a call is reserved for its end."""
    waits_since: float | None = None
    """When its first words existed, shown or not."""
    seen_at: float | None = None
    """When it was last shown."""
    grew: bool = False
    """More was shown after the first words."""
    in_pieces: bool = False
    """It is shown in messages that are never edited, and only the last one is still needed."""
    out_at: float = float("inf")
    """When they have read all the shown text."""

    words_since: float | None = None
    """When words first existed, shown or not; before that, something else may be on screen."""
    words_at: float | None = None
    """When they saw the first words."""
    waited: float = 0.0
    """Seconds, since words existed, in which they had nothing left to read."""

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
        """Return when the next edit is due, so that they never wait."""
        wanted = self.out_at - self.pace.ahead
        return wanted if self.seen_at is None else max(wanted, self.seen_at + self.pace.apart)

    def fresh_at(self, spread: float) -> float:
        """Return when an edit that they do not need yet may be made, to show that the answer grows.

        Args:
            spread: seconds between two such edits, by the budgets of its calls.
        """
        if self.in_pieces:
            return self.needs_at
        return float("-inf") if self.seen_at is None else self.seen_at + max(self.pace.apart, self.pace.fresh, spread)
