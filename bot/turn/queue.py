"""One turn at a time in a chat, all chats side by side.

A chat's mailbox lives as long as something waits in it. It is fed from the stored inbox, so nothing is lost with
the process; what waits here is only the order.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from bot.contract import ChatId, MessageSent, is_within
from bot.operations import about
from bot.turn.run import Ending
from tools.cancelling import Contained

log = logging.getLogger(__name__)


ENDING_SECONDS = 1.3
"""Seconds that a turn ended from outside has to show its last words."""


@dataclass(slots=True)
class Running:
    """The turn a chat is busy with."""

    id: int
    person: str
    question: MessageSent | None = None
    """What is asked, where other questions may join it; see `bot.turn.joins`."""
    came_at: float = 0.0
    task: asyncio.Task[None] | None = None
    ending: Ending | None = None
    gathers: bool = True
    """It has not begun yet: what belongs to its question may still come."""
    speaking: bool = False
    """Its text is complete, and only its voice is not: a command that waits for its turn ends it."""
    leaving: bool = False
    """It ends after its next stored stage, for another process to go on."""

    def speaks(self) -> None:
        """See `Run.speaks`."""
        self.speaking = True

    async def at_stage(self) -> None:
        """End here if the turn is to be handed over; see `Run.at_stage`."""
        if self.leaving:
            self.end(Ending.HANDED_OVER)
            await asyncio.sleep(0)  # the cancellation comes here, before anything new begins

    def end(self, why: Ending) -> None:
        """Ask it to end; it completes what is on screen and stores how far it came."""
        if self.ending is None and self.task is not None and not self.task.done():
            self.ending = why
            self.task.cancel()


Work = Callable[[Running], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for its turn in a chat, see `TurnQueue.put`."""

    id: int
    person: str
    work: Work
    question: MessageSent | None
    came_at: float
    begun: Callable[[], None]
    scheduled: bool = False


@dataclass(slots=True)
class _Mailbox:
    waiting: deque[Waiting] = field(default_factory=deque)
    came: asyncio.Event = field(default_factory=asyncio.Event)
    running: Running | None = None
    worker: asyncio.Task[None] | None = None


