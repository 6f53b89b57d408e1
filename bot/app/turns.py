"""What the model is told, and what answers a question and shows a reminder."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from bot.agent import Agent
from bot.app.ground import Ground, Process
from bot.app.output import Output
from bot.app.rules import Policy, Toolbox
from bot.context import Briefings, ChatBook, Summaries
from bot.policy import DayPurse
from bot.toolchoice import Chooser, small_model
from bot.turn import (
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
class Context:
    """What the model is told: each chat's settings, briefings, summaries."""

    book: ChatBook
    briefings: Briefings
    summaries: Summaries


def build_context(process: Process, ground: Ground, toolbox: Toolbox, stack: AsyncExitStack) -> Context:
    """Build what the model is told."""
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
        redact=toolbox.redact,
        model=toolbox.writer,
        metrics=ground.metrics,
        limited=toolbox.rights.is_limited,
    )
    stack.push_async_callback(summaries.close)
    return Context(book, briefings, summaries)


@dataclass(eq=False, repr=False)
class Turns:
    """What answers a question."""

    queue: TurnQueue
    merging: Merging
    approvals: Approvals
    thread_context: ThreadContext
    conversation: Conversation


def build_turns(
    process: Process, ground: Ground, policy: Policy, toolbox: Toolbox, output: Output, context: Context
) -> Turns:
    """Build what answers a question."""
    core, limits, clock, store, models = process.core, process.limits, process.clock, ground.store, ground.models
    queue, prices = TurnQueue(), policy.quotas.prices
    merging = Merging(store, context.book, queue, clock)
    approvals = Approvals(store=store, settling=output.settling, clock=clock, rules=core, limits=limits)
    thread_context = ThreadContext(
        store=store,
        pacer=output.pacer,
        find=output.platforms.earlier,
        clock=clock,
        window=context.briefings.window_of,
        tokens=models.tokens_of,
        redact=toolbox.redact,
    )
    small = policy.side_model(core.tool_choice_model, "TOOL_CHOICE_MODEL")
    chooser = Chooser(decide=small_model(small, clock) if small else None)
    conversation = Conversation(
        store=store,
        settling=output.settling,
        models=models,
        agent=Agent(toolbox.registry, core, toolbox.calls, limits, toolbox.redact),
        registry=toolbox.registry,
        replies=output.replies,
        notices=output.notices,
        clock=clock,
        answers=core,
        turns=core,
        limits=limits,
        redact=toolbox.redact,
        surface=output.surface,
        quotas=policy.quotas,
        once=policy.once,
        summaries=context.summaries,
        briefings=context.briefings,
        thread_context=thread_context,
        attachments=AttachmentReader(
            store=store,
            fetch=output.platforms.fetch,
            read=DocumentReader().read,
            clock=clock,
            redact=toolbox.redact,
            listener=Listener(models.transcriber, DayPurse(policy.quotas), prices),
        ),
        book=context.book,
        tool_offer=ToolOffer(
            toolbox.registry, toolbox.rights, chooser, context.briefings, models, search_first=core.pre_search
        ),
        merging=merging,
        approvals=approvals,
        narrator=Narrator(models.speaker, DayPurse(policy.quotas), prices),
        metrics=ground.metrics,
    )
    return Turns(queue, merging, approvals, thread_context, conversation)


def build_reminders(process: Process, ground: Ground, output: Output) -> Reminders:
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
