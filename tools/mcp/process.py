"""A server that is a program: messages through its standard input and output, one a line.

The SDK has such a transport. This one handles broken or hostile servers: a line has a largest size, and a larger result
fails only that call; standard error goes to our log, up to a limit; and everything that the program started is gone
when it is, or when we are, however that happens: `keeper.py` ensures it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from tools.contract.json_values import MOST_VALUES, ValueCounter
from tools.mcp import flood
from tools.mcp.config import Command, place_of
from tools.mcp.errors import LastWords
from tools.mcp.keeper import ASK, GRACE_SECONDS, KILL
from tools.programs.subprocesses import close, start

log = logging.getLogger(__name__)

KEEPER = Path(__file__).with_name("keeper.py")
MOST_MESSAGE_BYTES = 12_000_000
MORE_BYTES = f"more than the {MOST_MESSAGE_BYTES} that are taken"
PATIENCE_SECONDS = 1.0
"""How long the program has to end by itself once its input is closed; then its keeper asks it, and kills it."""
KEEPER_SECONDS = GRACE_SECONDS + 1.0
"""How long the keeper has to end the program, before the program's group is killed."""
WORDS_SECONDS = 0.5
"""The longest wait for the end of its standard error, and its exit code, once its output has ended."""
LOG_LINES = 200
LOG_CHARS = 400

_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[\w-]{1,60}")')

Reading = MemoryObjectReceiveStream[SessionMessage | Exception]
Writing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def process_transport(
    command: Command, name: str, ended: Callable[[], None], words: LastWords
) -> AsyncGenerator[tuple[Reading, Writing], None]:
    """Start the program and connect to it; `ended` is called when it closes its output.

    On leaving, `words` has the end of its standard error, and its exit code if it ended by itself.

    Raises:
        OSError: it cannot be started.
    """
    process, lifeline = await _started(command)
    received, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    listener = _Log(name, words)
    tasks = [
        asyncio.create_task(_read(process, received, listener, ended), name=f"mcp {name} output"),
        asyncio.create_task(_write(process, to_send), name=f"mcp {name} input"),
    ]
    errors = asyncio.create_task(_drain(process, listener), name=f"mcp {name} errors")
    try:
        yield reading, writing
    finally:
        try:
            await _end(process, lifeline, words)
        finally:
            # Also after a second cancellation: nothing of the program may outlive this block.
            await _kill(process, lifeline)
            try:
                await asyncio.wait([errors], timeout=WORDS_SECONDS)
            finally:
                for task in (*tasks, errors):
                    task.cancel()
                for stream in (received, reading, writing, to_send):
                    stream.close()
                close(process)
            await asyncio.gather(*tasks, errors, return_exceptions=True)


async def _started(command: Command) -> tuple[asyncio.subprocess.Process, Lifeline]:
    """Start the program with its keeper.

    Raises:
        OSError: it cannot be started.
    """
    environment = get_default_environment() | dict(command.environment)
    _find(command, environment.get("PATH"))
    reading, writing = os.pipe()
    lifeline = Lifeline(writing)
    try:
        process = await start(
            *(sys.executable, "-I", "-S", str(KEEPER), str(reading), command.program, *command.arguments),
            env=environment,
            cwd=command.folder,
            pass_fds=[reading],
        )
    except BaseException:
        lifeline.close()
        raise
    finally:
        os.close(reading)
    return process, lifeline


def _find(command: Command, path: str | None) -> None:
    """Return the path of the program: its keeper could report a missing one only as text.

    Raises:
        OSError: it does not exist, or is not a program.
    """
    if shutil.which(place := place_of(command), path=path) is None:
        number = errno.EACCES if place.exists() else errno.ENOENT
        raise OSError(number, os.strerror(number), command.program)


class Lifeline:
    """Our end of the pipe that a keeper watches; when it closes, even by our death, the program ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def say(self, what: bytes) -> None:
        """Tell the keeper to end the program: `ASK` or `KILL`."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._descriptor, what)

    def close(self) -> None:
        os.close(self._descriptor)


async def _end(process: asyncio.subprocess.Process, lifeline: Lifeline, words: LastWords) -> None:
    """End the server: close its input, then have its keeper signal it, and finally kill it."""
    assert process.stdin is not None
    with contextlib.suppress(TimeoutError):
        # A program that closed its output is about to end by itself, with a meaningful exit code.
        async with asyncio.timeout(WORDS_SECONDS if process.stdout is not None and process.stdout.at_eof() else 0):
            words.exit_code = await process.wait()
            return
    process.stdin.close()
    for patience in (PATIENCE_SECONDS, KEEPER_SECONDS):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await process.wait()
                return
        lifeline.say(ASK)


