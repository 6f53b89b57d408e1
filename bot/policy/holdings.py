"""Which calls of this process share a quota, and when one of them returns a part of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bot.contract import Clock
from bot.store import Amount, Reserved
from tools.programs.cancelling import wait_for_first


class Holdings:
    """Counts, per quota, the calls that hold or request a part of it, and signals when one ends."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls: Counter[str] = Counter()
        self._asking: Counter[str] = Counter()
        self._held: dict[str, Amount] = {}
        """The reservation of each call."""
        self._sums: dict[str, Amount] = {}
        """The same of each quota."""
        self._ending = asyncio.Event()
        """Set when the next call ends."""
        self.ended = 0
        """Calls that have ended so far."""

    @contextmanager
    def ask(self, keys: Sequence[str]) -> Iterator[None]:
        """Register a call's request for a part of these quotas, within the block."""
        self._asking.update(keys)
        try:
            yield
        finally:
            self._asking -= Counter(keys)  # zero counts are forgotten

    def count_others(self, keys: Sequence[str]) -> list[int]:
        """Return for each of these quotas how many other calls hold or request a part."""
        return [max(0, self._calls[key] + self._asking[key] - 1) for key in keys]

    def take(self, reserved: Reserved) -> None:
        """Record a call's reservation."""
        self._calls.update(key for key, _, _ in reserved.windows)
        self.update(reserved)

    def update(self, reserved: Reserved) -> None:
        """Record a call's new reservation."""
        self._add(reserved, reserved.amount - self._held.get(reserved.call, Amount()))
        self._held[reserved.call] = reserved.amount

    def sum_others(self, key: str, call: str) -> Amount:
        """Return what the other calls hold of a quota, and will partly return."""
        return self._sums.get(key, Amount()) - self._held.get(call, Amount())

    def _add(self, reserved: Reserved, more: Amount) -> None:
        for key, _, _ in reserved.windows:
            if self._calls[key]:
                self._sums[key] = self._sums[key] + more if key in self._sums else more
            else:
                self._sums.pop(key, None)

    def end(self, reserved: Reserved) -> None:
        """The call ended, and its real usage has replaced its reservation."""
        self._calls -= Counter(key for key, _, _ in reserved.windows)
        self._add(reserved, Amount() - self._held.pop(reserved.call, Amount()))
        self.ended += 1
        self._ending.set()
        self._ending = asyncio.Event()

    async def wait_for_end(self, until: float) -> None:
        """Wait until a call ends, or until `until`, in monotonic time."""
        patience = max(0.0, until - self._clock.monotonic())
        await wait_for_first(self._ending.wait(), self._clock.sleep(patience))
