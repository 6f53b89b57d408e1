"""A chat with a new id: its stored data is moved before anything later is stored there."""

from __future__ import annotations

import asyncio

from bot.contract import ChatId, ChatMoved
from bot.policy import Access
from bot.store import Store


class Moves:
    """Moves the stored data of chats; one for the process."""

    def __init__(self, store: Store, access: Access) -> None:
        self._store = store
        self._access = access
        self._under_way: dict[ChatId, asyncio.Lock] = {}

    async def take_along(self, moved: ChatMoved) -> None:
        """Move a chat's stored data, and apply the operator's lists to its new id.

        Raises:
            StoreError: it is not moved; the platform must report it again.
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
        """Wait until all of a chat's data is stored under its id.

        Raises:
            StoreError: it is not.
        """
        if (lock := self._under_way.get(chat.place)) is not None:
            async with lock:
                pass
        await self._store.names.place(chat)
