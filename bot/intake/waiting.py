"""The receipt for a waiting message: a sign on the message itself until its turn begins.

It is added and removed only with calls that no answer needs, so it may be late; it never delays a turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from bot.context import Admitted
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
from bot.pacing import Pacer
from bot.reply import on_one_line
from tools.programs.cancelling import Contained, end_tasks

log = logging.getLogger(__name__)

LOOK_AGAIN = 0.5
"""Seconds until the next try if others need the calls."""
PATIENCE = 300.0
"""Seconds after which a receipt that could not be removed stays."""
MOMENT = 1.0
"""Seconds for removing lines when a process ends."""
MOST_AT_ONCE = 500
"""Receipts in all chats; further messages wait without one."""
_SHOWN = 60
"""Characters of a message that a line about it quotes."""


class WaitingSigns:
    """Shows the writer of a waiting message that it arrived; one for the process."""

    def __init__(self, pacer: Pacer, clock: Clock, surface: Callable[[MessageSent], Surface]) -> None:
        self._pacer = pacer
        self._clock = clock
        self._surface = surface
        self._tasks: dict[asyncio.Task[None], ChatId] = {}
        self._lines: dict[asyncio.Task[None], Callable[[], None]] = {}
        """The tasks that keep a line, each with the function that removes it."""

    def show(self, asked: Admitted) -> Callable[[], None]:
        """Show soon that a message waits; call the returned function when its turn begins."""
        message = asked.message
        begun = asyncio.Event()
        # If the platform itself shows that an answer is coming, that is the receipt.
        if not message.awaited and len(self._tasks) < MOST_AT_ONCE:
            task = self._start(message.chat, self._keep(asked, begun))
            if not message.message_id:
                self._lines[task] = begun.set
        return begun.set

    def take_away(self, message: MessageSent) -> None:
        """Remove the sign that a former process may have put on a message."""
        if message.message_id and len(self._tasks) < MOST_AT_ONCE:
            self._start(message.chat, self._sign(message, False, lambda: True))

    async def suspend(self, within: str) -> None:
        """Show nothing more on a platform or in a place. Lines are removed if that takes only a moment: nobody else
        knows them. The next process removes signs on messages."""
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
        await end_tasks(*tasks)

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

    async def _keep(self, asked: Admitted, begun: asyncio.Event) -> None:
        message = asked.message
        if message.message_id:
            if await self._sign(message, True, lambda: not begun.is_set()):
                await begun.wait()
                await self._sign(message, False, lambda: True)
            return
        if not message.quote_question:
            return
        # Nobody else sees a slash command, so there is no message for a sign: one line names it.
        words = on_one_line(message.text, _SHOWN)
        surface = self._surface(message)
        drawn = surface.draw(Page(asked.say("waiting", text=words), final=True))
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
        # Do not call a closed chat at all, not even with a call that would not count as a message.
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
        """Make a call as soon as nobody else needs it; return False if it was no longer wanted by then."""
        until = self._clock.monotonic() + PATIENCE
        while wanted() and self._clock.monotonic() < until:
            if may() and (grant := self._pacer.take(cost)):
                with suppress(RateLimited):
                    await grant.call(call)
                    return True
            await self._clock.sleep(LOOK_AGAIN)
        return False
