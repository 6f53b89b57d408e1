"""Messages that a client splits are one question: a comment and the post that it forwards, several forwards, the parts
of an album, a paste cut at the platform's limit.

A forward in a group addresses nobody. It is part of its person's question directly before or after it; otherwise it is
neither stored nor read. If several processes receive, its question may arrive at another one: the process with the
forward in memory looks for the question in the store.

The first part is stored and begins like any message; each further one replaces the question so far, like a changed
question, so that a crash at any moment neither loses a part nor answers one twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from bot.contract import (
    LONGEST_TEXT,
    TOGETHER_SECONDS,
    ChatId,
    Clock,
    Incoming,
    MessageSent,
    Quoted,
    StoreError,
)
from bot.store import Store
from tools.contract.newest import Newest
from tools.programs.cancelling import begin_in, end_tasks

log = logging.getLogger(__name__)

MOST_FORWARDS = 100
"""Forwards in one question, as many as Telegram lets people choose at once."""
MOST_ENCLOSED = 50
"""Attachments of one question."""
_MOST_CHATS = 1_000
_MOST_HELD = 100
"""People whose forwards are kept in memory, for a comment that may follow."""
_LOOKS: Final = (0.0, 0.3, 0.7, 1.0, 1.5)
"""Seconds before each look for the question of a forward: longer than the two can be apart, as each arrives by
itself."""
_STORED_SECONDS: Final = 60.0
"""A question stored earlier than this cannot belong to a new forward."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What identifies the next part of a question."""

    message_id: str
    sender: str
    sent_at: float
    unfinished: bool
    album: str


_Speaker: TypeAlias = tuple[ChatId, str]
"""A place and the id of the writer there: a platform may answer a question in a thread of its own."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A forward without any words to the bot."""

    forwards: MessageSent
    deliveries: tuple[str, ...]
    comment: str = ""
    """The delivery of the comment after it, since a delivery that cannot be stored comes again."""


@dataclass(eq=False, repr=False, kw_only=True)
class Parts:
    """Recognises parts of the newest question of each chat; one object for the process."""

    store: Store
    clock: Clock
    found: Callable[[MessageSent], Awaitable[None]] | None = None
    """Receives a forward whose question another process received; None: this process receives everything."""

    def __post_init__(self) -> None:
        self._looking: set[asyncio.Task[None]] = set()
        self._newest: Newest[ChatId, _Part] = Newest(_MOST_CHATS)
        self._asked: Newest[_Speaker, MessageSent] = Newest(_MOST_CHATS)
        """When and where each person last asked."""
        self._held: Newest[_Speaker, _Held] = Newest(_MOST_HELD)

    def gather(self, message: Incoming) -> Incoming | None:
        """Join a comment with the forwards directly before it, none of which is stored by then; return a forward
        directly after its comment as a part of it, and None for any other that addresses nobody.

        Called before a message is stored, and again if that failed.
        """
        if not isinstance(message, MessageSent):
            return message
        speaker = (message.chat.place, message.sender.id)
        if message.completes:
            return message
        if message.beside:
            asked = self._asked.get(speaker)
            if asked is not None and _is_close(asked, message):
                return replace(message, chat=asked.chat, completes=asked.message_id)
            self._hold(speaker, message)
            return None
        held = self._held.get(speaker)
        if message.follow_up or not _is_question(message):
            self._asked.pop(speaker, None)
            return message
        self._asked.put(speaker, replace(message, text="", quoted=None, enclosed=()))
        if held is None or held.comment not in ("", message.delivery) or not _is_close(held.forwards, message):
            return message
        self._held[speaker] = replace(held, comment=message.delivery)
        whole = join_parts(replace(held.forwards, chat=message.chat, target=message.target), message)
        if whole is None:
            return message
        also = (*message.also, *held.deliveries)
        return replace(whole, message_id=message.message_id, also=also, beside=False)

    def _hold(self, speaker: _Speaker, forward: MessageSent) -> None:
        before = self._held.get(speaker)
        joins = before is not None and not before.comment and _is_close(before.forwards, forward)
        whole = join_parts(before.forwards, forward) if before is not None and joins else None
        if before is None or whole is None:
            self._held.put(speaker, _Held(forward, (forward.delivery,)))
        elif forward.delivery not in before.deliveries:
            self._held.put(speaker, _Held(whole, (*before.deliveries, forward.delivery)))
        if self.found is not None and len(self._looking) < _MOST_HELD:
            begin_in(self._looking, self._look(speaker, forward.delivery, self.found), "forward")

    async def close(self) -> None:
        """Stop looking for questions."""
        await end_tasks(*self._looking)

    async def _look(self, speaker: _Speaker, delivery: str, found: Callable[[MessageSent], Awaitable[None]]) -> None:
        """Look for the question of a forward that another process received just before it, or receives now."""
        for pause in _LOOKS:
            await self.clock.sleep(pause)
            held = self._held.get(speaker)
            if held is None or held.comment or delivery not in held.deliveries:
                return
            try:
                if (asked := await self._find_question(speaker, held.forwards)) is None:
                    continue
                self._held[speaker] = replace(held, comment=asked.delivery)
                whole = replace(held.forwards, also=held.deliveries)
                await found(replace(whole, chat=asked.chat, completes=asked.message_id))
            except StoreError as error:
                log.warning("%s: a forward waits for its question: %s", speaker[0], error)
                self._held[speaker] = held

    async def _find_question(self, speaker: _Speaker, forward: MessageSent) -> MessageSent | None:
        place, person = speaker
        written = await self.store.intake.list_newest(person, self.clock.wall() - _STORED_SECONDS)
        newest = next((one for one in written if one.chat.place == place and not one.beside), None)
        fits = newest is not None and _is_question(newest) and not newest.follow_up and _is_close(newest, forward)
        return newest if fits else None

    def note(self, question: MessageSent) -> None:
        """Remember the last message received in a chat; the next one may be a part of it."""
        if not _is_question(question):
            self._newest.pop(question.chat, None)
            return
        part = _Part(question.message_id, question.sender.id, question.sent_at, question.unfinished, question.album)
        self._newest.put(question.chat, part)

    async def complete(self, message: MessageSent) -> MessageSent | None:
        """Return the whole question that a message completes, which replaces the turn with the earlier parts; None if
        the message is a separate question.

        Raises:
            StoreError: the store fails now.
        """
        newest, completed = self._newest.get(message.chat), message.completes
        if not completed and newest is not None and _continues(newest, message):
            completed = newest.message_id
        if not completed:
            return None
        found = await self.store.intake.find_question(message.chat, completed)
        if found is None or (whole := join_parts(found[1], message)) is None:
            return None
        return replace(whole, replaces=await self.store.turns.find_newest_answer(found[0]))


