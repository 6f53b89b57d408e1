"""The tables, as numbered steps: a database at any earlier step is upgraded when it is opened.

A released step is never changed; a later wish is a later step.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from bot.contract import SettingsError, StoreError
from bot.store.database import database_error
from bot.store.faults import Fault, store_error
from bot.store.incoming import columns_of, incoming_from_json
from bot.store.latersteps import (
    AGENT_STATES,
    ALLOWANCES,
    COURSES,
    GOES_ON,
    GRANTS,
    HELD_BY_TURNS,
    HOLDINGS,
    PRESSED,
    SAID,
    TOLD,
    UNPLACED,
    Step,
)
from bot.store.sql import Connection

APPLICATION = 0x5041524C
"""Marks the file as ours ("PARL"), so that another program's database is never filled with our tables."""

_INTAKE = (
    # The keys of seen deliveries. Kept apart from the inbox, and longer: a key contains no text, so not even /forget
    # removes it.
    """
    CREATE TABLE deliveries (
        platform TEXT NOT NULL, account TEXT NOT NULL, delivery TEXT NOT NULL, seen_at REAL NOT NULL,
        PRIMARY KEY (platform, account, delivery)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX deliveries_by_age ON deliveries (seen_at)",
    # AUTOINCREMENT: an id is never given again, so a turn whose chat was deleted cannot write into another's.
    """
    CREATE TABLE inbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT, chat TEXT NOT NULL, incoming TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'new', attempts INTEGER NOT NULL DEFAULT 0,
        received_at REAL NOT NULL, ended_at REAL
    ) STRICT
    """,
    "CREATE INDEX inbox_waiting ON inbox (id) WHERE state IN ('new', 'running')",
    "CREATE INDEX inbox_by_chat ON inbox (chat)",
    "CREATE INDEX inbox_by_end ON inbox (ended_at) WHERE ended_at IS NOT NULL",
)

_TURNS = (
    """
    CREATE TABLE chats (
        id INTEGER PRIMARY KEY AUTOINCREMENT, chat TEXT NOT NULL UNIQUE, title TEXT NOT NULL DEFAULT '',
        first_at REAL NOT NULL, last_at REAL NOT NULL,
        turns INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
        last_sequence INTEGER NOT NULL DEFAULT 0,
        since_sequence INTEGER NOT NULL DEFAULT 0, since_turn INTEGER NOT NULL DEFAULT 0,
        summary TEXT, summary_upto INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    # `question` is the answered inbox row: another turn's if this one answers it again.
    """
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY REFERENCES inbox (id) ON DELETE CASCADE,
        chat INTEGER NOT NULL REFERENCES chats (id), person TEXT NOT NULL, question INTEGER NOT NULL,
        stage INTEGER NOT NULL DEFAULT 1, state TEXT NOT NULL DEFAULT 'running',
        started_at REAL NOT NULL, ended_at REAL,
        first_sequence INTEGER, last_sequence INTEGER, superseded_by INTEGER,
        visible TEXT NOT NULL DEFAULT '', reasoning TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
        usage TEXT NOT NULL DEFAULT '[]', cost REAL NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    "CREATE INDEX turns_by_chat ON turns (chat, id)",
    """
    CREATE TABLE passes (
        turn INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE, number INTEGER NOT NULL,
        entry TEXT NOT NULL, model TEXT NOT NULL, usage TEXT NOT NULL, PRIMARY KEY (turn, number)
    ) STRICT
    """,
    # Keyed by position, not by the call's id: some servers name the first call of every pass `call_0`.
    """
    CREATE TABLE calls (
        turn INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
        pass INTEGER NOT NULL, position INTEGER NOT NULL, call_id TEXT NOT NULL,
        name TEXT NOT NULL, arguments TEXT NOT NULL, problem TEXT NOT NULL, effects INTEGER NOT NULL,
        status TEXT NOT NULL, result TEXT, text TEXT, started_at REAL NOT NULL, seconds REAL NOT NULL DEFAULT 0,
        PRIMARY KEY (turn, pass, position)
    ) STRICT
    """,
    """
    CREATE TABLE pages (
        turn INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE, number INTEGER NOT NULL,
        chat INTEGER NOT NULL, starts INTEGER NOT NULL, ends INTEGER NOT NULL, body TEXT NOT NULL,
        message TEXT, form TEXT, state TEXT NOT NULL, nonce TEXT NOT NULL, PRIMARY KEY (turn, number)
    ) STRICT
    """,
    "CREATE INDEX pages_by_message ON pages (chat, message) WHERE message IS NOT NULL",
    # Clustered by chat and sequence: a chat's newest rows are side by side, however many chats there are.
    """
    CREATE TABLE history (
        chat INTEGER NOT NULL REFERENCES chats (id), sequence INTEGER NOT NULL, turn INTEGER NOT NULL,
        tokens INTEGER NOT NULL, at REAL NOT NULL, superseded INTEGER NOT NULL DEFAULT 0,
        body TEXT, aside INTEGER, PRIMARY KEY (chat, sequence)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE TABLE bodies (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT",
)

_ACCESS = (
    "CREATE TABLE roles (id TEXT PRIMARY KEY, role TEXT NOT NULL, since REAL NOT NULL) STRICT, WITHOUT ROWID",
    """
    CREATE TABLE pairing (
        only INTEGER PRIMARY KEY CHECK (only = 1), code_hash TEXT NOT NULL, expires REAL NOT NULL,
        wrong INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    "CREATE TABLE once (key TEXT PRIMARY KEY, until REAL NOT NULL) STRICT, WITHOUT ROWID",
    """
    CREATE TABLE settings (
        chat TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (chat, name)
    ) STRICT, WITHOUT ROWID
    """,
)

_PORTS = (
    "CREATE TABLE facts (id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, text TEXT NOT NULL, "
    "at REAL NOT NULL, UNIQUE (owner, text)) STRICT",
    "CREATE VIRTUAL TABLE fact_words USING fts5 (words, tokenize = 'unicode61 remove_diacritics 2')",
    """
    CREATE TABLE timers (
        id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, person TEXT NOT NULL, due REAL NOT NULL,
        text TEXT NOT NULL, chat TEXT NOT NULL, sender TEXT NOT NULL, target TEXT NOT NULL, set_at REAL NOT NULL
    ) STRICT
    """,
    "CREATE INDEX timers_by_due ON timers (due)",
    "CREATE INDEX timers_by_scope ON timers (scope, person)",
    "CREATE INDEX timers_by_chat ON timers (chat)",
    "CREATE TABLE blobs (digest BLOB PRIMARY KEY, size INTEGER NOT NULL, content BLOB NOT NULL) STRICT",
    """
    CREATE TABLE files (
        id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, name TEXT NOT NULL, media_type TEXT NOT NULL,
        digest BLOB NOT NULL REFERENCES blobs (digest), size INTEGER NOT NULL, at REAL NOT NULL
    ) STRICT
    """,
    "CREATE INDEX files_by_scope ON files (scope, name, id)",
    "CREATE INDEX files_by_digest ON files (digest)",
    "CREATE INDEX files_by_age ON files (at)",
    """
    CREATE TABLE attachments (
        turn INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE, number INTEGER NOT NULL,
        file INTEGER NOT NULL, message TEXT, form TEXT, state TEXT NOT NULL, nonce TEXT NOT NULL,
        PRIMARY KEY (turn, number)
    ) STRICT, WITHOUT ROWID
    """,
)

_SPENDING = (
    """
    CREATE TABLE spending (
        key TEXT NOT NULL, seconds INTEGER NOT NULL, start INTEGER NOT NULL,
        tokens INTEGER NOT NULL, messages INTEGER NOT NULL, money REAL NOT NULL,
        PRIMARY KEY (key, seconds, start)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX spending_by_end ON spending (start + seconds)",
)

_ORIGINS = (
    # The origin of their words, see bot/contract/origin.py; unknown for rows of earlier versions.
    "ALTER TABLE chats ADD COLUMN summary_origin TEXT NOT NULL DEFAULT 'outside'",
)

_KEPT_ORIGINS = (
    # Existing facts are still told: their people can list them, and most of them requested them.
    "ALTER TABLE facts ADD COLUMN origin TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE timers ADD COLUMN origin TEXT NOT NULL DEFAULT 'outside'",
)

_SHOWN_AGAIN = (
    # When the reply of an ended turn is shown again, see bot/reply/settling.py; NULL: it is certainly shown.
    "ALTER TABLE turns ADD COLUMN again_at REAL",
    "CREATE INDEX turns_again ON turns (id) WHERE again_at IS NOT NULL",
)

_BY_PERSON = ("CREATE INDEX turns_by_person ON turns (person, id)",)

_DESCRIPTIONS = (
    # Descriptions of servers' tools that a model wrote.
    "CREATE TABLE tool_descriptions (key TEXT PRIMARY KEY, body TEXT NOT NULL, at REAL NOT NULL) STRICT",
)

_UNUSED = (
    "ALTER TABLE chats DROP COLUMN first_at",
    "ALTER TABLE turns DROP COLUMN stage",
    "ALTER TABLE pages DROP COLUMN starts",
)

_DOLLARS = (
    "ALTER TABLE turns RENAME COLUMN cost TO dollars",
    "ALTER TABLE spending RENAME COLUMN money TO dollars",
)

_RATINGS = ("ALTER TABLE turns ADD COLUMN rating TEXT NOT NULL DEFAULT ''",)
_CHANGED = (
    # The platform's id of a person's message, which identifies it in a later change.
    "ALTER TABLE inbox ADD COLUMN message TEXT",
    "UPDATE inbox SET message = json_extract(incoming, '$.message_id') "
    "WHERE json_extract(incoming, '$.kind') = 'message'",
    "CREATE INDEX inbox_by_message ON inbox (chat, message) WHERE message IS NOT NULL",
    "CREATE INDEX turns_by_successor ON turns (superseded_by) WHERE superseded_by IS NOT NULL",
)

_REPEATS = (
    # How often a reminder comes, see `tools.contract.base.Repeat`; empty: once. `fired_at`: when it last came.
    "ALTER TABLE timers ADD COLUMN rule TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE timers ADD COLUMN zone TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE timers ADD COLUMN said TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE timers ADD COLUMN paused INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE timers ADD COLUMN fired_at REAL",
)

_QUESTIONS = (
    # Whether the model answers a reminder's text, and whether it was requested in a group.
    "ALTER TABLE timers ADD COLUMN question INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE timers ADD COLUMN grouped INTEGER NOT NULL DEFAULT 0",
)

_BRANCHES = (
    # The last entry that a turn continues; NULL: the one before its own, see bot/store/branches.py.
    "ALTER TABLE turns ADD COLUMN continues INTEGER",
    "CREATE INDEX turns_branched ON turns (chat, first_sequence) WHERE continues IS NOT NULL",
    "CREATE INDEX attachments_by_message ON attachments (message) WHERE message IS NOT NULL",
)

_APPROVALS = (
    # Calls that a turn asked a person about; bot/store/approvals.py. `press`: the inbox row that decided.
    """
    CREATE TABLE approvals (
        turn INTEGER PRIMARY KEY REFERENCES turns (id) ON DELETE CASCADE, call TEXT NOT NULL, digest TEXT NOT NULL,
        origin TEXT NOT NULL, language TEXT NOT NULL, line TEXT NOT NULL, expires_at REAL NOT NULL,
        state TEXT NOT NULL DEFAULT 'waiting', press INTEGER NOT NULL DEFAULT 0, ended_at REAL
    ) STRICT
    """,
    "CREATE INDEX approvals_waiting ON approvals (turn) WHERE state = 'waiting'",
)

_APPROVED_TOOLS = (
    # The digest of the tool's declaration when a person was asked.
    "ALTER TABLE approvals ADD COLUMN tool TEXT NOT NULL DEFAULT ''",
)

# A code shown by the console before this step is invalid; the start that takes the step shows another one.
_LINKS = (
    "DROP TABLE pairing",
    """
    CREATE TABLE pairing (
        asker TEXT PRIMARY KEY, code_hash TEXT NOT NULL, expires REAL NOT NULL, asked TEXT,
        wrong INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID
    """,
)

_NO_DESCRIPTIONS = ("DROP TABLE tool_descriptions",)

_FOUND_BY_INDEX = (
    # Finds one person's or chat's rows without reading everybody's.
    "CREATE INDEX turns_rated ON turns (chat, rating) WHERE rating <> ''",
    "CREATE INDEX turns_asked_again ON turns (question) WHERE question <> id",
    "CREATE INDEX facts_by_origin ON facts (origin)",
    "CREATE INDEX timers_by_person ON timers (person)",
    "CREATE INDEX spending_by_window ON spending (seconds, start, key)",
    # The person's id. NULL in older rows that became a turn, whose `person` has it.
    "ALTER TABLE inbox ADD COLUMN sender TEXT",
    "UPDATE inbox SET sender = json_extract(incoming, '$.sender.id') "
    "WHERE NOT EXISTS (SELECT 1 FROM turns WHERE turns.id = inbox.id) AND json_valid(incoming)",
    "CREATE INDEX inbox_by_sender ON inbox (sender) WHERE sender IS NOT NULL",
    # It was one index of everybody's words, so every search read everybody's, see bot/store/facts.py.
    "DROP TABLE fact_words",
)


def _fill_columns(db: Connection) -> None:
    """Fill the columns for queries from the deliveries; a delivery that cannot be read has empty ones."""
    last = 0
    while rows := db.execute("SELECT id, incoming FROM inbox WHERE id > ? ORDER BY id LIMIT 500", (last,)).fetchall():
        last = rows[-1][0]
        filled = []
        for id, text in rows:
            with suppress(ValueError):
                filled.append((*columns_of(incoming_from_json(text))[3:8], id))
        db.executemany(
            "UPDATE inbox SET name = ?, command = ?, grouped = ?, replies_to = ?, replaces = ? WHERE id = ?", filled
        )


_COLUMNS = (
    # The parts of a delivery or a turn's usage that SQL needs, without JSON; see bot/store/incoming.py.
    "ALTER TABLE inbox ADD COLUMN name TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE inbox ADD COLUMN command TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE inbox ADD COLUMN grouped INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE inbox ADD COLUMN replies_to TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE inbox ADD COLUMN replaces INTEGER NOT NULL DEFAULT 0",
    _fill_columns,
    "ALTER TABLE turns ADD COLUMN prompt INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE turns ADD COLUMN completion INTEGER NOT NULL DEFAULT 0",
    "UPDATE turns SET prompt = coalesce(json_extract(usage, '$[0]'), 0), "
    "completion = coalesce(json_extract(usage, '$[1]'), 0)",
)

STEPS: tuple[Step, ...] = (
    _INTAKE,
    _TURNS,
    _ACCESS,
    _PORTS,
    _SPENDING,
    _ORIGINS,
    _KEPT_ORIGINS,
    _SHOWN_AGAIN,
    _BY_PERSON,
    _DESCRIPTIONS,
    _UNUSED,
    _DOLLARS,
    _RATINGS,
    _CHANGED,
    _REPEATS,
    _QUESTIONS,
    _BRANCHES,
    _APPROVALS,
    _APPROVED_TOOLS,
    _LINKS,
    _NO_DESCRIPTIONS,
    _FOUND_BY_INDEX,
    _COLUMNS,
    HOLDINGS,
    ALLOWANCES,
    UNPLACED,
    GRANTS,
    GOES_ON,
    HELD_BY_TURNS,
    TOLD,
    AGENT_STATES,
    COURSES,
    SAID,
    PRESSED,
)


def upgrade(db: sqlite3.Connection, steps: tuple[Step, ...] = STEPS) -> None:
    """Bring the tables to the newest step, each step in its own transaction.

    Raises:
        SettingsError: the file belongs to another program or to a later version of this one, or cannot be written.
        sqlite3.OperationalError: another program keeps the file locked; try again.
        StoreError: a step failed, and left the file unchanged.
    """
    done = False
    while not done:
        try:
            db.execute("BEGIN IMMEDIATE")
            done = take_step(db, steps)
            db.commit()
        except sqlite3.Error as error:
            db.rollback()
            told = database_error(error)
            match told.fault:
                case Fault.LOCKED:
                    raise
                case Fault.READONLY | Fault.UNREACHABLE:
                    raise SettingsError(f"The database of DATABASE_URL cannot be written: {error}.") from error
                case _ if "fts5" in str(error):
                    raise SettingsError("Python's SQLite was built without FTS5, which the store needs.") from error
                case _:
                    raise store_error(told) from error
        except (SettingsError, StoreError):
            db.rollback()
            raise


def known_version(
    db: sqlite3.Connection, steps: tuple[Step, ...] = STEPS, *, name: str = "The database of DATABASE_URL"
) -> int:
    """Return the step of the file; 0 for an empty one. Changes nothing.

    Args:
        name: the beginning of an error's sentence.

    Raises:
        SettingsError: the file belongs to another program or to a later version of this one.
    """
    version = _value(db, "PRAGMA user_version")
    if _value(db, "PRAGMA application_id") != APPLICATION and (
        version or _value(db, "SELECT count(*) FROM sqlite_master")
    ):
        raise SettingsError(f"{name} is another program's SQLite database, and was left as it is. Name one of ours.")
    if version > len(steps):
        raise SettingsError(
            f"{name} was written by a later version of this program (its schema is {version}, "
            f"known are {len(steps)}). Install that version again, or name another database."
        )
    return version


def take_step(db: sqlite3.Connection, steps: tuple[Step, ...] = STEPS) -> bool:
    """Take the next step in the open transaction; return True when none is left."""
    version = known_version(db, steps)
    if version == len(steps):
        return True
    for work in steps[version]:
        if isinstance(work, str):
            db.execute(work)
        else:
            work(db)
    db.execute(f"PRAGMA user_version = {version + 1}")
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    return version + 1 == len(steps)


def _value(db: sqlite3.Connection, sql: str) -> int:
    return int(db.execute(sql).fetchone()[0])
