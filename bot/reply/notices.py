"""Shows sentences of our own, without a model and without history."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
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
from bot.reply.closing import take_away
from bot.reply.opening import Replies
from tools.programs.cancelling import Contained, begin_in, end_tasks

log = logging.getLogger(__name__)

MOMENT = 1.0
"""Seconds for pending sentences when a process ends."""
MOST_TOLD = 5
"""Waiting sentences of our own in one chat; further ones are dropped, since somebody floods it."""
MOST_TOLD_OVER_ALL = 1_000
"""The same in all chats together."""
MOST_STRANGERS = 1_000
"""Waiting sentences to strangers, on each platform, beside those."""
STRANGER_SECONDS = 0.2
"""Seconds between two of them."""
_Newest: TypeAlias = tuple[ControlPressed, str, tuple[Button, ...]]


@dataclass(eq=False, repr=False, kw_only=True)
class Notices:
    """Answers messages with sentences of our own; one object for the whole process."""

    replies: Replies
    surface: Callable[[MessageSent], Surface]
    clock: Clock

    def __post_init__(self) -> None:
        self._telling: Counter[ChatId] = Counter()
        self._strangers: Counter[str] = Counter()
        self._lanes: dict[str, asyncio.Lock] = {}
        """Platform → the lock under which strangers get sentences one at a time."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._passing: dict[ChatId, list[MessageRef]] = {}
        """Messages that are deleted when what they say has passed."""
        self._shows: dict[tuple[ChatId, str], _Newest] = {}
        """The newest text for each of our messages that replaces its present text, by chat and id."""

    @property
    def under_way(self) -> frozenset[asyncio.Task[None]]:
        """Work that `soon` began and that is not shown yet."""
        return frozenset(self._tasks)

    async def close(self) -> None:
        """Stop what `soon` began, except what can be shown in a moment: no next process knows of it."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=MOMENT)
        await end_tasks(*self._tasks)

    def soon(
        self,
        message: MessageSent,
        text: str,
        *,
        private: bool = False,
        buttons: tuple[Button, ...] = (),
        stranger: bool = False,
        passes: bool = False,
    ) -> None:
        """Show `text` like `tell`, without holding anything up; a failure is logged.

        Args:
            passes: `take_back` deletes it.
            stranger: the recipient has no access: unless it is awaited, it waits for the other strangers' sentences.
        """
        if stranger and not message.awaited:
            self._soon_to_stranger(message, text, private)
            return
        too_many = self._telling[message.chat] >= MOST_TOLD and not message.awaited
        if too_many or len(self._tasks) - self._strangers.total() >= MOST_TOLD_OVER_ALL:
            log.info("%s: a notice is dropped, as too many are waiting there", message.chat)
            return
        self._telling[message.chat] += 1
        self._begin(message.chat, self._tell_counted(message, text, private, buttons, passes))

    def _soon_to_stranger(self, message: MessageSent, text: str, private: bool) -> None:
        """Show `text` after the other strangers' sentences of the platform, a few in a second, so that a crowd takes
        few of the calls that answers need."""
        platform = message.chat.platform
        if self._strangers[platform] >= MOST_STRANGERS:
            log.info("%s: a notice is dropped, as too many strangers are waiting for one", message.chat)
            return
        self._strangers[platform] += 1
        self._begin(message.chat, self._tell_stranger(message, text, private))

    async def _tell_stranger(self, message: MessageSent, text: str, private: bool) -> None:
        platform = message.chat.platform
        try:
            async with self._lanes.setdefault(platform, asyncio.Lock()):
                await self.tell(message, text, private=private)
                await self.clock.sleep(STRANGER_SECONDS)
        finally:
            self._strangers[platform] -= 1

    def redraw(self, press: ControlPressed, text: str, buttons: tuple[Button, ...]) -> None:
        """Show `text` in the message of the pressed button, without holding anything up; the newest press wins."""
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
                async with self.replies.notice(self.surface(press.there), press.delivery, buttons, at) as reply:
                    reply.append(text)
        finally:
            del self._shows[message]

    def _begin(self, chat: ChatId, showing: Coroutine[Any, Any, None]) -> None:
        begin_in(self._tasks, _logged(chat, showing), f"tell {chat}")

    async def _tell_counted(
        self, message: MessageSent, text: str, private: bool, buttons: tuple[Button, ...], passes: bool
    ) -> None:
        try:
            refs = await self.tell(message, text, private=private, buttons=buttons)
            if passes:
                self._passing.setdefault(message.chat, []).extend(refs)
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
    ) -> tuple[MessageRef, ...]:
        """Show `text` below a message, and return its messages when it is shown.

        Args:
            turn: names the notice for good; the nonces of its messages derive from it.
            private: only for the person who asked, if the platform can do that.
            buttons: the buttons below it.

        Raises:
            DeliveryError: it cannot be shown there.
        """
        surface = self.surface(question.for_asker() if private else question)
        async with self.replies.notice(surface, turn or question.delivery, buttons) as reply:
            reply.append(text)
        return tuple(reply.refs.values())

    async def apologise(self, question: MessageSent, text: str, *, passes: bool = False) -> None:
        """Show `text` if possible; never raises. If it `passes`, `take_back` deletes it."""
        try:
            with Contained():
                refs = await self.tell(question, text, turn=f"sorry {question.delivery}")
                if passes:
                    self._passing.setdefault(question.chat, []).extend(refs)
        except Exception:
            log.exception("not even an apology could be shown")

    async def take_back(self, question: MessageSent) -> None:
        """Delete what was said in this chat about something that has passed; what cannot be deleted stays."""
        for ref in self._passing.pop(question.chat, ()):
            with suppress(DeliveryError):
                surface, name = self.surface(question), f"{question.chat}: an apology"
                await take_away(surface, self.replies.pacer, self.clock, ref, name)


async def _logged(chat: ChatId, showing: Coroutine[Any, Any, None]) -> None:
    """Await something shown in a chat; a failure is logged."""
    try:
        with Contained():
            await showing
    except (DeliveryError, SettingsError) as error:
        log.warning("%s: %s", chat, error)
    except Exception:
        log.exception("%s: a notice could not be shown", chat)
