"""One turn at a time in a chat, all chats in parallel.

A chat's mailbox exists as long as something waits in it. It is filled from the stored inbox, so nothing is lost with
the process; it only keeps the order.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial

from bot.contract import ChatId, MessageSent, is_within
from bot.operations import about
from bot.turn.run import EndReason
from tools.programs.cancelling import Contained, end_tasks

log = logging.getLogger(__name__)


ENDING_SECONDS = 1.3
"""Seconds in which a turn that is ended from outside can show its last words."""


@dataclass(slots=True)
class Running:
    """The running turn of a chat."""

    id: int
    person: str
    question: MessageSent | None = None
    """Its question, if other questions can join it; see `bot.turn.merging`."""
    came_at: float = 0.0
    task: asyncio.Task[None] | None = None
    ending: EndReason | None = None
    gathers: bool = True
    """It has not begun yet: more of its question may still come."""
    text_stands: asyncio.Future[None] | None = None
    """Done when its text is complete and stored, and only its voice is not, or when it is a job: the chat's next turn
    begins."""
    job: bool = False
    """It works for up to an hour, beside its chat's next turns."""
    said: deque[Waiting] = field(default_factory=deque)
    """What its person has added to a job, and it has not taken in; each gets a turn of its own if it never does."""
    leaving: bool = False
    """It ends after its next stored stage, for another process to continue."""
    deletes: bool = False
    """It deletes an answer, which nobody can stop."""

    def speaks(self) -> None:
        """See `Run.speaks`."""
        if self.text_stands is not None and not self.text_stands.done():
            self.text_stands.set_result(None)

    async def at_stage(self) -> None:
        """End here if the turn is to be handed over; see `Run.at_stage`."""
        if self.leaving:
            self.end(EndReason.HANDED_OVER)
            await asyncio.sleep(0)  # the cancellation arrives here, before anything new begins

    def end(self, why: EndReason) -> None:
        """Ask it to end; it completes what is on screen and stores its progress."""
        if self.deletes and why is EndReason.STOPPED:
            return
        if self.ending is None and self.task is not None and not self.task.done():
            self.ending = why
            self.task.cancel()


