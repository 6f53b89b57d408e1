"""A receipt for who waits: a sign on the message itself from when it is queued until its turn begins.

It is shown only with calls that no answer needs, and taken away likewise, so it may be late; it never holds a turn up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from bot.contract import (
    CallCost,
    ChatId,
    Clock,
    DeliveryError,
    MessageRef,
    MessageSent,
    Page,
    RateLimited,
    SettingsError,
    Surface,
    is_within,
    post_cost,
)
from bot.markdown import escape
from bot.pacing import Pacer
from bot.safety import clean_untrusted
from bot.sentences import say
from tools.programs.cancelling import Contained

log = logging.getLogger(__name__)

LOOK_AGAIN = 0.5
"""Seconds until it is tried again where others need the calls."""
PATIENCE = 300.0
"""Seconds after which a receipt that could not be taken away stays."""
MOMENT = 1.0
"""Seconds that lines have to go when a process ends."""
MOST_AT_ONCE = 500
"""Receipts in all chats; who waits beyond that waits without one."""
_SHOWN = 60
"""Characters of a message that a line about it repeats."""


class WaitingSigns:
    """Shows who waits that the message arrived; one for the process."""

    def __init__(self, pacer: Pacer, clock: Clock, surface: Callable[[MessageSent], Surface]) -> None:
        self._pacer = pacer
        self._clock = clock
        self._surface = surface
        self._tasks: dict[asyncio.Task[None], ChatId] = {}
        self._lines: dict[asyncio.Task[None], Callable[[], None]] = {}
        """Those that keep a line, each with what has it taken away."""

    def show(self, message: MessageSent, language: str) -> Callable[[], None]:
        """Show that `message` waits, soon; call what is returned when its turn begins."""
        begun = asyncio.Event()
        # Where the platform shows by itself that an answer is on its way, that is the receipt.
        if not message.awaited and len(self._tasks) < MOST_AT_ONCE:
            task = self._start(message.chat, self._keep(message, language, begun))
            if not message.message_id:
                self._lines[task] = begun.set
        return begun.set

    def take_away(self, message: MessageSent) -> None:
        """Take away what a former process may have shown on a message."""
        if message.message_id and len(self._tasks) < MOST_AT_ONCE:
            self._start(message.chat, self._sign(message, False, lambda: True))

    async def suspend(self, within: str) -> None:
        """Show nothing more on a platform or in a place. Lines go, where that can be done in a moment: nobody else
        knows them. Signs on messages stay, which a next process takes away."""
        await self._end([task for task, chat in self._tasks.items() if is_within(chat, within)])

    async def close(self) -> None:
        """Do the same everywhere."""
        await self._end(list(self._tasks))

    async def _end(self, tasks: Collection[asyncio.Task[None]]) -> None:
        lines = [task for task in tasks if task in self._lines]
        for task in lines:
            self._lines[task]()
        if lines:
            await asyncio.wait(lines, timeout=MOMENT)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, chat: ChatId, work: Awaitable[object]) -> asyncio.Task[None]:
        async def showing() -> None:
            try:
                with Contained():
                    await work
            except (DeliveryError, SettingsError) as error:
                log.debug("a receipt was not shown: %s", error)
            except Exception:
                log.exception("a receipt was not shown")

        task = asyncio.create_task(showing(), name="receipt")
        self._tasks[task] = chat
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._lines.pop(task, None)

    async def _keep(self, message: MessageSent, language: str, begun: asyncio.Event) -> None:
        if message.message_id:
            if await self._sign(message, True, lambda: not begun.is_set()):
                await begun.wait()
                await self._sign(message, False, lambda: True)
            return
        if not message.quote_question:
            return
        # Nobody else sees a slash command, so there is no message to put a sign on: one line names it.
        text = clean_untrusted(" ".join(message.text.split()))
        words = escape(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
        surface = self._surface(message)
        drawn = surface.draw(Page(say("waiting", language, text=words), final=True))
        line: list[MessageRef] = []

        async def post() -> None:
            line.append(await surface.show(drawn, None))

        if await self._call_when_free(surface.cost(drawn, None), post, lambda: not begun.is_set()):
            await begun.wait()
            await self._call_when_free(surface.cost(drawn, line[0]), lambda: surface.remove(line[0]), lambda: True)

    async def _sign(self, message: MessageSent, waits: bool, wanted: Callable[[], bool]) -> bool:
        surface = self._surface(message)
        cost = surface.receipt_cost(waits)
        if cost is None:
            return False
        # Where the platform closed the chat, nothing is called there, also what would not count as a message.
        post = post_cost(surface)

        def may() -> bool:
            return self._pacer.opens_at(post) <= self._clock.monotonic()

        return await self._call_when_free(cost, lambda: surface.receipt(message.message_id, waits), wanted, may)

    async def _call_when_free(
        self,
        cost: CallCost,
        call: Callable[[], Awaitable[None]],
        wanted: Callable[[], bool],
        may: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Make a call as soon as nobody else needs it; False when it was not wanted any more by then."""
        until = self._clock.monotonic() + PATIENCE
        while wanted() and self._clock.monotonic() < until:
            if may() and (grant := self._pacer.take(cost)):
                with suppress(RateLimited):
                    await grant.call(call)
                    return True
            await self._clock.sleep(LOOK_AGAIN)
        return False
