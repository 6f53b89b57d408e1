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
    """What it costs. At first what was set aside for it; whoever knows better says so."""

    @contextmanager
    def nothing_for(self, *errors: type[BaseException]) -> Iterator[None]:
        """Charge nothing for a request inside the block that ends in one of these errors: it was not carried out."""
        try:
            yield
        except errors:
            self.dollars = 0.0
            raise


class Purse(Protocol):
    """Pays for requests while the asker's quota lasts."""

    def pay(self, what: str, dollars: float) -> AbstractAsyncContextManager[Payment]:
        """Reserve `dollars` for the request made inside the block.

        Whatever becomes of it, `Payment.dollars` are spent at the end.

        Args:
            what: the tool that pays.

        Raises:
            ToolError: no quota has so much left.
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
        """Pay for the request made inside the block; see `Purse.pay`."""
        paid = self._purse.pay(self._what, dollars) if self._purse and dollars else nullcontext(Payment(dollars))
        async with paid as payment:
            try:
                yield payment
            finally:
                self.dollars += payment.dollars
