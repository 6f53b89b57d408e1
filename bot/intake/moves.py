"""A chat that has another id: what is kept of it goes along before anything that follows there is stored."""

from __future__ import annotations

import asyncio

from bot.contract import ChatId, ChatMoved
from bot.policy import Access
from bot.store import Store


class Moves:
    """Takes along what is kept of chats; one for the process."""

    def __init__(self, store: Store, access: Access) -> None:
        self._store = store
        self._access = access
        self._under_way: dict[ChatId, asyncio.Lock] = {}

    async def take_along(self, moved: ChatMoved) -> None:
        """Carry over what is kept of a chat, and let the operator's lists hold in it.

        Raises:
            StoreError: it is not carried over; the platform must tell it again.
        """
        lock = self._under_way.setdefault(moved.chat, asyncio.Lock())
        try:
            async with lock:
                if await self._store.names.move(moved.former, moved.chat):
                    await self._access.move(moved.former, moved.chat)
        finally:
            if not lock.locked():
                self._under_way.pop(moved.chat, None)

    async def settle(self, chat: ChatId) -> None:
        """Wait until everything that is kept of a chat stands under its id.

        Raises:
            StoreError: it does not.
        """
        if (lock := self._under_way.get(chat.place)) is not None:
            async with lock:
                pass
        await self._store.names.place(chat)
