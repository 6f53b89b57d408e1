"""The questions whose replies have not started yet, and when each question came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from bot.contract import Clock, RateBudget

_ASKED_AT: ContextVar[float | None] = ContextVar("asked_at", default=None)


class Asked:
    """Counts, per platform, the questions whose replies have not started yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._coming: Counter[str] = Counter()
        self._newest: dict[str, float] = {}

    @contextmanager
    def expect(self, platform: str, *, anew: bool) -> Iterator[None]:
        """Expect a reply within the block; see `Pacer.expecting`."""
        self._coming[platform] += 1
        known = None if anew else _ASKED_AT.get()
        asked_at = self._clock.monotonic() if known is None else known
        if known is None:
            self._newest[platform] = asked_at
        token = _ASKED_AT.set(asked_at)
        try:
            yield
        finally:
            _ASKED_AT.reset(token)
            self._coming[platform] -= 1

    def count(self, platform: str, by: int) -> None:
        """Count a reply of this platform as started (-1), or no longer (1)."""
        self._coming[platform] += by

    def coming_to(self, budget: RateBudget) -> int:
        """Return how many replies that have not started yet will use a budget."""
        return max(0, self._coming[platform_of(budget)]) if budget.shared else 0

    def newest(self, budget: RateBudget) -> float:
        """Return when the newest question of a budget's platform came, whether or not its reply has started."""
        return self._newest.get(platform_of(budget), float("-inf"))

    @property
    def asked_at(self) -> float:
        """Return when the question came that is answered in this context; now, if there is none."""
        known = _ASKED_AT.get()
        return self._clock.monotonic() if known is None else known


def platform_of(budget: RateBudget) -> str:
    """Return the platform of a budget: its rate scope begins with the name."""
    return budget.scope.partition(":")[0]
