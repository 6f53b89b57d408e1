"""One live sandbox: start it, run cells, limit its resources, freeze it between cells, and end it.

Everything from a sandbox counts as the code's own words. An answer must carry the number drawn for this request and
keep the format; anything else ends the sandbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
import signal
import struct
from dataclasses import asdict, dataclass

from tools.contract.base import ProducedFile
from tools.contract.json_values import read_json
from tools.programs import subprocesses
from tools.programs.cancelling import complete
from tools.sandbox import processes
from tools.sandbox.cell import Cell, SandboxFailed, produced, size
from tools.sandbox.launch import FOLDER
from tools.sandbox.launcher import Launcher
from tools.sandbox.limits import Limits

log = logging.getLogger(__name__)

START_SECONDS = 10.0
END_SECONDS = 2.0
POLL_SECONDS = 0.1
_HEADER_BYTES = 512 * 1024
_STRAY_POLLS = 10


class _Ended(Exception):
    """The sandbox has ended or must end; the text is for the model."""


@dataclass(slots=True)
class _Handles:
    """Handles of a sandbox's processes: a process number may be reused, a handle cannot."""

    first: int
    """The first process of its namespace: when it ends, the kernel ends all others."""
    interpreters: tuple[int, ...]
    """The program that takes requests and, if it has one, the kernel that runs code for it."""
    spine: frozenset[int]
    """The processes that belong there; code has started all others."""
    folders: tuple[int, ...]
    """Its writable folders, to measure their contents."""

    def close(self) -> None:
        for descriptor in (self.first, *self.interpreters, *self.folders):
            os.close(descriptor)


