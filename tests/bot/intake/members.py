"""Processes that share a database and answer what is stored there: as little of the bot as `Ownership` needs.

A delivery is a row of `inbox`; whoever serves its place writes a row of `answers` in a transaction that begins with the
fence, and ends the delivery in the same one.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import threading
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from typing import TYPE_CHECKING, TypeAlias

from bot.contract import SystemClock
from bot.intake import engine, membership
from bot.intake.fleet import Fleet
from bot.intake.membership import Membership
from bot.intake.ownership import Role
from bot.store.postgres_schema import PROCESSES, for_postgres
from tests.conftest import RawJson
from tests.patience import PATIENCE, slowness

if TYPE_CHECKING:
    from psycopg import Connection

Deliveries: TypeAlias = Sequence[tuple[str, str | None]]
"""Places, and keys by which a delivery is known that comes twice."""
TABLES = (
    *(for_postgres(work) for work in PROCESSES if isinstance(work, str)),
    "CREATE TABLE IF NOT EXISTS inbox (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, place TEXT NOT NULL, "
    "key TEXT UNIQUE, state TEXT NOT NULL DEFAULT 'new', stored_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp())",
    "CREATE INDEX IF NOT EXISTS inbox_new ON inbox (place) WHERE state = 'new'",
    "CREATE TABLE IF NOT EXISTS answers (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, delivery BIGINT NOT NULL, "
    "place TEXT NOT NULL, process TEXT NOT NULL, began_at TIMESTAMPTZ NOT NULL, "
    "ended_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp())",
)


class Marks:
    """A connection that takes the marks of SQLite, as that of the store does."""

    def __init__(self, db: Connection[RawJson]) -> None:
        self._db = db

    def execute(self, statement: str, values: Iterable[RawJson] = ()) -> RawJson:
        return self._db.execute(statement.replace("?", "%s").encode(), tuple(values))


def is_idle(db: Connection[RawJson], place: str) -> bool:
    return db.execute("SELECT FROM inbox WHERE place = %s AND state = 'new' LIMIT 1", [place]).fetchone() is None


@dataclass
class Member:
    """One process: it serves what it is given."""

    url: str
    name: str
    seconds: float
    """How long an answer takes."""
    idle: float
    """How long a place is kept with nothing to do."""
    look: float = 1.0
    """How often it looks for what it was not told of: rows, and places that wait to be served."""
    role: Role = Role.ALL
    fleet: Fleet = field(init=False)
    db: Connection[RawJson] = field(init=False)
    hints: dict[str, asyncio.Event] = field(init=False, default_factory=dict)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Member]:
        engine.SELDOM_SECONDS = self.look
        opening = Fleet.open(Membership(self.url, SystemClock(), name=self.name, role=self.role), is_idle)
        async with opening as self.fleet:
            with closing(self.fleet.connect()) as self.db:
                running = asyncio.create_task(self.fleet.run(self.serve, self.hint))
                yield self
                await self.fleet.hand_over()
                await running

    def hint(self, place: str) -> None:
        if place in self.hints:
            self.hints[place].set()

    async def serve(self, place: str) -> None:
        came = self.hints[place] = asyncio.Event()
        idle_at = time.monotonic() + self.idle
        try:
            while time.monotonic() < idle_at:
                came.clear()
                while (row := self.next_of(place)) is not None:
                    await self.answer(place, row)
                    idle_at = time.monotonic() + self.idle
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(self.look, self.idle)):
                        await came.wait()
        finally:
            del self.hints[place]

    def next_of(self, place: str) -> int | None:
        query = "SELECT id FROM inbox WHERE place = %s AND state = 'new' ORDER BY id LIMIT 1"
        found = self.again(lambda: self.db.execute(query, [place]).fetchone())
        return found and int(found[0])

    async def answer(self, place: str, row: int) -> None:
        (began_at,) = self.again(lambda: self.db.execute("SELECT clock_timestamp()").fetchone())
        await asyncio.sleep(self.seconds)
        while not self.fleet.is_heard():
            await asyncio.sleep(0.02)

        def write() -> None:
            with self.db.transaction():
                self.fleet.fence(Marks(self.db))
                if self.db.execute("UPDATE inbox SET state = 'done' WHERE id = %s AND state = 'new'", [row]).rowcount:
                    self.db.execute(
                        "INSERT INTO answers (delivery, place, process, began_at) VALUES (%s, %s, %s, %s)",
                        [row, place, self.name, began_at],
                    )

        self.again(write)

    def again(self, work: Callable[[], RawJson]) -> RawJson:
        """Do it as soon as the server is there."""
        import psycopg

        while True:
            try:
                return work()
            except psycopg.OperationalError:
                self.db.close()
                time.sleep(0.05)
                with suppress(psycopg.OperationalError):
                    self.db = self.fleet.connect()

    async def take_in(self, place: str, key: str | None = None) -> None:
        """Store a delivery, as each process does that receives one."""

        def store() -> int | None:
            with self.db.transaction():
                self.fleet.fence(Marks(self.db))
                found = self.db.execute(
                    "INSERT INTO inbox (place, key) VALUES (%s, %s) ON CONFLICT DO NOTHING RETURNING id", [place, key]
                ).fetchone()
                if found is not None:
                    self.fleet.ensure(Marks(self.db), place, found[0])
            return found and int(found[0])

        if (row := self.again(store)) is not None:
            self.hint(place)
            await self.fleet.tell(place, row)


async def _live(member: Member, ended: asyncio.Event, gate: RawJson, deliveries: Deliveries) -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with member.open():
        await asyncio.to_thread(gate.wait, PATIENCE)
        for place, key in deliveries:
            await member.take_in(place, key)
        await ended.wait()


def _main(member: Member, gate: RawJson, deliveries: Deliveries, slow: float) -> None:
    """The program of a process; it goes with the test that started it."""
    # On a machine that others use, too, a process may get no core for as long as a frozen one is heard of.
    membership.FROZEN_SECONDS *= slow
    membership.HELD_SECONDS *= slow
    logging.basicConfig(level=logging.WARNING, format=f"{member.name} %(asctime)s %(name)s %(message)s")
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()
    asyncio.run(_live(member, asyncio.Event(), gate, deliveries))


class Processes:
    """Starts processes, from one that has loaded everything."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.slow = slowness()
        """How many times longer than on a quiet machine they may be silent."""
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["dbos", "psycopg", "tests.bot.intake.members"])
        self._running: list[ForkServerProcess] = []

    def start(
        self, *names: str, seconds: float = 0.01, idle: float = 5.0, look: float = 1.0, deliveries: Deliveries = ()
    ) -> list[ForkServerProcess]:
        """Start processes with these names, which take in these deliveries when all are there, as often as they are.

        What has a key comes to all of them. Of the rest each channel has one that receives it, as at the platforms:
        what two of them store in the same moment has no order.
        """
        many = len(names)

        def share(number: int) -> Deliveries:
            mine = (one for one in deliveries if one[1] or zlib.crc32(one[0].encode()) % many == number)
            return [one for one in mine for _ in range(1 if one[1] else many)]

        gate = self._context.Barrier(len(names) + 1)
        started = [
            self._context.Process(
                target=_main, args=(Member(self.url, name, seconds, idle, look), gate, share(number), self.slow)
            )
            for number, name in enumerate(names)
        ]
        for process, name in zip(started, names, strict=True):
            process.name = name
            process.start()
        self._running += started
        gate.wait(PATIENCE)
        return started

    def close(self) -> None:
        for process in self._running:
            process.kill()
            process.join()
            process.close()


