"""Cancel tasks and wait for their end, find the origin of a `CancelledError`, contain what libraries throw besides
exceptions, and run a block only as long as a task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

_T = TypeVar("_T")


def is_cancelled() -> bool:
    """Return True if the current task was cancelled; otherwise only what it awaited was, and it may continue."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


class Panic(Exception):
    """A library threw something that no `except Exception` catches: a panic of compiled code, or a cancellation that
    nobody here requested."""


class Contained:
    """A block that raises only exceptions, our own cancellation, and the end of the program."""

    __slots__ = ("_kind",)

    def __init__(self, kind: type[Exception] = Panic) -> None:
        """
        Args:
            kind: the exception that replaces everything else thrown.
        """
        self._kind = kind

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, (Exception, KeyboardInterrupt, SystemExit, GeneratorExit)):
            return
        # Of several thrown together one may be our own cancellation.
        if isinstance(error, (asyncio.CancelledError, BaseExceptionGroup)) and is_cancelled():
            return
        raise self._kind(f"a library threw {type(error).__name__}, which is no exception") from error


async def end_tasks(*tasks: asyncio.Task[Any]) -> None:
    """Cancel these tasks and wait until they have ended, however they end."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def wait_for_first(*waits: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of these ends, and cancel the others."""
    tasks = [asyncio.create_task(one) for one in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end_tasks(*tasks)


def begin_in(tasks: set[asyncio.Task[_T]], work: Coroutine[Any, Any, _T], name: str) -> asyncio.Task[_T]:
    """Start a task that `tasks` holds until it ends: the loop itself keeps none alive."""
    task = asyncio.create_task(work, name=name)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task


async def complete(work: Coroutine[Any, Any, _T]) -> _T:
    """Return the result of `work`, and finish it even if the caller is cancelled meanwhile."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,))
        raise


@asynccontextmanager
async def while_running(task: asyncio.Task[Any]) -> AsyncIterator[None]:
    """Leave the block, wherever it waits, as soon as `task` ends in any way."""
    try:
        async with asyncio.timeout(None) as limit:

            def leave(_: object) -> None:
                limit.reschedule(asyncio.get_running_loop().time())

            task.add_done_callback(leave)
            try:
                yield
            finally:
                task.remove_done_callback(leave)
    except TimeoutError:
        if not limit.expired():
            raise
