"""Shows sentences of our own: no model, no history."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from bot.contract import (
    PRESSED,
    Button,
    ChatId,
    Clock,
    ControlPressed,
    DeliveryError,
    MessageRef,
    MessageSent,
    SettingsError,
    Surface,
)
from bot.reply.opening import Replies
from tools.programs.cancelling import Contained

log = logging.getLogger(__name__)

MOMENT = 1.0
"""Seconds that sentences have to be shown when a process ends."""
MOST_TOLD = 5
"""Sentences of our own that wait to be shown in one chat; who floods it gets no more of them."""
MOST_TOLD_OVER_ALL = 1_000
"""The same in all chats together."""
MOST_STRANGERS = 1_000
"""Sentences to strangers that wait, on each platform, beside those."""
STRANGER_SECONDS = 0.2
"""Between two of them."""
_Newest: TypeAlias = tuple[ControlPressed, str, tuple[Button, ...]]


class Notices:
    """Answers messages with sentences of our own; one object for the whole process."""

    def __init__(self, replies: Replies, surface: Callable[[MessageSent], Surface], clock: Clock) -> None:
        self._replies = replies
        self._surface = surface
        self._clock = clock
        self._telling: Counter[ChatId] = Counter()
        self._strangers: Counter[str] = Counter()
        self._lanes: dict[str, asyncio.Lock] = {}
        """Platform → who is told something there, one stranger at a time."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._shows: dict[tuple[ChatId, str], _Newest] = {}
        """What messages of ours are to show in place of what stands there, by chat and id."""

    @property
    def under_way(self) -> frozenset[asyncio.Task[None]]:
        """What `soon` began and is not shown yet."""
        return frozenset(self._tasks)

    async def close(self) -> None:
        """Show nothing more that `soon` began, but for what stands in a moment: no next process knows of it."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=MOMENT)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def soon(
        self,
        message: MessageSent,
        text: str,
        *,
        private: bool = False,
        buttons: tuple[Button, ...] = (),
        stranger: bool = False,
    ) -> None:
        """Show `text` as `tell` does, without holding anything up; what cannot be shown is logged.

        Args:
            stranger: whom it is said to may not write: where nobody awaits it, it waits for what others are told.
        """
        if stranger and not message.awaited:
            self._soon_to_stranger(message, text, private)
            return
        too_many = self._telling[message.chat] >= MOST_TOLD and not message.awaited
        if too_many or len(self._tasks) - self._strangers.total() >= MOST_TOLD_OVER_ALL:
            log.info("%s: too many sentences wait there already", message.chat)
            return
        self._telling[message.chat] += 1
        self._begin(message.chat, self._tell_counted(message, text, private, buttons))

    def _soon_to_stranger(self, message: MessageSent, text: str, private: bool) -> None:
        """Show `text` after what other strangers of the platform are told, some in a second: a crowd of them takes few
        of the calls that answers need."""
        platform = message.chat.platform
        if self._strangers[platform] >= MOST_STRANGERS:
            log.info("%s: too many strangers wait for a sentence already", message.chat)
            return
        self._strangers[platform] += 1
        self._begin(message.chat, self._tell_stranger(message, text, private))

    async def _tell_stranger(self, message: MessageSent, text: str, private: bool) -> None:
        platform = message.chat.platform
        try:
            async with self._lanes.setdefault(platform, asyncio.Lock()):
                await self.tell(message, text, private=private)
                await self._clock.sleep(STRANGER_SECONDS)
        finally:
            self._strangers[platform] -= 1

    def redraw(self, press: ControlPressed, text: str, buttons: tuple[Button, ...]) -> None:
        """Show `text` in the message whose button was pressed, without holding anything up; the newest press counts."""
        message = press.chat, press.message_id
        begun = message in self._shows
        self._shows[message] = press, text, buttons
        if not begun:
            self._begin(press.chat, self._redraw(message))

    async def _redraw(self, message: tuple[ChatId, str]) -> None:
        shown = None
        try:
            while (newest := self._shows[message]) is not shown:
                press, text, buttons = shown = newest
                at = MessageRef(press.message_id, PRESSED)
                async with self._replies.notice(self._surface(press.there), press.delivery, buttons, at) as reply:
                    reply.append(text)
        finally:
            del self._shows[message]

    def _begin(self, chat: ChatId, showing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(_logged(chat, showing), name=f"tell {chat}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell_counted(self, message: MessageSent, text: str, private: bool, buttons: tuple[Button, ...]) -> None:
        try:
            await self.tell(message, text, private=private, buttons=buttons)
        finally:
            self._telling[message.chat] -= 1
            if not self._telling[message.chat]:
                del self._telling[message.chat]

    async def tell(
        self,
        question: MessageSent,
        text: str,
        *,
        turn: str = "",
        private: bool = False,
        buttons: tuple[Button, ...] = (),
    ) -> None:
        """Show `text` below a message, and return when it stands.

        Args:
            turn: names the notice for good; the nonces of its messages are made from it.
            private: for who asked alone, where the platform can.
            buttons: what can be pressed below it.

        Raises:
            DeliveryError: it cannot be shown there.
        """
        surface = self._surface(question.for_asker() if private else question)
        async with self._replies.notice(surface, turn or question.delivery, buttons) as reply:
            reply.append(text)

    async def apologise(self, question: MessageSent, text: str) -> None:
        """Show `text` where it can be shown; never raises."""
        try:
            with Contained():
                await self.tell(question, text, turn=f"sorry {question.delivery}")
        except Exception:
            log.exception("not even an apology could be shown")


async def _logged(chat: ChatId, showing: Coroutine[Any, Any, None]) -> None:
    """Wait for what shows something in a chat; what cannot be shown is logged."""
    try:
        with Contained():
            await showing
    except (DeliveryError, SettingsError) as error:
        log.warning("%s: %s", chat, error)
    except Exception:
        log.exception("%s: a sentence could not be shown", chat)
