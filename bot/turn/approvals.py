"""Calls that a person must allow: the turn that requests one asks and ends; the decision starts another turn.

Nothing runs or is held while a question waits: no connection to a model, no place in the chat's queue, so other
questions in the chat continue. A later question to the same person about another call replaces the waiting one, `/stop`
and `/new` withdraw it, and it expires by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from typing import TypeAlias

from bot.agent import Asked, Decision
from bot.contract import LIMITS, ChatId, Clock, Control, ControlPressed, File, Limits, MessageSent, identity
from bot.reply import FILE, Settling, outcome_of, write_card
from bot.safety import tool_entry
from bot.settings import ToolRuleSettings
from bot.store import DECIDED, Approval, ApprovalState, Ensure, Store, digest_of
from bot.turn.draft import Draft
from tools.contract.base import ToolResult, ToolStatus

log = logging.getLogger(__name__)

Show: TypeAlias = Callable[[int, ChatId], Awaitable[None]]
"""Shows the reply of an ended turn again."""

_WAITS = (
    "Not run yet: the person is shown this call and asked to allow it. If the person allows it, a later call with the "
    "same arguments has its result; without such a result it has not run, and nothing was done. Do not claim otherwise."
)


@dataclass(eq=False, repr=False, kw_only=True)
class Approvals:
    """Asks, records decisions, and ends expired questions; one object for the whole process."""

    store: Store
    settling: Settling
    clock: Clock
    rules: ToolRuleSettings
    limits: Limits = LIMITS

    @property
    def admins(self) -> bool:
        """Only admins decide."""
        return self.rules.confirm_by == "admins"

    async def ask(self, draft: Draft, asked: Asked) -> Approval:
        """Write the question under an answer, store it before anybody sees it, and return it.

        Raises:
            StoreError: it cannot be stored now.
        """
        run, call = draft.run, asked.call
        card = await asyncio.to_thread(
            write_card,
            call.name,
            call.arguments,
            run.language,
            seconds=self.limits.approval_seconds,
            admins=self.admins,
            host=asked.host,
            outside=asked.outside,
            changed=asked.changed,
            not_up=asked.not_up,
        )
        approval, withdrawn = await self.store.approvals.open(
            Approval(
                turn=run.turn,
                chat=run.question.chat,
                person=run.question.sender.id,
                call=call,
                digest=digest_of(call),
                tool=asked.tool,
                origin=asked.origin,
                language=run.language,
                line=card.line,
                expires_at=self.clock.wall() + self.limits.approval_seconds,
                agent_state=asked.state,
            )
        )
        log.info("turn %s asks whether %s may run", run.turn, call.name)
        for turn in withdrawn:
            await self.settling.refresh(turn, approval.chat)
        made = draft.made
        result = ToolResult(text=_WAITS, ok=False, status=ToolStatus.CANCELLED, own_words=True)
        number = made.pass_of(call.id)
        made.results[number, call.id] = tool_entry(call, result, made.marker, made.passes[number - 1].origin)
        draft.write(card.text)
        draft.write(outcome_of(approval))
        if card.file:
            draft.attach(File(FILE, "application/json", card.file.encode()))
        return approval

    async def follow(self, asked: Approval) -> None:
        """Show the decision about a question until its turn has ended.

        Raises:
            StoreError: it cannot be loaded now.
        """
        stored = await self.store.approvals.load(asked.turn)
        if stored is not None and stored.state is not asked.state:
            await self.settling.refresh(stored.turn, stored.chat)

    async def decide(self, press: int, pressed: ControlPressed) -> Approval | None:
        """Record a press by somebody entitled to decide; return None if the button asks nothing known.

        Args:
            press: its inbox row.

        Raises:
            StoreError: the decision cannot be recorded now.
        """
        allowed = pressed.control is Control.ALLOW
        approval = await self.store.approvals.decide(pressed.turn, pressed.mark, press, allowed=allowed)
        if approval is not None and approval.state is not ApprovalState.WAITING:
            log.info("turn %s: its request is %s", approval.turn, approval.state)
            await self.settling.refresh(approval.turn, approval.chat)
        return approval

    async def withdraw(self, chat: ChatId, person: str = "") -> bool:
        """Withdraw the questions of a chat, or of one person there; return whether there were any."""
        turns = await self.store.approvals.withdraw(chat, person)
        for turn in turns:
            await self.settling.refresh(turn, chat)
        return bool(turns)

    async def take_away(self, chat: ChatId | None, person: str = "") -> None:
        """Withdraw the questions of a chat, or of one person there or everywhere, and delete their messages, which show
        the arguments of a call.

        Raises:
            StoreError: the store fails now.
        """
        for turn in await self.store.approvals.withdraw(chat, person):
            await self.settling.take_back(turn)

    async def keep_out(self, id: str) -> None:
        """Do the same for a person or chat that has lost access.

        Raises:
            StoreError: the store fails now.
        """
        if identity.is_person(id):
            await self.take_away(None, id)
            return
        for chat in {chat for _, chat, _ in await self.store.approvals.list_waiting()}:
            if id in identity.names_of(chat):
                await self.take_away(chat)

    async def decision_of(self, turn: int, question: MessageSent) -> Decision | None:
        """Return the decision about the call of `question`, for the turn of the press that decided.

        Raises:
            StoreError: it cannot be loaded now.
        """
        if not question.decides:
            return None
        approval = await self.store.approvals.load(question.decides)
        if approval is None:
            return None
        allowed = approval.state is ApprovalState.ALLOWED and approval.press == turn and approval.intact
        call = replace(approval.call, id=f"{DECIDED}{turn}")
        return Decision(
            call=call,
            allowed=allowed,
            tool=approval.tool,
            origin=approval.origin,
            asked_as=approval.call.id,
            state=approval.agent_state,
        )

    async def show(self, turn: int, chat: ChatId) -> None:
        """Show the outcome of a question whose turn was replaced by another."""
        if await self.store.approvals.load(turn) is not None:
            await self.settling.refresh(turn, chat)

    async def end_due(self, platforms: Collection[str], ensure: Ensure, show: Show) -> float | None:
        """End the expired questions on these platforms, and return when the next one expires (wall clock).

        Args:
            ensure: requests their places to be served, in the same transaction.
            show: shows the reply of a turn again.

        Raises:
            StoreError: they cannot be ended now.
        """
        now = self.clock.wall()
        waiting = [one for one in await self.store.approvals.list_waiting() if one[1].platform in platforms]
        for turn, chat, expires_at in waiting:
            if expires_at <= now and await self.store.approvals.expire(turn, ensure):
                log.info("turn %s: nobody decided about its request in time", turn)
                await show(turn, chat)
        return min((expires_at for *_, expires_at in waiting if expires_at > now), default=None)
