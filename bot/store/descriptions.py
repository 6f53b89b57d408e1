"""Tool descriptions written by a model, by a hash of the server's own description."""

from __future__ import annotations

from typing import Final

from bot.store.queries import Queries
from bot.store.text import to_plain

MOST: Final = 2_000
"""Descriptions that are kept, the newest: many times what a program offers."""


class ToolDescriptions(Queries):
    """Stored tool descriptions by key."""

    async def get(self, key: str) -> str | None:
        row = await self._readers.fetch_row("SELECT body FROM tool_descriptions WHERE key = ?", (key,))
        return None if row is None else str(row[0])

    async def put(self, key: str, body: str) -> None:
        await self._writer.execute(
            "REPLACE INTO tool_descriptions (key, body, at) VALUES (?, ?, ?)", (key, to_plain(body), self._clock.wall())
        )
        await self._writer.execute(
            "DELETE FROM tool_descriptions WHERE key IN "
            "(SELECT key FROM tool_descriptions ORDER BY at DESC LIMIT -1 OFFSET ?)",
            (MOST,),
        )
