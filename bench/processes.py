"""A Python process of the bench: its environment, its output, and what it costs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Self


def held_up(pid: int) -> float:
    """The seconds for which the main thread of a process was ready to run and another had the processor."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


class Process:
    """`python …` with standard input and output as pipes; ended on leaving."""

    def __init__(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        program: str = sys.executable,
        folder: Path | None = None,
    ) -> None:
        kept = ("PATH", "HOME", "PYTHONPATH")
        self._environment = {name: os.environ[name] for name in kept if name in os.environ} | dict(environment or {})
        self._arguments, self._program, self._folder = arguments, program, folder
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self.log: deque[str] = deque(maxlen=50)
        """The last lines of its standard error."""

    async def __aenter__(self) -> Self:
        pipe = asyncio.subprocess.PIPE
        # A report of many requests is one long line.
        self._process = await asyncio.create_subprocess_exec(
            self._program,
            *self._arguments,
            env=self._environment,
            cwd=self._folder,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=1 << 26,
        )
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._process is not None and self._reader is not None
        if self._process.returncode is None:
            self._process.terminate()
        await self._process.wait()
        await self._reader

    async def kill(self) -> None:
        """End it with SIGKILL."""
        assert self._process is not None
        self._process.kill()
        await self.__aexit__()

    def write(self, text: str) -> None:
        """Write to its standard input."""
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(text.encode())

    async def line(self) -> str:
        """The next line of its standard output.

        Raises:
            RuntimeError: it ended.
        """
        assert self._process is not None and self._process.stdout is not None
        found = await self._process.stdout.readline()
        if not found:
            raise RuntimeError(f"{' '.join(self._arguments)} ended:\n{''.join(self.log)}")
        return found.decode().strip()

    def cpu(self) -> float:
        """The processor seconds it has used."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def held_up(self) -> float:
        """The seconds for which its main thread was ready to run and another process had the processor."""
        assert self._process is not None
        return held_up(self._process.pid)

    def memory(self) -> float:
        """The MiB it holds."""
        assert self._process is not None
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    def held(self) -> tuple[float, float]:
        """The MiB it holds: pages that it shares with others by its share of them (PSS), and those that it alone has
        written (anonymous)."""
        assert self._process is not None
        lines = Path(f"/proc/{self._process.pid}/smaps_rollup").read_text().splitlines()
        sizes = {line.split()[0]: int(line.split()[1]) / 1024 for line in lines[1:]}
        return sizes["Pss:"], sizes["Anonymous:"]

    async def _read(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        while line := await self._process.stderr.readline():
            self.log.append(line.decode())
