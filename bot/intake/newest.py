"""Find the answer that a command without a thread is about: `/parley stop` in a Slack channel."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bot.contract import MessageSent
from bot.store import Store
from bot.turn import TurnQueue

_OF_AN_ANSWER: Final = frozenset({"stop", "retry", "why", "export", "voice"})


class NewestAnswer:
    """Finds the growing or else the latest answer in a channel, preferably the person's own."""

    def __init__(self, store: Store, queue: TurnQueue) -> None:
        self._store = store
        self._queue = queue

    async def resolve(self, id: int, message: MessageSent) -> MessageSent:
        """Return `message`, moved to the chat of the answer that it is about.

        Args:
            id: its inbox row; an answer that a former process began for it continues in its place.
        """
        sets = message.command == "voice" and bool(message.text.strip())
        if not message.whole_channel or message.command not in _OF_AN_ANSWER or sets:
            return message
        begun = await self._store.turns.find_record(id)
        if begun is not None:
            return replace(message, chat=begun.chat)
        running = self._queue.find_newest(message.chat, message.sender.id)
        if running is not None:
            return replace(message, chat=running)
        last = await self._store.turns.find_last_of_channel(message.chat, message.sender.id)
        return message if last is None else replace(message, chat=last.chat)
