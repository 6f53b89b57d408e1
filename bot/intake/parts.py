"""What a person's client sends in several messages is one question: a comment and the post that it forwards, several
forwards, the parts of an album, a paste that was cut at the platform's limit.

The first part is stored and begins as any message does; each further one takes the place of what came before it, as a
changed question does, so that a crash at any moment loses no part and answers none twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.contract import LONGEST_TEXT, ChatId, MessageSent, Newest, Quoted
from bot.store import Store

TOGETHER_SECONDS = 1.5
"""Seconds between two parts, as the platform tells when they were sent: one, where some tell only whole ones."""
MOST_FORWARDS = 100
"""Forwards in one question, as many as Telegram lets people choose at once."""
MOST_ENCLOSED = 50
"""Attachments of one question."""
_MOST_CHATS = 1_000


@dataclass(frozen=True, slots=True)
class _Part:
    """What has to be known of a question to recognise its next part."""

    message_id: str
    sender: str
    sent_at: float
    unfinished: bool
    album: str


class Parts:
    """Recognises parts of the newest question of each chat; one object for the process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._newest: Newest[ChatId, _Part] = Newest(_MOST_CHATS)

    def note(self, question: MessageSent) -> None:
        """Remember what was taken in last in a chat; what comes next may be a part of it."""
        if question.command or question.scheduled or question.decides or not question.message_id:
            self._newest.pop(question.chat, None)
            return
        part = _Part(question.message_id, question.sender.id, question.sent_at, question.unfinished, question.album)
        self._newest.put(question.chat, part)

    async def complete(self, message: MessageSent) -> MessageSent | None:
        """Return the whole question that a message completes, which replaces the turn that answers what there is of
        it; None where it is a question of its own.

        Raises:
            StoreError: the store does not work now.
        """
        newest = self._newest.get(message.chat)
        if newest is None or not _continues(newest, message):
            return None
        found = await self._store.intake.find_question(message.chat, newest.message_id)
        if found is None or (whole := join_parts(found[1], message)) is None:
            return None
        return replace(whole, replaces=await self._store.turns.find_newest_answer(found[0]))


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
    # What follows an album and is none of it is something else.
    return (before.unfinished and not before.album) or (forwarded and after.unfinished)


def join_parts(before: MessageSent, after: MessageSent) -> MessageSent | None:
    """Return two parts as one message; None where that would be too large."""
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
    # Who changes what they wrote finds it by the message in which it stands.
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
        # Of an album only the caption can be changed, of a forward nothing.
        joined=before.joined or bool(before.text and after.text and not after.album),
    )


def _join_quoted(before: Quoted | None, after: Quoted | None) -> Quoted | None:
    """Return the forwards of two parts as one, with each author's words apart."""
    if before is None or after is None:
        return before or after
    more, enclosed = (
        before.more + ((replace(after, enclosed=()),) if after.text else ()),
        before.enclosed + after.enclosed,
    )
    if not before.text and after.text:
        return replace(after, enclosed=enclosed)
    return replace(before, enclosed=enclosed, more=more)
