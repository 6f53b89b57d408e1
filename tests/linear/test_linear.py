"""Text from outside costs at most in proportion to its length, whatever it is made of.

What strangers, models, pages and servers write is read on the event loop that all chats share, so one place that
takes four times as long for twice the text lets anybody stop everybody. Every function that takes such text is fed
here (`feeds.py`), and one that is new has to be named there.
"""

from __future__ import annotations

import gc
import runpy
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

SHORT, LONG = 20_000, 40_000
MOST = 2.5
"""How many times longer the text of twice the length may take."""
FLOOR = 0.004
"""Seconds of processor time for the longer text that are not judged: even if they grew with the square of the length,
100,000 characters, the longest message that is accepted, would take 25 ms."""
TRIES = 8

_FEEDS = runpy.run_path(str(Path(__file__).with_name("feeds.py")))
FED: dict[str, Callable[[str], object]] = _FEEDS["FED"]
SHAPES: dict[str, Callable[[int], str]] = _FEEDS["SHAPES"]


class Meter:
    """Measures the processor time of this thread; what a busy machine adds to it, the least of several does not have.

    A result that was kept for a text would hide what the text costs, so such caches are emptied first.
    """

    def __init__(self) -> None:
        self._caches = [
            found
            for module in list(sys.modules.values())
            if getattr(module, "__name__", "").partition(".")[0] in ("adapters", "bot", "tools")
            for found in vars(module).values()
            if hasattr(found, "cache_clear") and "text" in getattr(found, "__annotations__", {})
        ]

    def seconds(self, feed: Callable[[str], object], text: str) -> float:
        for cache in self._caches:
            cache.cache_clear()
        gc.disable()
        begun = time.thread_time()
        with suppress(Exception):  # a text may be refused; what matters is how soon
            feed(text)
        taken = time.thread_time() - begun
        gc.enable()
        return taken

    def growth(self, feed: Callable[[str], object], shape: Callable[[int], str]) -> float:
        """How many times longer twice the text takes; 0 where that is too little to judge."""
        short, long = shape(SHORT), shape(LONG)
        most = self.seconds(feed, long)
        if most < FLOOR:
            return 0.0
        least = self.seconds(feed, short)
        for _ in range(TRIES):
            if most <= MOST * least or most > 2.0:
                break
            least = min(least, self.seconds(feed, short))
            most = min(most, self.seconds(feed, long))
        return most / least


@pytest.fixture(scope="module")
def meter() -> Meter:
    return Meter()


@pytest.mark.no_cover
@pytest.mark.parametrize("name", FED)
def test_what_text_costs_grows_with_its_length_and_no_faster(name: str, meter: Meter) -> None:
    grown = {shape: meter.growth(FED[name], make) for shape, make in SHAPES.items()}

    assert {shape: round(times, 1) for shape, times in grown.items() if times > MOST} == {}


def _squared(text: str) -> Any:
    return [None for sign in text for _ in range(len(text) // 400)]


def test_the_meter_sees_a_square(meter: Meter) -> None:
    assert meter.growth(_squared, SHAPES["spaces"]) > 3.0
    assert meter.growth(sorted, SHAPES["spaces"]) < MOST