class Looks:
    """What a test looks for, and stores, in the database itself."""

    def __init__(self, db: Connection[RawJson]) -> None:
        self._db = db

    def rows(self, query: str, *values: RawJson) -> list[RawJson]:
        return self._db.execute(query.encode(), values).fetchall()

    def run(self, statement: str, *values: RawJson) -> None:
        self._db.execute(statement.encode(), values)

    def owners(self) -> dict[str, list[str]]:
        """Process → the places that it serves, the process with most of them first."""
        query = "SELECT name, array_agg(place) FROM places JOIN workers ON owner = workers.id GROUP BY name"
        return dict(sorted(self.rows(query), key=lambda row: -len(row[1])))

    def wait_until(self, query: str, seconds: float = PATIENCE) -> float:
        """Wait until a query has a row; how long that took."""
        began = time.monotonic()
        while not self.rows(query):
            assert time.monotonic() < began + seconds, query
            time.sleep(0.01)
        return time.monotonic() - began

    def wait_for_answers(self, seconds: float = PATIENCE) -> float:
        """Wait until all is answered."""
        return self.wait_until("SELECT WHERE NOT EXISTS (SELECT FROM inbox WHERE state = 'new')", seconds)

    def check_order(self) -> None:
        """Each delivery was answered once, in the order of its place, where one process at a time was at work."""
        unanswered = self.rows("SELECT id FROM inbox WHERE id NOT IN (SELECT delivery FROM answers)")
        assert not unanswered
        before: dict[str, tuple[int, RawJson]] = {}
        for delivery, place, began_at, ended_at in self.rows(
            "SELECT delivery, place, began_at, ended_at FROM answers ORDER BY id"
        ):
            last, free_at = before.get(place, (0, began_at))
            assert last < delivery and free_at <= began_at, (place, last, delivery)
            before[place] = (delivery, ended_at)


@contextmanager
def looks(url: str) -> Iterator[Looks]:
    """The tables made, and a connection that looks into them."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        made = Looks(db)
        for statement in TABLES:
            made.run(statement)
        yield made
