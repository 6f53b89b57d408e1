"""The platforms, when they are called, and what shows replies on them."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from bot.app.ground import Ground, Process
from bot.app.rules import Rules
from bot.contract import MessageSent, Surface
from bot.intake import Platforms
from bot.pacing import Pacer, begin_sharing
from bot.reply import Notices, Replies, Settling
from tools.programs.cancelling import end_tasks


@dataclass(eq=False, repr=False)
class Output:
    """The platforms, and what shows replies on them."""

    pacer: Pacer
    platforms: Platforms
    replies: Replies
    settling: Settling

    def __post_init__(self) -> None:
        self.notices = Notices(replies=self.replies, surface=self.surface, clock=self.replies.clock)

    def surface(self, message: MessageSent) -> Surface:
        """Return where a message is answered."""
        return self.platforms.surface(message.titled)


def build_output(process: Process, ground: Ground, rules: Rules, stack: AsyncExitStack) -> Output:
    """Build what calls the platforms and what shows replies there, those of former processes included."""
    core, clock, shared = process.core, process.clock, process.ownership.shared
    pacer = Pacer(clock, ground.metrics, process.ownership.is_heard, shares=shared)
    stack.push_async_callback(pacer.close)
    if shared:
        stack.push_async_callback(end_tasks, begin_sharing(pacer, ground.store.allowances, clock))
    platforms = Platforms(
        adapters=process.adapters,
        clock=clock,
        metrics=ground.metrics,
        locks=process.locks if shared else None,
        sessions=process.sessions,
        note_heard=ground.store.deliveries.note_heard,
        role=rules.roles.role,
    )
    replies = Replies(
        store=ground.store,
        pacer=pacer,
        clock=clock,
        secrets=rules.secrets,
        buttons=core.reply_buttons,
        speaks=ground.models.speaker is not None,
        fresh_after=core.fresh_message_seconds,
    )
    settling = Settling(store=ground.store, replies=replies, clock=clock, surface=platforms.surface)
    return Output(pacer, platforms, replies, settling)
