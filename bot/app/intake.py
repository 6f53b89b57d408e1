"""What takes messages in, decides about them, and answers commands."""

from __future__ import annotations

from bot.app.ground import Ground, Process
from bot.app.output import Output
from bot.app.rules import Policy, Toolbox
from bot.app.turns import Context, Turns
from bot.commands import CommandActions, CommandAnswers, Exports, Presses, ReminderList
from bot.contract import Installable, Suggesting
from bot.intake import Admission, Dispatcher, WaitingSigns
from bot.turn import Reminders


def build_commands(
    process: Process,
    ground: Ground,
    policy: Policy,
    toolbox: Toolbox,
    output: Output,
    context: Context,
    turns: Turns,
) -> CommandActions:
    """Build what answers commands and carries them out."""
    zone, store = process.core.time_zone, ground.store
    answers = CommandAnswers(
        store=store,
        access=policy.access,
        models=ground.models,
        registry=toolbox.registry,
        quotas=policy.quotas,
        briefings=context.briefings,
        book=context.book,
        rights=toolbox.rights,
        surface=output.surface,
        redact=toolbox.redact,
        reminders=ReminderList(store, zone),
        list_tools=toolbox.roles.list_tools,
        thoughts=process.core.show_reasoning != "off",
    )
    for adapter in process.adapters.values():
        if isinstance(adapter, Suggesting):
            adapter.suggest = answers.suggest
        if isinstance(adapter, Installable):
            adapter.grants = store.grants
    replies, notices, settling = output.replies, output.notices, output.settling
    exports = Exports(store, replies, notices, settling, output.surface, ground.metrics, toolbox.redact, zone)
    return CommandActions(
        store=store,
        access=policy.access,
        once=policy.once,
        queue=turns.queue,
        answers=answers,
        conversation=turns.conversation,
        exports=exports,
        notices=output.notices,
        approvals=turns.approvals,
        summaries=context.summaries,
        thread_context=turns.thread_context,
        surface=output.surface,
    )


def build_dispatcher(
    process: Process,
    ground: Ground,
    policy: Policy,
    toolbox: Toolbox,
    output: Output,
    turns: Turns,
    actions: CommandActions,
    reminders: Reminders,
) -> Dispatcher:
    """Build what takes messages in and decides about them."""
    admission = Admission(
        store=ground.store,
        access=policy.access,
        quotas=policy.quotas,
        queue=turns.queue,
        clock=process.clock,
        limits=process.limits,
        metrics=ground.metrics,
        shared=process.ownership.shared,
    )
    presses = Presses(
        store=ground.store,
        access=policy.access,
        once=policy.once,
        queue=turns.queue,
        approvals=turns.approvals,
        answers=actions.answers,
    )
    return Dispatcher(
        store=ground.store,
        settling=output.settling,
        approvals=turns.approvals,
        access=policy.access,
        once=policy.once,
        merging=turns.merging,
        queue=turns.queue,
        admission=admission,
        actions=actions,
        conversation=turns.conversation,
        presses=presses,
        notices=output.notices,
        reminders=reminders,
        clock=process.clock,
        signs=WaitingSigns(output.pacer, process.clock, output.surface),
        pacer=output.pacer,
        ownership=process.ownership,
        held=toolbox.registry.held_scopes,
        redact=toolbox.redact,
    )
