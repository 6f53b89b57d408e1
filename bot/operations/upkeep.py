"""What is done now and then beside the answers: old rows are removed, and a store in trouble is tried again."""

from __future__ import annotations

import asyncio
import logging
import mmap
from pathlib import Path

from bot.contract import Clock, StoreError
from bot.store import Keep, Store

log = logging.getLogger(__name__)

FIRST_AFTER = 300.0
"""Seconds after the start until the first cleaning: the start belongs to who waits for an answer."""
EVERY = 3600.0
PROBE_SECONDS = 1.0
"""How long a store in trouble is waited for before it counts as not writing."""


async def prune_hourly(store: Store, clock: Clock, keep: Keep) -> None:
    """Remove what is older than `keep` says, until cancelled. A store that fails is tried again an hour later."""
    await clock.sleep(FIRST_AFTER)
    while True:
        try:
            await store.prune(keep)
        except StoreError as error:
            log.warning("old rows stay another hour: %s", error)
        await clock.sleep(EVERY)


async def writes(store: Store) -> bool:
    """Whether the store can be written to now. Asks it only when its last write failed."""
    if not store.writer.in_trouble:
        return True
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            await store.probe()
    except (StoreError, TimeoutError):
        return False
    return not store.writer.in_trouble


def resident_bytes() -> float:
    """Memory of this process, as the system counts it; 0 where it does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    except (OSError, IndexError, ValueError):
        return 0
