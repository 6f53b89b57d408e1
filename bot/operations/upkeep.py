"""Periodic work beside the answers: prune old rows, and probe a store whose last write failed."""

from __future__ import annotations

import asyncio
import logging
import mmap
from pathlib import Path

from bot.contract import Clock, StoreError
from bot.store import Keep, Store

log = logging.getLogger(__name__)

FIRST_AFTER = 300.0
"""Seconds after the start before the first pruning: first come the people who wait for an answer."""
EVERY = 3600.0
PROBE_SECONDS = 1.0
"""Seconds a probe may take before the store counts as not writable."""


async def prune_hourly(store: Store, clock: Clock, keep: Keep) -> None:
    """Prune the store every hour until cancelled; after an error, try again an hour later."""
    await clock.sleep(FIRST_AFTER)
    while True:
        try:
            await store.prune(keep)
        except StoreError as error:
            log.warning("old rows stay another hour: %s", error)
        await clock.sleep(EVERY)


async def writes(store: Store) -> bool:
    """Return True if the store can be written to now; probes it only if its last write failed."""
    if not store.writer.in_trouble:
        return True
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            await store.probe()
    except (StoreError, TimeoutError):
        return False
    return not store.writer.in_trouble


def resident_bytes() -> float:
    """Return the resident memory of this process; 0 where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    except (OSError, IndexError, ValueError):
        return 0
