"""The work of the running program beside receiving and answering."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from bot.contract import Adapter, Clock, time_limit
from bot.intake.alarm import Alarm
from bot.intake.dispatcher import Dispatcher
from bot.intake.ownership import LOOK_SECONDS, Locks, Ownership
from bot.intake.platforms import Platforms
from bot.intake.roles import Roles
from bot.operations import collect_at_rest
from bot.policy import Quotas
from bot.store import Keep, Store, keep_tidy
from bot.turn import LONGEST_SLEEP, Reminders

READY_SECONDS = 5.0
"""After this time even a process that is not ready serves places: the others may be no better."""


class Slow(Protocol):
    """Something that the first answer would wait for."""

    async def prepare(self) -> None:
        """Do what is slow the first time."""
        ...


class Parts(Protocol):
    """The parts of the program that are used here, once it is built."""

    adapters: Mapping[str, Adapter]
    ownership: Ownership
    locks: Locks
    store: Store
    quotas: Quotas
    platforms: Platforms
    roles: Roles
    reminders: Reminders
    dispatcher: Dispatcher
    alarm: Alarm

    @property
    def conversation(self) -> Slow: ...
    @property
    def models(self) -> Slow: ...


async def serve_places(app: Parts, clock: Clock) -> None:
    """Serve places until this process hands them over, starting when it can answer at once: other processes could do so
    sooner.

    A lone process serves all places from the start; slow preparations happen after the log-ins.
    """
    if app.roles.role.answers:
        if not app.ownership.shared:
            await app.platforms.tried.wait()
        getting_ready = (app.platforms.tried.wait(), app.conversation.prepare(), app.models.prepare())
        with suppress(TimeoutError):
            async with time_limit(clock, READY_SECONDS):
                # A failure here appears again where the part is needed.
                await asyncio.gather(*getting_ready, return_exceptions=True)
    await app.ownership.run(app.dispatcher.serve, app.dispatcher.hint)


def work_beside(app: Parts, clock: Clock, keep: Keep) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
    """Yield each background work with its name; it runs until it is cancelled."""
    if app.roles.role.answers:
        yield "due", watch_due(app.dispatcher, app.reminders, app.ownership, app.locks, tuple(app.adapters))
    yield "upkeep", app.locks.while_held("upkeep", lambda: keep_tidy(app.store, clock, keep))
    settle_gone = partial(app.quotas.settle_gone, app.store.allowances, app.ownership.living, app.ownership.gone)
    yield "burying", app.locks.while_held("what the dead held", settle_gone)
    yield "roles", app.roles.watch(app.platforms)
    yield "alarm", app.alarm.watch()
    yield "garbage", collect_at_rest(clock, lambda: app.dispatcher.queue.busy)


async def watch_due(
    dispatcher: Dispatcher, reminders: Reminders, ownership: Ownership, locks: Locks, platforms: tuple[str, ...]
) -> None:
    """Handle what falls due on these platforms, until cancelled.

    Other processes may have other platforms, so each platform's watch has its own lock.
    """

    def watch(some: tuple[str, ...]) -> Coroutine[Any, Any, None]:
        return reminders.watch(
            dispatcher.deliver,
            some,
            also=lambda: dispatcher.end_asked(some),
            longest=LOOK_SECONDS if ownership.shared else LONGEST_SLEEP,
        )

    apart = [(name,) for name in platforms] if ownership.shared else [platforms]
    await asyncio.gather(*(locks.while_held(f"due on {' '.join(some)}", partial(watch, some)) for some in apart))
