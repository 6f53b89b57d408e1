"""Run cells in Monty, an interpreter for a subset of Python without access to the operating system.

For machines without namespaces. Its workers are separate processes, with an empty environment; its limits are the
interpreter's. It has a small part of the standard library, no packages, no files and no images. See:
https://github.com/pydantic/monty
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tools.sandbox.cell import Cell, SandboxFailed
from tools.sandbox.limits import Limits
from tools.sandbox.places import SESSIONS, Place, Places

if TYPE_CHECKING:
    from pydantic_monty import AsyncMonty, AsyncMontySession

_WATCHDOG_SECONDS = 1.0
"""After the interpreter's own time limit its process is killed."""


class Monty(Places["AsyncMontySession"]):
    """The backend `monty`."""

    name = "monty"

    def __init__(self, limits: Limits | None = None, *, now: Callable[[], float] = time.monotonic) -> None:
        """Raises SandboxFailed where the package is missing."""
        if importlib.util.find_spec("pydantic_monty") is None:
            raise SandboxFailed("pydantic-monty is not installed (extra: code)")
        self.limits = limits or Limits()
        super().__init__(now)
        self._pool: AsyncMonty | None = None
        self._opening = asyncio.Lock()

    @property
    def summary(self) -> str:
        version = importlib.metadata.version("pydantic-monty")
        return f"Monty {version}: a subset of Python with few modules, no packages, files or images"

    async def check(self) -> None:
        """Check that a calculation works and that files, environment, network and processes are out of reach."""
        refused = ("open('/etc/passwd').read()", "import os\nos.environ", "import socket", "import subprocess")
        try:
            cell = await self.run("self-test", "6 * 7", 2.0)
            if cell.value != "42":
                raise SandboxFailed(f"the self-test did not finish: {cell.error or cell.value!r}")
            for code in refused:
                if not (await self.run("self-test", code, 2.0)).error:
                    raise SandboxFailed(f"the interpreter does not confine: {code!r} worked")
        finally:
            place = self._places.pop("self-test", None)
            if place is not None:
                await self._drop(place, "")

    async def run(self, scope: str, code: str, seconds: float) -> Cell:
        async with self._use(scope) as place:
            return await self._run(place, code, min(seconds, self.limits.wall))

    async def close(self) -> None:
        await self._drop_all()
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.__aexit__(None, None, None)

    async def _run(self, place: Place[AsyncMontySession], code: str, seconds: float) -> Cell:
        import pydantic_monty as monty

        session = await self._session(place, seconds)
        notes = place.take_notes()
        printed = monty.CollectString(max_bytes=self.limits.output)
        value, error, over = "", "", True
        try:
            async with asyncio.timeout(seconds + _WATCHDOG_SECONDS + self.limits.grace):
                result = await session.feed_run(code, print_callback=printed)
            value = "" if result is None else repr(result)[: self.limits.value]
            over = False
        except monty.MontyRuntimeError as raised:
            # After a time limit nothing is certain about the interpreter's memory, says its maker.
            error = raised.display()
            over = isinstance(raised.exception(), TimeoutError | MemoryError)
        except monty.MontySyntaxError as raised:
            error, over = raised.display(), False
        except monty.MontyError as raised:
            error = f"Stopped: {raised}"
        except TimeoutError:
            error = f"Stopped: it ran longer than {seconds:g} s."
        except BaseException:
            await self._drop(place, "an earlier cell was stopped")
            raise
        place.used = self._now()
        if over:
            await self._drop(place, "")
        text = printed.output[: self.limits.output]
        return Cell(output=text, value=value, error=error[-self.limits.value :], notes=notes, lost=over)

    async def _session(self, place: Place[AsyncMontySession], seconds: float) -> AsyncMontySession:
        import pydantic_monty as monty

        await self.sweep()
        await self._drop_idle(place)
        if place.session is None:
            await self._make_room()
            limits = monty.ResourceLimits(
                max_feed_duration_secs=seconds, max_memory=self.limits.memory, max_total_sleep_secs=seconds
            )
            pool = await self._opened()
            session = pool.checkout(limits=limits)
            try:
                await session.__aenter__()
            except (monty.MontyError, OSError, TimeoutError) as error:
                raise SandboxFailed(f"no interpreter could be started: {error}") from error
            place.session = session
        return place.session

    async def _opened(self) -> AsyncMonty:
        import pydantic_monty as monty

        async with self._opening:
            if self._pool is None:
                pool = monty.AsyncMonty(
                    min_processes=0, max_processes=SESSIONS + 4, checkout_timeout=5.0, max_checkouts_per_worker=1
                )
                try:
                    await pool.__aenter__()
                except (monty.MontyError, OSError) as error:
                    raise SandboxFailed(f"its workers could not be started: {error}") from error
                self._pool = pool
            return self._pool

    async def _end(self, session: AsyncMontySession) -> None:
        await session.__aexit__(None, None, None)
