"""Share the rate budgets of a whole bot with the other processes that write as the same bot."""

from __future__ import annotations

import asyncio
import logging

from bot.contract import Clock, LogThrottle, StoreError
from bot.pacing.pacer import Pacer
from bot.store import Allowances, Wish
from tools.programs.cancelling import wait_for_first

EXCHANGE_SECONDS = 0.25
"""How often parts are exchanged while calls count: the longest wait for what another process gives up."""
SHORT_SECONDS = 0.05
"""The same while a call waits for a part."""

log = logging.getLogger(__name__)


def begin_sharing(pacer: Pacer, allowances: Allowances, clock: Clock) -> asyncio.Task[None]:
    """Return the task that shares the budgets, to be cancelled when no more calls are made."""
    return asyncio.create_task(share_budgets(pacer, allowances, clock), name="shared budgets")


async def share_budgets(pacer: Pacer, allowances: Allowances, clock: Clock) -> None:
    """Keep this process's part of each shared budget as large as its share of the replies, until cancelled."""
    warnings = LogThrottle(log, clock)
    while True:
        await pacer.short.wait()
        wishes: list[Wish] | None = None
        while wishes is None or wishes:
            wishes = pacer.freeze_shared()
            try:
                pacer.share(await allowances.exchange(wishes))
            except StoreError as error:
                warnings.warn(f"calls wait, as other processes' calls are unknown: {error}")
            await clock.sleep(SHORT_SECONDS)
            await wait_for_first(pacer.short.wait(), clock.sleep(EXCHANGE_SECONDS - SHORT_SECONDS))
