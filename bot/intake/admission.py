"""Decide about a message: it begins a turn, is answered at once, or is refused."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from bot.context import Admitted, language_for, subject_of
from bot.contract import BY_WORD, JOB, LIMITS, ChatId, Clock, Limits, LogThrottle, MessageSent, Metrics
from bot.policy import (
    DAY,
    MINUTE,
    Access,
    OncePer,
    Quotas,
    once_in_chat,
    once_per_hour,
    once_per_person,
    once_per_window,
    payer_of,
)
from bot.safety import enclosed_in
from bot.sentences import how_long
from bot.store import Store
from bot.turn import TurnQueue

log = logging.getLogger(__name__)

MOST_WAITING_IN_CHAT = 50
"""Waiting messages of everybody in one chat: a large group cannot fill the memory, and nobody waits for hours."""
_LATE_SECONDS = 60.0
"""Who wrote that long ago wrote to nobody: the bot was away, and shows no queue that they could have waited for."""
_ASKS_A_MODEL = frozenset({"", "retry", "tool", JOB})


@dataclass(frozen=True, slots=True)
class Begin(Admitted):
    """The message begins a turn, after those that already wait in its chat."""


@dataclass(frozen=True, slots=True)
class Answer(Admitted):
    """The message is a command that is answered at once, even while the chat is busy."""

    stranger: bool = False
    """See `Refuse.stranger`; never for a pairing code, which may come from the owner."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Nothing is done for the message."""

    sentence: str
    """The sentence for the person; empty: none."""
    once_per: OncePer | None = None
    """How often it is sent if no answer is awaited; None: each time."""
    stranger: bool = False
    """The person has no access: other sentences go first."""


Verdict: TypeAlias = Begin | Answer | Refuse


