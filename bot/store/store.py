"""Open the database, and bring its queries together by noun."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bot.contract import Clock, SettingsError, StoreError
from bot.store.access import StoredRoles
from bot.store.allowances import Allowances
from bot.store.approvals import Approvals
from bot.store.beside import free_name
from bot.store.database import Database
from bot.store.facts import StoredFacts
from bot.store.faults import DatabaseError, Fault, store_error
from bot.store.files import StoredFiles
from bot.store.forgetting import give_back, wipe_traces
from bot.store.grants import StoredGrants
from bot.store.history import History
from bot.store.intake import Intake
from bot.store.location import is_server, real_path
from bot.store.lock import running_elsewhere
from bot.store.opening import BUSY_TIMEOUT, connect, make_place, move_aside_if_damaged
from bot.store.personal import People
from bot.store.presence import Presence
from bot.store.privacy import make_private
from bot.store.readers import COUNT, Readers
from bot.store.recalling import Deliveries
from bot.store.renaming import ChatNames
from bot.store.retention import Keep, Retention
from bot.store.schema import STEPS, known_version, upgrade
from bot.store.settings import ChatSettings
from bot.store.spending import Spending
from bot.store.sql import Fence
from bot.store.timers import StoredTimers
from bot.store.turns import Turns
from bot.store.used import UsedByTurns
from bot.store.writer import Writer

if TYPE_CHECKING:
    from bot.store.insights import Insights
    from bot.store.recordings import Recordings


async def bring_up_to_date(db: Database, path: Path, clock: Clock) -> None:
    """Bring the tables to the newest version. Of a database that holds something a copy is made first.

    Raises:
        SettingsError: another process answers from it, of the version that it has.
        StoreError: the copy cannot be made, or a step failed; the database is as it was.
        DatabaseError: another program keeps the file locked; try again.
    """
    version = await db.run_together(known_version)
    kept = None
    began = clock.monotonic()
    if 0 < version < len(STEPS):
        from bot.store.copying import write_copy

        wanted = f"The database {str(path)!r} is of schema {version} and has to be upgraded to {len(STEPS)}"
        if other := running_elsewhere(path):
            raise SettingsError(f"{wanted}, but is in use by {other}. End that one first, then start the new version.")
        kept = free_name(path, "before-upgrade", clock)
        try:
            await db.run_together(lambda opened: write_copy(opened, kept))
        except (OSError, DatabaseError) as error:
            if isinstance(error, DatabaseError) and error.fault is Fault.LOCKED:
                raise
            why = store_error(error) if isinstance(error, DatabaseError) else f"{error.strerror}."
            raise StoreError(f"{wanted}, but the copy of it that is kept beside it cannot be made: {why}") from error
    await db.run_together(upgrade)
    if kept is not None:
        _log.warning(
            "the database %s was upgraded from schema %d to %d in %.1f s; a copy from before is kept as %s: "
            "an earlier version of the program needs it, and it can be deleted when all is well",
            path,
            version,
            len(STEPS),
            clock.monotonic() - began,
            kept,
        )


_log = logging.getLogger("bot.store")

_PATIENCE = 60.0
"""Seconds the start waits for another program's lock."""


