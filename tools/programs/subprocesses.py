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
"""How long the end of a program that was killed is waited for."""
_CHUNK = 64 * 1024


async def start(*command: str, env: Mapping[str, str], **options: Any) -> Process:
    """Start a program in a session of its own, with pipes to and from it; `options` are those of `subprocess.Popen`.

    A caller who is cancelled meanwhile leaves nothing running and no pipe open: asyncio itself would kill the first
    process alone, and a sandbox that is still being set up has others, which do not die with their parent yet; and of
    the pipes it would close those alone that are connected by then.

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
    """Kill it, wait until it is gone, and discard its remaining output; a caller who is cancelled meanwhile, too."""
    await complete(_end(process))


async def _end(process: Process) -> None:
    kill(process)
    if process.stdin is not None:
        process.stdin.close()
    # asyncio tells of the end of a process only after the end of its pipes, and these end when the last process that
    # holds them has.
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                while process.stdout is not None and await process.stdout.read(_CHUNK):
                    pass
                await process.wait()
    finally:
        close(process)


def close(process: Process) -> None:
    """Close our ends of the pipes of a program that was ended, and discard what is unread there.

    asyncio closes a pipe only at its end, and that never comes while unread output waits in it, or while somebody who
    outlived the program holds it.
    """
    process._transport.close()  # type: ignore[attr-defined]  # its types name no such attribute