@dataclass(eq=False, repr=False, kw_only=True)
class Admission:
    """Decides about messages; one for the process."""

    store: Store
    access: Access
    quotas: Quotas
    queue: TurnQueue
    clock: Clock
    limits: Limits = LIMITS
    metrics: Metrics = field(default_factory=Metrics)
    works_long: Callable[[ChatId], bool] = lambda _: False
    """Whether each answer in a chat is a job."""
    shared: bool = False
    """Other processes have turns, too: a person's turns are counted in the store."""

    def __post_init__(self) -> None:
        self._strangers = LogThrottle(log, self.clock, logging.INFO)
        self._newest = NewestAnswer(self.store, self.queue)

    async def decide(self, id: int, message: MessageSent, *, again: bool = False) -> Verdict:
        """Count the message against the quotas and return the verdict; a refused reminder is named.

        Args:
            id: its inbox row.
            again: a former process received and counted it, so it is not refused now.

        Raises:
            StoreError: no decision is possible now.
        """
        asked = Admitted(message, await language_for(self.store, message))
        verdict = await self._decide(id, asked, again=again)
        if message.scheduled and isinstance(verdict, Refuse) and verdict.sentence:
            return Refuse(asked.say("reminder_left_out", text=message.text, why=verdict.sentence))
        return verdict

    async def _decide(self, id: int, asked: Admitted, *, again: bool) -> Verdict:
        message = asked.message
        if message.faceless:
            return await self._refuse_faceless(asked)
        command = BY_WORD.get(message.command)
        stranger = not await self.access.allows(message)
        if stranger and not (command is not None and command.open):
            self.metrics.strangers.add()
            self._strangers.warn(f"refused {message.sender.id} in {message.chat}: may not write (/allow lets them in)")
            return _refuse_stranger(asked)
        if message.scheduled and not again and (most := await self.quotas.count_scheduled(payer_of(message))):
            return Refuse(asked.say("too_many_scheduled", limit=most))
        # A question that has not begun was already counted, and its rest costs nothing.
        counted = again or message.scheduled or self.queue.gathers(message.chat, message.replaces)
        if not counted and message.command != "stop" and not await self._count(message):
            return Refuse(asked.say("too_many"), once_per_person("too many", message.sender.id, MINUTE))
        message = await self._newest.resolve(id, message)
        if not message.command and self.works_long(message.chat):
            message = replace(message, command=JOB)
        asked, command = replace(asked, message=message), BY_WORD.get(message.command)
        if message.command and not (command is not None and command.queued):
            return Answer(message, asked.language, stranger and message.command != "pair")
        refused = None if again else await self._refuse_excess(asked) or await self._refuse_spent(asked)
        return refused or Begin(message, asked.language)

    async def _refuse_faceless(self, asked: Admitted) -> Refuse:
        """Ask somebody who writes as a chat to write as a person: rarely, since the chat may be a program's."""
        message = asked.message
        if await self.access.is_shut(message.chat):
            return Refuse("")
        return Refuse(asked.say("faceless"), once_per_hour("faceless", message.chat), stranger=True)

    async def _count(self, message: MessageSent) -> bool:
        count = self.quotas.count_question if message.command in _ASKS_A_MODEL else self.quotas.count_command
        return await count(payer_of(message))

    async def _refuse_excess(self, asked: Admitted) -> Refuse | None:
        """Refuse a message that is too long, empty, or one too many in the queue."""
        message = asked.message
        most, sentence = self.limits, ""
        if len(message.text) > most.question_chars:
            sentence = asked.say("too_big", length=len(message.text), limit=most.question_chars)
        elif message.command in ("", JOB) and not subject_of(message).strip() and not enclosed_in(message):
            sentence = asked.say("empty_question")
        elif message.command == JOB and not message.decides and self._is_taken(message):
            sentence = asked.say("job_busy")
        elif not message.command and message.replaces and self.queue.holds(message.chat, message.replaces):
            return None  # it replaces one that was admitted
        elif message.scheduled:
            return None  # nobody could write it again; as many as may come in a day can wait
        elif self.queue.count_waiting(message.chat) >= MOST_WAITING_IN_CHAT:
            sentence = asked.say("queue_full_chat")
        elif message.sent_at and self.clock.wall() - message.sent_at > _LATE_SECONDS:
            return None
        elif 0 < most.waiting_per_person <= self.queue.count_waiting(
            message.chat, message.sender.id
        ) or 0 < most.turns_per_person <= await self._count_elsewhere(message):
            sentence = asked.say("queue_full_person")
        if not sentence:
            return None
        return Refuse(sentence, None if message.awaited else once_in_chat(message.chat, sentence))

    def _is_taken(self, message: MessageSent) -> bool:
        """Return True if a job runs or waits in the chat, and the message does not add to it."""
        job = self.queue.find_job(message.chat)
        return self.queue.expects_job(message.chat) and (job is None or job.person != message.sender.id)

    async def _count_elsewhere(self, message: MessageSent) -> int:
        """Return the number of the sender's running turns in other chats."""
        if self.shared:
            return await self.store.intake.count_running(message.sender.id, message.chat)
        here, person = self.queue.find_running(message.chat), message.sender.id
        return self.queue.count_of(person) - (here is not None and here.person == person)

    async def _refuse_spent(self, asked: Admitted) -> Refuse | None:
        """Refuse a question if nothing is left for today."""
        message = asked.message
        payer = payer_of(message)
        spent = await self.quotas.find_exhausted(payer) if message.command in _ASKS_A_MODEL else None
        if spent is None:
            return None
        wait = how_long(max(1.0, spent.until - self.clock.wall()), asked.language)
        return Refuse(asked.say(f"spent_{spent.whose}", wait=wait), once_per_window(spent.whose, spent.until, payer))


def _refuse_stranger(asked: Admitted) -> Refuse:
    """Send a stranger one sentence a day in private; in a group only if they would otherwise be left waiting."""
    message = asked.message
    if message.group and not message.awaited:
        return Refuse("")
    daily = None if message.awaited else once_per_person("stranger", message.sender.id, DAY)
    return Refuse(asked.say("stranger", id=message.sender.id), daily, stranger=True)


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
