"""What the model is told, and what answers a question and shows a reminder."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from bot.app.ground import Ground, Process
from bot.app.output import Output
from bot.app.rules import Rules
from bot.context import Briefings, ChatBook, Summaries
from bot.policy import DayPurse
from bot.toolchoice import Chooser, small_model
from bot.turn import (
    AgentOf,
    Approvals,
    AttachmentReader,
    Conversation,
    Listener,
    Merging,
    Narrator,
    Reminders,
    ThreadContext,
    ToolOffer,
    TurnQueue,
)
from tools.documents.reading import DocumentReader


@dataclass(eq=False, repr=False)
class Turns:
    """What answers a question, and what the model is told."""

    queue: TurnQueue
    book: ChatBook
    briefings: Briefings
    summaries: Summaries
    merging: Merging
    approvals: Approvals
    thread_context: ThreadContext
    conversation: Conversation
    reminders: Reminders


def _build_context(
    process: Process, ground: Ground, rules: Rules, stack: AsyncExitStack
) -> tuple[ChatBook, Briefings, Summaries]:
    """Build what the model is told: each chat's settings, briefings, summaries."""
    core, models = process.core, ground.models
    book = ChatBook(ground.store.settings, models, ground.channels)
    briefings = Briefings(
        ground.store,
        models,
        process.clock,
        book,
        name=core.bot_name,
        instructions=core.instructions,
        zone=core.time_zone,
        context_tokens=core.context_tokens,
    )
    summaries = Summaries(
        ground.store.history,
        process.clock,
        at=core.summary_at,
        window=briefings.window_of,
        estimator=models.tokens_of,
        redact=rules.redact,
        model=rules.writer,
        metrics=ground.metrics,
        limited=rules.rights.is_limited,
        watchers=process.watchers,
    )
    stack.push_async_callback(summaries.close)
    return book, briefings, summaries


def build_turns(
    process: Process, ground: Ground, rules: Rules, output: Output, agent_of: AgentOf, stack: AsyncExitStack
) -> Turns:
    """Build what answers a question, and what the model is told."""
    core, limits, clock, store, models = process.core, process.limits, process.clock, ground.store, ground.models
    book, briefings, summaries = _build_context(process, ground, rules, stack)
    queue, prices = TurnQueue(), rules.quotas.prices
    merging = Merging(store, book, queue, clock)
    approvals = Approvals(store=store, settling=output.settling, clock=clock, rules=core, limits=limits)
    thread_context = ThreadContext(
        store=store,
        pacer=output.pacer,
        find=output.platforms.earlier,
        clock=clock,
        window=briefings.window_of,
        tokens=models.tokens_of,
        redact=rules.redact,
    )
    chooser = Chooser(decide=small_model(rules.chooser, clock) if rules.chooser else None)
    tool_offer = ToolOffer(rules.registry, rules.rights, chooser, briefings, models, search_first=core.pre_search)
    conversation = Conversation(
        store=store,
        settling=output.settling,
        models=models,
        agent_of=agent_of,
        registry=rules.registry,
        replies=output.replies,
        notices=output.notices,
        clock=clock,
        answers=core,
        turns=core,
        limits=limits,
        redact=rules.redact,
        surface=output.surface,
        quotas=rules.quotas,
        once=rules.once,
        summaries=summaries,
        briefings=briefings,
        thread_context=thread_context,
        attachments=process.attachments
        or AttachmentReader(
            store=store,
            fetch=output.platforms.fetch,
            read=DocumentReader().read,
            clock=clock,
            redact=rules.redact,
            listener=Listener(models.transcriber, DayPurse(rules.quotas), prices),
        ),
        book=book,
        tool_offer=tool_offer,
        merging=merging,
        approvals=approvals,
        narrator=Narrator(models.speaker, DayPurse(rules.quotas), prices),
        metrics=ground.metrics,
        watchers=process.watchers,
    )
    reminders = _build_reminders(process, ground, output)
    return Turns(queue, book, briefings, summaries, merging, approvals, thread_context, conversation, reminders)


def _build_reminders(process: Process, ground: Ground, output: Output) -> Reminders:
    """Build what shows a reminder."""
    return Reminders(
        store=ground.store,
        settling=output.settling,
        replies=output.replies,
        clock=process.clock,
        surface=output.surface,
        zone=process.core.time_zone,
        unknown_links=process.core.unknown_links,
    )
