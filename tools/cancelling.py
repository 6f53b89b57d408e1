"""Who is meant by a `CancelledError`: the task that sees it, or something that it waits for."""

from __future__ import annotations

import asyncio


def is_cancelled() -> bool:
    """Whether somebody cancelled the task that runs now; else what it waited for was cancelled, and it may go on."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
