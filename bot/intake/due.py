"""Do what falls due: reminders, and questions about calls that nobody decided; each platform's in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any

from bot.intake.dispatcher import Dispatcher
from bot.intake.ownership import LOOK_SECONDS, Locks, Ownership
from bot.turn import LONGEST_SLEEP, Reminders


async def watch_due(
    dispatcher: Dispatcher, reminders: Reminders, ownership: Ownership, locks: Locks, platforms: tuple[str, ...]
) -> None:
    """Do what falls due on these platforms, until cancelled.

    Other processes may have other platforms, so that each platform's watch has a lock of its own.
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
