"""Periodic work beside the answers: prune old rows, wipe what was deleted, probe a store whose last write failed."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from bot.contract import Clock, StoreError
from bot.store.retention import Keep
from bot.store.store import Store

log = logging.getLogger(__name__)

FIRST_AFTER = 300.0
"""Seconds after the start before the first pruning: first come the people who wait for an answer."""
EVERY = 3600.0
WIPE_EVERY = 10.0
"""Seconds between two tries while another program reads what was deleted."""
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


async def wipe_deleted(store: Store, clock: Clock) -> None:
    """Wipe what was deleted and could not be wiped at once, and what a killed process left, until cancelled."""
    while True:
        with contextlib.suppress(StoreError):  # in the log already
            await store.wipe_traces()
        await clock.sleep(WIPE_EVERY)


async def keep_tidy(store: Store, clock: Clock, keep: Keep) -> None:
    """Prune and wipe the store until cancelled."""
    async with asyncio.TaskGroup() as both:
        both.create_task(prune_hourly(store, clock, keep), name="pruning")
        both.create_task(wipe_deleted(store, clock), name="wiping")


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
