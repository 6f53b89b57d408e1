"""One turn, from a stored question to its last edit: load, resume, ask, show, end, close.

Every stage is stored before the next begins. If a process dies at any moment, another continues: it reuses finished
passes and tool results, and completes the same messages.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace

from bot.agent import Agent, Failed, Finished, Task, answer_with, policy_for
from bot.context import Admitted, Briefings, ChatBook, Summaries
from bot.contract import (
    AUDIBLE,
    LIMITS,
    Backoff,
    BotError,
    Clock,
    DeliveryError,
    Limits,
    MessageSent,
    Metrics,
    StoreError,
    Surface,
    Unreachable,
    Watcher,
    origin_of,
    reference_of,
)
from bot.model import Models
from bot.policy import Once, Permit, Quotas, charge
from bot.reply import Notices, Replies, Settling, approval_buttons
from bot.safety import Redact, enclosed_in
from bot.sentences import say
from bot.settings import AnswerSettings, TurnSettings
from bot.store import InboxState, Store, TurnState
from bot.toolchoice import NamedCall
from bot.turn.approvals import Approvals
from bot.turn.attachments import Attachments
from bot.turn.closing import Closing, Outcome
from bot.turn.draft import Draft, Progress, write_unsent
from bot.turn.events import EventTaker, ends_stage
from bot.turn.jobs import JOB_FRESH_SECONDS, JOB_PACE, JOB_SECONDS, is_job
from bot.turn.loading import Known, Loading
from bot.turn.merging import Merging
from bot.turn.narration import Narrator
from bot.turn.narrations import Narrations
from bot.turn.queue import Running
from bot.turn.run import LEFT, EndReason, Run, TurnLimits, finish, uncancel
from bot.turn.story import Story
from bot.turn.task import AgentOf, TaskMaker
from bot.turn.thread_context import ThreadContext
from bot.turn.tool_offer import ToolOffer
from tools.calling.registry import ToolRegistry
from tools.programs.cancelling import Contained, complete

log = logging.getLogger(__name__)

SERVERS_SECONDS = 5.0
"""How long after the start a turn waits for the tools of starting MCP servers."""


@dataclass(eq=False, repr=False, kw_only=True)
class Conversation:
    """Runs turns; one object for the whole process, one `run` per turn."""

    store: Store
    models: Models
    agent_of: AgentOf
    registry: ToolRegistry
    replies: Replies
    notices: Notices
    clock: Clock
    answers: AnswerSettings
    turns: TurnSettings
    redact: Redact
    surface: Callable[[MessageSent], Surface]
    quotas: Quotas
    once: Once
    summaries: Summaries
    briefings: Briefings
    settling: Settling
    thread_context: ThreadContext
    attachments: Attachments
    book: ChatBook
    tool_offer: ToolOffer
    merging: Merging
    approvals: Approvals
    narrator: Narrator
    metrics: Metrics = field(default_factory=Metrics)
    watchers: Sequence[Watcher] = ()
    limits: Limits = LIMITS

    def __post_init__(self) -> None:
        self._loading = Loading(
            store=self.store,
            models=self.models,
            book=self.book,
            briefings=self.briefings,
            quotas=self.quotas,
            thread_context=self.thread_context,
            attachments=self.attachments,
        )
        self._task_maker = TaskMaker(
            store=self.store,
            models=self.models,
            briefings=self.briefings,
            tool_offer=self.tool_offer,
            quotas=self.quotas,
            clock=self.clock,
            zone=self.answers.time_zone,
            merging=self.merging,
            approvals=self.approvals,
            limits=self.limits,
            agent_of=self.agent_of,
        )
        self._narrations = Narrations(
            store=self.store, narrator=self.narrator, replies=self.replies, notices=self.notices, once=self.once
        )
        self._events = EventTaker(
            store=self.store, registry=self.registry, prices=self.quotas.prices, metrics=self.metrics, clock=self.clock
        )
        self._closing = Closing(
            store=self.store,
            models=self.models,
            once=self.once,
            settling=self.settling,
            summaries=self.summaries,
            approvals=self.approvals,
            metrics=self.metrics,
            clock=self.clock,
            answers=self.answers,
            redact=self.redact,
        )

    async def prepare(self) -> None:
        """Load what the first answer would otherwise wait for."""
        await self.tool_offer.prepare()

    async def run(
        self,
        turn: int,
        asked: Admitted,
        running: Running,
        *,
        do: Callable[[Run], Awaitable[None]] | None = None,
    ) -> None:
        """Answer a question. Never raises, except for a cancellation that `running` does not explain: the edge around a
        turn.

        Args:
            turn: the inbox row's id.
            do: runs a command instead of asking a model.
        """
        if running.came_at:
            self.metrics.queue_wait.observe(self.clock.monotonic() - running.came_at)
        job = is_job(asked.message) or self.agent_of(asked.message.chat).works_long
        limits = TurnLimits(self.clock.monotonic() + (JOB_SECONDS if job else self.turns.turn_seconds))
        ending, came_at = lambda: running.ending, running.came_at
        stage, speaks = running.at_stage, running.speaks
        run = Run(turn, asked.message, asked.language, ending, limits, came_at, stage, speaks, do, job)
        try:
            await self.merging.collect(run)
            await self._try_until_answered(run)
        except asyncio.CancelledError:
            match running.ending:
                case EndReason.STOPPED:
                    uncancel()
                    await self._stop(run)
                case EndReason.REPLACED:
                    uncancel()
                case _:
                    await self._take_back(run)
                    raise

    async def read_aloud(self, run: Run) -> None:
        """Speak an answer of the chat without asking a model.

        Raises:
            StoreError: the store fails now.
        """
        with charge(await self.quotas.payer_for(run.question)):
            await self._narrations.read_aloud(run, self.surface(run.question))

    async def withdraw(self, id: int, question: MessageSent) -> None:
        """Withdraw all replies to a deleted question with their turns; `id` is the inbox row of the deletion.

        Raises:
            StoreError: the store fails now.
        """
        for answer in await self.store.turns.list_answers(question.chat, question.message_id):
            await self.settling.drop(answer)
            try:
                await self.replies.take_back(self.surface(question), await self.store.turns.load(answer))
            except DeliveryError as error:
                log.warning("turn %s: the reply to a deleted question could not be deleted: %s", answer, error)
        await self.store.turns.forget(question.chat, question.message_id)
        await self.store.intake.end(id, InboxState.DONE)

    async def _stop(self, run: Run) -> None:
        """End a stopped turn that was showing no answer."""
        with suppress(StoreError):
            await self.store.intake.end(run.turn, InboxState.STOPPED)
        if not run.shown:
            self.notices.soon(run.question, say("stopped", run.language))

    async def _take_back(self, run: Run) -> None:
        """Take back the attempt of a process that ends in order, if the store can be written."""
        with suppress(StoreError):
            await run.limits.take_back(lambda: self.store.intake.pause(run.turn))

    async def _try_until_answered(self, run: Run) -> None:
        """Retry until neither the store nor the platform fails."""
        turn, question = run.turn, run.question
        backoff = Backoff(self.clock)
        while True:
            try:
                await run.at_stage()
                await self._try_once(run)
                return await self.notices.take_back(question)
            except StoreError as error:
                log.error("turn %s [%s] waits: %s", turn, reference_of(turn), error)
                if not backoff.tries:
                    words = say("store", run.language, id=reference_of(turn))
                    await self.notices.apologise(question, words, passes=True)
            except Unreachable as error:
                log.warning("turn %s waits: %s", turn, error)
            paused = self.clock.monotonic()
            await backoff.wait()
            run.limits.deadline += self.clock.monotonic() - paused

    async def _try_once(self, run: Run) -> None:
        """Answer the question, continuing from what is stored.

        Raises:
            StoreError: the store fails now.
            Unreachable: the platform is not connected now.
        """
        turn, question = run.turn, run.question
        try:
            with Contained():
                await self._try_to_answer(run)
        except (StoreError, Unreachable):
            raise
        except Exception:
            reference = reference_of(turn)
            log.exception("turn %s [%s] failed", turn, reference)
            self.metrics.turns_ended.add(TurnState.FAILED)
            await self.notices.apologise(question, say("failed", run.language, id=reference))
            await self.store.intake.end(turn, InboxState.FAILED)

    async def _try_to_answer(self, run: Run) -> None:
        question = run.question
        if run.do is not None:
            await run.limits.count(lambda: self.store.turns.begin(run.turn, question.chat, question.sender.id))
            if await self._may_begin(run):
                await run.do(run)
            return
        await self.registry.settle(SERVERS_SECONDS)
        await self._wait_for_allowed(run)
        permit, named = await self.tool_offer.find_named(
            question, run.language, lambda: self.surface(question).limits.command_form
        )
        if named and named.call is None and named.problem and isinstance(self.agent_of(question.chat), Agent):
            await self._refuse(run, named.problem)
            return
        if question.replaces:
            await complete(self._loading.take_over(run, self.settling.drop))
        known = await self._look_up(run)
        if run.job and known.before.began:
            run.limits.end_by(self.clock.monotonic() + known.before.began + JOB_SECONDS - self.clock.wall())
        if known.stands:
            await self._speak_on(run, known)
        elif await self._may_begin(run):
            with charge(replace(known.payer, turn=run.turn)), Story(self.clock, run.turn, self.watchers) as story:
                await self._answer(run, known, permit, named, story)

    async def _wait_for_allowed(self, run: Run) -> None:
        """Wait for the server of an allowed call; while the server starts, the turn's clock is stopped.

        Raises:
            StoreError: the store fails now.
        """
        decision = await self.approvals.decision_of(run.turn, run.question)
        if decision is None or not decision.allowed or not self.registry.could_bring(decision.call.name):
            return
        since = self.clock.monotonic()
        async with self.replies.sign(self.surface(run.question), f"t{run.turn}", say("thinking", run.language)):
            await self.registry.wait_for(decision.call.name)
        run.limits.deadline += self.clock.monotonic() - since

    async def _look_up(self, run: Run) -> Known:
        """Load what the answer needs; a transcription takes seconds and shows a sign.

        Raises:
            StoreError: the store fails now.
            Unreachable: the platform is not connected now.
        """
        if all(one.heard or one.kind not in AUDIBLE for one in enclosed_in(run.question)):
            return await self._loading.look_up(run)
        words = say("listening", run.language)
        async with self.replies.sign(self.surface(run.question), f"t{run.turn}", words):
            return await self._loading.look_up(run)

    async def _refuse(self, run: Run, problem: str) -> None:
        """Say why the tool named in the question cannot be called; nothing is recorded, and no model learns of it."""
        await run.limits.count(lambda: self.store.intake.begin(run.turn))
        if await self._may_begin(run):
            await self.notices.tell(run.question, problem, turn=f"t{run.turn}")
            await self.store.intake.end(run.turn, InboxState.DONE)

    async def _may_begin(self, run: Run) -> bool:
        """Return True if the turn may begin: it has not ended, and not too many processes died over it."""
        if not run.limits.attempts:
            return False
        self.metrics.turns_begun.add()
        if not run.limits.exceeded:
            return True
        turn, reference = run.turn, reference_of(run.turn)
        await self.notices.tell(run.question, say("failed", run.language, id=reference), turn=f"t{turn}")
        await self.store.intake.end(turn, InboxState.FAILED)
        log.error("turn %s [%s]: given up after %d attempts", turn, reference, run.limits.attempts - 1)
        self.metrics.turns_ended.add(TurnState.FAILED)
        return False

    async def _answer(self, run: Run, known: Known, permit: Permit, named: NamedCall | None, story: Story) -> None:
        """Resume from earlier attempts, ask the agent, show the answer, and close the turn."""
        draft = self._resume(run, known, story)
        await asyncio.sleep(0)  # no other chat waits for the whole of a long question
        may_ask = self.replies.can_ask(run.question)
        task, briefing = await self._task_maker.make_task(draft, permit, named, may_ask=may_ask)
        speaks = False
        async with self._narrations.beside(draft.voice, run.question.chat):
            end = await self._show_whole(draft, task)
            if end is None:
                return
            made = draft.made
            made.unsent = draft.reply.undelivered
            if made.unsent:
                notes = write_unsent(made.unsent, run.language, f"t{run.turn}")
                await self.notices.tell(known.question, "\n\n".join(notes), turn=f"t{run.turn}-unsent")
            speaks = draft.voice is not None and bool(draft.reply.visible)
            await self._closing.close(draft, end, task, briefing, stays=speaks)
            if end.asked is not None:
                await self.approvals.follow(end.asked)
            if draft.voice is not None and speaks:
                await self._narrations.complete(draft.voice, run)
        if speaks:
            await self.store.intake.end(run.turn, InboxState(end.state))

    async def _speak_on(self, run: Run, known: Known) -> None:
        """Speak the rest of an answer that a former process completed, unless too many processes died over it."""
        if run.limits.attempts and not run.limits.exceeded:
            with charge(replace(known.payer, turn=run.turn)):
                await self._narrations.speak_on(run, known, self.surface(run.question))
        await self.store.intake.end(run.turn, InboxState.DONE)

    async def _show_whole(self, draft: Draft, task: Task) -> Outcome | None:
        """Show the answer until it is final; return how it ended, or None if the process ends before it."""
        run, reply = draft.run, draft.reply
        async with reply:
            draft.show_again()
            try:
                end = await self._show(draft, task)
                if end is None:
                    return None
                if end.asked is not None:
                    reply.offer(approval_buttons(end.asked))
                else:
                    self.replies.offer(reply, run.turn, run.question, run.language, goes_on=end.goes_on)
                if voice := draft.voice if end.state == TurnState.DONE else None:
                    voice.end()
                await finish(reply, run, end.state, voice.ends_spoken if voice else None)
            except asyncio.CancelledError:
                if run.ending() in LEFT:
                    await reply.leave()
                raise
        return end

    def _resume(self, run: Run, known: Known, story: Story) -> Draft:
        """Open the reply, and resume from earlier attempts."""
        question, before = known.question, known.before
        policy = policy_for(question, self.answers.unknown_links)
        surface = self.surface(question)
        reply = self.replies.answer(
            surface,
            question.chat,
            before,
            policy,
            run.language,
            question=question,
            in_place=known.in_place,
            shown=run.shown,
            pace=JOB_PACE if run.job else None,
            fresh_after=JOB_FRESH_SECONDS if run.job else None,
        )
        made = Progress(story)
        story.asked(question, run.limits.attempts, run.came_at)
        voice = None if run.job else self._narrations.begin(run, known, reply, policy)
        draft = Draft(run, known, self.answers, policy, reply, surface.limits, made, voice=voice)
        draft.resume(self.registry, self.quotas.prices)
        return draft

    async def _show(self, draft: Draft, task: Task) -> Outcome | None:
        """Show the answer while it is made; return how it ended, or None if the process ends before it."""
        run, reply = draft.run, draft.reply
        try:
            await run.at_stage()
            with Contained():
                outcome = await self._follow(draft, task)
        except BotError:
            raise
        except Exception as error:
            log.exception("turn %s failed", run.turn)
            outcome = Failed("failed", origin_of(error), retry=False)
        except asyncio.CancelledError:
            why = run.ending()
            if why is None or why in LEFT:
                raise
            uncancel()
            reply.end_in_place()
            if why is EndReason.SHUTDOWN:
                draft.write(say("shutdown", run.language))
                # In parallel: a locked database must not hide why the answer ends here.
                await asyncio.gather(self._take_back(run), reply.finish())
                return None
            goes_on = any(part.strip() for part in draft.made.visible)
            await self._closing.write_former(draft)
            end = Outcome(TurnState.STOPPED, say("stopped", run.language), goes_on=goes_on)
            draft.write(end.note)
            return end
        return await self._closing.write_under(draft, outcome)

    async def _follow(self, draft: Draft, task: Task) -> Finished | Failed | None:
        """Ask, and show each event; return None if nobody can read the rest."""
        answer = answer_with(draft.unread) if draft.unread else self.agent_of(draft.run.question.chat).answer(task)
        draft.made.story.begin_pass()
        async with draft.reply.followed(), aclosing(answer) as events:
            async for event in events:
                outcome = await self._events.take(draft, event)
                if outcome is not None:
                    draft.end_progress(outcome)
                    return outcome
                if ends_stage(draft.made, event):
                    await draft.run.at_stage()
        return None
