"""Stored reminders and when they are due."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Collection
from dataclasses import asdict, dataclass

from bot.contract import LIMITS, OUTSIDE, ChatId, Clock, Limits, MessageSent, ReplyTarget, Sender, TimerDue
from bot.store.incoming import sender_of
from bot.store.intake import Claim
from bot.store.queries import Queries
from bot.store.readers import Readers
from bot.store.sql import Connection
from bot.store.text import escape_halves, to_json
from bot.store.writer import Writer
from tools.contract.base import NewReminder, Reminder, Repeat, ToolError
from tools.contract.plaintext import read_stored, to_plain
from tools.times import cron, zones

LATE_AFTER = 120.0
"""Seconds after which a reminder names the time that was meant, and a question is not asked any more."""
TIMER_CHARS = 2_000
_AT_ONCE = 100
_MINE = "id = ? AND scope = ? AND person = ?"
_CLOCK_ERROR = 86_400.0
"""What fired further than this in the future was fired by a clock that was wrong."""


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
    repeat: Repeat | None = None
    question: bool = False
    """The model answers the text."""
    grouped: bool = False
    """It was set in a group."""

    def find_next(self, now: float) -> float | None:
        """Return when a repeated one is due after this time; None: it comes once, or never again."""
        return None if self.repeat is None else next_time(self.repeat, max(now, self.due))

    def to_delivery(self, now: float) -> TimerDue | MessageSent:
        """Return its delivery, which the inbox takes only once for each time that it is due: a question as a message of
        its person, where it is not too late for it."""
        delivery = f"timer:{self.id}" + ("" if self.repeat is None else f":{self.due:.0f}")
        if self.question and now - self.due <= LATE_AFTER:
            return MessageSent(
                delivery=delivery,
                chat=self.chat,
                sender=self.person,
                target=self.target,
                sent_at=self.due,
                text=self.text,
                group=self.grouped,
                scheduled=True,
            )
        again = None if self.repeat is None else next_time(self.repeat, self.due)
        return TimerDue(
            delivery=delivery,
            question=self.question,
            zone="" if self.repeat is None else self.repeat.zone,
            several=again is not None and again <= now,
            chat=self.chat,
            sender=self.person,
            target=self.target,
            sent_at=self.due,
            group=self.grouped,
            text=self.text,
            origin=self.origin,
        )


class StoredTimers(Queries):
    """All timers. A turn's tools get `bind(...)`, which knows where to write later."""

    def __init__(self, writer: Writer, readers: Readers, clock: Clock) -> None:
        super().__init__(writer, readers, clock)
        self.changed = asyncio.Event()
        """Set when a timer is set, or a person is asked to allow a call: something may be due earlier than it was."""

    def bind(
        self,
        chat: ChatId,
        person: Sender,
        target: ReplyTarget | None,
        limits: Limits = LIMITS,
        *,
        grouped: bool = False,
    ) -> ChatTimers:
        """`tools.contract.base.Timers` for one turn; `target` is a lasting one, or None where the platform gave none.

        Args:
            grouped: the chat is a group.
        """
        return ChatTimers(self._writer, self._readers, self._clock, chat, person, target, self.changed, limits, grouped)

    async def list_due(self, now: float, platforms: Collection[str]) -> list[Timer]:
        """Return up to 100 timers of these platforms due by `now` (wall clock), the oldest first."""
        condition, ends = _of_platforms(platforms)
        rows = await self._readers.fetch_rows(
            "SELECT id, due, text, chat, sender, target, origin, question, grouped, rule, zone, said FROM timers "
            f"WHERE due <= ? AND paused = 0 AND {condition} ORDER BY due, id LIMIT ?",
            (now, *ends, _AT_ONCE),
        )
        return [
            Timer(
                id,
                due,
                text,
                ChatId.parse(chat),
                sender_of(read_stored(sender)),
                ReplyTarget.from_json(target),
                origin,
                Repeat(*repeat) if repeat[0] else None,
                bool(question),
                bool(grouped),
            )
            for id, due, text, chat, sender, target, origin, question, grouped, *repeat in rows
        ]

    async def find_next_due(self, platforms: Collection[str]) -> float | None:
        """Return when the earliest timer of these platforms is due; None without any."""
        condition, ends = _of_platforms(platforms)
        row = await self._readers.fetch_row(f"SELECT min(due) FROM timers WHERE paused = 0 AND {condition}", ends)
        return None if row is None or row[0] is None else float(row[0])

    def claim(self, timer: Timer) -> Claim:
        """Return what `Intake.take_in` runs beside the delivery of a due timer: it removes the timer, or moves a
        repeated one to its next time. False: it was cancelled, paused or fired meanwhile."""
        now = self._clock.wall()
        due = timer.find_next(now)
        this = "id = ? AND due = ? AND paused = 0"

        def work(db: Connection) -> bool:
            if due is None:
                return db.execute(f"DELETE FROM timers WHERE {this}", (timer.id, timer.due)).rowcount > 0
            sql = f"UPDATE timers SET due = ?, fired_at = ? WHERE {this}"
            return db.execute(sql, (due, max(now, timer.due), timer.id, timer.due)).rowcount > 0

        return work

    async def pause_refused(self, delivery: str) -> Paused | None:
        """Pause the repeated timer that a delivery came from, because its person may not ask any more; None where it
        comes once, is paused already, or is gone."""
        number = delivery.removeprefix("timer:").partition(":")[0]
        if not number.isdecimal():
            return None
        sql = "UPDATE timers SET paused = 1 WHERE id = ? AND rule <> '' AND paused = 0 RETURNING id, grouped"
        rows = await self._writer.run(lambda db: db.execute(sql, (int(number),)).fetchall())
        return next((Paused(int(id), bool(grouped)) for id, grouped in rows), None)