Work = Callable[[Running], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Waiting:
    """An entry that waits for its turn in a chat, see `TurnQueue.put`."""

    id: int
    person: str
    work: Work
    question: MessageSent | None
    came_at: float
    command: bool
    begun: Callable[[], None]
    scheduled: bool = False
    asks: bool = False
    """It is a person's question, in its first or a changed form."""
    job: bool = False
    deletes: bool = False


@dataclass(slots=True)
class _Mailbox:
    waiting: deque[Waiting] = field(default_factory=deque)
    came: asyncio.Event = field(default_factory=asyncio.Event)
    running: Running | None = None
    worker: asyncio.Task[None] | None = None


class TurnQueue:
    """The mailboxes of all busy chats."""

    def __init__(self) -> None:
        self._boxes: dict[ChatId, _Mailbox] = {}
        self._beside: dict[ChatId, list[Running]] = {}
        """Turns beside which their chat's next turns run, oldest first: only their voice is incomplete, or they are
        jobs."""
        self._closed = False
        self._left: set[str] = set()

    def put(
        self,
        chat: ChatId,
        id: int,
        person: str,
        work: Work,
        *,
        question: MessageSent | None = None,
        came_at: float = 0.0,
        command: bool = False,
        begun: Callable[[], None] = lambda: None,
        replaces: int = 0,
        scheduled: bool = False,
        job: bool = False,
        deletes: bool = False,
        adds_to: Running | None = None,
    ) -> None:
        """Do `work` after everything that already waits in this chat; at a later start if nothing more begins now.

        Args:
            question: its question, if it can join another; see `bot.turn.merging`.
            came_at: the monotonic time at which a person wrote it.
            command: it is a command, which waits for no voice, but ends it; jobs go on.
            begun: called when it no longer waits.
            replaces: the turn that it replaces: a running one is ended, a waiting one is dropped.
            scheduled: a reminder asks it; it does not count as a waiting message.
            job: the chat's next turn begins when it has begun.
            deletes: it deletes an answer, which nobody can stop.
            adds_to: the running job that it is said to; nothing is done for it unless the job ends before it hears it.
        """
        if self._closed or chat.platform in self._left:
            return
        asks = question is not None
        one = Waiting(
            id, person, work, question, came_at, command, begun, scheduled, asks=asks, job=job, deletes=deletes
        )
        if adds_to is not None:
            adds_to.said.append(one)
            return
        box = self._boxes.setdefault(chat, _Mailbox())
        waiting = [one.id for one in box.waiting]
        for running in self._beside.get(chat, ()):
            if running.id == replaces:
                running.end(EndReason.REPLACED)
        if replaces and box.running is not None and box.running.id == replaces:
            box.running.end(EndReason.REPLACED)
            box.waiting.appendleft(one)
        elif replaces and replaces in waiting:
            place = waiting.index(replaces)
            box.waiting[place] = replace(
                one, begun=box.waiting[place].begun, asks=box.waiting[place].asks and not deletes
            )
        else:
            self._add(chat, one)
            return
        self._wake(chat, box)

    def _add(self, chat: ChatId, *several: Waiting) -> None:
        box = self._boxes.setdefault(chat, _Mailbox())
        box.waiting.extend(several)
        self._wake(chat, box)

    def _wake(self, chat: ChatId, box: _Mailbox) -> None:
        box.came.set()
        if box.worker is None:
            box.worker = asyncio.create_task(self._work(chat, box), name=f"chat {chat}")

    def peek(self, chat: ChatId) -> Waiting | None:
        """Return the next entry of a busy chat."""
        box = self._boxes.get(chat)
        return box.waiting[0] if box and box.waiting else None

    def list_questions(self, chat: ChatId, person: str) -> list[Waiting]:
        """Return the questions of a person that wait in this chat."""
        box = self._boxes.get(chat)
        return [one for one in box.waiting if one.asks and one.person == person] if box else []

    def drop(self, chat: ChatId, ids: Collection[int]) -> None:
        """Remove these entries, if they still wait: their rows have ended."""
        box = self._boxes.get(chat)
        for one in [one for one in box.waiting if one.id in ids] if box else ():
            self._boxes[chat].waiting.remove(one)
            one.begun()

    def give_up(self, chat: ChatId, ids: Collection[int]) -> None:
        """End these turns, whose rows have ended: those that run leave what they show to another, which takes their
        place; those that wait do not begin."""
        for id in ids:
            if (running := self.find_turn(chat, id)) is not None:
                running.end(EndReason.REPLACED)
        self.drop(chat, ids)

    async def wait_for_more(self, chat: ChatId) -> None:
        """Wait until another entry waits in a busy chat."""
        came = self._boxes[chat].came
        came.clear()
        await came.wait()

    @property
    def length(self) -> int:
        """Messages that wait, in all chats."""
        return sum(len(box.waiting) for box in self._boxes.values())

    def find_running(self, chat: ChatId) -> Running | None:
        """Return the running turn of this chat."""
        box = self._boxes.get(chat)
        return box.running if box else None

    def find_beside(self, chat: ChatId) -> Running | None:
        """Return the newest turn of this chat beside which others run: a job, or one that only speaks."""
        return next(reversed(self._beside.get(chat, ())), None)

    def find_turn(self, chat: ChatId, id: int) -> Running | None:
        """Return a turn of this chat, if it runs."""
        running = self.find_running(chat)
        several = [*self._beside.get(chat, ()), *((running,) if running is not None else ())]
        return next((one for one in several if one.id == id), None)

    def find_job(self, chat: ChatId) -> Running | None:
        """Return the job of this chat, if it runs."""
        return next((one for one in self._beside.get(chat, ()) if one.job), None)

    def expects_job(self, chat: ChatId) -> bool:
        """Return True if a job runs or waits in this chat."""
        box = self._boxes.get(chat)
        begins = box is not None and (any(one.job for one in box.waiting) or bool(box.running and box.running.job))
        return begins or self.find_job(chat) is not None

    def holds(self, chat: ChatId, id: int) -> bool:
        """Return True if a turn runs or waits in this chat."""
        box = self._boxes.get(chat)
        if box is None:
            return False
        return (box.running is not None and box.running.id == id) or any(one.id == id for one in box.waiting)

    def knows(self, id: int) -> bool:
        """Return True if a turn runs, waits or speaks in any chat."""
        speaking = (one.id for several in self._beside.values() for one in several)
        return id in speaking or any(self.holds(chat, id) for chat in self._boxes)

    def gathers(self, chat: ChatId, id: int) -> bool:
        """Return True if a turn of this chat has not begun: it waits, here or for the rest of its question."""
        box = self._boxes.get(chat)
        if box is None:
            return False
        here = box.running
        return (here is not None and here.id == id and here.gathers) or any(one.id == id for one in box.waiting)

    def find_newest(self, chat: ChatId, person: str) -> ChatId | None:
        """Return the chat of the newest running turn in a channel and its threads: preferably the person's own."""
        running = [(place, box.running) for place, box in self._boxes.items() if box.running is not None]
        speaking = [(place, one) for place, several in self._beside.items() for one in several]
        found = [
            (one.person == person, one.id, place) for place, one in running + speaking if place.place == chat.place
        ]
        return max(found, key=lambda one: one[:2])[2] if found else None

    def count_of(self, person: str) -> int:
        """Return the number of running turns of a person, in all chats."""
        return sum(1 for box in self._boxes.values() if box.running is not None and box.running.person == person)

    def count_waiting(self, chat: ChatId, person: str = "") -> int:
        """Return the number of waiting messages in this chat: of one person, or of everybody."""
        box = self._boxes.get(chat)
        waiting = (one for one in box.waiting if not one.scheduled) if box else ()
        return sum(1 for one in waiting if not person or one.person == person)

    @property
    def busy(self) -> int:
        """Chats with a running turn, or with a voice."""
        return len({chat for chat, box in self._boxes.items() if box.running is not None} | self._beside.keys())

    async def wait_idle(self) -> None:
        """Wait until nothing runs and nothing waits."""
        while tasks := self._tasks():
            await asyncio.wait(tasks)

    async def close(self, grace: float) -> None:
        """Start nothing more; give running turns `grace` seconds, then end them with a note on screen."""
        self._closed = True
        for box in self._boxes.values():
            box.waiting.clear()
        if tasks := self._tasks():
            _, late = await asyncio.wait(tasks, timeout=max(0.0, grace))
            await self._end(late, EndReason.SHUTDOWN)

    async def hand_over(self, place: str, grace: float) -> None:
        """Start nothing more that waits in a place, and end each of its turns after its next stored stage, at the
        latest after `grace` seconds: another process continues them."""
        for chat, box in self._boxes.items():
            if is_within(chat, place):
                box.waiting.clear()
        running = [(chat, [box.running]) for chat, box in self._boxes.items() if box.running is not None]
        for one in [
            one for chat, several in (*running, *self._beside.items()) if is_within(chat, place) for one in several
        ]:
            one.leaving = True
            log.info("turn %s is handed over at its next stage", one.id)
        if tasks := self._tasks(place):
            _, late = await asyncio.wait(tasks, timeout=grace)
            await self._end(late, EndReason.HANDED_OVER)

    async def leave(self, platform: str) -> list[int]:
        """Stop the platform's running turns and clear its queue until `enter`; return the ids that were running. All of
        it continues at a start."""
        self._left.add(platform)
        ran = [one.id for chat, several in self._beside.items() if chat.platform == platform for one in several]
        for chat, box in self._boxes.items():
            if chat.platform == platform:
                box.waiting.clear()
                ran += [box.running.id] if box.running is not None else []
        await self._end(self._tasks(platform), EndReason.SHUTDOWN)
        return ran

    def enter(self, platform: str) -> None:
        """Accept work for a platform again."""
        self._left.discard(platform)

    async def _work(self, chat: ChatId, box: _Mailbox) -> None:
        try:
            while box.waiting:
                one = box.waiting.popleft()
                one.begun()
                await self._end_voices(chat, one)
                running = box.running = Running(
                    one.id, one.person, one.question, one.came_at, job=one.job, deletes=one.deletes
                )
                running.text_stands = asyncio.get_running_loop().create_future()
                if one.job:
                    running.speaks()
                running.task = asyncio.create_task(_as_coroutine(chat, one.work, running), name=f"turn {one.id}")
                running.task.add_done_callback(partial(self._ended, chat, running))
                try:
                    await asyncio.wait((running.task, running.text_stands), return_when=asyncio.FIRST_COMPLETED)
                except asyncio.CancelledError:
                    await end_tasks(running.task)
                    raise
                if not running.task.done():
                    self._beside.setdefault(chat, []).append(running)
                box.running = None
        finally:
            # No await between the last look at the mailbox and this, so nothing put meanwhile is stranded.
            box.running = box.worker = None
            self._boxes.pop(chat, None)

    async def _end_voices(self, chat: ChatId, before: Waiting) -> None:
        """Wait until a command has ended the voices that it must, or those of replaced answers are gone."""
        speaking = list(self._beside.get(chat, ()))
        for running in speaking if before.command else ():
            if not running.job:
                running.end(EndReason.STOPPED)
        if ending := [running.task for running in speaking if running.ending and running.task]:
            await asyncio.wait(ending)

    def _ended(self, chat: ChatId, running: Running, task: asyncio.Task[None]) -> None:
        """Forget a turn that has ended; what was said to a job too late is asked now."""
        if (several := self._beside.get(chat)) and running in several:
            several.remove(running)
            if not several:
                del self._beside[chat]
        if running.said and not self._closed and chat.platform not in self._left and not running.leaving:
            self._add(chat, *running.said)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("turn %s failed", running.id, exc_info=error)

    def _tasks(self, within: str = "") -> list[asyncio.Task[None]]:
        """Return the tasks under way in a platform or a place, or everywhere."""
        here = [(chat, [box.worker]) for chat, box in self._boxes.items()]
        here += [(chat, [one.task for one in several]) for chat, several in self._beside.items()]
        found = [task for chat, tasks in here if not within or is_within(chat, within) for task in tasks]
        return [task for task in found if task is not None]

    async def _end(self, tasks: Collection[asyncio.Task[None]], why: EndReason) -> None:
        """End the running turns, with their last words on screen if that takes only a moment."""
        if not (tasks := set(tasks)):
            return
        running = [box.running for box in self._boxes.values() if box.running is not None and box.worker in tasks]
        for one in (*running, *(one for several in self._beside.values() for one in several if one.task in tasks)):
            one.end(why)
        _, late = await asyncio.wait(tasks, timeout=ENDING_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _as_coroutine(chat: ChatId, work: Work, running: Running) -> None:
    with about(chat, running.id), Contained():
        await work(running)
