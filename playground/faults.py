"""Faults on request: what an emulator does instead of, before or after answering one call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Fault:
    """What goes wrong with one call. An emulator applies the parts in the order they stand here."""

    delay: float = 0.0
    """Seconds before anything happens."""
    hold: asyncio.Event | None = None
    """Nothing happens until it is set."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by the emulator when the call has arrived."""
    drop: str = ""
    """`before`: the connection closes and nothing is done; `after`: it is done, then the connection closes; `late`: the
    connection closes at once, and it is done all the same, after `delay` and `hold`."""
    status: int = 0
    """An HTTP status to answer with instead of doing it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    """The body that goes with `status`; empty: the platform's own for that status."""
    retry_after: float = 0.0
    """With status 429: the wait the platform names."""
    hold_after: asyncio.Event | None = None
    """It is done, but the answer waits until this is set."""
    answer: str | None = None
    """It is done, and where that went well this stands in the place of the answer, as of another server."""
    done: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a `late` call was done."""


class Faults:
    """The faults waiting to happen, by method name; `*` is any method."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, Fault, int]] = []
        self._late: set[asyncio.Task[None]] = set()
        self.source: Callable[[str], Fault | None] | None = None
        """Asked about each call that none of the waiting faults is for."""

    def add(self, method: str, fault: Fault, times: int = 1) -> Fault:
        """Let the next `times` calls of `method` meet `fault`."""
        self._waiting.append((method, fault, times))
        return fault

    def take(self, method: str) -> Fault | None:
        """The fault for a call that arrives now; it is used up."""
        for index, (name, fault, times) in enumerate(self._waiting):
            if name in (method, "*"):
                if times > 1:
                    self._waiting[index] = (name, fault, times - 1)
                else:
                    del self._waiting[index]
                fault.reached.set()
                return fault
        return self.source(method) if self.source is not None else None

    def later(self, fault: Fault, work: Callable[[], Awaitable[object]]) -> None:
        """Do the `work` of a `late` call in its time; whoever asked for it has been cut off."""

        async def wait() -> None:
            await asyncio.sleep(fault.delay)
            if fault.hold is not None:
                await fault.hold.wait()
            await work()
            fault.done.set()

        task = asyncio.create_task(wait(), name="late call")
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    def clear(self) -> None:
        self._waiting.clear()

    async def close(self) -> None:
        """Forget what is late and was not done yet."""
        tasks = list(self._late)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