@dataclass(frozen=True, slots=True)
class Paused:
    """A repeated timer that the core paused."""

    number: int
    grouped: bool
    """It was set in a group."""


@dataclass(frozen=True, slots=True)
class ChatTimers:
    """`tools.contract.base.Timers` in the database, for the chat and person of one turn."""

    writer: Writer
    readers: Readers
    clock: Clock
    chat: ChatId
    person: Sender
    target: ReplyTarget | None
    changed: asyncio.Event
    limits: Limits
    grouped: bool

    async def set(self, scope: str, person: str, wanted: NewReminder) -> int:
        """Set a timer for a wall-clock time and return its id.

        Raises:
            ToolError: nothing can be written here later, the text is too long, or there are too many.
        """
        if self.target is None:
            raise ToolError("In this place nothing can be written later, so no reminder can be set.", retry=False)
        if len(wanted.text) > TIMER_CHARS:
            raise ToolError(f"The reminder has {len(wanted.text)} characters; at most {TIMER_CHARS} are kept.")
        row = (
            scope,
            person,
            wanted.due,
            to_plain(wanted.text),
            str(self.chat),
            to_json(asdict(self.person)),
            escape_halves(self.target.to_json()),
            self.clock.wall(),
            OUTSIDE if wanted.outside else self.person.id,
            *(("", "", "") if (repeat := wanted.repeat) is None else (repeat.rule, repeat.zone, to_plain(repeat.said))),
            wanted.question,
            self.grouped,
        )

        def work(db: Connection) -> int:
            [(own, here)] = db.execute(
                "SELECT count(*) FILTER (WHERE person = ?), count(*) FROM timers WHERE scope = ?", (person, scope)
            ).fetchall()
            if 0 < self.limits.reminders_per_person <= own:
                raise ToolError(f"{own} reminders wait already, which is the limit. Cancel one first.")
            if 0 < self.limits.reminders_per_chat <= here:
                raise ToolError(f"{here} reminders of all people wait in this chat, which is the limit.", retry=False)
            [(id,)] = db.execute(
                "INSERT INTO timers (scope, person, due, text, chat, sender, target, set_at, origin, "
                "rule, zone, said, question, grouped) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                row,
            ).fetchall()
            return int(id)

        number = await self.writer.run(work)
        self.changed.set()
        return number

    async def pending(self, scope: str, person: str) -> list[Reminder]:
        """The person's timers in this scope, the earliest first and those that are paused last."""
        rows = await self.readers.fetch_rows(
            "SELECT id, due, text, paused, question, rule, zone, said FROM timers WHERE scope = ? AND person = ? "
            "ORDER BY paused, due, id",
            (scope, person),
        )
        return [
            Reminder(id, due, text, Repeat(*repeat) if repeat[0] else None, bool(paused), bool(question))
            for id, due, text, paused, question, *repeat in rows
        ]

    async def pause(self, scope: str, person: str, timer: int) -> bool:
        """Keep a repeated timer from firing; False where this person has none of this id in this scope."""
        sql = f"UPDATE timers SET paused = 1 WHERE {_MINE} AND rule <> ''"
        return await self.writer.execute(sql, (timer, scope, person)) > 0

    async def resume(self, scope: str, person: str, timer: int) -> bool:
        """Let a repeated timer fire again; what it missed while it was paused does not come. False as in `pause`."""
        now = self.clock.wall()

        def work(db: Connection) -> bool:
            found = db.execute(
                f"SELECT paused, fired_at, rule, zone, said FROM timers WHERE {_MINE} AND rule <> ''",
                (timer, scope, person),
            ).fetchone()
            if found is None or not found[0]:
                return found is not None
            _, fired, *repeat = found
            # A clock that was set back does not make it come twice.
            after = now if fired is None or fired > now + _CLOCK_ERROR else max(now, fired)
            due = next_time(Repeat(*repeat), after)
            db.execute("UPDATE timers SET paused = 0, due = coalesce(?, due) WHERE id = ?", (due, timer))
            return True

        found = await self.writer.run(work)
        self.changed.set()
        return found

    async def cancel(self, scope: str, person: str, timer: int) -> bool:
        """Remove a timer of this person in this scope; False where there is none of this id."""
        return await self.writer.execute(f"DELETE FROM timers WHERE {_MINE}", (timer, scope, person)) > 0


def _of_platforms(platforms: Collection[str]) -> tuple[str, list[str]]:
    """Return a condition on `timers.chat`, with its values: the chat is one of these platforms."""
    # A chat's id begins with its platform's name and a colon, behind which a semicolon is the next sign.
    ends = [end for platform in platforms for end in (f"{platform}:", f"{platform};")]
    return f"({' OR '.join(['chat > ? AND chat < ?'] * len(platforms)) or '1 = 0'})", ends


def next_time(repeat: Repeat, after: float) -> float | None:
    """Return when it comes next after this wall-clock time; None: never again."""
    return cron.next_after(repeat.rule, zone_or_utc(repeat.zone), after)


def zone_or_utc(name: str) -> datetime.tzinfo:
    """Return the zone of a name that was valid once; UTC where this machine does not know it."""
    try:
        return zones.find(name).info
    except ToolError:
        return datetime.UTC
