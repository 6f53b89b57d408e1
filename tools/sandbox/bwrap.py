"""Run cells in bubblewrap sandboxes, one for each chat, kept while it is used."""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import platform
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from tools.sandbox.cell import Cell, SandboxFailed
from tools.sandbox.launcher import Launcher
from tools.sandbox.layout import code_layout
from tools.sandbox.limits import Limits
from tools.sandbox.session import Session

IDLE_SECONDS = 600.0
SESSIONS = 8
AT_ONCE = 4
_SWEEP_SECONDS = 30.0
_REMEMBERED = 1024


@dataclass(slots=True)
class _Place:
    """One chat's sandbox, if any, and its lock."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    session: Session | None = None
    waiting: int = 0
    lost: str = ""
    """Why the variables of its earlier cells are gone, until the next cell was told."""


class Bubblewrap:
    """The backend `bwrap`."""

    name = "bwrap"

    def __init__(
        self,
        packages: Iterable[str] = (),
        limits: Limits | None = None,
        *,
        rich: bool = False,
        sessions: int = SESSIONS,
        idle: float = IDLE_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`rich` runs cells in a Jupyter kernel instead of the plain interpreter.

        Raises:
            SandboxFailed: a program that this needs is missing.
        """
        if rich and importlib.util.find_spec("ipykernel") is None:
            raise SandboxFailed("CODE_RICH needs ipykernel (the extra `code-rich`)")
        self._rich = rich
        self._launcher = Launcher(functools.partial(code_layout, tuple(packages), rich=rich), limits or Limits())
        self._sessions = sessions
        self._idle = idle
        self._now = now
        self._places: OrderedDict[str, _Place] = OrderedDict()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._sweeper: asyncio.Task[None] | None = None

    @property
    def limits(self) -> Limits:
        """The limits of sandboxes started from now on."""
        return self._launcher.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._launcher.limits = limits

    @property
    def summary(self) -> str:
        found = self._launcher.layout
        packages = ", ".join(found.packages) if found is not None and found.packages else "the standard library only"
        kernel = "Jupyter kernel on " if self._rich else ""
        return f"bubblewrap sandbox, {kernel}Python {platform.python_version()} with {packages}"

    @property
    def live(self) -> int:
        """The number of sandboxes."""
        return sum(place.session is not None for place in self._places.values())

    async def check(self) -> None:
        from tools.sandbox.selftest import examine

        await examine(self.open, self.limits)

    async def open(self) -> Session:
        """Start a sandbox that belongs to the caller."""
        return await Session.start(self._launcher)

    def paid_seconds(self, scope: str, seconds: float) -> float:
        return 0.0

    async def run(self, scope: str, code: str, seconds: float) -> Cell:
        place = self._places.setdefault(scope, _Place())
        self._places.move_to_end(scope)
        place.waiting += 1
        try:
            async with place.lock, self._slots:
                return await self._run(place, code, seconds)
        finally:
            place.waiting -= 1
            while len(self._places) > _REMEMBERED:
                oldest = next(iter(self._places))
                if self._places[oldest].waiting or self._places[oldest].session is not None:
                    break
                del self._places[oldest]

    async def sweep(self) -> None:
        """End idle sandboxes."""
        for place in list(self._places.values()):
            if place.session is not None and not place.waiting and place.session.used <= self._now() - self._idle:
                await self._drop(place, f"nothing was run for {self._idle / 60:g} minutes")

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
            self._sweeper = None
        for place in list(self._places.values()):
            await self._drop(place, "the bot was stopped")

    async def _run(self, place: _Place, code: str, seconds: float) -> Cell:
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep_on(), name="idle sandboxes")
        if place.session is not None and not place.session.alive:
            await self._drop(place, "the interpreter had ended")
        if place.session is None:
            await self._make_room()
            place.session = await self.open()
        session = place.session
        lost, place.lost = place.lost, ""
        cell: Cell | None = None
        try:
            cell = await session.run(code, seconds)
        finally:
            session.used = self._now()
            if cell is None or cell.lost:
                place.session = None
                # A cell that was cancelled told nobody; one that ended says so itself.
                place.lost = "an earlier cell was stopped" if cell is None else ""
        if lost:
            note = f"This is a new interpreter, variables of earlier cells are gone: {lost}."
            cell = replace(cell, notes=(note, *cell.notes))
        return cell

    async def _make_room(self) -> None:
        """End the least recently used sandbox if the limit is reached."""
        while self.live >= self._sessions:
            idle = [place for place in self._places.values() if place.session is not None and not place.waiting]
            if not idle:
                return
            oldest = min(idle, key=lambda place: place.session.used if place.session is not None else 0.0)
            await self._drop(oldest, "too many other chats ran code")

    async def _drop(self, place: _Place, reason: str) -> None:
        session, place.session = place.session, None
        if session is not None:
            place.lost = reason
            await session.end()

    async def _sweep_on(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            await self.sweep()
