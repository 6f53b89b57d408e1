"""What the tests of the Telegram adapter share."""

from __future__ import annotations

import asyncio

from bot.contract import Incoming, MessageSent, StoreError
from tests.patience import PATIENCE


class Inbox:
    """Where deliveries arrive; refuses as often as it is told."""

    def __init__(self, refusals: int = 0) -> None:
        self.texts: list[str] = []
        self.tries = 0
        self.refusals = refusals
        self._changed = asyncio.Event()

    async def __call__(self, said: Incoming) -> None:
        self.tries += 1
        if self.refusals:
            self.refusals -= 1
            raise StoreError("locked")
        assert isinstance(said, MessageSent)
        self.texts.append(said.text)
        self._changed.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.texts) < count:
                self._changed.clear()
                await self._changed.wait()
