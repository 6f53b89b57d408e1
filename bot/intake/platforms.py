"""The platforms in use: each is entered, listened to, and left separately, so that one in trouble never holds up
another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from bot.contract import (
    Adapter,
    Backoff,
    BotError,
    CatchingUp,
    Clock,
    Companion,
    Contested,
    Deliver,
    Earlier,
    Enclosure,
    Entrance,
    Identified,
    LogThrottle,
    MessageSent,
    Metrics,
    OtherBot,
    ReplyTarget,
    Resuming,
    SettingsError,
    Sharded,
    Sole,
    StoreError,
    Surface,
    Unreachable,
    origin_of,
)
from bot.intake.missingrights import MissingRights
from bot.intake.ownership import LOOK_SECONDS, Locks, Role, Sessions
from tools.programs.cancelling import Contained, end_tasks, wait_for_first

log = logging.getLogger(__name__)

STEADY_SECONDS = 60.0
"""A connection that lasted this long was good: when it ends, the next is tried after the shortest pause again."""
HEARD_SECONDS = 60.0
"""How often is stored that everything written until now was heard; `find_left_off` looks back further than that."""

_DOUBT_SECONDS = 180.0
"""By then every library notices that its connection is broken."""


@dataclass(eq=False, repr=False, kw_only=True)
class Platforms:
    """All adapters of this process and their states."""

    adapters: Mapping[str, Adapter]
    clock: Clock
    metrics: Metrics = field(default_factory=Metrics)
    locks: Locks | None = None
    """The locks of the processes on a database, one of which receives for an account; None: there is only
    one."""
    sessions: Sessions | None = None
    """Where it leaves its session for the next one."""
    note_heard: Callable[[str], Awaitable[None]] | None = None
    """Stores that everything written on a platform until now was heard."""
    role: Role = Role.ALL
    """This process's role; if others receive, it only writes."""

    def __post_init__(self) -> None:
        for adapter in self.adapters.values():
            if isinstance(adapter, Companion):
                adapter.shared = self.locks is not None
        self._warnings = LogThrottle(log, self.clock)
        self.rights = MissingRights()
        self._open: set[str] = set()
        self._kept: dict[str, asyncio.Task[None]] = {}
        self._listening: dict[str, asyncio.Task[None]] = {}
        self._quiet = False
        self._last_off = ""
        self._state: dict[str, str] = dict.fromkeys(self.adapters, "starting")
        self._failure: dict[str, str] = {}
        """The state of a platform that failed, while the next connection has not shown that it works."""
        self._untried = set(self.adapters)
        self.tried = asyncio.Event()
        """Set once each platform is logged in, or could not be reached at the first try."""

    @property
    def state(self) -> dict[str, str]:
        """Platform → `starting`, `connecting`, `listening`, `standing by`, `unreachable: …` or `off: …`.

        It stands by if another process receives, and takes over within seconds when that one ends.
        """
        told = {}
        for name, state in self._state.items():
            if state == "listening" and self.adapters[name].listening:
                self._failure.pop(name, None)
            elif state == "listening":
                state = self._failure.get(name, "connecting")
            told[name] = state
        return told

    @property
    def listening(self) -> bool:
        """Messages arrive from some platform, here or in another process for which this one stands by."""
        return not {"listening", "standing by"}.isdisjoint(self.state.values())

    @property
    def ready(self) -> bool:
        """Messages arrive from every platform, here or in another process for which this one stands by."""
        return bool(self.state) and all(state in ("listening", "standing by") for state in self.state.values())

    @property
    def conflicts(self) -> dict[str, int]:
        """Platform → signs in the last ten minutes that another program receives with the same token; without zeros."""
        return {name: count for name, adapter in self.adapters.items() if (count := adapter.conflicts)}

    @property
    def shards(self) -> dict[str, dict[str, str]]:
        """Platform → its shards and the state of each, if it listens on shards."""
        return {name: dict(one.shards) for name, one in self.adapters.items() if isinstance(one, Sharded)}

    def entrance(self, name: str) -> Entrance | None:
        """Return the entrance for a platform's requests to the public address; None if it accepts none now."""
        return self.adapters[name].entrance

    def surface(self, target: ReplyTarget) -> Surface:
        """Open a place to write to.

        Raises:
            Unreachable: the platform is not in use, or not logged in.
        """
        if target.platform not in self._open:
            raise Unreachable(f"{target.platform} is not connected")
        return self.rights.watch(self.adapters[target.platform].surface(target), target)

    async def fetch(self, platform: str, source: str, into: BinaryIO, most: int) -> Enclosure | None:
        """Write a message's file into `into`; returns and raises as `Adapter.fetch`."""
        if platform not in self._open:
            raise Unreachable(f"{platform} is not connected")
        return await self.rights.noting(platform, "fetch", self.adapters[platform].fetch(source, into, most))

    def earlier(self, message: MessageSent) -> Earlier | None:
        """Return the loader of the messages before this one; None if there are none.

        Raises:
            Unreachable: the platform is not in use, or not logged in.
        """
        if message.target.platform not in self._open:
            raise Unreachable(f"{message.target.platform} is not connected")
        return self.adapters[message.target.platform].earlier(message)

    async def run(
        self,
        deliver: Deliver,
        resume: Callable[[str], Awaitable[None]],
        leave: asyncio.Event,
        off: Callable[[str], Awaitable[None]],
    ) -> None:
        """Keep every platform listening until `leave` is set or all are off for good.

        Args:
            resume: called once per platform when it is logged in, before it receives anything.
            leave: set when surfaces are no longer needed; adapters are left only then.
            off: called when a platform turns out to be unusable in this run.

        Raises:
            SettingsError: no platform can be used as configured, or other processes are another bot.
        """
        self._deliver, self._resume, self._leave, self._off = deliver, resume, leave, off
        async with asyncio.TaskGroup() as group:
            for name, adapter in self.adapters.items():
                self._kept[name] = group.create_task(self._keep(name, adapter), name=f"platform {name}")
        if self._refused and not leave.is_set():
            raise SettingsError(self._refused)

    @property
    def _refused(self) -> str:
        """Return why the last platform is off, if all are; otherwise empty."""
        return self._last_off if all(state.startswith("off: ") for state in self._state.values()) else ""

    async def stop_receiving(self) -> None:
        """Stop receiving for good; surfaces keep working. A platform that is not logged in is given up."""
        self._quiet = True
        for name, task in self._kept.items():
            if name not in self._open:
                task.cancel()
        await end_tasks(*self._listening.values())

    async def _keep(self, name: str, adapter: Adapter) -> None:
        """Run one platform: log in (again and again while it cannot be reached), receive, leave."""
        backoff = Backoff(self.clock)
        while not (self._leave.is_set() or self._quiet):
            try:
                async with adapter:
                    if self.sessions is not None and isinstance(adapter, Identified):
                        await self.sessions.claim(name, adapter.identity)
                    self._open.add(name)
                    log.info("%s: logged in", name)
                    backoff.reset()
                    await self._receive(name, adapter)
                    await self._leave.wait()
                    return
            except OtherBot:
                raise
            except SettingsError as error:
                self._state[name], self._last_off = f"off: {error}", str(error)
                self._open.discard(name)
                if not self._refused:  # the starter reports the last one
                    log.error("%s is off: %s", name, error)
                await self._off(name)
                self._try_over(name)
                return
            except Exception as error:  # noqa: BLE001 - logged by `_failed`: the edge around a login
                self._failed(name, error)
            finally:
                self._open.discard(name)
            await wait_for_first(backoff.wait(), self._leave.wait())

    async def _receive(self, name: str, adapter: Adapter) -> None:
        """Resume unfinished turns, then listen; listen again after any error. The adapter is not left for that: running
        turns of this platform write through it.

        Raises:
            SettingsError: the platform cannot be used as configured.
        """
        backoff, resumed = Backoff(self.clock), False
        while not (self._leave.is_set() or self._quiet):
            began = self.clock.monotonic()
            try:
                if not resumed:
                    await self._resume(name)
                    resumed = True
                    self._try_over(name)
                with Contained():
                    await self._listen(name, adapter)
                return
            except SettingsError:
                raise
            except Exception as error:  # noqa: BLE001 - logged by `_failed`: the edge around a connection
                self._failed(name, error)
            if self.clock.monotonic() - began >= STEADY_SECONDS:
                backoff.reset()
            await wait_for_first(backoff.wait(), self._leave.wait())

    async def _listen(self, name: str, adapter: Adapter) -> None:
        """Listen until that ends in order, or is no longer wanted."""
        if self._quiet:
            return
        task = self._listening[name] = asyncio.create_task(self._listen_alone(name, adapter), name=f"listen {name}")
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():
                await end_tasks(task)
                raise

    async def _listen_alone(self, name: str, adapter: Adapter) -> None:
        """Listen; if the platform lets one program listen, when no other process does; never if others receive."""
        if not self.role.receives:
            self._state[name] = "standing by"
            await asyncio.Future()
        if self.locks is None or not isinstance(adapter, Sole) or not adapter.account:
            self._state[name] = "listening"
            async with self._noting(name, adapter):
                await adapter.listen(self._deliver)
            return

        async def take_over() -> None:
            adapter.take_over()
            self._state[name] = "listening"
            try:
                async with self._resumed(lock, adapter), self._noting(name, adapter):
                    await adapter.listen(self._deliver)
            finally:
                self._state[name] = "standing by"

        self._state[name] = "standing by"
        lock = f"listening to {name} as {adapter.account}"
        await self.locks.while_held(lock, take_over)

    @asynccontextmanager
    async def _resumed(self, lock: str, adapter: Adapter) -> AsyncIterator[None]:
        """Receive the messages since another process listened, and leave the next one what it needs for that."""
        sessions = self.sessions
        if sessions is None or not isinstance(adapter, Resuming):
            yield
            return
        adapter.former = await sessions.recall(lock)

        async def leave(left: str) -> None:
            while True:
                # A second old: what arrived before is stored by then.
                session = adapter.session
                await self.clock.sleep(LOOK_SECONDS)
                if session != left:
                    with suppress(StoreError):
                        await sessions.leave(lock, session)
                        left = session

        leaving = asyncio.create_task(leave(adapter.former), name="session")
        try:
            yield
        finally:
            await end_tasks(leaving)
            with suppress(StoreError):
                await sessions.leave(lock, adapter.session)

    @asynccontextmanager
    async def _noting(self, name: str, adapter: Adapter) -> AsyncIterator[None]:
        """Note while listening until when everything was heard, for an adapter that looks up what it missed."""
        note = self.note_heard
        if note is None or not isinstance(adapter, CatchingUp):
            yield
            return

        async def keep() -> None:
            due, looked = self.clock.monotonic(), self.clock.wall()
            while True:
                await self.clock.sleep(LOOK_SECONDS)
                looked, before = self.clock.wall(), looked
                if looked - before > HEARD_SECONDS:
                    # The machine slept: a connection that broke meanwhile still seems to stand.
                    due = self.clock.monotonic() + _DOUBT_SECONDS
                if adapter.heard and self.clock.monotonic() >= due:
                    with suppress(StoreError):
                        await note(name)
                        due = self.clock.monotonic() + HEARD_SECONDS

        noting = asyncio.create_task(keep(), name=f"heard {name}")
        try:
            yield
        finally:
            await end_tasks(noting)

    def _try_over(self, name: str) -> None:
        self._untried.discard(name)
        if not self._untried:
            self.tried.set()

    def _failed(self, name: str, error: Exception) -> None:
        """Note and log why a platform receives nothing now."""
        self._try_over(name)
        self.metrics.connections_lost.add(name)
        if not isinstance(error, BotError):
            self._state[name] = self._failure[name] = "unreachable: an error of our own"
            self._warnings.warn(f"{name} failed, trying again: {origin_of(error)}")
            return
        self._state[name] = self._failure[name] = f"unreachable: {error}"
        # The adapter has logged it, with the fix.
        if not isinstance(error, Contested):
            self._warnings.warn(f"{name} receives nothing now, trying again: {error}")
