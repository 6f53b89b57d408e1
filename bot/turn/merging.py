"""What happens to a question that comes while its chat is busy, by the chat's choice with `/busy`.

It can join the question before it (`collect`, `steer`): it is then stored in that question's inbox row, in one
transaction with the end of its own row, so that a crash neither loses it nor answers it twice. Only the asker's own
questions join, and only if no other question is between them.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, replace

from bot.context import Busy, ChatBook, user_entry
from bot.contract import LONGEST_TEXT, Clock, MessageSent, StoreError, UserEntry, time_limit
from bot.store import Store
from bot.turn.jobs import is_job
from bot.turn.queue import Running, TurnQueue, Waiting
from bot.turn.run import EndReason, Run

log = logging.getLogger(__name__)

PART_SECONDS = 0.15
"""How long a question waits for its rest, which comes at once; see `MessageSent.unfinished`."""
COLLECT_SECONDS = 2.0
"""The most seconds between questions that become one: people who send a thought in pieces send the next within this
time."""


@dataclass(eq=False, repr=False)
class Merging:
    """Joins questions and ends answers for newer ones; one object for the process."""

    store: Store
    book: ChatBook
    queue: TurnQueue
    clock: Clock

    async def interrupt(self, question: MessageSent) -> None:
        """End the running answer to an earlier question of the same person, if the chat wants it so.

        Raises:
            StoreError: the chat's choice cannot be read now.
        """
        running = self.queue.find_running(question.chat)
        if running is None or running.person != question.sender.id:
            return
        if await self._mode_of(question) is Busy.INTERRUPT:
            running.end(EndReason.STOPPED)

    async def collect(self, run: Run) -> None:
        """Wait for the rest of a question that came in part; let questions join that come within `COLLECT_SECONDS` of
        each other, if the chat wants it so."""
        running = self.queue.find_running(run.question.chat)
        if running is not None and running.id == run.turn and running.gathers:
            if run.question.unfinished:
                await self.clock.sleep(PART_SECONDS)  # the next question replaces this one
            running.gathers = False
        running = self._running_of(run)
        if running is None or not await self._wants(run, Busy.COLLECT):
            return
        chat, last = run.question.chat, running.came_at
        while True:
            following = self.queue.peek(chat)
            if following is not None:
                if following.came_at - last > COLLECT_SECONDS or not await self._join(run, following):
                    return
                last = following.came_at
                continue
            left = last + COLLECT_SECONDS - self.clock.monotonic()
            if left <= 0:
                return
            with suppress(TimeoutError):
                async with time_limit(self.clock, left):
                    await self.queue.wait_for_more(chat)

    async def steer(self, run: Run) -> list[UserEntry]:
        """Let the questions join that came meanwhile, if the chat wants it so; return their text for the model."""
        chat, told = run.question.chat, list[UserEntry]()
        if run.job:
            return await self._listen_in_job(run)
        # The queue is checked first: it is usually empty, and the chat's choice is in the database.
        if self.queue.peek(chat) is None or self._running_of(run) is None or not await self._wants(run, Busy.STEER):
            return told
        while (following := self.queue.peek(chat)) is not None and following.question is not None:
            # Attachments are read and transcribed when a turn begins.
            if following.question.enclosed or not await self._join(run, following):
                break
            told.append(user_entry(following.question))
        return told

    async def find_amended(self, message: MessageSent) -> Running | None:
        """Return the running job that a message is meant for, if any: its person replies to it, or writes `/job` again.

        Raises:
            StoreError: the message that it replies to cannot be looked up now.
        """
        job = self.queue.find_job(message.chat)
        if job is None or job.person != message.sender.id or message.enclosed or message.decides:
            return None
        if is_job(message):
            return job
        if not message.replies_to:
            return None
        return job if await self.store.turns.find_shown_in(message.chat, message.replies_to) == job.id else None

    async def _listen_in_job(self, run: Run) -> list[UserEntry]:
        """Take in what its person has added to a job; what cannot be is asked after it."""
        running, told = self.queue.find_turn(run.question.chat, run.turn), list[UserEntry]()
        for one in list(running.said) if running is not None else ():
            assert running is not None and one.question is not None
            heard = replace(one.question, replies_to="", quoted=None, awaited=False)
            if await self._join(run, replace(one, question=heard)):
                running.said.remove(one)
                one.begun()
                told.append(user_entry(one.question))
        return told

    def _running_of(self, run: Run) -> Running | None:
        """Return the chat's running turn if it is this turn and its own row asks the question."""
        running = self.queue.find_running(run.question.chat)
        return running if running is not None and running.id == run.turn and running.question is not None else None

    async def _wants(self, run: Run, mode: Busy) -> bool:
        with suppress(StoreError):
            return await self._mode_of(run.question) is mode
        return False

    async def _mode_of(self, question: MessageSent) -> Busy:
        return (await self.book.options_of(question.chat)).busy

    async def _join(self, run: Run, following: Waiting) -> bool:
        """Let the next question join the question of a turn; return whether it could."""
        before, after = run.question, following.question
        if after is None or following.person != before.sender.id or after.awaited:
            return False
        if after.quoted is not None or after.replies_to:
            return False
        text = f"{before.text}\n\n{after.text}".strip()
        if len(text) > LONGEST_TEXT:
            return False
        joined = replace(before, text=text, enclosed=before.enclosed + after.enclosed, joined=True)
        try:
            await self.store.intake.join(run.turn, joined, following.id)
        except StoreError as error:
            log.warning("turn %d: the next question gets a turn of its own: %s", run.turn, error)
            return False
        run.question = joined
        self.queue.drop(before.chat, (following.id,))
        return True