class Session:
    """A running sandbox."""

    def __init__(self, process: asyncio.subprocess.Process, limits: Limits) -> None:
        self._process = process
        self._limits = limits
        self._handles: _Handles | None = None

    @classmethod
    async def start(cls, launcher: Launcher) -> Session:
        """Start a sandbox and wait until it can take a cell.

        Raises:
            SandboxFailed: it did not start; the text has the launcher's output.
        """
        session = cls(await launcher.start(), launcher.limits)
        try:
            async with asyncio.timeout(START_SECONDS):
                await session._send(asdict(launcher.limits))
                await session._header()
            session._hold()
            session._freeze()
        except (TimeoutError, _Ended, OSError) as error:
            said = (await session.end()).strip().splitlines()
            raise SandboxFailed(said[-1] if said else f"it did not start ({type(error).__name__})") from error
        except BaseException:
            await session.end()
            raise
        return session

    @property
    def alive(self) -> bool:
        return self._process.returncode is None and self._handles is not None

    @property
    def pid(self) -> int:
        """The launcher's number."""
        return self._process.pid

    async def run(self, code: str, seconds: float) -> Cell:
        """Run one cell; if `lost` is set afterwards, or this was cancelled, the sandbox has ended."""
        seconds = min(seconds, self._limits.wall)
        name, end = secrets.token_hex(16), f"\0{secrets.token_hex(16)}\n"
        printed = bytearray()
        try:
            return await self._run(code, seconds, name, end.encode(), printed)
        except _Ended as reason:
            await self.end()
            return Cell(output=_text(printed), error=str(reason), lost=True)
        except BaseException:
            await self.end()
            raise

    async def _run(self, code: str, seconds: float, name: str, end: bytes, printed: bytearray) -> Cell:
        request = {"id": name, "code": code, "seconds": seconds, "end": end.decode()}
        self._thaw()
        try:
            async with asyncio.timeout(seconds + self._limits.grace), asyncio.TaskGroup() as group:
                watch = group.create_task(self._watch())
                reading = group.create_task(self._output(end, printed))
                answering = group.create_task(self._answer(name))
                await self._send(request)
                value, error, files, notes = await answering
                await reading
                watch.cancel()
        except TimeoutError as late:
            raise _Ended(f"Stopped: it ran longer than {seconds:g} s and did not let itself be interrupted.") from late
        except BaseExceptionGroup as several:
            for first in several.exceptions:
                if isinstance(first, _Ended):
                    raise first from None
            raise
        await self._alone()
        self._freeze()
        return Cell(output=_text(printed), value=value, error=error, files=files, notes=notes)

    async def end(self) -> str:
        """End every process of the sandbox, wait until they are gone, and return their remaining output.

        A caller who is cancelled meanwhile leaves nothing running either.
        """
        return await complete(self._end())

    async def _end(self) -> str:
        handles, self._handles = self._handles, None
        if self._process.stdin is not None:
            self._process.stdin.close()
        # Read on while it ends: asyncio reports the end of a process only after the end of its pipes, and these end
        # with the last process that holds them.
        words = bytearray()
        rest = asyncio.gather(
            self._process.wait(),
            _read_out(self._process.stderr, words),
            _read_out(self._process.stdout, bytearray()),
            *((_over(handles.first),) if handles is not None else ()),
        )
        try:
            if handles is not None:
                # The kernel ends the whole namespace with its first process, and the launcher then reaps it.
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handles.first, signal.SIGKILL)
                await asyncio.wait([rest], timeout=END_SECONDS)
            if not rest.done():
                subprocesses.kill(self._process)
                await asyncio.wait([rest], timeout=END_SECONDS)
            if not rest.done():
                log.error("a sandbox did not end")
        finally:
            subprocesses.kill(self._process)
            rest.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await rest
            subprocesses.close(self._process)
            if handles is not None:
                handles.close()
        return _text(words)

    def _hold(self) -> None:
        """Open handles of the processes, a chain that ends in the interpreter, before any code runs."""
        below = processes.descendants(self._process.pid)
        if not below or len(below) > 8 or processes.children(below[-1]):
            raise _Ended("its processes cannot be told apart")
        root = f"/proc/{below[-1]}/root"
        opened: list[int] = []
        try:
            opened.append(os.pidfd_open(below[0]))
            for pid in processes.after_leaders(below):
                opened.append(os.pidfd_open(pid))
            held = len(opened)
            for folder in (FOLDER, "/tmp", "/dev/shm"):  # the sandbox's own
                opened.append(os.open(root + folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
        except OSError:
            for descriptor in opened:
                os.close(descriptor)
            raise
        self._handles = _Handles(opened[0], tuple(opened[1:held]), frozenset(below), tuple(opened[held:]))

    def _freeze(self) -> None:
        """Stop the interpreters between cells, so that remaining threads take no processor time."""
        self._signal(signal.SIGSTOP)

    def _thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._handles is None:
            raise _Ended("The interpreter has ended.")
        try:
            for interpreter in self._handles.interpreters:
                signal.pidfd_send_signal(interpreter, number)
        except ProcessLookupError:
            raise _Ended("The interpreter has ended.") from None

    async def _alone(self) -> None:
        """Wait until the processes that the cell started have ended; the worker has killed them."""
        assert self._handles is not None
        for _ in range(_STRAY_POLLS):
            if set(processes.descendants(self._process.pid)) <= self._handles.spine:
                return
            await asyncio.sleep(0.01)
        raise _Ended("Stopped: it left programs running that could not be ended.")

    async def _watch(self) -> None:
        """End the cell if its processes together exceed the limits."""
        assert self._handles is not None
        limits = self._limits
        before = processes.usage(processes.descendants(self._process.pid)).cpu
        while True:
            await asyncio.sleep(POLL_SECONDS)
            pids = processes.descendants(self._process.pid)
            used = processes.usage(pids)
            if used.cpu - before > limits.cpu + limits.grace:
                raise _Ended(f"Stopped: it used more than {limits.cpu:g} s of processor time.")
            stored, entries = 0, 0
            for folder in self._handles.folders:
                status = os.fstatvfs(folder)
                stored += (status.f_blocks - status.f_bfree) * status.f_frsize
                entries += status.f_files - status.f_ffree
            if entries > limits.entries:
                raise _Ended(f"Stopped: it made more than {limits.entries} files.")
            if used.memory > limits.memory:
                exact = processes.proportional_memory(pids)
                if exact is None or exact > limits.memory:
                    raise _Ended(f"Stopped: its processes used more than {size(limits.memory)} of memory.")

    async def _output(self, end: bytes, printed: bytearray) -> None:
        """Collect the output of the cell, up to the limit; a thread's output after its end is dropped."""
        assert self._process.stderr is not None
        most = self._limits.output + len(end)
        while True:
            part = await self._process.stderr.read(8192)
            if not part:
                raise _Ended(_GONE)
            seen = max(0, len(printed) - len(end))
            printed += part
            if (at := printed.find(end, seen)) >= 0:
                del printed[at:]
                return
            if len(printed) > most:
                del printed[self._limits.output :]
                raise _Ended(f"Stopped: it printed more than {size(self._limits.output)}.")

    async def _answer(self, name: str) -> tuple[str, str, tuple[ProducedFile, ...], tuple[str, ...]]:
        header = await self._header()
        if header.get("id") != name:
            raise _Ended(_GARBLED)
        value, error, notes, files = (header.get(key) for key in ("value", "error", "notes", "files"))
        if not (isinstance(value, str) and isinstance(error, str) and isinstance(notes, list)):
            raise _Ended(_GARBLED)
        if not isinstance(files, list) or len(files) > self._limits.files:
            raise _Ended(_GARBLED)
        taken: set[str] = set()
        kept: list[ProducedFile] = []
        room = self._limits.files_sent
        for entry in files:
            match entry:
                case [str(title), int(count)] if not isinstance(count, bool) and 0 <= count <= min(
                    room, self._limits.file_sent
                ):
                    room -= count
                    kept.append(produced(title, await self._exactly(count), taken))
                case _:
                    raise _Ended(_GARBLED)
        most = self._limits.value + 200
        told = tuple(note[:300] for note in notes[:20] if isinstance(note, str))
        return _clean(value[:most]), _clean(error[:most]), tuple(kept), tuple(map(_clean, told))

    async def _send(self, content: object) -> None:
        assert self._process.stdin is not None
        body = json.dumps(content).encode()
        try:
            self._process.stdin.write(struct.pack("!I", len(body)) + body)
            await self._process.stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            raise _Ended(_GONE) from error

    async def _header(self) -> dict[str, object]:
        length = struct.unpack("!I", await self._exactly(4))[0]
        if length > _HEADER_BYTES:
            raise _Ended(_GARBLED)
        try:
            header = read_json(await self._exactly(length))
        except ValueError as error:
            raise _Ended(_GARBLED) from error
        if not isinstance(header, dict):
            raise _Ended(_GARBLED)
        return header

    async def _exactly(self, count: int) -> bytes:
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.readexactly(count)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise _Ended(_GONE) from error


_GONE = "The interpreter ended in the middle of the cell: it was killed, crashed or closed its own descriptors."
_GARBLED = "Stopped: what came back is no result of a cell."


async def _over(pidfd: int) -> None:
    """Wait until a process has ended; the first one of a namespace ends after all others."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(pidfd, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(pidfd)


async def _read_out(stream: asyncio.StreamReader | None, kept: bytearray) -> None:
    """Read to the end and keep the beginning."""
    while stream is not None and (part := await stream.read(65536)):
        kept += part[: max(0, 4096 - len(kept))]


def _text(content: bytes | bytearray) -> str:
    return _clean(bytes(content).decode("utf-8", "replace"))


def _clean(text: str) -> str:
    """Remove lone surrogates and NUL from a text."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
