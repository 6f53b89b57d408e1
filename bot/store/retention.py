"""Remove data older than its retention time, in small transactions between other writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from bot.contract import Clock, MessageSent
from bot.store.branches import leave_out
from bot.store.incoming import incoming_from_json, incoming_to_json
from bot.store.queries import Queries
from bot.store.readers import Readers
from bot.store.sql import Connection
from bot.store.sums import uncount_turns
from bot.store.writer import Writer

DAY = 86_400.0
UNANSWERED_SECONDS = DAY
"""How long a delivery without a turn is kept: strangers' messages, refused ones, commands, edits. Nothing needs their
text; that they were seen is recorded separately, without text (`intake.KEEP_SECONDS`)."""
_LOOKED_AT = 500
"""Rows examined in one read."""
_LONGEST_KEY = 2_000
"""Characters of an attachment's key; a longer one is the file itself, of a platform that keeps no files."""
_STEP_ROWS = 25
_STEP_BYTES = 1 << 20
"""The most that one transaction removes, except for a single larger row."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Retention times in seconds; `math.inf`: until somebody deletes them."""

    chats: float = math.inf
    """Conversations, after the turn ended."""
    files: float = 30 * DAY
    """Files, after they were last made; none outlives its conversation."""

    @classmethod
    def from_days(cls, chats: int, files: int) -> Keep:
        """Build it from days as in the settings; 0 means for ever."""
        said = chats * DAY or math.inf
        return cls(said, min(files * DAY or math.inf, said))