class Store:
    """The open database, its queries grouped by noun."""

    def __init__(self, writer: Writer, counter: Writer, readers: Readers, clock: Clock, worker: str = "run") -> None:
        """
        Args:
            counter: writes what all processes count together.
        """
        self.writer = writer
        self.intake = Intake(writer, readers, clock)
        self.deliveries = Deliveries(writer, readers, clock)
        self.turns = Turns(writer, readers, clock)
        self.history = History(writer, readers, clock)
        self.access = StoredRoles(writer, readers, clock)
        self.names = ChatNames(writer, readers, clock)
        self.settings = ChatSettings(writer, readers, clock)
        self.facts = StoredFacts(writer, readers, clock)
        self.timers = StoredTimers(writer, readers, clock)
        self.approvals = Approvals(writer, readers, clock, self.timers.changed)
        self.files = StoredFiles(writer, readers, clock)
        self.spending = Spending(counter, readers, clock, worker)
        self.allowances = Allowances(counter, readers, clock, worker)
        self.grants = StoredGrants(writer, readers, clock)
        self.retention = Retention(writer, readers, clock)
        self.people = People(writer, readers, clock)
        self.used = UsedByTurns(writer, readers, clock)
        self._parts = writer, readers, clock

    @cached_property
    def insights(self) -> Insights:
        """What the operator's page shows; loaded when it is first opened."""
        from bot.store.insights import Insights

        return Insights(*self._parts)

    @cached_property
    def recordings(self) -> Recordings:
        """Whole turns, to repeat them; loaded when one is first repeated."""
        from bot.store.recordings import Recordings

        return Recordings(*self._parts)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str,
        *,
        clock: Clock,
        busy_timeout: float = BUSY_TIMEOUT,
        worker: str = "run",
        fence: Fence | None = None,
    ) -> AsyncIterator[Store]:
        """Open the database of a `DATABASE_URL`, made or brought up to date where needed; leaving waits for the writer.

        A damaged database is kept under another name, and an empty one begun; of an older one a copy is kept.
        `busy_timeout` is how many seconds SQLite itself waits for another program's lock before the store asks again;
        `worker` is this process's name, which no other one has at the same time. `fence` is called at the beginning of
        each transaction where several processes may share the database.

        Raises:
            SettingsError: the URL names no usable place, or a file that is not ours, of a later version or changed.
            StoreError: the database cannot be opened now.
        """
        if is_server(url):
            from bot.store.server import open_server

            opened = open_server(url, clock=clock, fence=fence)
        else:
            opened = _open_file(url, clock, busy_timeout)
        async with opened as (writer, counter, readers):
            yield cls(writer, counter, readers, clock, worker)

    async def probe(self) -> None:
        """Write something that means nothing.

        Raises:
            StoreError: the store cannot be written to now.
        """
        await self.access.claim("probe", 0.0)

    async def wipe_traces(self) -> bool:
        """Wipe what was deleted while another program read it; True if nothing is left of it. Holds up nobody.

        Raises:
            StoreError: the store cannot be written to now.
        """
        return await wipe_traces(self.writer)

    async def prune(self, keep: Keep = Keep()) -> None:  # noqa: B008 - frozen
        """Remove what is older than it is kept for. Cheap enough for once an hour; other writes go in between."""
        for part in (self.intake, self.access, self.spending):
            await part.prune()
        turns = await self.retention.prune(keep.chats)
        files = await self.files.prune(keep.files)
        await self.retention.prune_contents(keep.files)
        if turns or files:
            _log.info("%d turns and %d files have reached their age limit and are deleted", turns, files)
            await give_back(self.writer)
        self.writer.traces = True  # also what `parley chats forget` deleted beside the running bot


@asynccontextmanager
async def _open_file(url: str, clock: Clock, busy_timeout: float) -> AsyncIterator[tuple[Writer, Writer, Readers]]:
    path = real_path(url)
    make_place(path)
    await move_aside_if_damaged(path, clock=clock, busy_timeout=busy_timeout)
    make_private(path)

    async def connect_writer() -> Database:
        return await connect(path, busy_timeout=busy_timeout, write=True)

    with closing(Presence(path)) as presence:
        async with AsyncExitStack() as stack:
            give_up = clock.monotonic() + _PATIENCE
            while True:
                try:
                    db = await connect_writer()
                    stack.push_async_callback(db.close)
                    await bring_up_to_date(db, path, clock)
                    await db.run_together(lambda _: presence.check())
                    break
                except DatabaseError as error:
                    await stack.aclose()
                    if error.fault is not Fault.LOCKED or clock.monotonic() >= give_up:
                        raise store_error(error) from error
                    await clock.sleep(0.05)
            stack.pop_all()
            writer = Writer(db, connect_writer, clock=clock, check=presence.check)
            stack.push_async_callback(writer.close)
            connections = []
            try:
                for _ in range(COUNT):
                    connections.append(await connect(path, busy_timeout=busy_timeout, write=False))
                    stack.push_async_callback(connections[-1].close)
            except DatabaseError as error:
                raise store_error(error) from error
            readers = Readers(connections, clock)
            stack.push_async_callback(readers.close)
            yield writer, writer, readers
