"""The later of the numbered steps of `bot/store/schema.py`, which PostgreSQL takes as well.

Each only adds: a table, an index, or a column with a default. A released step is never changed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from bot.store.incoming import columns_of, incoming_from_json
from bot.store.renaming import list_unplaced
from bot.store.sql import Connection
from bot.store.sums import LATE, count_earlier_turns

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

TOLD = (
    # How an ended turn's answer reached its reader; `first_words` and `waited` in seconds, NULL where nobody measured.
    "ALTER TABLE turns ADD COLUMN first_words REAL DEFAULT NULL",
    "ALTER TABLE turns ADD COLUMN waited REAL DEFAULT NULL",
    "ALTER TABLE turns ADD COLUMN edits INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE turns ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0",
    # What the operator's page lists. Each holds only the turns that it lists, so most turns are in none.
    f"CREATE INDEX turns_late ON turns (id, waited) WHERE waited > {LATE}",
    "CREATE INDEX turns_refused ON turns (id, refusals) WHERE refusals > 0",
    "CREATE INDEX turns_failed ON turns (id) WHERE state = 'failed'",
    "CREATE INDEX turns_bad ON turns (id) WHERE rating = 'bad'",
    "CREATE INDEX calls_failed ON calls (name, turn) WHERE status IN ('failed', 'timeout')",
    "CREATE INDEX chats_by_last ON chats (last_at)",
    # Sums by day (UTC), see bot/store/sums.py. Only `person_days` is about people.
    """
    CREATE TABLE days (
        day INTEGER NOT NULL, platform TEXT NOT NULL, model TEXT NOT NULL, turns INTEGER NOT NULL,
        failed INTEGER NOT NULL, prompt INTEGER NOT NULL, completion INTEGER NOT NULL, dollars REAL NOT NULL,
        timed INTEGER NOT NULL, first_words REAL NOT NULL, waited REAL NOT NULL, late INTEGER NOT NULL,
        edits INTEGER NOT NULL, refusals INTEGER NOT NULL, PRIMARY KEY (day, platform, model)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE person_days (
        day INTEGER NOT NULL, person TEXT NOT NULL, turns INTEGER NOT NULL, prompt INTEGER NOT NULL,
        completion INTEGER NOT NULL, dollars REAL NOT NULL, PRIMARY KEY (day, person)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE tool_days (
        day INTEGER NOT NULL, name TEXT NOT NULL, calls INTEGER NOT NULL, failed INTEGER NOT NULL,
        seconds REAL NOT NULL, longest REAL NOT NULL, PRIMARY KEY (day, name)
    ) STRICT, WITHOUT ROWID
    """,
    count_earlier_turns,
)

COURSES = (
    # What stood on the screen while an answer was written, see `bot/reply/course.py`; at most a few kilobytes.
    "ALTER TABLE turns ADD COLUMN course TEXT NOT NULL DEFAULT ''",
)

SAID = (
    # What was said to a delivery that is no question, for programs that ask another process, or ask again.
    "ALTER TABLE inbox ADD COLUMN said TEXT NOT NULL DEFAULT ''",
)


def _fill_pressed(db: Connection) -> None:
    rows = db.execute('SELECT id, incoming FROM inbox WHERE incoming LIKE \'%"kind":"control"%\'').fetchall()
    for id, text in rows:
        with suppress(ValueError):
            db.execute("UPDATE inbox SET pressed = ? WHERE id = ?", (columns_of(incoming_from_json(text))[-1], id))


PRESSED = (
    # The turn below whose answer a button was pressed that brings another; 0: none. See `list_answers`.
    "ALTER TABLE inbox ADD COLUMN pressed INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX inbox_by_pressed ON inbox (pressed) WHERE pressed > 0",
    _fill_pressed,
)

AGENT_STATES = (
    # For agents of other authors: the state of a running turn, and what one needs to go on after a person's decision.
    "ALTER TABLE turns ADD COLUMN checkpoint TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE approvals ADD COLUMN agent_state TEXT NOT NULL DEFAULT ''",
)
