"""Delete a chat so that none of it can be recovered from the database file."""

from __future__ import annotations

import logging

from bot.contract import ChatId, Clock
from bot.store.files import remove_files
from bot.store.readers import Readers
from bot.store.sql import Connection
from bot.store.sums import uncount_turns
from bot.store.writer import Writer

_STEP = 500
"""Rows deleted in one transaction: other chats write in between."""
_FILES = 4
"""Files deleted in one transaction: each may be 16 MiB."""
_PATIENCE = 5.0
"""Seconds to wait for others that read from the write-ahead log."""
_RETRY = 0.1

_log = logging.getLogger(__name__)


async def forget_chat(writer: Writer, readers: Readers, clock: Clock, chat: ChatId, last: int | None = None) -> int:
    """Delete everything of a chat; see `History.forget`.

    The inbox rows go last: if the process is killed half-way, the next one finds its `/forget` there and repeats it.
    """
    key = str(chat)
    if last is None:
        newest = await readers.fetch_row("SELECT max(id) FROM inbox WHERE chat = ?", (key,))
        last = int((newest and newest[0]) or 0)
    found = await readers.fetch_row("SELECT id FROM chats WHERE chat = ?", (key,))
    id = -1 if found is None else int(found[0])
    await writer.execute(
        "UPDATE chats SET since_sequence = last_sequence, summary = NULL, title = '' WHERE id = ?", (id,)
    )
    while await writer.run(lambda db: _delete_history(db, id)):
        pass
    for statement, parameter in (
        ("DELETE FROM timers WHERE chat = ?", key),
        ("DELETE FROM settings WHERE chat = ?", key),
        ("DELETE FROM facts WHERE owner = ?", key),
    ):
        await writer.execute(statement, (parameter,))
    while await writer.run(lambda db: _delete_files(db, key)):
        pass
    turns = 0
    while removed := await writer.run_last(lambda db: _delete_turns(db, id, last)):
        turns += removed
    while await writer.run_last(lambda db: _delete_inbox(db, key, id, last)):
        pass
    await wipe(writer, clock)
    return turns


async def wipe(writer: Writer, clock: Clock) -> None:
    """Overwrite deleted data everywhere in the database files.

    While another program reads an older state, the data stays there; after some seconds that is logged and left to
    `wipe_traces`.
    """
    await give_back(writer)
    writer.traces = True
    until = clock.monotonic() + _PATIENCE
    while not await wipe_traces(writer):
        if clock.monotonic() >= until:
            _log.warning(
                "deleted data is still in the database's files, because another program is reading them "
                "(a backup, a shell?); it is overwritten as soon as that program is done"
            )
            writer.traces_told = True
            return
        await clock.sleep(_RETRY)


async def wipe_traces(writer: Writer) -> bool:
    """Overwrite deleted data that may still be in the write-ahead log, without waiting for anybody; return True if all
    is gone."""
    if writer.traces and await writer.run_apart(lambda db: db.wipe_log()):
        writer.traces = False
        if writer.traces_told:
            writer.traces_told = False
            _log.warning("the deleted data is now overwritten in the database's files")
    return not writer.traces


def _delete_history(db: Connection, id: int) -> int:
    query = "SELECT sequence, aside FROM history WHERE chat = ? ORDER BY sequence LIMIT ?"
    rows = db.execute(query, (id, _STEP)).fetchall()
    if rows:
        db.executemany("DELETE FROM bodies WHERE id = ?", [(row[1],) for row in rows if row[1] is not None])
        db.execute("DELETE FROM history WHERE chat = ? AND sequence <= ?", (id, rows[-1][0]))
    return len(rows)


def _delete_files(db: Connection, scope: str) -> int:
    ids = [int(id) for (id,) in db.execute("SELECT id FROM files WHERE scope = ? LIMIT ?", (scope, _FILES)).fetchall()]
    remove_files(db, ids)
    return len(ids)


def _delete_turns(db: Connection, id: int, last: int) -> int:
    rows = db.execute("SELECT id FROM turns WHERE chat = ? AND id <= ? LIMIT ?", (id, last, _STEP)).fetchall()
    uncount_turns(db, [turn for (turn,) in rows])
    db.executemany("DELETE FROM turns WHERE id = ?", rows)
    return len(rows)


def _delete_inbox(db: Connection, key: str, id: int, last: int) -> int:
    # A turn that was opened meanwhile goes with its inbox row, and the chat's row when nothing refers to it.
    rows = db.execute("SELECT id FROM inbox WHERE chat = ? AND id <= ? LIMIT ?", (key, last, _STEP)).fetchall()
    uncount_turns(db, [row for (row,) in rows])
    db.executemany("DELETE FROM inbox WHERE id = ?", rows)
    if len(rows) == _STEP:
        return len(rows)
    # Questions since then are answered in the same chat.
    if not db.execute("SELECT 1 FROM turns WHERE chat = ? LIMIT 1", (id,)).fetchall():
        while _delete_history(db, id):
            pass
        db.execute("DELETE FROM chats WHERE id = ?", (id,))
    return 0


async def give_back(writer: Writer) -> None:
    """Return free pages to the disk, a few at a time."""
    left = await writer.run(lambda db: db.give_back())
    while left and (now := await writer.run(lambda db: db.give_back())) < left:
        left = now
