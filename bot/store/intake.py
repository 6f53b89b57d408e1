"""The inbox: each delivery once, in order, with its state."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import TypeAlias

from bot.contract import ChatId, Incoming, MessageSent
from bot.store.branches import list_answers
from bot.store.incoming import columns_of, incoming_from_json, incoming_to_json
from bot.store.queries import Queries, in_place, place_of, place_range
from bot.store.sql import Connection, Row
from bot.store.states import INBOX_ENDS, UNFINISHED, InboxState

Claim: TypeAlias = Callable[[Connection], bool]
"""Removes the source of a delivery in the transaction that stores it; returns False if it is gone, and nothing is
stored."""
Ensure: TypeAlias = Callable[[Connection, str, int], object]
"""See `bot.intake.Ownership.ensure`."""
KEEP_SECONDS = 10 * 86_400.0
"""How long delivery keys are kept: 7 days are promised, and the clock may be wrong by a day or two."""
_STEP = 500
"""Rows removed in one transaction, so that no message waits for the cleaning."""
_AT_ONCE = 100
"""Rows of a place that are read at a time."""

_SEEN = (
    "INSERT INTO deliveries (platform, account, delivery, seen_at) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (platform, account, delivery) DO NOTHING"
)
_TAKE_IN = (
    "INSERT INTO inbox (chat, received_at, incoming, message, sender, name, command, grouped, replies_to, replaces, "
    "pressed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"
)
_CHANGE = (
    "UPDATE inbox SET incoming = ?, message = ?, sender = ?, name = ?, command = ?, grouped = ?, replies_to = ?, "
    "replaces = ?, pressed = ? WHERE id = ?"
)
_ROWS = "SELECT id, chat, incoming, received_at, state, attempts FROM inbox"
_QUESTION = "SELECT i.id, i.incoming FROM turns t JOIN inbox i ON i.id = t.question WHERE t.id = ?"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One delivery that has not ended."""

    id: int
    chat: ChatId
    incoming: Incoming
    received_at: float
    """Wall-clock time of its intake."""
    state: InboxState
    attempts: int


