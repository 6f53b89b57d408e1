"""A question that its person changed or deleted: whether it was one, its new text, and the turn that answers it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from bot.contract import ChatId, Incoming, MessageDeleted, MessageEdited, MessageSent
from bot.store import Store

HEARD: Final = "🎤"
"""The sign before a transcript, above its answer; writing it corrects the transcript."""


class Arrivals:
    """Takes a chat's deliveries in the order in which they came, where that matters.

    A platform that was not reached for a while brings a message and its changes at once. A change waits for what came
    before it, since a message that is not stored yet is unknown, and whatever comes later waits for the change.
    """

    def __init__(self) -> None:
        self._under_way: dict[ChatId, dict[asyncio.Event, bool]] = {}

    @asynccontextmanager
    async def in_turn(self, incoming: Incoming) -> AsyncIterator[None]:
        """Enter when everything before it that matters has left."""
        changes = isinstance(incoming, MessageEdited | MessageDeleted)
        under_way = self._under_way.setdefault(incoming.chat, {})
        before = [event for event, other in under_way.items() if changes or other]
        left = asyncio.Event()
        under_way[left] = changes
        try:
            for event in before:
                await event.wait()
            yield
        finally:
            left.set()
            del under_way[left]
            if not under_way:
                self._under_way.pop(incoming.chat, None)


class Changes:
    """Reads changes of questions; one for the process."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def is_known(self, told: MessageEdited | MessageDeleted) -> bool:
        """Return True if the message was received before."""
        return await self._store.intake.find_question(told.chat, told.message_id) is not None

    async def as_told(self, edited: MessageEdited) -> MessageEdited | MessageSent:
        """Return an edit as it counts: as a new question, if it now addresses the bot and did not before. An edit never
        runs a command."""
        asked = edited.question
        if asked is None or asked.command or await self.is_known(edited):
            return replace(edited, question=None)
        return asked

    async def find_change(self, edited: MessageEdited) -> MessageSent | None:
        """Return the changed question, which replaces the turn that last answered it; None if there is nothing to do:
        no reader sees a change, somebody else made it, it is a command now, or it cannot be changed."""
        found = await self._store.intake.find_question(edited.chat, edited.message_id)
        if found is None:
            return None
        id, question = found
        enclosed = question.enclosed if edited.enclosed is None else edited.enclosed
        if enclosed == question.enclosed:
            # Its recordings are not transcribed again.
            enclosed = tuple(replace(new, text=old.text) for new, old in zip(enclosed, question.enclosed, strict=True))
        unchanged = (edited.text, enclosed) == (question.text, question.enclosed)
        if unchanged or _is_fixed(question) or edited.command or edited.sender.id != question.sender.id:
            return None
        return replace(
            question,
            delivery=edited.delivery,
            also=(),
            sender=edited.sender,
            text=edited.text,
            enclosed=enclosed,
            replaces=await self._store.turns.find_newest_answer(id),
        )

    async def as_meant(self, message: MessageSent) -> MessageSent:
        """Return the spoken question that a message corrects, with the corrected words, to replace its answer: the one
        that the message replies to, or the chat's newest. Any other message is returned as it is.

        Raises:
            StoreError: the store fails now.
        """
        said = message.text.removeprefix(HEARD).strip()
        if said == message.text.strip() or not said or message.command or message.replaces:
            return message
        turns = self._store.turns
        shown = await turns.find_shown_in(message.chat, message.replies_to) if message.replies_to else 0
        record = await turns.find_record(shown) if message.replies_to else await turns.find_last(message.chat)
        question = None if record is None else record.incoming
        if record is None or not isinstance(question, MessageSent):
            return message
        heard = [one for one in question.enclosed if one.heard]
        if len(heard) != 1 or question.joined or question.sender.id != message.sender.id:
            return message
        enclosed = tuple(replace(one, text=said) if one is heard[0] else one for one in question.enclosed)
        return replace(
            question,
            delivery=message.delivery,
            also=(),
            sender=message.sender,
            enclosed=enclosed,
            replaces=await turns.find_newest_answer(record.id),
        )

    async def find_answers(self, deleted: MessageDeleted) -> tuple[MessageSent, list[int]] | None:
        """Return a deleted question with the inbox rows of all that answers it; None if it was forgotten meanwhile, or
        cannot be withdrawn."""
        found = await self._store.intake.find_question(deleted.chat, deleted.message_id)
        if found is None or _is_fixed(found[1]):
            return None
        question = found[1]
        return question, await self._store.turns.list_answers(question.chat, question.message_id)


def _is_fixed(question: MessageSent) -> bool:
    """A command's work is done, and a question from several messages cannot be told apart."""
    return bool(question.command) or question.joined