class Retention(Queries):
    """Removes old deliveries without a turn, and old turns with their data."""

    def __init__(self, writer: Writer, readers: Readers, clock: Clock) -> None:
        super().__init__(writer, readers, clock)
        self._emptied = (0.0, 0)
        """The last row, by end and id, up to which no question contains a file any more."""
        self._looked = (0.0, 0)
        """The last row, by end and id, that is known to stay, with all before it, for its turn's sake."""

    async def prune(self, seconds: float) -> int:
        """Remove what ended longer ago, turns in whole days (UTC), and return the number of turns."""
        now = self._clock.wall()
        await self._prune_unanswered(now - UNANSWERED_SECONDS)
        if math.isinf(seconds):
            return 0
        # By whole days, because a chat's summary must be made again when a turn in it is removed.
        return await self._prune_turns((now - seconds) // DAY * DAY)

    async def prune_contents(self, seconds: float) -> None:
        """Remove the files that questions contain as the keys of their attachments, if these ended longer ago."""
        before = self._clock.wall() - seconds
        while rows := await self._readers.fetch_rows(_ENDED, (before, *self._emptied, _LOOKED_AT)):
            for ids in split_portions([(id, size) for _, id, size, _ in rows if size > _LONGEST_KEY]):
                await self._writer.run(partial(_remove_contents, ids=ids))
            self._emptied = (rows[-1][0], rows[-1][1])

    async def _prune_unanswered(self, before: float) -> None:
        while rows := await self._readers.fetch_rows(_ENDED, (before, *self._looked, _LOOKED_AT)):
            for ids in split_portions([(id, size) for _, id, size, answered in rows if not answered]):
                await self._writer.run(partial(_remove_unanswered, ids=ids))
            self._looked = (rows[-1][0], rows[-1][1])

    async def _prune_turns(self, before: float) -> int:
        count, last = 0, (0.0, 0)
        while rows := await self._readers.fetch_rows(_ANSWERED, (before, *last, _LOOKED_AT)):
            for ids in split_portions([(id, size) for _, id, size in rows]):
                count += await self._writer.run_last(partial(_remove_turns, ids=ids, before=before))
            last = (rows[-1][0], rows[-1][1])
        return count


_ENDED = """
    SELECT ended_at, id, octet_length(incoming), EXISTS (SELECT 1 FROM turns WHERE turns.id = inbox.id)
    FROM inbox WHERE ended_at < ? AND (ended_at, id) > (?, ?) ORDER BY ended_at, id LIMIT ?
"""
BYTES_OF_TURN = """
    SELECT coalesce(sum(octet_length(coalesce(h.body, b.body))), 0) FROM history h
    LEFT JOIN bodies b ON b.id = h.aside
    WHERE h.chat = t.chat AND h.sequence BETWEEN t.first_sequence AND t.last_sequence
"""
_ANSWERED = f"""
    SELECT i.ended_at, i.id, ({BYTES_OF_TURN}) FROM inbox i JOIN turns t ON t.id = i.id
    WHERE i.ended_at < ? AND (i.ended_at, i.id) > (?, ?) ORDER BY i.ended_at, i.id LIMIT ?
"""
_EXPIRED = f"""
    WITH RECURSIVE later (id) AS (
        SELECT :turn UNION SELECT t.superseded_by FROM turns t JOIN later ON later.id = t.id
    )
    SELECT t.chat, t.first_sequence, t.last_sequence, t.ended_at IS NOT NULL, ({BYTES_OF_TURN}) FROM turns t
    WHERE t.id = :turn AND NOT EXISTS (
        SELECT 1 FROM later JOIN inbox i ON i.id = later.id WHERE i.ended_at IS NULL OR i.ended_at >= :before
    )
"""
"""A turn that ended before, like all turns that answered its question again, which they share."""


def split_portions(rows: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Group (id, bytes) pairs, in order, into lists of ids small enough for one transaction."""
    pieces: list[list[int]] = []
    room = 0
    for id, size in rows:
        if not pieces or room < size or len(pieces[-1]) == _STEP_ROWS:
            pieces.append([])
            room = _STEP_BYTES
        pieces[-1].append(id)
        room -= size
    return pieces


def _remove_contents(db: Connection, ids: Sequence[int]) -> None:
    for id in ids:
        for (text,) in db.execute("SELECT incoming FROM inbox WHERE id = ?", (id,)).fetchall():
            try:
                known = incoming_from_json(text)
            except ValueError:
                continue  # of a later version
            if isinstance(known, MessageSent) and any(len(one.source) > _LONGEST_KEY for one in known.enclosed):
                kept = tuple(
                    replace(one, source="") if len(one.source) > _LONGEST_KEY else one for one in known.enclosed
                )
                db.execute(
                    "UPDATE inbox SET incoming = ? WHERE id = ?", (incoming_to_json(replace(known, enclosed=kept)), id)
                )


def _remove_unanswered(db: Connection, ids: Sequence[int]) -> None:
    db.executemany(
        "DELETE FROM inbox WHERE id = ? AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.id = inbox.id)",
        [(id,) for id in ids],
    )


def _remove_turns(db: Connection, ids: Sequence[int], before: float) -> int:
    """Remove turns with their entries and questions, except those still needed; return how many."""
    count = 0
    for turn in ids:
        for chat, first, last, counted, size in db.execute(_EXPIRED, {"turn": turn, "before": before}).fetchall():
            remove_turn(db, turn, chat, (first, last), counted, size)
            count += 1
    return count


def remove_turn(
    db: Connection, turn: int, chat: int, sequences: tuple[int | None, int | None], counted: bool, size: int
) -> None:
    """Remove a turn with its entries and its question, and its chat after its last turn.

    Args:
        sequences: the first and the last of its entries.
        counted: it has ended, and is counted in its chat's turns.
        size: bytes of its entries.
    """
    first, last = sequences
    uncount_turns(db, (turn,))
    leave_out(db, chat, turn, first, last)
    entries = "FROM history WHERE chat = ? AND sequence BETWEEN ? AND ?"
    db.execute(f"DELETE FROM bodies WHERE id IN (SELECT aside {entries})", (chat, first, last))
    db.execute(f"DELETE {entries}", (chat, first, last))
    # The turn goes with it, and everything that depends on the turn.
    db.execute("DELETE FROM inbox WHERE id = ?", (turn,))
    # A summary may mention removed data; it is made again from the rest.
    db.execute(
        "UPDATE chats SET turns = turns - ?, bytes = bytes - ?, summary = NULL, summary_upto = 0 WHERE id = ?",
        (counted, size, chat),
    )
    db.execute(
        "DELETE FROM chats WHERE id = ? AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.chat = chats.id)",
        (chat,),
    )