async def _kill(process: asyncio.subprocess.Process, lifeline: Lifeline) -> None:
    """Have the keeper kill everything, and kill its process group if it does not."""
    lifeline.say(KILL)
    try:
        async with asyncio.timeout(WORDS_SECONDS):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        lifeline.close()
    await process.wait()


async def _read(
    process: asyncio.subprocess.Process,
    received: MemoryObjectSendStream[SessionMessage | Exception],
    listener: _Log,
    ended: Callable[[], None],
) -> None:
    assert process.stdout is not None
    lines, noise = _Lines(), flood.noise()
    try:
        while chunk := await process.stdout.read(65_536):
            for line in lines.feed(chunk):
                message = _message(line, listener)
                if message is not None:
                    await received.send(message)
                else:
                    noise.take(len(line) + 1)
            if lines.dropping:
                noise.take(len(chunk))
    except flood.Flooded as error:
        listener.words.cut(str(error))
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        pass
    finally:
        received.close()
        ended()


async def _write(process: asyncio.subprocess.Process, to_send: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None
    try:
        async for one in to_send:
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode("utf-8", "replace") + b"\n")
            await process.stdin.drain()
    except (ConnectionError, RuntimeError, anyio.ClosedResourceError):
        # It no longer reads. Its output ends, too, or the affected call times out.
        to_send.close()


async def _drain(process: asyncio.subprocess.Process, listener: _Log) -> None:
    """Read standard error continuously: a full pipe would block the server."""
    assert process.stderr is not None
    while chunk := await process.stderr.read(65_536):
        listener.take(chunk)
    listener.close()


class _Lines:
    """Splits bytes into lines in linear time, keeping only the beginning of a line that is too long."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._values = ValueCounter()

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        *whole, rest = chunk.split(b"\n")
        made: list[bytes | TooLong] = []
        for part in whole:
            self._keep(part)
            line = b"".join(self._parts)
            made.append(TooLong(line, self._excess) if self._excess else line)
            self._parts, self._size, self._values = [], 0, ValueCounter()
        self._keep(rest)
        return made

    @property
    def dropping(self) -> bool:
        """The present line is over a limit: the rest of it is dropped."""
        return bool(self._excess)

    @property
    def _excess(self) -> str:
        """Return the limit that this line exceeds."""
        if self._values.too_many:
            return f"{self._values.count} values, more than the {MOST_VALUES} that are taken"
        return f"{self._size} bytes, {MORE_BYTES}" if self._size > MOST_MESSAGE_BYTES else ""

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        self._values.feed(part)
        if not self._excess:
            self._parts.append(part)
        elif len(self._parts) != 1 or len(self._parts[0]) > 300:
            self._parts = [b"".join([*self._parts, part])[:300]]


class TooLong:
    """The beginning of a line that is too long to keep, or contains too much to parse."""

    def __init__(self, beginning: bytes, excess: str) -> None:
        self.beginning = beginning[:300]
        self.excess = excess

    def __len__(self) -> int:
        return len(self.beginning)


def _message(line: bytes | TooLong, listener: _Log) -> SessionMessage | None:
    """Parse the message in a line; a line that is too long becomes an error answer to its call."""
    if isinstance(line, TooLong):
        found = _ID.search(line.beginning)
        if found is None:
            return None
        number = found[1].decode()
        error = ErrorData(code=INTERNAL_ERROR, message=f"the answer has {line.excess}")
        return SessionMessage(
            JSONRPCError(jsonrpc="2.0", id=number.strip('"') if '"' in number else int(number), error=error)
        )
    if not line.strip():
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        listener.take(b"not a message: " + line[:LOG_CHARS] + b"\n")
        return None


class _Log:
    """Logs a limited number of a server's other lines at DEBUG."""

    def __init__(self, name: str, words: LastWords) -> None:
        self._name = name
        self.words = words
        self._left = LOG_LINES
        self._dropped = 0
        self._open = b""

    def take(self, chunk: bytes) -> None:
        *lines, self._open = (self._open + chunk).split(b"\n")
        self._open = self._open[:LOG_CHARS]
        for line in lines[-LastWords.KEPT :]:
            self.words.take(line[:LOG_CHARS].decode("utf-8", "replace"))
        for line in lines:
            if self._left:
                self._left -= 1
                log.debug("%s: %r", self._name, line[:LOG_CHARS].decode("utf-8", "replace"))
            else:
                self._dropped += 1

    def close(self) -> None:
        self.words.take(self._open.decode("utf-8", "replace"))
        if self._dropped:
            log.debug("%s: %d more lines", self._name, self._dropped)
