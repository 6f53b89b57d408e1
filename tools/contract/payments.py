"""Payments of tool calls: a purse that allows them, and a bill that adds them up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol


@dataclass(slots=True)
class Payment:
    """One paid request."""

    dollars: float
    """Its cost: at first the reserved amount, later corrected by anybody who knows better."""

    @contextmanager
    def nothing_for(self, *errors: type[BaseException]) -> Iterator[None]:
        """Charge nothing for a request in the block that ends in one of these errors: it was not carried out."""
        try:
            yield
        except errors:
            self.dollars = 0.0
            raise


class Purse(Protocol):
    """Pays for requests while the asker's quota lasts."""

    def pay(self, what: str, dollars: float) -> AbstractAsyncContextManager[Payment]:
        """Reserve `dollars` for the request made in the block.

        However it ends, `Payment.dollars` are spent.

        Args:
            what: the tool that pays.

        Raises:
            ToolError: no quota has enough left.
        """
        ...


class Bill:
    """What one call has paid so far; without a purse there is no limit."""

    def __init__(self, what: str = "", purse: Purse | None = None) -> None:
        self._what = what
        self._purse = purse
        self.dollars = 0.0

    @asynccontextmanager
    async def pay(self, dollars: float) -> AsyncIterator[Payment]:
        """Pay for the request made in the block; see `Purse.pay`."""
        paid = self._purse.pay(self._what, dollars) if self._purse and dollars else nullcontext(Payment(dollars))
        async with paid as payment:
            try:
                yield payment
            finally:
                self.dollars += payment.dollars
