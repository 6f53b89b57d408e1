"""One turn, from a stored question to its last edit. The only module that knows history, agent and reply together.

Every stage is stored before the next begins, so that a process that dies at any moment is followed by one that
goes on: finished passes and tool results are reused, and the same messages are edited to completion.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass

from bot.agent import (
    GAP,
    Agent,
    CallKey,
    EarlyCall,
    Event,
    Failed,
    FileProduced,
    Finished,
    ModelReplaced,
    PassEnded,
    ReasoningDelta,
    Task,
    TextDelta,
    ToolFinished,
    ToolStarted,
    answered_with,
    learn_result,
    policy_for,
)
from bot.context import (
    Briefings,
    ChatBook,
    ChatFacts,
    ChatOptions,
    Past,
    Pinned,
    Summaries,
    as_told,
    user_entry,
)
from bot.contract import Backoff, Clock, MessageSent, StoreError, Surface, Unreachable, joined, reference_of
from bot.model import Models, cost
from bot.operations import Metrics, Story
from bot.policy import Budgets, DayPurse, Once, Payer, Permit, metered, paid_by
from bot.reply import Notices, Replies, ReplyStream, Settling, files_before
from bot.safety import LinkPolicy, Redactor, clean_answer, enclosures, tool_entry
from bot.sentences import say
from bot.store import FILE_BYTES, InboxState, Store, StoredTurn, TurnState
from bot.toolchoice import NamedCall
from bot.turn import workings
from bot.turn.attempts import MOST_ATTEMPTS, Ending, Run
from bot.turn.earlier import EarlierWords
from bot.turn.ending import is_said, note_of, paragraph
from bot.turn.offers import Offers
from bot.turn.progress import Progress
from bot.turn.turnoptions import TurnOptions
from tools.base import ToolContext, ToolResult
from tools.registry import ToolRegistry

log = logging.getLogger(__name__)

STARTS_AT_ONCE = 8
"""Turns that are looked up in the store at the same time. When a hundred begin at once, all side by side, the first
request to a model leaves as late as the last; a few at a time, those that came first are answered first."""
SERVERS_SECONDS = 5.0
"""How long after the start a turn waits for the tools of MCP servers that are being started."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What an attempt goes on from."""

    before: StoredTurn
    options: ChatOptions
    past: Past
    facts: Pinned
    payer: Payer
    question: MessageSent
    """With what was written before it."""