class TurnQueue:
    """The mailboxes of all chats that are busy now."""

    def __init__(self) -> None:
        self._boxes: dict[ChatId, _Mailbox] = {}
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
        begun: Callable[[], None] = lambda: None,
        replaces: int = 0,
        scheduled: bool = False,
    ) -> None:
        """Do `work` after everything that waits in this chat already; at a later start where nothing more begins.

        Args:
            question: what is asked, where it may join another question; see `bot.turn.joins`.
            came_at: the monotonic time at which a person wrote it; without a question it is a command.
            begun: called when it waits no longer.
            replaces: a turn in whose place it is done: what runs of it is ended, and what waits is not begun.
            scheduled: a reminder asks it; it is none of the messages that wait.
        """
        if self._closed or chat.platform in self._left:
            return
        box = self._boxes.setdefault(chat, _Mailbox())
        waiting, one = [one.id for one in box.waiting], Waiting(id, person, work, question, came_at, begun, scheduled)
        if replaces and box.running is not None and box.running.id == replaces:
            box.running.end(Ending.REPLACED)
            box.waiting.appendleft(one)
        elif replaces and replaces in waiting:
            place = waiting.index(replaces)
            box.waiting[place] = replace(one, begun=box.waiting[place].begun)
        else:
            box.waiting.append(one)
            command = bool(came_at) and question is None
            if command and box.running is not None and box.running.speaking:
                box.running.end(Ending.STOPPED)
        box.came.set()
        if box.worker is None:
            box.worker = asyncio.create_task(self._work(chat, box), name=f"chat {chat}")

    def peek(self, chat: ChatId) -> Waiting | None:
        """Return what comes next in a busy chat."""
        box = self._boxes.get(chat)
        return box.waiting[0] if box and box.waiting else None

    def drop_next(self, chat: ChatId) -> None:
        """Take out what comes next: what is running has taken it over."""
        self._boxes[chat].waiting.popleft().begun()

    async def wait_for_more(self, chat: ChatId) -> None:
        """Wait until something more waits in a busy chat."""
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

    def holds(self, chat: ChatId, id: int) -> bool:
        """Return True if a turn runs or waits in this chat."""
        box = self._boxes.get(chat)
        if box is None:
            return False
        return (box.running is not None and box.running.id == id) or any(one.id == id for one in box.waiting)

    def gathers(self, chat: ChatId, id: int) -> bool:
        """Return True if a turn of this chat has not begun: it waits, here or for the rest of its question."""
        box = self._boxes.get(chat)
        if box is None:
            return False
        here = box.running
        return (here is not None and here.id == id and here.gathers) or any(one.id == id for one in box.waiting)

    def find_newest(self, chat: ChatId, person: str) -> ChatId | None:
        """Return the chat of the newest running turn in a channel and its threads: the person's own, else anybody's."""
        channel = (chat.platform, chat.account, chat.chat)
        found = [
            (box.running.person == person, box.running.id, place)
            for place, box in self._boxes.items()
            if box.running is not None and (place.platform, place.account, place.chat) == channel
        ]
        return max(found, key=lambda one: one[:2])[2] if found else None

    def count_of(self, person: str) -> int:
        """Return the number of running turns of a person, in all chats."""
        return sum(1 for box in self._boxes.values() if box.running is not None and box.running.person == person)

    def count_waiting(self, chat: ChatId, person: str = "") -> int:
        """Return the number of messages that wait in this chat: of one person, or of everybody."""
        box = self._boxes.get(chat)
        waiting = (one for one in box.waiting if not one.scheduled) if box else ()
        return sum(1 for one in waiting if not person or one.person == person)

    @property
    def busy(self) -> int:
        """Chats with a turn under way."""
        return sum(1 for box in self._boxes.values() if box.running is not None)

    async def wait_idle(self) -> None:
        """Wait until nothing runs and nothing waits."""
        while workers := [box.worker for box in self._boxes.values() if box.worker is not None]:
            await asyncio.wait(workers)

    async def close(self, grace: float) -> None:
        """Begin nothing more; give running turns `grace` seconds, then end them with a note on screen."""
        self._closed = True
        for box in self._boxes.values():
            box.waiting.clear()
        workers = [box.worker for box in self._boxes.values() if box.worker is not None]
        if not workers:
            return
        _, late = await asyncio.wait(workers, timeout=max(0.0, grace))
        await _end([box for box in self._boxes.values() if box.worker in late], Ending.SHUTDOWN)

    async def hand_over(self, place: str, grace: float) -> None:
        """Begin nothing more that waits in a place, and end each of its turns after its next stored stage, or after
        `grace` seconds in any case: another process goes on with them."""
        boxes = [box for chat, box in self._boxes.items() if is_within(chat, place)]
        for box in boxes:
            box.waiting.clear()
            if box.running is not None:
                box.running.leaving = True
                log.info("turn %s is handed over as soon as it has come to a stage", box.running.id)
        workers = [box.worker for box in boxes if box.worker is not None]
        if not workers:
            return
        _, late = await asyncio.wait(workers, timeout=grace)
        await _end([box for box in boxes if box.worker in late], Ending.HANDED_OVER)

    async def leave(self, platform: str) -> list[int]:
        """End what runs on a platform and forget what waits there, also what is put from now on until `enter`; return
        what ran: all of it goes on at a start."""
        self._left.add(platform)
        boxes = [box for chat, box in self._boxes.items() if chat.platform == platform]
        ran = [box.running.id for box in boxes if box.running is not None]
        for box in boxes:
            box.waiting.clear()
        await _end(boxes, Ending.SHUTDOWN)
        return ran

    def enter(self, platform: str) -> None:
        """Take in what is put there again."""
        self._left.discard(platform)

    async def _work(self, chat: ChatId, box: _Mailbox) -> None:
        try:
            while box.waiting:
                one = box.waiting.popleft()
                one.begun()
                running = box.running = Running(one.id, one.person, one.question, one.came_at)
                running.task = asyncio.create_task(_as_coroutine(chat, one.work, running), name=f"turn {one.id}")
                try:
                    await asyncio.shield(running.task)
                except asyncio.CancelledError:
                    if not running.task.done():
                        running.task.cancel()
                        await asyncio.gather(running.task, return_exceptions=True)
                        raise
                except Exception:
                    log.exception("turn %s failed", one.id)
                box.running = None
        finally:
            # No await between the last look at the mailbox and this: nothing put meanwhile is stranded.
            box.running = box.worker = None
            self._boxes.pop(chat, None)


async def _end(boxes: Sequence[_Mailbox], why: Ending) -> None:
    """End what runs, with its last words on screen where they can be written in a moment."""
    workers = [box.worker for box in boxes if box.worker is not None]
    if not workers:
        return
    for box in boxes:
        if box.running is not None:
            box.running.end(why)
    _, late = await asyncio.wait(workers, timeout=ENDING_SECONDS)
    for worker in late:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)


async def _as_coroutine(chat: ChatId, work: Work, running: Running) -> None:
    with about(chat, running.id), Contained():
        await work(running)
