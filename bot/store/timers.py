"""Stored reminders and when they are due."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from sqlite3 import Connection

from bot.contract import OUTSIDE, ChatId, Clock, ReplyTarget, Sender, TimerDue
from bot.store.incoming import sender_of
from bot.store.queries import Queries
from bot.store.readers import Readers
from bot.store.text import escape_halves, to_json, to_plain
from bot.store.writer import Writer
from tools.base import ToolError

TIMERS = 50
"""Timers that one person may have waiting in one chat."""
TIMER_CHARS = 2_000
_AT_ONCE = 100
_OF_PLATFORMS = "substr(chat, 1, instr(chat, ':') - 1) IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Timer:
    """A due timer, with everything needed to write into its chat again."""

    id: int
    due: float
    """Wall-clock time."""
    text: str
    chat: ChatId
    person: Sender
    target: ReplyTarget
    origin: str
    """Whose words led to it."""

    def to_delivery(self) -> TimerDue:
        """Return its delivery, which the inbox takes only once."""
        return TimerDue(
            delivery=f"timer:{self.id}",
            chat=self.chat,
            sender=self.person,
            target=self.target,
            sent_at=self.due,
            text=self.text,
            origin=self.origin,
        )


class StoredTimers(Queries):
    """All timers. A turn's tools get `bind(...)`, which knows where to write later."""

    def __init__(self, writer: Writer, readers: Readers, clock: Clock) -> None:
        super().__init__(writer, readers, clock)
        self.changed = asyncio.Event()
        """Set when a timer is set: the next one may be due earlier than it was."""

    def bind(self, chat: ChatId, person: Sender, target: ReplyTarget | None) -> ChatTimers:
        """`tools.base.Timers` for one turn; `target` is a lasting one, or None where the platform gave none."""
        return ChatTimers(self._writer, self._readers, self._clock, chat, person, target, self.changed)

    async def list_due(self, now: float, platforms: Collection[str]) -> list[Timer]:
        """Return up to 100 timers of these platforms due by `now` (wall clock), the oldest first."""
        rows = await self._readers.fetch_rows(
            "SELECT id, due, text, chat, sender, target, origin FROM timers "
            f"WHERE due <= ? AND {_OF_PLATFORMS} ORDER BY due, id LIMIT ?",
            (now, json.dumps([*platforms]), _AT_ONCE),
        )
        return [
            Timer(
                id, due, text, ChatId.parse(chat), sender_of(json.loads(sender)), ReplyTarget.from_json(target), origin
            )
            for id, due, text, chat, sender, target, origin in rows
        ]

    async def find_next_due(self, platforms: Collection[str]) -> float | None:
        """Return when the earliest timer of these platforms is due; None without any."""
        row = await self._readers.fetch_row(
            f"SELECT min(due) FROM timers WHERE {_OF_PLATFORMS}", (json.dumps([*platforms]),)
        )
        return None if row is None or row[0] is None else float(row[0])

    async def remove(self, id: int) -> None:
        """Remove a timer, after its delivery was taken in."""
        await self._writer.execute("DELETE FROM timers WHERE id = ?", (id,))


@dataclass(frozen=True, slots=True)
class ChatTimers:
    """`tools.base.Timers` in the database, for the chat and person of one turn."""

    writer: Writer
    readers: Readers
    clock: Clock
    chat: ChatId
    person: Sender
    target: ReplyTarget | None
    changed: asyncio.Event

    async def set(self, scope: str, person: str, due: float, text: str, *, outside: bool = False) -> int:
        """Set a timer for a wall-clock time and return its id.

        Raises:
            ToolError: nothing can be written here later, the text is too long, or there are too many.
        """
        if self.target is None:
            raise ToolError("In this place nothing can be written later, so no reminder can be set.", retry=False)
        if len(text) > TIMER_CHARS:
            raise ToolError(f"The reminder has {len(text)} characters; at most {TIMER_CHARS} are kept.")
        row = (
            scope,
            person,
            due,
            to_plain(text),
            str(self.chat),
            to_json(asdict(self.person)),
            escape_halves(self.target.to_json()),
            self.clock.wall(),
            OUTSIDE if outside else self.person.id,
        )

        def work(db: Connection) -> int:
            [(count,)] = db.execute(
                "SELECT count(*) FROM timers WHERE scope = ? AND person = ?", (scope, person)
            ).fetchall()
            if count >= TIMERS:
                raise ToolError(f"{count} reminders wait already, which is the limit. Cancel one first.")
            [(id,)] = db.execute(
                "INSERT INTO timers (scope, person, due, text, chat, sender, target, set_at, origin) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                row,
            ).fetchall()
            return int(id)

        number = await self.writer.run(work)
        self.changed.set()
        return number

    async def pending(self, scope: str, person: str) -> list[tuple[int, float, str]]:
        """The person's timers in this scope as (id, due, text), the earliest first."""
        rows = await self.readers.fetch_rows(
            "SELECT id, due, text FROM timers WHERE scope = ? AND person = ? ORDER BY due, id", (scope, person)
        )
        return [(int(id), float(due), str(text)) for id, due, text in rows]

    async def cancel(self, scope: str, person: str, timer: int) -> bool:
        """Remove a timer of this person in this scope; False where there is none of this id."""
        gone = await self.writer.execute(
            "DELETE FROM timers WHERE id = ? AND scope = ? AND person = ?", (timer, scope, person)
        )
        return gone > 0