class Intake(Queries):
    """Stores deliveries and their states."""

    async def take_in(self, incoming: Incoming, claim: Claim | None = None, ensure: Ensure | None = None) -> int | None:
        """Store a delivery and return its inbox id; None if it was seen before under any of its keys, or not claimed.

        Claim, keys, row and `ensure` are one transaction: a key is never recorded for a message that is not stored, and
        no message is stored in a place that nobody serves.

        Raises:
            StoreError: it is not stored.
        """
        chat = incoming.chat
        now = self._clock.wall()
        keys = [(chat.platform, chat.account, key, now) for key in dict.fromkeys((incoming.delivery, *incoming.also))]
        row = (str(chat), now, *columns_of(incoming))

        def work(db: Connection) -> int | None:
            if claim is not None and not claim(db):
                return None
            added = db.executemany(_SEEN, keys)
            if added.rowcount < len(keys):
                return None  # the new keys stay: a third delivery may have only those
            [(id,)] = db.execute(_TAKE_IN, row).fetchall()
            if ensure is not None:
                ensure(db, str(chat.place), int(id))
            return int(id)

        # What reaches several processes at once makes the same keys and the same new place in each.
        return await self._writer.run(work, order=str(chat.place))

    async def list_waiting(self) -> list[InboxRow]:
        """Return every row that is new or running, in the order of intake.

        A row that cannot be read (written by a later version) ends as failed, with a log line.
        """
        rows, unreadable = await self._readers.read(
            lambda db: _read_rows(db.execute(f"{_ROWS} WHERE {UNFINISHED} ORDER BY id"))
        )
        await self._give_up(unreadable)
        return rows

    async def look(self, place: str, known: Collection[int]) -> tuple[list[InboxRow], set[int]]:
        """Return the new and running rows of a place that are not `known`, the first hundred in the order of intake,
        and the ids of all that are new or running there; see `list_waiting`."""

        def read(db: Connection) -> tuple[list[InboxRow], list[int], set[int]]:
            condition = f"{UNFINISHED} AND {in_place('chat')}"
            ids = {int(id) for (id,) in db.execute(f"SELECT id FROM inbox WHERE {condition}", place_range(place))}
            new = sorted(ids.difference(known))[:_AT_ONCE]
            marks = ", ".join("?" * len(new))
            found = db.execute(f"{_ROWS} WHERE id IN ({marks}) ORDER BY id", new) if new else ()
            return *_read_rows(found), ids

        rows, unreadable, ids = await self._readers.read(read)
        await self._give_up(unreadable)
        return rows, ids

    async def map_unfinished(self) -> Mapping[str, Set[int]]:
        """Return the ids of all rows that are new or running, by place."""

        def read(db: Connection) -> Mapping[str, Set[int]]:
            found: defaultdict[str, set[int]] = defaultdict(set)
            for id, chat in db.execute(f"SELECT id, chat FROM inbox WHERE {UNFINISHED}"):
                found[place_of(chat)].add(int(id))
            return found

        return await self._readers.read(read)

    async def _give_up(self, unreadable: Iterable[int]) -> None:
        for id in unreadable:
            await self.end(id, InboxState.FAILED)

    async def count_running(self, person: str, but: ChatId) -> int:
        """Return the number of a person's deliveries that run now, in all chats but one."""
        sql = f"SELECT count(*) FROM inbox WHERE {UNFINISHED} AND state = ? AND sender = ? AND chat <> ?"
        row = await self._readers.fetch_row(sql, (InboxState.RUNNING, person, str(but)))
        return 0 if row is None else int(row[0])

    async def count_unfinished(self) -> Mapping[str, int]:
        """Return the number of new or running rows by platform."""
        return await self._readers.read(count_unfinished)

    async def begin(self, id: int) -> int:
        """Count an attempt before its work starts and return the count; 0 if the row has ended or was deleted."""

        return await self._writer.run(lambda db: count_attempt(db, id))

    async def join(self, id: int, incoming: Incoming, other: int) -> None:
        """Add another row's question to a row, and end the other, in one transaction."""
        row, now = (*columns_of(incoming), id), self._clock.wall()

        def work(db: Connection) -> None:
            db.execute(_CHANGE, row)
            end_row(db, other, InboxState.DONE, now)

        await self._writer.run(work)

    async def pause(self, id: int) -> None:
        """Uncount an attempt that was interrupted in good order: only those that died count."""
        await self._writer.execute(
            "UPDATE inbox SET attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END "
            "WHERE id = ? AND state = ?",
            (id, InboxState.RUNNING),
        )

    async def end(self, id: int, state: InboxState) -> None:
        """Store how a row ended; the first end counts.

        Raises:
            ValueError: `state` is not an end.
        """
        if state not in INBOX_ENDS:
            raise ValueError(f"{state!r} is no end of an inbox row; those are {', '.join(sorted(INBOX_ENDS))}")
        now = self._clock.wall()
        await self._writer.run(lambda db: end_row(db, id, state, now))

    async def find_question(self, chat: ChatId, message_id: str) -> tuple[int, MessageSent] | None:
        """Return a person's message in its present form, with its inbox id; None if it is unknown or was deleted."""
        row = await self._readers.fetch_row(
            "SELECT id, incoming FROM inbox WHERE chat = ? AND message = ? ORDER BY id DESC LIMIT 1",
            (str(chat), message_id),
        )
        if row is None:
            return None
        question = incoming_from_json(row[1])
        return (int(row[0]), question) if isinstance(question, MessageSent) else None

    async def list_newest(self, person: str, since: float, limit: int = 20) -> list[MessageSent]:
        """Return what a person wrote since a wall-clock time, in whatever chat, the newest first."""
        rows = await self._readers.fetch_rows(
            f"{_ROWS} WHERE sender = ? AND received_at >= ? ORDER BY id DESC LIMIT ?", (person, since, limit)
        )
        return [row.incoming for row in _read_rows(rows)[0] if isinstance(row.incoming, MessageSent)]

    async def revise_question(self, id: int, changed: MessageSent) -> list[int]:
        """Replace a delivery that reported a change by the changed question, and return the rows that answered it
        before: they do not begin any more, in this process or a later one."""
        now, row = self._clock.wall(), (*columns_of(changed), id)

        def work(db: Connection) -> list[int]:
            before = [one for one in list_answers(db, changed.replaces) if one != id] if changed.replaces else []
            db.execute(_CHANGE, row)
            for one in before:
                end_row(db, one, InboxState.STOPPED, now)
            return before

        return await self._writer.run(work)

    async def keep_enclosed(self, turn: int, asked: MessageSent) -> None:
        """Store the state of the attachments with a turn's question; not if it was changed meanwhile."""

        def work(db: Connection) -> None:
            for id, text in db.execute(_QUESTION, (turn,)).fetchall():
                known = incoming_from_json(text)
                if not isinstance(known, MessageSent) or (known.enclosed, known.quoted) != (
                    asked.enclosed,
                    asked.quoted,
                ):
                    continue
                kept = incoming_to_json(replace(known, enclosed=asked.enclosed, quoted=asked.quoted))
                db.execute("UPDATE inbox SET incoming = ? WHERE id = ?", (kept, id))

        await self._writer.run(work)

    async def prune(self) -> None:
        """Remove old delivery keys."""
        before = self._clock.wall() - KEEP_SECONDS
        while (
            await self._writer.execute(
                "DELETE FROM deliveries WHERE (platform, account, delivery) IN "
                "(SELECT platform, account, delivery FROM deliveries WHERE seen_at < ? LIMIT ?)",
                (before, _STEP),
            )
            == _STEP
        ):
            pass


