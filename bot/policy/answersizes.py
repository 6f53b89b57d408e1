"""How many tokens the answers of a model take, learned from the calls that were settled.

What is set aside for a call follows from it. While an answer can be seen growing, what its call holds grows with it; a
model whose server counts much that nobody sees (thoughts, a whole answer in one piece) cannot be stopped in time, so
that all it may write is set aside first.
"""

from __future__ import annotations

from bot.policy.budgets import ANSWER_TOKENS

_MEAN_STEP, _SPREAD_STEP = 1 / 8, 1 / 4
"""How far one answer moves what is usual, and how far that varies: as TCP learns its round trips (RFC 6298)."""
_SPREADS = 2
_FORGETS = 0.1
"""How far one answer without surprises moves what a surprise has taught."""
_LEAST_AHEAD, MOST_AHEAD = 64.0, 1_000.0
"""Tokens that a model may be ahead of what is seen of it. From the second on it is not waited for until they are."""
_ENOUGH = 50
"""Fewer tokens than this say nothing about how a server counts."""
_CREDIBLE = 1.5
"""How many tokens of a server stand for one of ours, where nothing was hidden from us."""


class AnswerSize:
    """What the answers of one model take."""

    def __init__(self) -> None:
        self._mean = 0.0
        self._spread = 0.0
        self._ahead: float | None = None
        self.factor = 1.0
        """Tokens as its server counts them for each one that we count."""
        self.measured = False
        """Its server has counted a prompt, from which our own counts were corrected."""

    @property
    def grows(self) -> bool:
        """Whether its answers can be stopped in time: a model of which nothing is known may hide what it writes."""
        return self._ahead is not None and self._ahead < MOST_AHEAD

    @property
    def ahead(self) -> int:
        """The tokens that it may have written beyond what is seen."""
        return int(max(_LEAST_AHEAD, self._ahead or 0.0))

    def wanted(self, wished: int) -> tuple[int, int]:
        """Return the fewest tokens for an answer that are worth a call, and those that are set aside if there are."""
        if not self.grows:
            return ANSWER_TOKENS, wished
        # A usual answer ends before anything is to be added.
        usual = min(wished, int(self._mean + _SPREADS * self._spread) + 2 * self.ahead)
        return min(usual, ANSWER_TOKENS), usual

    def learn(self, completion: int, seen: float, step: float) -> None:
        """Learn from an answer.

        Args:
            completion: its tokens, as the server counted them.
            seen: the same as we counted what was seen of it.
            step: the most of these that came at once.
        """
        if self._ahead is None:
            self._mean, self._spread = float(completion), completion / 2
        else:
            self._spread += _SPREAD_STEP * (abs(completion - self._mean) - self._spread)
            self._mean += _MEAN_STEP * (completion - self._mean)
        hidden = completion - _CREDIBLE * seen
        if seen > _ENOUGH and hidden < _LEAST_AHEAD:
            counted = min(_CREDIBLE, completion / seen)
            self.factor = max(1.0, counted, self.factor - _FORGETS * (self.factor - counted))
        known = self._ahead or 0.0
        surprise = max(step, hidden, 0.0)
        self._ahead = max(surprise, known - _FORGETS * (known - surprise))
