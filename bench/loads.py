"""When questions come: all at once, at random within seconds, or at random at a steady rate."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """Questions at `times`, in seconds from the start."""

    name: str
    times: tuple[float, ...]
    rate: float = 0.0
    """Questions a second; 0: all at once."""


def bursts(sizes: Sequence[int]) -> Iterator[Load]:
    """So many questions at once, each number as a load of its own."""
    yield from (Load(f"{size} at once", (0.0,) * size) for size in sizes)


def arrivals(sizes: Sequence[int], seconds: Sequence[float], seed: int) -> Iterator[Load]:
    """So many questions at random within so many seconds, each number and time as a load of its own."""
    for size in sizes:
        for within in seconds:
            chance = random.Random(seed)
            yield Load(f"{size} within {within:g} s", tuple(sorted(chance.uniform(0, within) for _ in range(size))))


def steady(rate: float, seconds: float, seed: int, note: str = "") -> Load:
    """A Poisson process, the same for the same seed; `note` stands behind the rate in its name."""
    chance = random.Random(seed)
    times, at = [], chance.expovariate(rate)
    while at < seconds:
        times.append(at)
        at += chance.expovariate(rate)
    return Load(f"{rate:.3g} a second{f' ({note})' if note else ''}", tuple(times), rate)
