"""What takes messages in, decides about them, and answers commands."""

from __future__ import annotations

from functools import partial

from bot.app.ground import Ground, Process
from bot.app.output import Output
from bot.app.rules import Rules
from bot.app.turns import Turns
from bot.commands import CommandActions, CommandAnswers, Exports, Presses, ReminderList
from bot.contract import CatchingUp, Installable, Recalling, Suggesting
from bot.intake import Admission, Dispatcher, WaitingSigns
from bot.turn import CallRecall


def build_commands(process: Process, ground: Ground, rules: Rules, output: Output, turns: Turns) -> CommandActions:
    """Build what answers commands and carries them out."""
    zone, store = process.core.time_zone, ground.store
    answers = CommandAnswers(
        store=store,
        access=rules.access,
        models=ground.models,
        registry=rules.registry,
        quotas=rules.quotas,
        briefings=turns.briefings,
        book=turns.book,
        rights=rules.rights,
        surface=output.surface,
        redact=rules.redact,
        reminders=ReminderList(store, zone),
        list_tools=rules.roles.list_tools,
        thoughts=process.core.show_reasoning != "off",
    )
    recall = CallRecall(store=store, rights=rules.rights, redact=rules.redact)
    for name, adapter in process.adapters.items():
        if isinstance(adapter, Suggesting):
            adapter.suggest = answers.suggest
        if isinstance(adapter, Recalling):
            adapter.recall, adapter.recall_calls = recall.recall, recall.list_calls
            adapter.keep_said, adapter.find_repeated = store.deliveries.keep_said, store.deliveries.find_repeated
        if isinstance(adapter, CatchingUp):
            adapter.find_left_off = partial(store.deliveries.find_left_off, name)
        if isinstance(adapter, Installable):
            adapter.grants = store.grants
    replies, notices, settling = output.replies, output.notices, output.settling
    exports = Exports(store, replies, notices, settling, output.surface, ground.metrics, rules.redact, zone)
    return CommandActions(
        store=store,
        access=rules.access,
        once=rules.once,
        queue=turns.queue,
        answers=answers,
        conversation=turns.conversation,
        exports=exports,
        notices=output.notices,
        approvals=turns.approvals,
        summaries=turns.summaries,
        thread_context=turns.thread_context,
        surface=output.surface,
        clock=process.clock,
        watchers=process.watchers,
    )


def build_dispatcher(
    process: Process, ground: Ground, rules: Rules, output: Output, turns: Turns, actions: CommandActions
) -> Dispatcher:
    """Build what takes messages in and decides about them."""
    admission = Admission(
        store=ground.store,
        access=rules.access,
        quotas=rules.quotas,
        queue=turns.queue,
        clock=process.clock,
        limits=process.limits,
        metrics=ground.metrics,
        works_long=lambda chat: turns.conversation.agent_of(chat).works_long,
        shared=process.ownership.shared,
    )
    presses = Presses(
        store=ground.store,
        access=rules.access,
        once=rules.once,
        queue=turns.queue,
        approvals=turns.approvals,
        answers=actions.answers,
    )
    return Dispatcher(
        store=ground.store,
        settling=output.settling,
        approvals=turns.approvals,
        access=rules.access,
        once=rules.once,
        merging=turns.merging,
        queue=turns.queue,
        admission=admission,
        actions=actions,
        conversation=turns.conversation,
        presses=presses,
        notices=output.notices,
        reminders=turns.reminders,
        clock=process.clock,
        signs=WaitingSigns(output.pacer, process.clock, output.surface),
        pacer=output.pacer,
        ownership=process.ownership,
        held=rules.registry.held_scopes,
        redact=rules.redact,
    )
