"""Named settings of chats."""

from __future__ import annotations

from bot.contract import ChatId
from bot.store.queries import Queries
from tools.contract.plaintext import to_plain


class ChatSettings(Queries):
    """Named values of a chat; callers know their meaning."""

    async def get(self, chat: ChatId, name: str) -> str | None:
        row = await self._readers.fetch_row("SELECT value FROM settings WHERE chat = ? AND name = ?", (str(chat), name))
        return None if row is None else str(row[0])

    async def list_of(self, chat: ChatId) -> dict[str, str]:
        """Return all settings of a chat by name."""
        rows = await self._readers.fetch_rows(
            "SELECT name, value FROM settings WHERE chat = ? ORDER BY name", (str(chat),)
        )
        return {str(name): str(value) for name, value in rows}

    async def set(self, chat: ChatId, name: str, value: str | None) -> None:
        """Set a value; None removes it."""
        if value is None:
            await self._writer.execute("DELETE FROM settings WHERE chat = ? AND name = ?", (str(chat), name))
        else:
            await self._writer.execute(
                "INSERT INTO settings (chat, name, value) VALUES (?, ?, ?) "
                "ON CONFLICT (chat, name) DO UPDATE SET value = excluded.value",
                (str(chat), name, to_plain(value)),
            )
