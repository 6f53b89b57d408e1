"""The token counts of a model's prompts and answers, learned from settled calls.

The reservation for a call follows from them. A prompt is estimated, so it is reserved with a margin, which shrinks to
the error of the latest estimates. While an answer visibly grows, its reservation grows with it. A model
whose server counts many invisible tokens (thoughts, a whole answer in one piece) cannot be stopped in time, so
everything that it may write is reserved first.
"""

from __future__ import annotations

from collections import deque

from bot.policy.budgets import ANSWER_TOKENS, PROMPT_MARGIN

_MEAN_STEP, _SPREAD_STEP = 1 / 8, 1 / 4
"""How much one answer changes the usual size and its variation: like TCP's estimate of round trips (RFC 6298)."""
_SPREADS = 2
_FORGETS = 0.1
"""How much one ordinary answer changes what a surprise has taught."""
_LEAST_AHEAD, MOST_AHEAD = 64.0, 1_000.0
"""Tokens by which a model may be ahead of its visible text. Above the second value its reservation is not raised in
time."""
_ENOUGH = 50
"""Fewer tokens than this say nothing about how a server counts."""
_CREDIBLE = 1.5
"""The most tokens of a server for one of ours, if nothing was hidden from us."""


_PROMPTS = 32
"""The latest prompts, whose estimates tell how far the next one may be wrong."""
_LEAST_MARGIN = 0.05
"""The part of a prompt that is always reserved beyond the largest error seen."""
_MOST_ERROR = 2.0
"""A larger error is of another kind: a server that adds a prompt of its own to a short one."""


class PromptSize:
    """How far the estimates of one model's prompts are from its server's counts."""

    def __init__(self) -> None:
        self._seen: deque[tuple[int, float]] = deque(maxlen=_PROMPTS)
        """The latest estimates, each with the server's tokens for one estimated."""
        self._longest = 0
        self._margin = PROMPT_MARGIN

    def most(self, words: int, pictures: int = 0) -> int:
        """Return the most tokens that a prompt can have, by the estimates of its words and its pictures.

        What earlier prompts taught says nothing about pictures, and about the part that is longer than all of them.
        """
        known = min(words, self._longest)
        return int(known * self._margin + (words - known) * max(PROMPT_MARGIN, self._margin) + pictures * PROMPT_MARGIN)

    def learn(self, estimate: int, counted: int) -> None:
        """Learn that the server counted so many tokens for a prompt, without pictures, of this estimate."""
        if min(estimate, counted) < _ENOUGH:
            return
        self._seen.append((estimate, min(_MOST_ERROR, counted / estimate)))
        self._longest = max(length for length, _ in self._seen)
        # The more prompts were seen, the fewer will exceed the largest error among them.
        rest = max(_LEAST_MARGIN, (PROMPT_MARGIN - 1) / (len(self._seen) + 1))
        self._margin = max(1.0, *(ratio for _, ratio in self._seen)) + rest


class AnswerSize:
    """The usual size of one model's answers, and the error of its prompts' estimates."""

    def __init__(self) -> None:
        self.prompt = PromptSize()
        self._mean = 0.0
        self._spread = 0.0
        self._ahead: float | None = None
        self.factor = 1.0
        """The server's tokens for each one that we count."""

    @property
    def grows(self) -> bool:
        """Its answers can be stopped in time: an unknown model may hide what it writes."""
        return self._ahead is not None and self._ahead < MOST_AHEAD

    @property
    def ahead(self) -> int:
        """The tokens that it may have written beyond its visible text."""
        return int(max(_LEAST_AHEAD, self._ahead or 0.0))

    def wanted(self, wished: int) -> tuple[int, int]:
        """Return the fewest tokens for an answer that are worth a call, and those that are reserved if available."""
        if not self.grows:
            return ANSWER_TOKENS, wished
        # A usual answer ends before its reservation must grow.
        usual = min(wished, int(self._mean + _SPREADS * self._spread) + 2 * self.ahead)
        return min(usual, ANSWER_TOKENS), usual

    def learn(self, completion: int, seen: float, step: float) -> None:
        """Learn from an answer.

        Args:
            completion: its tokens, by the server's count.
            seen: the tokens of its visible text, by our count.
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