def _is_question(message: MessageSent) -> bool:
    """Return True for a message that further messages can complete."""
    return bool(message.message_id) and not (message.command or message.scheduled or message.decides)


def _is_close(before: MessageSent, after: MessageSent) -> bool:
    return abs(after.sent_at - before.sent_at) <= TOGETHER_SECONDS


def _continues(before: _Part, after: MessageSent) -> bool:
    if before.sender != after.sender.id or after.command or after.awaited or after.replaces or after.scheduled:
        return False
    if after.album and after.album == before.album:
        return True
    if abs(after.sent_at - before.sent_at) > TOGETHER_SECONDS:
        return False
    forwarded = after.quoted is not None and after.quoted.forwarded
    if not forwarded and (after.quoted is not None or after.replies_to):
        return False  # it is about something else
    # A message after an album that does not belong to it is separate.
    return (before.unfinished and not before.album) or (forwarded and after.unfinished)


def join_parts(before: MessageSent, after: MessageSent) -> MessageSent | None:
    """Return two parts as one message; None if that would be too large."""
    enclosed = before.enclosed + after.enclosed
    quoted = _join_quoted(before.quoted, after.quoted)
    cut = before.unfinished and not before.album and (quoted is None or not quoted.forwarded)
    gap = "" if before.severed else "\n" if cut else "\n\n"
    text = f"{before.text}{gap}{after.text}" if before.text and after.text else before.text or after.text
    whole = replace(before, text=text, quoted=quoted, enclosed=enclosed)
    files = len(enclosed) + (len(quoted.enclosed) if quoted is not None else 0)
    long = len(text) + sum(len(one.text) for one in whole.quotes)
    if long > LONGEST_TEXT or files > MOST_ENCLOSED or len(whole.quotes) > MOST_FORWARDS:
        return None
    # A person's later change is found by the message that contains it.
    main = after if after.text and not before.text else before
    return replace(
        main,
        delivery=after.delivery,
        also=(),
        sender=after.sender,
        sent_at=after.sent_at,
        text=text,
        quoted=quoted,
        enclosed=enclosed,
        unfinished=after.unfinished,
        severed=after.severed,
        # In an album only the caption can be changed, in a forward nothing.
        joined=before.joined or bool(before.text and after.text and not after.album),
    )


def _join_quoted(before: Quoted | None, after: Quoted | None) -> Quoted | None:
    """Return the forwards of two parts as one, with each author's words separate."""
    if before is None or after is None:
        return before or after
    more, enclosed = (
        before.more + ((replace(after, enclosed=()),) if after.text else ()),
        before.enclosed + after.enclosed,
    )
    if not before.text and after.text:
        return replace(after, enclosed=enclosed)
    return replace(before, enclosed=enclosed, more=more)
