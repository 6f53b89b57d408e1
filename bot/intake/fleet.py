"""Several processes on one PostgreSQL: which of them serves which place.

A busy place has a row in `places`, inserted in the transaction that stores a delivery there, with the id of its busy
time, for which the engine has one workflow (`bot/intake/engine.py`). The process that gets it enters itself as the
owner, which only one can do and only while its own row in `workers` exists (`bot/intake/membership.py`), and serves the
place until it is idle. Then it deletes the row, in a statement that succeeds only if nothing is unfinished there.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from bot.contract import Backoff, StoreError
from bot.intake.agreement import digest_of_bot, refuse_other_bots
from bot.intake.engine import ENQUEUE, Engine, give_away, prune
from bot.intake.membership import Membership, lock_entrance
from bot.intake.ownership import Role
from bot.store import processes_on_server
from tools.programs.cancelling import end_tasks

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

PRUNE_SECONDS = 600.0
MORE_PLACES = 4
"""A process keeps at most this many assigned places more than the others have on average. The engine assigns all
waiting places to the first process that asks: a hundred chats that begin in the same instant would otherwise be served
by one process."""
PASSED = 2
"""How often a place is passed on for that reason: each time it waits for the engine."""

# A writer holds the row so that nobody gives the place up meanwhile; others can write, too, and an owner can come.
_FIND = "SELECT owner FROM places WHERE place = ? FOR KEY SHARE"
_MAKE = "INSERT INTO places (place, job) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING job"
_FENCE = "SELECT id FROM workers WHERE id = ? FOR KEY SHARE"
_COUNT = """
SELECT count(*) FILTER (WHERE owner = %s), count(*), (SELECT count(*) FROM workers WHERE role <> 'intake')
FROM places WHERE owner IS NOT NULL"""
_OWN = """
UPDATE places SET owner = %(me)s WHERE place = %(place)s AND job = %(job)s AND (owner IS NULL OR owner = %(me)s)
RETURNING passed"""
_HOLD = "SELECT FROM places WHERE place = %s AND job = %s AND owner = %s FOR UPDATE SKIP LOCKED"
_CLAIM = """
UPDATE workers SET configuration = btrim(configuration || ' ' || %(bot)s)
WHERE id = %(me)s AND strpos(configuration, %(bot)s) = 0"""
_RECALL = "SELECT session FROM listeners WHERE name = %s"
_LEAVE = """
INSERT INTO listeners (name, session) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET session = excluded.session"""
_TELL = "SELECT pg_notify('parley_' || owner, job) FROM places WHERE place = %s AND owner IS NOT NULL"
_UNSERVED = """
SELECT place FROM places WHERE owner IS NULL AND NOT EXISTS (
    SELECT FROM dbos.workflow_status WHERE workflow_uuid = job AND status IN ('ENQUEUED', 'PENDING')
) FOR UPDATE SKIP LOCKED"""


class Fleet:
    """Assigns places to the processes on a database; `Ownership`, `Locks` and `Sessions` of this process."""

    shared: ClassVar[bool] = True

    def __init__(self, member: Membership, is_idle: Callable[[Connection[Any], str], bool]) -> None:
        """
        Args:
            is_idle: returns True if no inbox row of a place is new or running.
        """
        self.role = member.role
        self._member = member
        self._clock = member.clock
        self._is_idle = is_idle
        self._serve: Callable[[str], Awaitable[None]]
        self._hint: Callable[[str], object] = lambda _: None
        self._served: dict[str, str] = {}
        """Place → the id of its busy time; `_places` is the reverse."""
        self._places: dict[str, str] = {}
        self._jobs: dict[str, asyncio.Task[None]] = {}
        """The tasks by the id of a busy time, including those that have just started."""
        self._engine: Engine | None = None
        self._leaving = asyncio.Event()
        self._pruned_at = self._clock.monotonic()
        member.on_hint = self._hear
        self.is_heard = member.is_heard
        self.while_held = member.while_held
        self.connect = member.connect
        self.answered_since = member.answered_since
        self.worker = str(member.id)
        """This process's name in the store."""

    @classmethod
    @asynccontextmanager
    async def open(cls, member: Membership, is_idle: Callable[[Connection[Any], str], bool]) -> AsyncIterator[Fleet]:
        """Join the processes on a database that contains the store's tables.

        Raises:
            SettingsError, StoreError: as in `Membership.enter`.
        """
        async with member.enter():
            fleet = cls(member, is_idle)
            async with Engine.start(member, fleet._begin) as fleet._engine:
                member.on_sweep, member.on_waiting = fleet._sweep, fleet._engine.ring
                try:
                    yield fleet
                finally:
                    await fleet.hand_over()

    def fence(self, db: Any) -> None:
        """Let the transaction write; call it at its beginning. If another process has taken over, this one ends.

        Until the transaction ends, no process can take over.
        """
        if db.execute(_FENCE, (self._member.id,)).fetchone() is None:
            self._member.end("another process has taken over this one's places, so it writes nothing more and ends")

    async def living(self) -> set[str]:
        """See `Ownership.living`."""
        rows = await self._member.do(lambda db: db.execute("SELECT CAST(id AS text) FROM workers").fetchall())
        return {name for (name,) in rows}

    def report(self, listens: str) -> None:
        """See `Members.report`."""
        self._member.listens = listens

    async def roles(self) -> set[Role]:
        """See `Members.roles`."""
        rows = await self._member.do(lambda db: db.execute("SELECT DISTINCT role FROM workers").fetchall())
        return {Role.of(role) for (role,) in rows}

    async def gone(self) -> None:
        """See `Ownership.gone`."""
        await self._member.gone.wait()
        self._member.gone.clear()

    def address_of(self, url: str) -> str:
        """Return the address for this process's connections, by which the others can end them together with it."""
        parts = urlsplit(url.strip())
        said = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != "application_name"]
        ours = {name: str(value) for name, value in self._member.connecting().items()} | dict(said)
        return urlunsplit(parts._replace(query=urlencode(ours, quote_via=quote)))

    def ensure(self, db: Any, place: str, row: int) -> bool:
        """See `Ownership.ensure`."""
        while (found := db.execute(_FIND, (place,)).fetchone()) is None:
            job = _new_job()
            if db.execute(_MAKE, (place, job)).fetchone() is not None:
                db.execute(ENQUEUE, (place, job))
                return False
            # Another process inserted it at the same time.
        return found[0] == self._member.id and self.owns(place)

    async def run(self, serve: Callable[[str], Awaitable[None]], hint: Callable[[str], object]) -> None:
        """See `Ownership.run`."""
        self._hint, self._serve = hint, serve
        if self._engine is not None and self.role.answers:
            # Not earlier: places assigned before it can answer would wait for that, though others could serve them.
            self._engine.take()
        await self._leaving.wait()

    async def tell(self, place: str, row: int) -> None:
        """See `Ownership.tell`. The hint contains nothing of the message."""
        with suppress(StoreError):
            await self._member.do(lambda db: db.execute(_TELL, [place]))

    def owns(self, place: str) -> bool:
        """See `Ownership.owns`."""
        return place in self._served and self.is_heard()

    async def claim(self, platform: str, identity: str) -> None:
        """See `Sessions.claim`."""
        bot = digest_of_bot(platform, identity)

        def work(db: Connection[Any]) -> None:
            lock_entrance(db)
            refuse_other_bots(bot, processes_on_server(db))
            db.execute(_CLAIM, {"bot": bot, "me": self._member.id})

        await self._member.do(work)

    async def recall(self, name: str) -> str:
        """See `Sessions.recall`."""
        found = await self._member.do(lambda db: db.execute(_RECALL, [name]).fetchone())
        return str(found[0]) if found else ""

    async def leave(self, name: str, session: str) -> None:
        """See `Sessions.leave`."""
        await self._member.do(lambda db: db.execute(_LEAVE, [name, session]))

    async def hand_over(self) -> None:
        """See `Ownership.hand_over`."""
        self._leaving.set()
        if self._engine is not None:
            self._engine.suspend()
        await end_tasks(*self._jobs.values())

    async def _begin(self, place: str, job: str) -> None:
        """Serve a place that the engine assigned to this process; return when it is given up or passed on."""
        while (before := self._jobs.get(job)) is not None:
            await asyncio.wait((before,))
        if self._leaving.is_set():
            await self._pass_on(place, job)
            return
        task = self._jobs[job] = asyncio.create_task(self._serve_place(place, job), name=f"place {place}")
        try:
            await asyncio.wait((task,))
        finally:
            del self._jobs[job]

    async def _serve_place(self, place: str, job: str) -> None:
        """Own the place and serve it, until it is given up; if cancelled, pass it on."""
        try:
            await self._serve_until_idle(place, job)
        except asyncio.CancelledError:
            await self._pass_on(place, job)

    async def _serve_until_idle(self, place: str, job: str) -> None:
        if not await self._insist(lambda db: self._own(db, place, job)):
            return
        self._served[place] = job
        self._places[job] = place
        try:
            while True:
                try:
                    await self._serve(place)
                except Exception:
                    log.exception("%s could not be served; trying again", place)
                    await self._clock.sleep(1.0)
                if await self._insist(lambda db: self._give_up(db, place, job)):
                    return
        finally:
            del self._served[place], self._places[job]

    async def _pass_on(self, place: str, job: str) -> None:
        """Let another process serve the place."""

        def pass_on(db: Connection[Any]) -> None:
            if db.execute(_OWN, {"me": self._member.id, "place": place, "job": job}).rowcount:
                self._enqueue_anew(db, place)

        # If it is out of reach now, it is found when this process is known to have ended.
        with suppress(StoreError):
            await self._member.do(pass_on)

    async def _insist(self, work: Callable[[Connection[Any]], bool]) -> bool:
        """Retry work on the direct connection until the server can be reached."""
        backoff = Backoff(self._clock)
        while True:
            try:
                return await self._member.do(work)
            except StoreError as error:
                log.warning("%s", error)
            await backoff.wait()

    def _own(self, db: Connection[Any], place: str, job: str) -> bool:
        """Own a place, unless another process does, or others have fewer places."""
        found = db.execute(_OWN, {"me": self._member.id, "place": place, "job": job}).fetchone()
        if found is None:
            return False
        counted = db.execute(_COUNT, [self._member.id]).fetchone()
        assert counted is not None
        mine, served, processes = counted
        if mine <= served / processes + MORE_PLACES or found[0] >= PASSED:
            return True
        self._enqueue_anew(db, place, 1)
        return False

    def _give_up(self, db: Connection[Any], place: str, job: str) -> bool:
        """Give up an idle place; return False if something is unfinished there, or is just being stored."""
        if db.execute(_HOLD, (place, job, self._member.id)).fetchone() is None:
            # Stored at this instant, or ended before the answer to this query was lost.
            found = db.execute("SELECT job FROM places WHERE place = %s", [place]).fetchone()
            return found is None or found[0] != job
        # A statement after the one that holds the row: it sees everything stored before.
        if not self._is_idle(db, place):
            return False
        db.execute("DELETE FROM places WHERE place = %s", [place])
        return True

    def _enqueue_anew(self, db: Connection[Any], place: str, passed: int = 0) -> None:
        job = _new_job()
        db.execute(
            "UPDATE places SET owner = NULL, job = %s, passed = passed + %s WHERE place = %s", (job, passed, place)
        )
        db.execute(ENQUEUE.replace("?", "%s").encode(), (place, job))

    def _sweep(self, db: Connection[Any]) -> None:
        """Release unserved places to any process. Runs in the thread of the direct connection."""
        give_away(db, self._member.id, list(self._jobs))
        for (place,) in db.execute(_UNSERVED).fetchall():
            log.warning("%s was served by nobody, and is assigned to a process again", place)
            self._enqueue_anew(db, place)
        if self._clock.monotonic() - self._pruned_at > PRUNE_SECONDS:
            self._pruned_at = self._clock.monotonic()
            prune(db)

    def _hear(self, job: str) -> None:
        if (place := self._places.get(job)) is not None:
            self._hint(place)


def _new_job() -> str:
    return secrets.token_hex(16)
