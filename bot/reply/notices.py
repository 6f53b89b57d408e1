"""Shows sentences of our own: no model, no history."""

from __future__ import annotations

import logging
from collections.abc import Callable

from bot.contract import MessageSent, Surface
from bot.reply.opening import Replies

log = logging.getLogger(__name__)


class Notices:
    """Answers messages with sentences of our own; one object for the whole process."""

    def __init__(self, replies: Replies, surface: Callable[[MessageSent], Surface]) -> None:
        self._replies = replies
        self._surface = surface

    async def tell(self, question: MessageSent, text: str, *, turn: str = "", private: bool = False) -> None:
        """Show `text` below a message, and return when it stands.

        Args:
            turn: names the notice for good; the nonces of its messages are made from it.
            private: for who asked alone, where the platform can.

        Raises:
            DeliveryError: it cannot be shown there.
        """
        surface = self._surface(question.for_asker() if private else question)
        async with self._replies.notice(surface, turn or question.delivery) as reply:
            reply.append(text)

    async def apologise(self, question: MessageSent, text: str) -> None:
        """Show `text` where it can be shown; never raises."""
        try:
            await self.tell(question, text, turn=f"sorry {question.delivery}")
        except Exception:
            log.exception("not even an apology could be shown")