class Conversation:
    """Runs turns; one object for the whole process, one `run` per turn."""

    def __init__(
        self,
        *,
        store: Store,
        models: Models,
        agent: Agent,
        registry: ToolRegistry,
        replies: Replies,
        notices: Notices,
        clock: Clock,
        options: TurnOptions,
        surface: Callable[[MessageSent], Surface],
        budgets: Budgets,
        once: Once,
        summaries: Summaries,
        briefings: Briefings,
        settling: Settling,
        earlier: EarlierWords,
        book: ChatBook,
        offers: Offers,
        metrics: Metrics | None = None,
    ) -> None:
        self._starts = asyncio.Semaphore(STARTS_AT_ONCE)
        self._summaries = summaries
        self._briefings = briefings
        self._settling = settling
        self._earlier = earlier
        self._metrics = metrics or Metrics()
        self._budgets = budgets
        self._once = once
        self._purse = DayPurse(budgets)
        self._book = book
        self._offers = offers
        self._store = store
        self._models = models
        self._agent = agent
        self._registry = registry
        self._replies = replies
        self._notices = notices
        self._clock = clock
        self._options = options
        self._surface = surface

    async def run(self, turn: int, question: MessageSent, language: str, ending: Callable[[], Ending | None]) -> None:
        """Answer `question`. Never raises but for cancellation without an `ending`: the edge around a turn.

        Args:
            turn: the inbox row's id.
            language: that in which the person is spoken to.
            ending: why the task is being cancelled, asked when it is.
        """
        run = Run(turn, question, language, ending)
        try:
            await self._tried(run)
        except asyncio.CancelledError:
            if ending() is not Ending.STOPPED:
                await self._taken_back(run)
            raise

    async def _taken_back(self, run: Run) -> None:
        """Take an attempt back that is interrupted in good order, if the store can be written to."""
        with suppress(StoreError):
            await run.take_back(self._store.intake.pause)

    async def _tried(self, run: Run) -> None:
        """Attempt it until neither the store nor the platform stands in the way."""
        turn, question = run.turn, run.question
        backoff = Backoff(self._clock)
        while True:
            try:
                await self._attempt(run)
                return
            except StoreError as error:
                log.error("turn %s [%s] waits: %s", turn, reference_of(turn), error)
                if not backoff.tries:
                    await self._notices.apologise(question, say("store", run.language, id=reference_of(turn)))
            except Unreachable as error:
                log.warning("turn %s waits: %s", turn, error)
            await backoff.wait()

    async def _attempt(self, run: Run) -> None:
        """Answer the question, going on from what is stored.

        Raises:
            StoreError: the store does not work now.
            Unreachable: the platform is not connected now.
        """
        turn, question, language = run.turn, run.question, run.language
        reference = reference_of(turn)
        try:
            await self._registry.settle(SERVERS_SECONDS)
            permit, named = await self._offers.named(
                question, language, lambda: self._surface(question).limits.command_form
            )
            problem = named.problem if named is not None and named.call is None else ""
            known = None if problem else await self._begin(run)
            if problem:
                # No record is opened: nothing of it is told to a model later.
                await run.count(lambda: self._store.intake.begin(turn))
            if not run.attempts:
                return
            self._metrics.turns_begun.add()
            if run.attempts > MOST_ATTEMPTS:
                await self.tell(question, say("failed", language, id=reference), turn=f"t{turn}")
                await self._store.intake.end(turn, InboxState.FAILED)
                log.error("turn %s [%s]: given up after %d attempts", turn, reference, run.attempts - 1)
                self._metrics.turns_ended.add(TurnState.FAILED)
                return
            if known is None:
                await self.tell(question, problem, turn=f"t{turn}")
                await self._store.intake.end(turn, InboxState.DONE)
                return
            with paid_by(known.payer):
                await self._answer(run, known, permit, named)
        except (StoreError, Unreachable):
            raise
        except Exception:
            log.exception("turn %s [%s] failed", turn, reference)
            self._metrics.turns_ended.add(TurnState.FAILED)
            await self._notices.apologise(question, say("failed", language, id=reference))
            await self._store.intake.end(turn, InboxState.FAILED)

    async def tell(self, question: MessageSent, text: str, *, turn: str = "", private: bool = False) -> None:
        """Answer with words of our own, see `Notices`."""
        await self._notices.tell(question, text, turn=turn, private=private)

    async def _begin(self, run: Run) -> _Known:
        """Count the attempt, once, and look up what the answer goes on from."""
        store, question = self._store, run.question

        async with self._starts:
            # Side by side they are one way to the store's threads and back. What is stored of a turn that is opened
            # only now is nothing, whichever comes first.
            _, before, options, past, facts, payer = await asyncio.gather(
                run.count(lambda: store.turns.begin(run.turn, question.chat, question.sender.id)),
                store.turns.load(run.turn),
                self._book.of(question.chat),
                self._briefings.past(question),
                ChatFacts(store.facts, question).pinned(),
                self._budgets.payer(question),
            )
        question = await self._earlier.completed(question, options.model or self._models.name)
        return _Known(before, options, past, facts, payer, question)

    async def _answer(self, run: Run, known: _Known, permit: Permit, named: NamedCall | None) -> None:
        store, options = self._store, self._options
        turn, question, language, ending = run.turn, known.question, run.language, run.ending
        before, past = known.before, known.past
        redact = Redactor(options.secrets).redact
        deadline = self._clock.monotonic() + options.turn_seconds
        model = metered(self._models.choose(known.options.model), self._budgets, self._models.estimator)
        surface = self._surface(question)
        form = surface.limits.command_form
        asked = user_entry(question, past.quoted_origin)
        policy, unread = policy_for(question, options.unknown_links), enclosures.unread(question, language)

        made = Progress(Story(self._clock), passes=[one.entry for one in before.passes])
        made.story.asked(question, run.attempts)
        for one in before.passes:
            made.model, made.usage = one.model, made.usage + one.usage
            made.cost += self._budgets.prices.cost_of(one.model, one.usage) or 0.0
        done: dict[CallKey, ToolResult] = {}
        unknown: set[CallKey] = set()
        for record in before.calls:
            key = (record.passnumber, record.call.id)
            if record.result is not None:
                made.cost += record.result.dollars
                done[key] = record.result
                origin = made.passes[record.passnumber - 1].origin
                made.results[key] = tool_entry(record.call, record.result, made.marker, origin)
                made.citations.add(record.result.sources)
                learn_result(policy, self._registry.spec(record.call.name), record.call, record.result)
            elif record.effects:
                unknown.add(key)

        first = self._offers.first_call(question, permit, named)
        # What was called before a restart, or is called first, must be among the tools.
        forced = named.tool if named is not None else ""
        certain = [call.name for entry in made.passes for call in entry.calls]
        certain += [name for name in (first.name if first else "", forced) if name]
        tools = await self._offers.tools(question, permit, past.entries, certain, model.name)
        briefing = self._briefings.of(question, asked, past, known.facts, model.name, tools, known.options.told)
        task = Task(
            entries=briefing.entries,
            model=model,
            tools=tools,
            permits=permit.allows,
            context=ToolContext(
                scope=str(question.chat),
                person=question.sender.id,
                language=language,
                zone=options.zone,
                facts=ChatFacts(store.facts, question),
                now=lambda: datetime.datetime.fromtimestamp(self._clock.wall(), datetime.UTC),
                timers=store.timers.bind(
                    question.chat, question.sender, question.target if question.target.lasts else None
                ),
                files=store.files,
                purse=self._purse,
            ),
            deadline=deadline,
            tool_choice=forced or "auto",
            begin_with=first,
            passes=tuple(made.passes),
            results=done,
            outcome_unknown=frozenset(unknown),
        )
        reply = self._replies.answer(
            surface, question.chat, before, policy, language, question=question, shown=run.shown
        )
        most_bytes = min(surface.limits.attachment_bytes, FILE_BYTES)
        for file in files_before(before):
            made.attach(file, reply, most_bytes)
        state, note, error = TurnState.DONE, "", ""
        async with reply:
            for entry in made.passes:
                if entry.text:
                    made.visible.append(workings.between(made.visible, options) + entry.text)
                    reply.append(made.visible[-1])
            outcome: Finished | Failed | None = None
            try:
                answer = answered_with(unread) if unread else self._agent.answer(task)
                async with reply.followed(), aclosing(answer) as events:
                    async for event in events:
                        if isinstance(event, ModelReplaced):
                            made.visible.append(paragraph(made.visible, say("replaced", language)) + "\n\n")
                            reply.append(made.visible[-1])
                            continue
                        outcome = await self._take(turn, event, made, reply, policy, most_bytes)
                        if outcome is not None:
                            break
            except asyncio.CancelledError:
                why = ending()
                if why is None:
                    raise
                current = asyncio.current_task()
                if current is not None:
                    current.uncancel()
                if why is Ending.SHUTDOWN:
                    reply.append(paragraph(made.visible, say("shutdown", language)))
                    # Side by side: a locked database keeps nobody from reading why the answer ends here.
                    await asyncio.gather(self._taken_back(run), reply.finish())
                    return
                state, note = TurnState.STOPPED, say("stopped", language)
                reply.append(paragraph(made.visible, note))
            else:
                empty = isinstance(outcome, Finished) and not clean_answer(made.shown).strip()
                told = Failed("empty", "nothing of the answer can be seen") if empty else outcome
                note = note_of(told, run, form, asked, self._models, self._metrics, self._clock)
                if isinstance(outcome, Failed) and not await is_said(outcome, question, self._once):
                    note = note if made.visible else ""
                for words in (
                    made.citations.footer(made.shown, language),
                    *await workings.under(store, turn, made.reasoning, language, redact, options, surface.limits),
                    *made.unsent_notes(language, f"t{turn}"),
                    note,
                ):
                    if words:
                        made.visible.append(paragraph(made.visible, words))
                        reply.append(made.visible[-1])
                if isinstance(outcome, Failed):
                    state, error = TurnState.FAILED, outcome.detail
                elif outcome is None:
                    state = TurnState.STOPPED  # nobody can read it any more
            try:
                await reply.finish()
            except asyncio.CancelledError:
                if ending() is not Ending.STOPPED or state == TurnState.STOPPED:
                    raise
                # There is nothing to stop any more: the answer is complete and only waits to be shown.
                current = asyncio.current_task()
                if current is not None:
                    current.uncancel()
                await reply.finish()
        made.unsent = reply.undelivered
        if made.unsent:
            await self.tell(question, "\n\n".join(made.unsent_notes(language, f"t{turn}")), turn=f"t{turn}-unsent")
        if state == TurnState.DONE and made.last_token and not reply.lost:
            self._metrics.lag.observe(self._clock.monotonic() - made.last_token)
        due = self._settling.due(reply, resumed=any(page.ref for page in before.pages))
        entries = made.entries(asked, redact(note), redact, told=joined(entry.origin for entry in briefing.entries))
        await store.turns.close(
            turn,
            state,
            entries,
            visible=reply.text,
            reasoning=redact(made.reasoning),
            model=made.model or ("" if unread else model.name),
            usage=made.usage,
            cost=made.cost,
            error=redact(error or reply.lost),
            again_at=due.at if due else None,
            cuts=reply.cuts if due else (),
        )
        self._settling.begin(turn, question.chat, due)
        self._metrics.turns_ended.add(state)
        made.story.answered(state, pages=len(reply.refs), edits=reply.edits, usage=made.usage, dollars=made.cost)
        new = cost([as_told(entry) for entry in entries], self._models.estimator(model.name).tokens)
        self._summaries.after_turn(
            question.chat, model, briefing.past_tokens + new, room=briefing.room, left_out=briefing.left_out > 0
        )

    async def _take(
        self, turn: int, event: Event, made: Progress, reply: ReplyStream, policy: LinkPolicy, most_bytes: int
    ) -> Finished | Failed | None:
        """One event: stored where it must survive, then shown. Returns the last one."""
        match event:
            case TextDelta(text):
                made.last_token = self._clock.monotonic()
                # What stands between two passes is ours, and never told to a model as its own words.
                between = "" if made.current else workings.between(made.visible, self._options)
                said = text if made.current else text.removeprefix(GAP)
                made.current.append(said)
                made.visible.append(between + said)
                reply.clear_status()
                reply.append(made.visible[-1])
            case ReasoningDelta(text):
                made.thinking.append(text)
            case PassEnded(entry, model, usage):
                made.model, made.usage = model or made.model, made.usage + usage
                made.cost += self._budgets.prices.cost_of(model, usage) or 0.0
                await self._store.turns.save_pass(turn, len(made.passes) + 1, entry, model, usage)
                made.passes.append(entry)
                made.current.clear()
                made.thinking.clear()
                made.story.thought(len(made.passes), model, usage, entry.calls)
                if model:
                    self._metrics.called(model, usage)
            case EarlyCall(call, early, dollars):
                made.cost += dollars
                reply.status(call.id, early)
            case ToolStarted(call, status):
                number = len(made.passes)
                position = [one.id for one in made.passes[-1].calls].index(call.id)
                spec = self._registry.spec(call.name)
                await self._store.turns.call_started(
                    turn, call, passnumber=number, position=position, effects=bool(spec and spec.effects)
                )
                reply.status(call.id, status)
            case ToolFinished(call, result):
                made.results[len(made.passes), call.id] = tool_entry(call, result, made.marker, made.passes[-1].origin)
                made.cost += result.dollars
                made.citations.add(result.sources)
                learn_result(policy, self._registry.spec(call.name), call, result)
                await self._store.turns.call_ended(turn, call.id, result)
                self._metrics.tool_calls.add(call.name, result.status)
                made.story.called(call, result)
            case FileProduced(file):
                made.attach(file, reply, most_bytes)
            case Finished() | Failed():
                return event
        return None
