"""Run cells in bubblewrap sandboxes, one for each chat, kept while it is used."""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from tools.programs.cancelling import end_tasks
from tools.sandbox.cell import Cell, SandboxFailed
from tools.sandbox.launcher import Launcher
from tools.sandbox.layout import code_layout
from tools.sandbox.limits import Limits
from tools.sandbox.places import IDLE_SECONDS, SESSIONS, Place, Places
from tools.sandbox.session import Session

AT_ONCE = 4
_SWEEP_SECONDS = 30.0


class Bubblewrap(Places[Session]):
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
            SandboxFailed: a required program is missing.
        """
        if rich and importlib.util.find_spec("ipykernel") is None:
            raise SandboxFailed("CODE_BACKEND=jupyter needs ipykernel: pip install ipykernel ipython")
        super().__init__(now, idle=idle, sessions=sessions)
        self._rich = rich
        self._launcher = Launcher(functools.partial(code_layout, tuple(packages), rich=rich), limits or Limits())
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

    async def check(self) -> None:
        from tools.sandbox.selftest import examine

        await examine(self.open, self.limits)

    async def open(self) -> Session:
        """Start a sandbox that belongs to the caller."""
        return await Session.start(self._launcher)

    async def run(self, scope: str, code: str, seconds: float) -> Cell:
        async with self._use(scope) as place, self._slots:
            return await self._run(place, code, seconds)

    async def close(self) -> None:
        if self._sweeper is not None:
            await end_tasks(self._sweeper)
            self._sweeper = None
        await self._drop_all()

    async def _run(self, place: Place[Session], code: str, seconds: float) -> Cell:
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep_on(), name="idle sandboxes")
        if place.session is not None and not place.session.alive:
            await self._drop(place, "the interpreter had ended")
        if place.session is None:
            await self._make_room()
            place.session = await self.open()
        session = place.session
        notes = place.take_notes()
        cell: Cell | None = None
        try:
            cell = await session.run(code, seconds)
        finally:
            place.used = self._now()
            if cell is None or cell.lost:
                place.session = None
                # A cancelled cell told nobody; one that ended says so itself.
                place.lost = "an earlier cell was stopped" if cell is None else ""
        return replace(cell, notes=(*notes, *cell.notes))

    async def _end(self, session: Session) -> None:
        await session.end()

    async def _sweep_on(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            await self.sweep()
