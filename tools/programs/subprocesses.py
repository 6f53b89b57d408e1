"""Start programs so that they end together with everything they started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from typing import Any

from tools.programs.cancelling import complete

END_SECONDS = 10.0
"""The longest wait for the end of a killed program."""
_CHUNK = 64 * 1024


async def start(*command: str, env: Mapping[str, str], **options: Any) -> Process:
    """Start a program in its own session, with pipes to and from it; `options` are those of `subprocess.Popen`.

    A caller who is cancelled meanwhile leaves nothing running and no pipe open: asyncio itself would kill only the
    first process, although a sandbox in preparation has others, which do not die with their parent yet, and would close
    only the pipes connected by then.

    Raises:
        OSError: it cannot be run.
    """
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env, start_new_session=True, **options
        ),
        name=f"start of {command[0]}",
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await end(await starting)
        raise


def kill(process: Process) -> None:
    """Kill a program started by `start` with its whole session, unless it has ended."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


async def end(process: Process) -> None:
    """Kill it, wait until it is gone, and discard its remaining output, even if the caller is cancelled meanwhile."""
    await complete(_end(process))


async def _end(process: Process) -> None:
    kill(process)
    if process.stdin is not None:
        process.stdin.close()
    # asyncio reports the end of a process only after the end of its pipes, and these end with the last process that
    # holds them.
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                while process.stdout is not None and await process.stdout.read(_CHUNK):
                    pass
                await process.wait()
    finally:
        close(process)


def close(process: Process) -> None:
    """Close our ends of an ended program's pipes, and discard their unread content.

    asyncio closes a pipe only at its end, which never comes while it has unread output, or while a surviving process
    holds it.
    """
    process._transport.close()  # type: ignore[attr-defined]  # its types name no such attribute
