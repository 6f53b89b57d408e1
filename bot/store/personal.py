"""Delete a person's data so that neither questions nor answers can be recovered from the database file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from bot.contract import ChatId, MessageSent
from bot.store.files import remove_files
from bot.store.forgetting import forget_chat, wipe
from bot.store.incoming import incoming_from_json
from bot.store.queries import Queries
from bot.store.retention import BYTES_OF_TURN, remove_turn, split_portions
from bot.store.sql import Connection
from tools.contract.plaintext import to_plain

_HIS_TURNS = "SELECT id FROM turns WHERE person = :person"
# An answer that somebody else requested again is an answer to the same question.
_TURNS = f"""
    SELECT t.id, ({BYTES_OF_TURN}) FROM turns t WHERE t.id IN (
        {_HIS_TURNS} UNION SELECT id FROM turns WHERE question <> id AND question IN ({_HIS_TURNS})
    ) AND t.ended_at IS NOT NULL ORDER BY t.id
"""
_PRIVATE_CHATS = """
    SELECT DISTINCT c.chat FROM chats c JOIN turns t ON t.chat = c.id WHERE t.person = :person AND NOT EXISTS (
        SELECT 1 FROM turns o JOIN inbox i ON i.id = o.id
        WHERE o.chat = c.id AND (o.person <> :person OR i.grouped = 1)
    )
"""
_FACTS = "FROM facts WHERE owner = :person OR origin = :person"
_FILES = "SELECT file FROM attachments WHERE turn = ? AND file IS NOT NULL"
_TIMERS = "FROM timers WHERE person = :person"
_LAST_QUESTIONS = """
    SELECT i.incoming FROM inbox i JOIN (
        SELECT id FROM turns WHERE person = ? ORDER BY id DESC LIMIT 10
    ) newest ON newest.id = i.id WHERE i.command = '' ORDER BY i.id DESC
"""
_DELIVERIES = """
    FROM inbox WHERE sender = :person AND ended_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.id = inbox.id)
"""
_BEGINNING = 500
"""Characters of a question in a list of questions."""
_STEP = 500
"""Rows deleted in one transaction: others write in between."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The data stored of one person."""

    turns: int
    """Their questions with the answers, in all chats."""
    facts: int
    reminders: int

    def __bool__(self) -> bool:
        return bool(self.turns or self.facts or self.reminders)


class People(Queries):
    """The data of a person in all chats; ids are written as in the settings."""

    async def count_held(self, person: str) -> Holding:
        """Return how much is stored of a person."""
        said = {"person": person}
        counted = (f"SELECT count(*) FROM ({_TURNS}) AS his", f"SELECT count(*) {_FACTS}", f"SELECT count(*) {_TIMERS}")
        counts = [await self._readers.fetch_row(statement, said) for statement in counted]
        return Holding(*(0 if row is None else int(row[0]) for row in counts))

    async def names_of(self, people: Iterable[str]) -> dict[str, str]:
        """Return the names under which these people last asked; people who never asked are missing."""
        wanted = list(people)
        if not wanted:
            return {}
        rows = await self._readers.fetch_rows(
            "SELECT t.person, i.name FROM inbox i JOIN turns t ON t.id = i.id WHERE "
            f"t.id IN (SELECT max(id) FROM turns WHERE person IN ({', '.join('?' * len(wanted))}) GROUP BY person)",
            wanted,
        )
        # Slack gives an id instead until the name is looked up.
        return {str(person): str(name) for person, name in rows if name and not str(person).endswith(f"/{name}")}

    async def list_questions(self, person: str) -> list[str]:
        """Return the beginnings of a person's latest questions, in any chat, the newest first, without commands."""
        return await self._readers.read(lambda db: _last_questions(db, person))

    async def forget(self, person: str) -> None:
        """Delete it for good: their private chats completely; in chats with others their questions and the answers, the
        files made for them, and summaries, which may mention them and are made again; their facts, also those that they
        had a group remember; their reminders. Their rights here stay, and so does a turn that is running in a group.
        """
        said = {"person": person}
        for (chat,) in await self._readers.fetch_rows(_PRIVATE_CHATS, said):
            await forget_chat(self._writer, self._readers, self._clock, ChatId.parse(chat))
        turns = [(int(id), int(size)) for id, size in await self._readers.fetch_rows(_TURNS, said)]
        for ids in split_portions(turns):
            await self._writer.run_last(partial(_remove, ids=ids))
        for rows in (_FACTS, _TIMERS, _DELIVERIES):
            while await self._writer.run(partial(_remove_some, rows=rows, person=person)):
                pass
        await wipe(self._writer, self._clock)


def _last_questions(db: Connection, person: str) -> list[str]:
    asked = [incoming_from_json(text) for (text,) in db.execute(_LAST_QUESTIONS, (person,)).fetchall()]
    return [to_plain(one.text[:_BEGINNING]) for one in asked if isinstance(one, MessageSent)]


def _remove(db: Connection, ids: Sequence[int]) -> None:
    for turn in ids:
        found = db.execute(
            f"SELECT t.chat, t.first_sequence, t.last_sequence, ({BYTES_OF_TURN}) FROM turns t WHERE t.id = ?", (turn,)
        ).fetchall()
        for chat, first, last, size in found:
            remove_files(db, [int(id) for (id,) in db.execute(_FILES, (turn,)).fetchall()])
            remove_turn(db, turn, chat, (first, last), True, size)


def _remove_some(db: Connection, rows: str, person: str) -> int:
    table = rows.split()[1]
    return db.execute(f"DELETE FROM {table} WHERE id IN (SELECT id {rows} LIMIT {_STEP})", {"person": person}).rowcount
