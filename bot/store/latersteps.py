"""The later of the numbered steps of `bot/store/schema.py`, which PostgreSQL takes as well.

Each only adds: a table, an index, or a column with a default. A released step is never changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from bot.store.renaming import list_unplaced
from bot.store.sql import Connection

Step: TypeAlias = tuple[str | Callable[[Connection], None], ...]
"""Statements, and functions for what statements cannot do."""

HOLDINGS = (
    # The reservations of running calls: other processes wait for them, and a killed process's are returned.
    """
    CREATE TABLE holdings (
        call TEXT NOT NULL, worker TEXT NOT NULL, key TEXT NOT NULL, seconds INTEGER NOT NULL, start INTEGER NOT NULL,
        tokens INTEGER NOT NULL, dollars REAL NOT NULL, sure_tokens INTEGER NOT NULL, sure_dollars REAL NOT NULL,
        PRIMARY KEY (call, key, seconds)
    ) STRICT
    """,
    "CREATE INDEX holdings_by_key ON holdings (key)",
    "CREATE INDEX holdings_by_worker ON holdings (worker)",
)

ALLOWANCES = (
    # Each process on the database has a part of the rate limits of a whole bot.
    """
    CREATE TABLE allowances (
        scope TEXT NOT NULL, seconds REAL NOT NULL, worker TEXT NOT NULL, calls INTEGER NOT NULL,
        demand INTEGER NOT NULL, until REAL NOT NULL, closed_until REAL NOT NULL,
        PRIMARY KEY (scope, seconds, worker)
    ) STRICT
    """,
)

UNPLACED = (
    # Discord chats that may be threads of a channel that is not known yet; see bot/store/renaming.py.
    "CREATE TABLE unplaced (chat TEXT PRIMARY KEY) STRICT, WITHOUT ROWID",
    list_unplaced,
)

GRANTS = (
    # What accounts of a platform granted an app when they installed it; encrypted, so that no copy contains a usable
    # token.
    """
    CREATE TABLE grants (
        platform TEXT NOT NULL, account TEXT NOT NULL, sealed TEXT NOT NULL, kept_at REAL NOT NULL,
        PRIMARY KEY (platform, account)
    ) STRICT, WITHOUT ROWID
    """,
)

GOES_ON = (
    # For an ended turn: its answer was cut off, and can be continued.
    "ALTER TABLE turns ADD COLUMN goes_on INTEGER NOT NULL DEFAULT 0",
)

HELD_BY_TURNS = (
    # The turn whose answer a running call pays for: a killed process's usage is estimated from what the turn shows.
    "ALTER TABLE holdings ADD COLUMN turn INTEGER NOT NULL DEFAULT 0",
)
