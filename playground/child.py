"""The bot as a child process: started with settings of its own, watched, restarted when it dies, ended with us."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import sysconfig
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

ROOT = Path(__file__).resolve().parents[__name__.count(".")]
BOT = (sys.executable, "-P", "-m", "playground.leash", "parley_chat", "run")
"""`python -m parley_chat run`, ended when we are gone.

`-P`: what stands in the folder of the conversations is not imported.
"""
_INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "SYSTEMROOT")
_CANNOT_START = 2
"""The exit code of a bot that is configured wrongly: trying again changes nothing."""
_PAUSES = (0.2, 1.0, 2.0, 5.0, 10.0)
_STEADY_SECONDS = 10.0
_STOP_SECONDS = 10.0
_KEPT_LINES = 200
_LONGEST_LINE = 2000


@dataclass(frozen=True, slots=True)
class ChildState:
    """How the bot is, for the page."""

    phase: str = "starting"
    """`starting`, `ready`, `pausing` (died, starts again in a moment), `failed` (a person has to act) or `ended`."""
    message: str = ""
    pid: int = 0
    starts: int = 0
    platforms: Mapping[str, str] | None = None
    """Platform → its state, as the bot reports it."""
    model: str = ""
    busy: int = 0
    """How many turns it is answering."""


def clean_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """An environment with `settings` and what every program needs, and nothing else of the operator's."""
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    if str(ROOT) not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        environment["PYTHONPATH"] = str(ROOT)
    return environment | {"PYTHONUNBUFFERED": "1", "PARLEY_ENV_FILE": ""} | dict(settings)


class Child:
    """Keeps one bot running. `run` until cancelled; then `close`.

    `settings` is asked at every start; `changed` is told of every new state, `remark` of what a person should read.
    """

    def __init__(
        self,
        folder: Path,
        settings: Callable[[], Mapping[str, str]],
        changed: Callable[[], None],
        remark: Callable[[str], None],
        command: Sequence[str] = BOT,
    ) -> None:
        self.state = ChildState()
        self.log: deque[str] = deque(maxlen=_KEPT_LINES)
        self._folder = folder
        self._settings = settings
        self._changed = changed
        self._remark = remark
        self._command = tuple(command)
        self._process: asyncio.subprocess.Process | None = None
        self._asked = ""
        self._wake = asyncio.Event()
        self._port = 0
        self._ends: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Start it, and start it again whenever it has ended."""
        quick = 0
        while True:
            began = time.monotonic()
            self._asked = ""
            self._wake.clear()
            code = await self._one()
            asked = self._asked
            quick = 0 if asked or time.monotonic() - began > _STEADY_SECONDS else quick + 1
            why = asked or _why(code, self.log)
            if code is None or (code == _CANNOT_START and not asked):
                self._set("failed", message=why)
                self._remark(f"The bot cannot start: {why}")
                await self._wake.wait()
                continue
            pause = 0.0 if asked == "asked to end" else _PAUSES[min(quick, len(_PAUSES) - 1)]
            self._set("pausing", message=why)
            self._remark(f"The bot was {why}; it starts again." if asked else f"The bot {why}; it starts again.")
            try:
                await asyncio.wait_for(self._wake.wait(), pause)
            except TimeoutError:
                pass

    def kill(self) -> None:
        """`kill -9`, as by a power cut. It starts again by itself."""
        if self._process is not None and self._process.returncode is None:
            self._asked = "killed (kill -9)"
            self._process.kill()

    def restart(self) -> None:
        """Let it end in order and start again, with the settings of now; also wakes one that had given up."""
        self._asked = "asked to end"
        self._wake.set()
        if self._process is not None and self._process.returncode is None:
            task = asyncio.get_running_loop().create_task(self._end(self._process))
            self._ends.add(task)
            task.add_done_callback(self._ends.discard)

    async def close(self) -> None:
        """End it, in order if it can."""
        if self._process is not None:
            await self._end(self._process)
        await asyncio.gather(*self._ends)
        self._set("ended")

    def abandon(self) -> None:
        """End it at once."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def _one(self) -> int | None:
        """One life: its exit code, or None when it could not even begin."""
        self._port = _free_port()
        settings = {**self._settings(), "HTTP_HOST": "127.0.0.1", "HTTP_PORT": str(self._port)}
        self.state = ChildState(starts=self.state.starts + 1)
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                cwd=self._folder,
                env=clean_environment(settings),
                # Ctrl-C in the terminal is for us: we end the child in order.
                start_new_session=True,
            )
        except OSError as error:
            self.log.append(f"{self._command[0]}: {error.strerror or error}")
            return None
        self._process = process
        self._set("starting", pid=process.pid)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(process))
                looking = group.create_task(self._look())
                code = await process.wait()
                looking.cancel()
            return code
        except asyncio.CancelledError:
            await asyncio.shield(self._end(process))
            raise

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is not None:
            return
        _send(process, signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            _send(process, signal.SIGKILL)
            await process.wait()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Keep its last lines, and all of them in a file."""
        assert process.stdout is not None
        with (self._folder / "bot.log").open("ab") as file:
            rest = b""
            while piece := await process.stdout.read(65536):
                file.write(piece)
                file.flush()
                *lines, rest = (rest + piece).split(b"\n")
                self._keep(*lines)
                rest = rest[-_LONGEST_LINE:]
            self._keep(rest)

    def _keep(self, *lines: bytes) -> None:
        texts = (line.decode(errors="replace").rstrip() for line in lines)
        self.log.extend(text[:_LONGEST_LINE] for text in texts if text)

    async def _look(self) -> None:
        """Ask it how it is: often until it is ready, then now and then."""
        timeout = aiohttp.ClientTimeout(total=2)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                await asyncio.sleep(0.1 if self.state.phase == "starting" else 1.0)
                try:
                    async with session.get(f"http://127.0.0.1:{self._port}/state") as answer:
                        told = await answer.json()
                except (aiohttp.ClientError, TimeoutError, ValueError):
                    continue
                self._take(told)

    def _take(self, told: Mapping[str, Any]) -> None:
        ready = bool(told.get("ready"))
        phase = "ready" if ready or self.state.phase == "ready" else "starting"
        platforms = {str(name): str(state) for name, state in (told.get("platforms") or {}).items()}
        busy = told.get("busy")
        model = str(told.get("model", ""))
        self._set(phase, platforms=platforms, model=model, busy=busy if isinstance(busy, int) else 0)

    def _set(self, phase: str, **changes: Any) -> None:
        kept = {"pid": self.state.pid, "starts": self.state.starts, "platforms": self.state.platforms}
        new = ChildState(**{**kept, "model": self.state.model, **changes, "phase": phase})
        if new != self.state:
            self.state = new
            self._changed()


def _send(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except ProcessLookupError:
        pass


def _why(code: int | None, log: Sequence[str]) -> str:
    """One sentence on an end nobody asked for, with the last thing it said."""
    last = log[-1].strip() if log else "it said nothing"
    if code is None:
        return last
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code} ({last})"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
