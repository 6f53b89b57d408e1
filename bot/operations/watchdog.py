"""Detect and report blocked event loops: one blocking call delays every chat at once.

A task notes how late it wakes. Meanwhile a thread looks at the loop's work, so that a long block is reported with the
code that caused it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from tools.programs.cancelling import end_tasks

log = logging.getLogger(__name__)

TOO_LONG = 0.1
"""Seconds of continuous computing that are worth a log line."""
_STALLED = 1.0
"""Seconds without a sign of life that are, even if the process was not computing: the machine is overloaded."""
_BEAT = 0.05
_COMPLAINT = 60.0
_FRAMES = 6


class LoopWatch:
    """Measures how long the running event loop was blocked, inside `async with`."""

    def __init__(self, anybody: Callable[[], bool] = lambda: True) -> None:
        """
        Args:
            anybody: whether somebody could write now; a block that nobody could notice is measured, but not logged.
        """
        self._anybody = anybody
        self.longest = 0.0
        """The longest time the loop was late, in seconds: includes waiting for a processor."""
        self.late = 0.0
        """The seconds by which the loop was late, all together."""
        self.longest_computing = 0.0
        """The most processor time of the loop's thread in one such time: the part that our own code caused."""
        self.where = ""
        """The work during the longest observed block, innermost call first."""
        self._beat_at = 0.0
        self._seen = ""
        self._complained_at = float("-inf")
        self._loop_thread = 0
        self._over = threading.Event()

    async def __aenter__(self) -> LoopWatch:
        self._loop_thread = threading.get_ident()
        self._beat_at = time.perf_counter()
        self._task = asyncio.create_task(self._beat(), name="loop watch")
        self._thread = threading.Thread(target=self._look, name="loop watch", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._over.set()
        await end_tasks(self._task)
        # It never sleeps longer than a beat.
        self._thread.join()

    def reset(self) -> None:
        """Forget the longest block so far."""
        self.longest = self.longest_computing = 0.0
        self.where = ""

    async def _beat(self) -> None:
        while True:
            computed = time.thread_time()
            self._beat_at = began = time.perf_counter()
            await asyncio.sleep(_BEAT)
            late = time.perf_counter() - began - _BEAT
            computing = min(time.thread_time() - computed, late)
            self.longest = max(self.longest, late)
            self.late += max(0.0, late)
            if computing > self.longest_computing:
                self.longest_computing, self.where = computing, self._seen
            if computing > TOO_LONG or late > _STALLED:
                self._complain(late, computing)
            self._seen = ""

    def _complain(self, late: float, computing: float) -> None:
        now = time.perf_counter()
        if now - self._complained_at < _COMPLAINT or not self._anybody():
            return
        self._complained_at = now
        log.warning(
            "every chat waited %.2f s for one piece of work (%.2f s of computing)%s",
            late,
            computing,
            f": {self._seen}" if self._seen else "",
        )

    def _look(self) -> None:
        """In a thread: record the stack of the loop when its heartbeat is late."""
        while not self._over.wait(_BEAT):
            if time.perf_counter() - self._beat_at > _BEAT + TOO_LONG and not self._seen:
                self._seen = _calls_of(self._loop_thread)


def _calls_of(thread: int) -> str:
    """Return the innermost calls of a thread, without paths and values; empty once it has ended.

    Nothing may keep its frames, which keep the whole turn that ran in them.
    """
    frame = sys._current_frames().get(thread)
    if frame is None:
        return ""
    stack = traceback.StackSummary.extract(traceback.walk_stack(frame), limit=_FRAMES, lookup_lines=False)
    return " < ".join(f"{one.name} ({Path(one.filename).name}:{one.lineno})" for one in stack)
