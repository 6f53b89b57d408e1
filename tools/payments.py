"""What a call pays to others: a purse that says whether it may, and a bill that says what it came to."""

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
        """Within it, a request that ends in one of these errors costs nothing: it was never done."""
        try:
            yield
        except errors:
            self.dollars = 0.0
            raise


class Purse(Protocol):
    """Pays for requests as long as the budgets of who asks last."""

    def pay(self, what: str, dollars: float) -> AbstractAsyncContextManager[Payment]:
        """Set `dollars` aside for the request that is made within.

        Whatever becomes of it, `Payment.dollars` are spent at the end.

        Args:
            what: the tool that pays.

        Raises:
            ToolError: no budget has so much left.
        """
        ...


class Bill:
    """What one call has paid so far. Without a purse it may pay everything."""

    def __init__(self, what: str = "", purse: Purse | None = None) -> None:
        self._what = what
        self._purse = purse
        self.dollars = 0.0

    @asynccontextmanager
    async def pay(self, dollars: float) -> AsyncIterator[Payment]:
        """Pay for the request that is made within; see `Purse.pay`."""
        paid = self._purse.pay(self._what, dollars) if self._purse and dollars else nullcontext(Payment(dollars))
        async with paid as payment:
            try:
                yield payment
            finally:
                self.dollars += payment.dollars
