"""The engine that assigns places to processes: DBOS Transact, with one workflow for each busy time of a place.

Only its queue is used: it is shared by the processes, and extended in the transaction that stores a delivery. Its
journal of steps is not used, since turns store their own stages. It is loaded only for a `postgresql://` URL.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bot.intake.membership import WAITING, Membership

if TYPE_CHECKING:
    from dbos import DBOS, Queue
    from psycopg import Connection

POLL_SECONDS = 0.1
"""The shortest time between a process's requests for places: it asks when it gets a hint, and once more after that,
because another process may have been asking at that moment."""
SELDOM_SECONDS = 1.0
"""How often it asks without a hint: the cost of a lost one."""
LOST_SECONDS = 10.0
"""After this time a workflow that the engine assigned to this process, but never started (the server stopped between
two of the engine's statements), is released again."""
_KEPT_SECONDS = 3_600.0
"""How long rows of ended workflows are kept."""
_CONNECTIONS = 4

ENQUEUE = (
    "SELECT dbos.enqueue_workflow('serve', 'places', ARRAY[to_json(CAST(? AS text))], "
    f"workflow_id => job, queue_partition_key => job, app_version => '1'), pg_notify('{WAITING}', '') "
    "FROM (SELECT CAST(? AS text) AS job) AS busy"
)
"""Requests that some process serves a place: the values are the place and the id of its busy time. The version is the
same for all releases: during a replacement either release can serve any place.

Each busy time is a partition of its own. With one partition for each place, it would wait until the engine has stored
the end of the previous busy time, which nobody is notified of; the place's row in `places` ensures that only one
process serves it."""
# The processes are read once, not for each place: their rows change all the time.
_REQUEUE = """
UPDATE dbos.workflow_status
SET status = 'ENQUEUED', owner_xid = NULL, started_at_epoch_ms = NULL, updated_at = %(now)s
WHERE workflow_uuid IN (
    SELECT workflow_uuid FROM dbos.workflow_status WHERE queue_name = 'places' AND status = 'PENDING' AND (
        executor_id NOT IN (SELECT CAST(id AS text) FROM workers)
        OR executor_id = %(me)s AND started_at_epoch_ms < %(lost)s AND NOT workflow_uuid = ANY(%(begun)s)
    ) FOR UPDATE SKIP LOCKED)
"""
_PRUNE = """
DELETE FROM dbos.workflow_status
WHERE queue_name = 'places' AND status NOT IN ('ENQUEUED', 'PENDING', 'DELAYED') AND updated_at < %(old)s
"""


def give_away(db: Connection[Any], me: int, begun: Iterable[str]) -> None:
    """Release the places of dead processes, and those that this one was assigned but never started, to any free
    process.

    A single update in the transaction that removes the dead process, like the engine's own recovery; but that is
    private, covers only one release, and leaves a row for ever after an error.
    """
    now = int(time.time() * 1000)
    values = {"me": str(me), "now": now, "lost": now - int(LOST_SECONDS * 1000), "begun": list(begun)}
    if db.execute(_REQUEUE, values).rowcount:
        db.execute(f"SELECT pg_notify('{WAITING}', '')".encode())


def prune(db: Connection[Any]) -> None:
    """Delete the rows of ended workflows."""
    db.execute(_PRUNE, {"old": int((time.time() - _KEPT_SECONDS) * 1000)})


class _Bell(threading.Event):
    """What the engine's thread waits for before it requests places; if set, it ends that thread."""

    def __init__(self) -> None:
        super().__init__()
        self._rung = threading.Event()
        self._asked = False
        """Its last request was for a hint."""

    def ring(self) -> None:
        """Make it ask now: a place may be waiting."""
        self._rung.set()

    def set(self) -> None:
        super().set()
        self._rung.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Return False when it should ask, at the latest after SELDOM_SECONDS; `timeout` is `POLL_SECONDS`."""
        if self._asked:
            super().wait(timeout)
        if self._asked:
            self._asked = self._rung.is_set()
        else:
            self._asked = self._rung.wait(SELDOM_SECONDS)
        if self._asked:
            self._rung.clear()
        return self.is_set()


class Engine:
    """The engine of this process."""

    def __init__(self, member: Membership, serve: Callable[[str, str], Awaitable[None]]) -> None:
        self._member = member
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        self._started: DBOS | None = None
        self._bell = _Bell()
        self._queue: Queue | None = None
        self._asking: threading.Thread | None = None
        self.ring = self._bell.ring
        """Called from any thread: a place may be waiting."""

    @classmethod
    @asynccontextmanager
    async def start(cls, member: Membership, serve: Callable[[str, str], Awaitable[None]]) -> AsyncIterator[Engine]:
        """Create or update the engine's tables; `serve(place, id)` is called for each assignment once the process
        begins to `take`. Until then the process only adds to the queue."""
        engine = cls(member, serve)
        try:
            # Not in the event loop: it waits for the database, and then needs a loop of its own.
            await asyncio.to_thread(engine._launch, member.url)
            yield engine
        finally:
            await asyncio.to_thread(engine._end)

    def take(self) -> None:
        """Request places from now on."""
        if self._asking is None and not self._bell.is_set():
            from dbos._queue import queue_worker_thread

            # The engine's own thread for a queue polls all the time, or is late; this one does the same on hints.
            values = (self._bell, self._started, self._queue)
            self._asking = threading.Thread(target=queue_worker_thread, args=values, name="places", daemon=True)
            self._asking.start()

    def suspend(self) -> None:
        """Request nothing more; served places continue. Returns at once."""
        # Its messages about workflows that end with this process are useless.
        logging.getLogger("dbos").setLevel(logging.ERROR)
        if self._started is not None:
            for event in (self._bell, *self._started.background_thread_stop_events):
                event.set()

    def _launch(self, url: str) -> None:
        from dbos import DBOS

        async def serve(place: str) -> None:
            job = DBOS.workflow_id
            assert job is not None  # each workflow has one
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._call(place, job), self._loop))

        self._started = DBOS(
            config={
                "name": "parley",
                "system_database_url": url,
                "application_version": "1",
                "executor_id": str(self._member.id),
                "sys_db_pool_size": _CONNECTIONS,
                "db_engine_kwargs": {"connect_args": self._member.connecting()},
                "log_level": "WARNING",
            }
        )
        # Its log goes through our outlet, which masks secrets.
        logger = logging.getLogger("dbos")
        logger.handlers.clear()
        logger.propagate = True
        # A place can outlive any number of processes; the turn limits its own attempts.
        DBOS.workflow(name="serve", max_recovery_attempts=None)(serve)
        with self._member.connect() as db:
            # One after another: its steps are not made for several processes that start at once. A process that
            # waited for the lock inside a statement would block a step that creates an index.
            while db.execute("SELECT pg_try_advisory_lock(hashtextextended('parley engine', 0))").fetchone() != (True,):
                time.sleep(0.05)
            DBOS.listen_queues([])
            DBOS.launch()
            self._queue = DBOS.register_queue(
                "places", partition_concurrency=1, polling_interval_sec=POLL_SECONDS, on_conflict="always_update"
            )

    async def _call(self, place: str, job: str) -> None:
        await self._serve(place, job)

    def _end(self) -> None:
        from dbos import DBOS

        self._bell.set()
        if self._asking is not None:
            self._asking.join()
        DBOS.destroy(destroy_registry=True)
