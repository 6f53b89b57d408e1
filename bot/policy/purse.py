"""Pays for tools on the asker's quotas."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.contract import Unaffordable
from bot.policy.quotas import Quotas
from bot.store import Amount
from tools.contract.base import Unpaid
from tools.contract.payments import Payment


class DayPurse:
    """A `tools.contract.payments.Purse` for everybody: the payer is named by `bot.policy.quotas.charge`."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas

    @asynccontextmanager
    async def pay(self, what: str, dollars: float) -> AsyncIterator[Payment]:
        """Reserve `dollars` for the request within the block. See `tools.contract.payments.Purse`."""
        try:
            reserved = await self._quotas.hold(Amount(dollars=dollars))
        except Unaffordable as error:
            raise Unpaid(
                f"{what} has to be paid for, and the quota for today is used up. Do not call it again; answer without "
                "it, and say so.",
                retry=False,
            ) from error
        payment, given_up = Payment(dollars), False
        try:
            yield payment
        except asyncio.CancelledError:
            given_up = True
            raise
        finally:
            await self._quotas.release(reserved, Amount(dollars=payment.dollars), tool=what, wait=not given_up)