def _read_rows(found: Iterable[Row]) -> tuple[list[InboxRow], list[int]]:
    """Return the readable rows, and the ids of the others; in the reader's thread, as texts may be long."""
    rows, unreadable = list[InboxRow](), list[int]()
    for id, chat, text, received_at, state, attempts in found:
        try:
            rows.append(
                InboxRow(id, ChatId.parse(chat), incoming_from_json(text), received_at, InboxState(state), attempts)
            )
        except ValueError:
            _log.exception("inbox row %d cannot be read and is given up", id)
            unreadable.append(id)
    return rows, unreadable


def is_idle(db: Connection, place: str) -> bool:
    """Return True if no inbox row of the place is new or running."""
    condition = f"{UNFINISHED} AND {in_place('chat')}"
    # No LIMIT: a planner that expects many rows would read the table from its beginning.
    return db.execute(f"SELECT id FROM inbox WHERE {condition}", place_range(place)).fetchone() is None


def count_unfinished(db: Connection) -> Mapping[str, int]:
    """Return the number of new or running rows by platform, in any database of ours."""
    rows = db.execute(f"SELECT chat, count(*) FROM inbox WHERE {UNFINISHED} GROUP BY chat")
    found: Counter[str] = Counter()
    for chat, count in rows:
        found[ChatId.parse(chat).platform] += count
    return dict(sorted(found.items()))


def end_row(db: Connection, id: int, state: InboxState, now: float) -> None:
    """Store how a row ended; the first end counts."""
    db.execute(f"UPDATE inbox SET state = ?, ended_at = ? WHERE id = ? AND {UNFINISHED}", (state, now, id))


def count_attempt(db: Connection, id: int) -> int:
    """See `Intake.begin`."""
    rows = db.execute(
        f"UPDATE inbox SET state = ?, attempts = attempts + 1 WHERE id = ? AND {UNFINISHED} RETURNING attempts",
        (InboxState.RUNNING, id),
    ).fetchall()
    return next((int(row[0]) for row in rows), 0)
