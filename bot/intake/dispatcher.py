"""From an arrival to the beginning of its turn: is it known? allowed? a command? is the chat busy?

`deliver` returns as soon as the delivery is stored; everything else happens after the acknowledgement, in the order of
arrival within a chat.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from bot.commands import CommandActions, Presses
from bot.context import Admitted, language_for
from bot.contract import (
    Backoff,
    ChatId,
    ChatMoved,
    Clock,
    ControlPressed,
    Incoming,
    MessageDeleted,
    MessageEdited,
    MessageSent,
    StoreError,
    TimerDue,
    is_within,
)
from bot.intake.admission import Admission, Answer, Begin, Refuse, Verdict
from bot.intake.changes import Arrivals, Changes
from bot.intake.lateness import with_wait
from bot.intake.moves import Moves
from bot.intake.ownership import Ownership
from bot.intake.parts import Parts
from bot.intake.serving import Serving
from bot.intake.waiting import WaitingSigns
from bot.operations import TURN_SECONDS
from bot.pacing import Pacer
from bot.policy import Access, Once, once_in_chat
from bot.reply import Notices, Settling
from bot.safety import redacted
from bot.sentences import language_of, say
from bot.store import Claim, InboxRow, InboxState, Store
from bot.turn import STARTS_AT_ONCE, Approvals, Conversation, Merging, Reminders, Running, TurnQueue, is_job
from tools.programs.cancelling import Contained, complete, end_tasks

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False, kw_only=True)
class Dispatcher:
    """Receives deliveries and begins their turns."""

    store: Store
    access: Access
    reminders: Reminders
    clock: Clock
    once: Once
    queue: TurnQueue
    admission: Admission
    actions: CommandActions
    conversation: Conversation
    presses: Presses
    notices: Notices
    settling: Settling
    approvals: Approvals
    signs: WaitingSigns
    merging: Merging
    pacer: Pacer
    ownership: Ownership
    held: Callable[[], Iterable[str]] = tuple
    """Returns the chats with state that exists only in this process."""
    redact: redacted.Redact = redacted.redact_nothing
    """Masks secrets in what arrives, before it is stored or reaches a model."""

    def __post_init__(self) -> None:
        self._starts = asyncio.Semaphore(STARTS_AT_ONCE)
        self._serving = Serving(
            store=self.store,
            settling=self.settling,
            clock=self.clock,
            take_up=self._take_up,
            hand_over=self._hand_over,
            held=self.held,
        )
        self.serve = self._serving.serve
        self.hint = self._serving.hint
        self._arrivals = Arrivals()
        self._changes = Changes(self.store)
        self._parts = Parts(store=self.store, clock=self.clock, found=self.deliver if self.ownership.shared else None)
        self._moves = Moves(self.store, self.access)
        self._routes: dict[ChatId, asyncio.Task[None]] = {}
        self._open = True
        self._resumed: set[str] = set()
        self.resting: dict[str, int] = {}
        """Platform → how many deliveries wait there for a start that uses it."""

    async def deliver(self, incoming: Incoming, claim: Claim | None = None) -> None:
        """Store a delivery; return when it is safe. One that is already stored, or not claimed, is dropped.

        Raises:
            StoreError: it could not be stored; the platform must deliver it again.
        """
        if isinstance(incoming, ChatMoved):
            await self._moves.take_along(incoming)
            return
        async with self._arrivals.in_turn(incoming):
            await self._take_in(incoming, claim)

    async def _take_in(self, incoming: Incoming, claim: Claim | None) -> None:
        await self._moves.settle(incoming.chat)
        if isinstance(incoming, MessageEdited):
            incoming = await self._changes.as_told(incoming)
        gathered = self._parts.gather(self._late(redacted.redact_message(incoming, self.redact)))
        if gathered is None or await self._is_among_people(gathered):
            return  # nothing of it is stored
        incoming = gathered
        try:
            id = await self.store.intake.take_in(incoming, claim, self.ownership.ensure)
        except StoreError:
            await self._regret(incoming)
            raise
        if id is None:
            log.debug("delivered before: %s %s", incoming.chat, incoming.delivery)
            return
        if self.ownership.shared:
            await self._hint(str(incoming.chat.place), id)
        # A reminder for a platform that is not logged in yet waits for `resume`.
        elif self._open and (not _comes_by_itself(incoming) or incoming.chat.platform in self._resumed):
            self._route(id, incoming)

    async def _is_among_people(self, incoming: Incoming) -> bool:
        """Return True for people's messages to each other, and their changes and deletions."""
        if isinstance(incoming, MessageEdited | MessageDeleted):
            return not await self._changes.is_known(incoming)
        follows = isinstance(incoming, MessageSent) and incoming.follow_up
        return follows and not await self.store.history.count_turns(incoming.chat)

    async def resume(self, platform: str) -> None:
        """Continue everything that a former process left unfinished on a platform, once it is logged in."""
        if platform in self._resumed:
            return
        self._resumed.add(platform)
        self.queue.enter(platform)
        self._serving.enter(platform)
        if self.ownership.shared:
            return
        try:
            await self.settling.resume(platform)
            waiting = await self.store.intake.list_waiting()
        except BaseException:
            # An answer that is regenerated starts from nothing.
            self._resumed.discard(platform)
            raise
        for row in waiting:
            if row.chat.platform == platform:
                self._take_up(row, True)
        self.store.timers.changed.set()  # questions about tools there may have expired

    async def end_asked(self, platforms: Collection[str]) -> float | None:
        """End the expired questions about tools on these platforms; see `Approvals.end_due`."""
        logged_in = self._resumed.intersection(platforms)
        return await self.approvals.end_due(logged_in, self.ownership.ensure, self._show_again)

    async def _show_again(self, turn: int, chat: ChatId) -> None:
        if self.ownership.shared:
            await self._hint(str(chat.place), turn)
        else:
            await self.settling.refresh(turn, chat)

    async def _hint(self, place: str, row: int) -> None:
        """Notify the process that serves the place, which may be this one, of something new."""
        if not self.hint(place):
            await self.ownership.tell(place, row)

    def _take_up(self, row: InboxRow, again: bool) -> None:
        """Handle a stored row after the earlier ones of its chat; see `_route`."""
        if again and row.state == InboxState.NEW and isinstance(row.incoming, MessageSent):
            self.signs.take_away(row.incoming)
        incoming = self._late(row.incoming) if row.state == InboxState.NEW else row.incoming
        if isinstance(incoming, MessageSent) and incoming is not row.incoming:
            self._queue_in_chat(row.chat, partial(self.store.intake.revise_question, row.id, incoming))
        self._route(row.id, incoming, again=again)

    def _late(self, incoming: Incoming) -> Incoming:
        return with_wait(incoming, self.clock.wall(), self.ownership.answered_since)

    async def _hand_over(self, place: str) -> None:
        """End the running turns of a place at their next stage, so that another process can continue them."""
        await end_tasks(*(task for chat, task in self._routes.items() if is_within(chat, place)))
        await asyncio.gather(self.queue.hand_over(place, TURN_SECONDS), self.signs.suspend(place))
        await self.settling.suspend(place)

    async def suspend(self, platform: str) -> None:
        """Stop starting turns on an unavailable platform; its unfinished turns continue at a start that uses it, and
        attempts that failed for this reason do not count."""
        self._resumed.discard(platform)
        self._serving.leave(platform)
        await self.settling.suspend(platform)
        for turn in await self.queue.leave(platform):
            await self._retry_patiently(platform, partial(self.store.intake.pause, turn))
        await self._retry_patiently(platform, lambda: self.report_suspended(platform.__eq__))

    async def report_suspended(self, rests: Callable[[str], bool]) -> None:
        """Log once how many deliveries wait for each platform that `rests` says is not in use."""
        for platform, count in (await self.store.intake.count_unfinished()).items():
            if rests(platform):
                self.resting[platform] = count
                log.warning("unfinished on %s: %d; they continue at the next start with %s", platform, count, platform)

    async def close(self, grace: float = 8.0) -> None:
        """Accept nothing more, and end the running turns; unfinished turns continue at the next start."""
        self._open = False
        await self.ownership.hand_over()
        await asyncio.gather(self.queue.close(grace), self.signs.close(), self._parts.close())
        await self.settling.close()
        await end_tasks(*self._routes.values())
        await self.notices.close()

    async def wait_idle(self) -> None:
        """Wait until everything received so far is answered."""
        while (tasks := {*self.notices.under_way, *self._routes.values()}) or self.queue.busy:
            if tasks:
                # Not `gather`: from Python 3.12 on it returns at once if all are done, and their callbacks, which
                # remove them here, would never run.
                await asyncio.wait(tasks)
            await self.queue.wait_idle()

    def _route(self, id: int, incoming: Incoming, *, again: bool = False) -> None:
        """Decide about a stored delivery, after the chat's earlier ones: the order of arrival is kept.

        Args:
            again: a former process received and counted it, so it is not refused now.
        """
        self._queue_in_chat(incoming.chat, lambda: self._handle(id, incoming, again))

    def _queue_in_chat(self, chat: ChatId, work: Callable[[], Awaitable[object]]) -> None:
        """Do `work` after the chat's earlier work; returns at once."""
        before = self._routes.get(chat)

        async def working() -> None:
            if before is not None:
                await asyncio.gather(before, return_exceptions=True)
            try:
                with self.pacer.expecting(chat.platform, anew=True), Contained():
                    await self._retry_patiently(chat, work)
            except Exception:
                log.exception("%s: a delivery could not be handled", chat)
            finally:
                if self._routes.get(chat) is asyncio.current_task():
                    del self._routes[chat]

        self._routes[chat] = asyncio.create_task(working(), name=f"route {chat}")

    async def _retry_patiently(self, chat: ChatId | str, work: Callable[[], Awaitable[object]]) -> None:
        """Do `work` as soon as the store works, and the chat's later work after that."""
        backoff = Backoff(self.clock)
        while True:
            try:
                await work()
                return
            except StoreError as error:
                log.error("%s waits: %s", chat, error)
            await backoff.wait()

    async def _handle(self, id: int, incoming: Incoming, again: bool) -> None:
        """Decide about one delivery and act on it.

        Raises:
            StoreError: it must be handled again.
        """
        async with self._starts:
            if _comes_by_itself(incoming) and not await self.access.allows(incoming):
                await self._refuse_reminder(id, incoming)
            elif isinstance(incoming, MessageSent):
                asked = await self._parts.complete(incoming) or incoming
                if asked.beside:
                    await self.store.intake.end(id, InboxState.DONE)
                else:
                    await self._ask(id, await self._changes.as_meant(asked), again)
            elif isinstance(incoming, ControlPressed):
                await self._press(id, incoming, again)
            elif isinstance(incoming, MessageDeleted):
                await self._withdraw(id, incoming)
            elif not await self.access.allows(incoming):
                await self.store.intake.end(id, InboxState.REFUSED)
            elif isinstance(incoming, MessageEdited):
                await self._change(id, incoming, again)
            elif isinstance(incoming, TimerDue):
                self.queue.put(incoming.chat, id, incoming.sender.id, lambda _: self.reminders.show(id, incoming))
            elif not isinstance(incoming, ChatMoved):
                assert_never(incoming)

    async def _refuse_reminder(self, id: int, due: Incoming) -> None:
        """Drop a reminder whose owner has lost access. A repeated one is paused, with one sentence to its person in a
        private chat."""
        paused = await self.store.timers.pause_refused(due.delivery)
        await self.store.intake.end(id, InboxState.REFUSED)
        if paused is None:
            return
        log.warning("%s: reminder %d is paused: %s may not ask any more", due.chat, paused.number, due.sender.id)
        if not paused.grouped:
            message = MessageSent(
                delivery=due.delivery, chat=due.chat, sender=due.sender, target=due.target, text="", scheduled=True
            )
            said = say("reminder_forbidden", await language_for(self.store, message), number=paused.number)
            self.notices.soon(message, said, private=True)

    async def _press(self, id: int, press: ControlPressed, again: bool) -> None:
        """Do what a button asks; beyond the reply, only the presser gets an answer."""
        decided, said = await self.presses.decide(id, press), ""
        # The result of a decision was counted and admitted with its question.
        again = again or (decided.asks is not None and bool(decided.asks.decides))
        match decided.asks and await self.admission.decide(id, decided.asks, again=again):
            case Begin() as begins:
                said = decided.said
                await self._enqueue(id, begins)
            case Refuse() as refused:
                said = refused.sentence if await self._may_refuse(refused, press.aside) else ""
                await self.store.intake.end(id, InboxState.REFUSED)
            case _:
                said = decided.said
                await self.store.intake.end(id, InboxState.REFUSED if decided.refused else InboxState.DONE)
        if said:
            self.notices.soon(press.aside, said)
        if decided.redrawn[0]:
            self.notices.redraw(press, *decided.redrawn)

    async def _change(self, id: int, edited: MessageEdited, again: bool) -> None:
        """Ask a changed question again, in place of its former turn."""
        changed = await self._changes.find_change(edited)
        if changed is None:
            await self.store.intake.end(id, InboxState.DONE)
            return
        await self._ask(id, changed, again)

    async def _ask(self, id: int, asked: MessageSent, again: bool) -> None:
        """Decide about a message and act on it; one that replaces another is stored in its new form."""
        verdict = await self.admission.decide(id, asked, again=again)
        if isinstance(verdict, Begin) and asked.abandons:
            await self.presses.approvals.withdraw(asked.chat, asked.sender.id)
        if isinstance(verdict, Begin) and asked.replaces:
            former = await self.store.intake.revise_question(id, asked)
            self.queue.give_up(asked.chat, [one for one in former if one != asked.replaces])
        await self._act(id, asked, verdict)

    async def _withdraw(self, id: int, deleted: MessageDeleted) -> None:
        """Stop the turns that answer a deleted question, and delete their replies."""
        found = await self._changes.find_answers(deleted)
        if found is None:
            await self.store.intake.end(id, InboxState.DONE)
            return
        question, answers = found
        for answer in answers:
            await self.store.intake.end(answer, InboxState.STOPPED)

        async def withdraw(_: Running) -> None:
            await self._retry_patiently(question.chat, lambda: self.conversation.withdraw(id, question))

        held = [answer for answer in answers if self.queue.holds(question.chat, answer)]
        replaces = held[0] if held else answers[-1]
        self.queue.put(question.chat, id, question.sender.id, withdraw, replaces=replaces, deletes=True)
        self.queue.give_up(question.chat, answers)

    async def _act(self, id: int, message: MessageSent, verdict: Verdict) -> None:
        match verdict:
            case Refuse():
                await self.store.intake.end(id, InboxState.REFUSED)
                if verdict.sentence and await self._may_refuse(verdict, message):
                    self.notices.soon(message, verdict.sentence, private=True, stranger=verdict.stranger)
            case Answer(meant, _, stranger):
                said = await self.actions.run_at_once(verdict)
                if said.text:
                    self.notices.soon(meant, said.text, private=said.private, buttons=said.buttons, stranger=stranger)
                # It was answered: its end is stored however long that takes, also while its place is handed over.
                await complete(self._retry_patiently(meant.chat, lambda: self.store.intake.end(id, InboxState.DONE)))
            case Begin():
                await self._enqueue(id, verdict)
            case _:
                assert_never(verdict)

    async def _may_refuse(self, refused: Refuse, message: MessageSent) -> bool:
        # Asked in any case: the answer to a slash command counts as the one time.
        return refused.once_per is None or await self.once.claim(refused.once_per) or message.awaited

    async def _enqueue(self, id: int, asked: Admitted) -> None:
        """Begin a message's turn after those that wait in its chat; a changed question replaces its former turn.

        Raises:
            StoreError: it must be handled again.
        """
        message = asked.message
        self._parts.note(message)
        asks = not (message.command or message.replaces or message.scheduled or message.decides)
        job = await self.merging.find_amended(message) if asks or is_job(message) else None
        if job is not None and message.awaited:
            self.notices.soon(message, asked.say("job_noted"), private=True)
        if asks and job is None:
            await self.merging.interrupt(message)
        busy = self.queue.find_running(message.chat) is not None or self.queue.count_waiting(message.chat) > 0
        waits = busy or job is not None
        # A message that waits there already has its sign; an answer that is requested again ends first.
        replaces = 0 if message.command else message.replaces
        waits = waits and not self.queue.holds(message.chat, replaces)
        begun = self.signs.show(asked) if waits and not message.scheduled else lambda: None

        async def turn(running: Running) -> None:
            with self.pacer.expecting(message.chat.platform):
                run = self.actions.run_in_turn if message.command else self.conversation.run
                await run(id, asked, running)

        self.queue.put(
            message.chat,
            id,
            message.sender.id,
            turn,
            question=message if asks or job is not None else None,
            came_at=self.clock.monotonic(),
            command=bool(message.command),
            begun=begun,
            replaces=replaces,
            scheduled=message.scheduled,
            job=is_job(message),
            adds_to=job,
        )

    async def _regret(self, incoming: Incoming) -> None:
        """Say that a message cannot be stored now; it comes again, and is answered then."""
        if not isinstance(incoming, MessageSent) or incoming.scheduled:
            return
        if not await self.once.claim(once_in_chat(incoming.chat, "store")):
            return
        try:
            allowed = await self.access.allows(incoming)
        except StoreError:
            return
        if allowed:
            reference = secrets.token_hex(3)
            log.error("%s: a message cannot be stored [%s]", incoming.chat, reference, extra={"reference": reference})
            language = language_of(incoming.text, incoming.sender.language)
            self.notices.soon(incoming, say("store", language, id=reference), passes=True)


def _comes_by_itself(incoming: Incoming) -> bool:
    """Return True if a reminder sends it: nobody wrote it now, and it waits for its platform."""
    return isinstance(incoming, TimerDue) or (isinstance(incoming, MessageSent) and incoming.scheduled)
