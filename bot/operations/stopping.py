"""Stop the process on a signal: in order where possible, and within ten seconds whatever hangs.

Work that is not done by then is in the same state as after `kill -9`: the next start continues it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from bot.contract import origin_of

log = logging.getLogger(__name__)

TURN_SECONDS = 8.0
"""Seconds for running turns before they are ended with a note in the chat."""
STOP_SECONDS = 9.7
"""Seconds after which the process exits with code 0 in any case: many supervisors kill it after ten."""
_SURFACES_UNTIL = 9.0
_PLATFORMS_UNTIL = 9.4


class StopRequest:
    """Listens for SIGTERM and Ctrl-C: the first one sets `asked`, the second exits at once with code 1."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self._starting: asyncio.Task[object] | None = None
        self._count = 0

    def hear(self) -> None:
        """Handle the signals from now on; the process then ends in time even if its event loop is blocked."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            # The loop's own handler wakes it; ours is called between two steps of whatever blocks it.
            loop.add_signal_handler(number, self._ask)
            signal.signal(number, self._heard)
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))

    @contextmanager
    def while_starting(self) -> Iterator[None]:
        """Leave this block on a signal that comes before `started`: no work is in progress yet."""
        task = self._starting = asyncio.current_task()
        assert task is not None
        try:
            yield
        except asyncio.CancelledError:
            if self._starting is None or not self.asked.is_set():
                raise
            task.uncancel()
        finally:
            self._starting = None

    def started(self) -> None:
        """Let a signal only set `asked` from now on."""
        self._starting = None

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count > 1:
            os._exit(1)
        signal.setitimer(signal.ITIMER_REAL, STOP_SECONDS)

    def _ask(self) -> None:
        if self.asked.is_set():
            return
        self.asked.set()
        log.info("stopping; running answers get %.0f s", TURN_SECONDS)
        if self._starting is not None:
            self._starting.cancel()


async def end_in_order(
    *,
    turns: Callable[[float], Coroutine[Any, Any, None]],
    quiet: Callable[[], Coroutine[Any, Any, None]],
    tools: Callable[[], Coroutine[Any, Any, None]],
    leave: asyncio.Event,
    platforms: asyncio.Task[None],
) -> None:
    """Stop the parts of the running program in order of dependency, without waiting for one that takes too long.

    Args:
        turns: ends the running turns, after so many seconds.
        quiet: stops receiving.
        tools: closes the tools.
        leave: set when nothing is shown any more.
        platforms: ends after `leave` was set.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def until(seconds: float, *tasks: asyncio.Task[None]) -> None:
        left = began + seconds - loop.time()
        if left > 0:
            await asyncio.wait(tasks, timeout=left)

    ending = asyncio.create_task(turns(TURN_SECONDS), name="running turns")
    silencing = asyncio.create_task(quiet(), name="receivers")
    await until(TURN_SECONDS, ending)
    # In parallel with the last words of turns: programs need some time to end.
    closing = asyncio.create_task(tools(), name="tools")
    await until(_SURFACES_UNTIL, ending, silencing)
    leave.set()
    await until(_PLATFORMS_UNTIL, platforms, closing)
    for part in (ending, silencing, closing, platforms):
        if not part.done():
            log.warning("%s did not end in time and is abandoned", part.get_name())
            part.cancel()
        elif part is not platforms and not part.cancelled() and (error := part.exception()) is not None:
            log.error("%s: %s", part.get_name(), origin_of(error))
