"""What the running program does beside receiving and answering."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

from bot.contract import Adapter, Clock
from bot.intake.dispatcher import Dispatcher
from bot.intake.due import watch_due
from bot.intake.ownership import Locks, Ownership
from bot.intake.platforms import Platforms
from bot.intake.roles import Roles
from bot.operations import keep_tidy
from bot.policy import Quotas
from bot.store import Keep, Store
from bot.turn import Reminders


class Parts(Protocol):
    """What is used of the program, once it is built."""

    adapters: Mapping[str, Adapter]
    ownership: Ownership
    locks: Locks
    store: Store
    quotas: Quotas
    platforms: Platforms
    roles: Roles
    reminders: Reminders
    dispatcher: Dispatcher


def work_beside(app: Parts, clock: Clock, keep: Keep) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
    """Yield each work by its name; it goes on until it is cancelled."""
    if app.roles.role.answers:
        yield "due", watch_due(app.dispatcher, app.reminders, app.ownership, app.locks, tuple(app.adapters))
    yield "upkeep", app.locks.while_held("upkeep", lambda: keep_tidy(app.store, clock, keep))
    settle_gone = partial(app.quotas.settle_gone, app.store.allowances, app.ownership.living, app.ownership.gone)
    yield "burying", app.locks.while_held("what the dead held", settle_gone)
    yield "roles", app.roles.watch(app.platforms)
