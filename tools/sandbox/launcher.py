"""Start programs in bubblewrap sandboxes: the part common to all uses."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from collections.abc import Callable, Hashable

from tools.programs import subprocesses
from tools.sandbox.cell import SandboxFailed
from tools.sandbox.launch import command, programs
from tools.sandbox.layout import Layout, private
from tools.sandbox.limits import Limits
from tools.sandbox.syscalls import program


class Launcher:
    """Starts one program, each time in a new sandbox."""

    def __init__(self, lay_out: Callable[[], Layout], limits: Limits) -> None:
        """`lay_out` returns the visible files of the sandboxes; it is called once, in a thread.

        Raises:
            SandboxFailed: a required program is missing.
        """
        if sys.platform != "linux":
            raise SandboxFailed("it needs Linux")
        filtered = program()
        if filtered is None:
            raise SandboxFailed(f"its system call filter is not written for {platform.machine()} processors")
        self.limits = limits
        self.layout: Layout | None = None
        """The visible files of the sandboxes, once one was started."""
        self._lay_out = lay_out
        self._programs = programs()
        self._filter = filtered

    async def key(self) -> Hashable:
        """Return a key that two launchers share only if they start the same program in the same surroundings.

        Raises:
            SandboxFailed: a sandbox would see a forbidden file.
        """
        return self._programs, await self._seen()

    async def start(self) -> asyncio.subprocess.Process:
        """Start the program and return its process, with pipes.

        Raises:
            SandboxFailed: it cannot be run, or would see a forbidden file.
        """
        layout = await self._seen()
        read, write = os.pipe()
        try:
            with os.fdopen(write, "wb") as pipe:
                pipe.write(self._filter)
            return await subprocesses.start(
                *command(self._programs, layout, self.limits, read, root=os.geteuid() == 0),
                # The launcher's environment can be read from inside, so it gets none: ours contains every key.
                env={},
                cwd="/",
                pass_fds=(read,),
            )
        except OSError as error:
            raise SandboxFailed(f"the launcher could not be run: {error.strerror}") from error
        finally:
            os.close(read)

    async def _seen(self) -> Layout:
        if self.layout is None:
            found = await asyncio.to_thread(self._lay_out)
            for path in private():
                if found.exposes(path):
                    raise SandboxFailed(f"{path} lies in a system folder that code could read")
            self.layout = found
        return self.layout
