"""What a database holds that was not answered yet, without changing anything: what `parley doctor` says of it."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from bot.errors import StoreError
from bot.messages import ChatId
from bot.store.database import database

_PATIENCE = 2.0
"""Seconds that another program's lock is waited for."""


def _missing(path: Path) -> bool:
    return not path.exists()


async def unfinished(path: Path) -> Mapping[str, int]:
    """Platform → how many deliveries wait or are being answered there.

    Raises:
        StoreError: it cannot be read, or another program keeps it locked.
    """
    found: Counter[str] = Counter()
    if _missing(path):
        return found
    try:
        async with database(f"{path.as_uri()}?mode=ro", uri=True, timeout=_PATIENCE) as opened:
            rows = await opened.execute_fetchall(
                "SELECT chat, count(*) FROM inbox WHERE state IN ('new', 'running') GROUP BY chat"
            )
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    for chat, count in rows:
        found[ChatId.parse(chat).platform] += count
    return dict(sorted(found.items()))
