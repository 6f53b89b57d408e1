"""Calls that a person has to allow: the turn that wants one asks and ends, and the decision begins another turn.

Nothing runs and nothing is held while a question waits: no connection to a model, no place in the chat's queue, so
that other questions of the chat go on. A later question about another call of the same person takes the place of the
one that waits, `/stop` and `/new` withdraw it, and it ends by itself when its time is over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
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


class Approvals:
    """Asks, takes decisions, and ends questions whose time is over; one object for the whole process."""

    def __init__(
        self, store: Store, settling: Settling, clock: Clock, rules: ToolRuleSettings, limits: Limits = LIMITS
    ) -> None:
        self._store = store
        self._settling = settling
        self._clock = clock
        self.admins = rules.confirm_by == "admins"
        """Only admins decide."""
        self._seconds = limits.approval_seconds

    async def ask(self, draft: Draft, asked: Asked) -> Approval:
        """Write under an answer what a person is asked, store it before anybody sees it, and return it.

        Raises:
            StoreError: it cannot be stored now.
        """
        run, call = draft.run, asked.call
        card = await asyncio.to_thread(
            write_card,
            call.name,
            call.arguments,
            run.language,
            seconds=self._seconds,
            admins=self.admins,
            host=asked.host,
            outside=asked.outside,
            changed=asked.changed,
            not_up=asked.not_up,
        )
        approval, withdrawn = await self._store.approvals.open(
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
                expires_at=self._clock.wall() + self._seconds,
            )
        )
        log.info("turn %s asks whether %s may run", run.turn, call.name)
        for turn in withdrawn:
            await self._settling.refresh(turn, approval.chat)
        made = draft.made
        result = ToolResult(text=_WAITS, ok=False, status=ToolStatus.CANCELLED, own_words=True)
        made.results[len(made.passes), call.id] = tool_entry(call, result, made.marker, made.passes[-1].origin)
        draft.write(card.text)
        draft.write(outcome_of(approval))
        if card.file:
            draft.attach(File(FILE, "application/json", card.file.encode()))
        return approval

    async def follow(self, asked: Approval) -> None:
        """Show what was decided about a question until its turn ended.

        Raises:
            StoreError: it cannot be looked up now.
        """
        stored = await self._store.approvals.load(asked.turn)
        if stored is not None and stored.state is not asked.state:
            await self._settling.refresh(stored.turn, stored.chat)

    async def decide(self, press: int, pressed: ControlPressed) -> Approval | None:
        """Take the decision of a press by somebody who may; None where the button asks nothing that is known.

        Args:
            press: its inbox row.

        Raises:
            StoreError: it cannot be decided now.
        """
        allowed = pressed.control is Control.ALLOW
        approval = await self._store.approvals.decide(pressed.turn, pressed.mark, press, allowed=allowed)
        if approval is not None and approval.state is not ApprovalState.WAITING:
            log.info("turn %s: what it asked is %s", approval.turn, approval.state)
            await self._settling.refresh(approval.turn, approval.chat)
        return approval

    async def withdraw(self, chat: ChatId, person: str = "") -> bool:
        """Ask nothing more in a chat, or of what one person wanted there; return whether something was asked."""
        turns = await self._store.approvals.withdraw(chat, person)
        for turn in turns:
            await self._settling.refresh(turn, chat)
        return bool(turns)

    async def take_away(self, chat: ChatId | None, person: str = "") -> None:
        """Ask nothing more in a chat, or of what one person wanted, there or everywhere, and delete the messages that
        asked: they show what a call would be given.

        Raises:
            StoreError: the store does not work now.
        """
        for turn in await self._store.approvals.withdraw(chat, person):
            await self._settling.take_back(turn)

    async def keep_out(self, id: str) -> None:
        """Do the same for a person or a chat that may not ask any more.

        Raises:
            StoreError: the store does not work now.
        """
        if identity.is_person(id):
            await self.take_away(None, id)
            return
        for chat in {chat for _, chat, _ in await self._store.approvals.list_waiting()}:
            if id in identity.names_of(chat):
                await self.take_away(chat)

    async def decision_of(self, turn: int, question: MessageSent) -> Decision | None:
        """Return what was decided about the call that `question` is about, for the turn of the press that decided.

        Raises:
            StoreError: it cannot be looked up now.
        """
        if not question.decides:
            return None
        approval = await self._store.approvals.load(question.decides)
        if approval is None:
            return None
        allowed = approval.state is ApprovalState.ALLOWED and approval.press == turn and approval.intact
        call = replace(approval.call, id=f"{DECIDED}{turn}")
        return Decision(call=call, allowed=allowed, tool=approval.tool, origin=approval.origin)

    async def show(self, turn: int, chat: ChatId) -> None:
        """Show what became of the question of a turn whose place another one takes."""
        if await self._store.approvals.load(turn) is not None:
            await self._settling.refresh(turn, chat)

    async def end_due(self, platforms: Collection[str], ensure: Ensure, show: Show) -> float | None:
        """End the questions on these platforms whose time is over, and return when the next one's is (wall clock).

        Args:
            ensure: has their places served, in the same transaction.
            show: shows the reply of a turn again.

        Raises:
            StoreError: they cannot be ended now.
        """
        now = self._clock.wall()
        waiting = [one for one in await self._store.approvals.list_waiting() if one[1].platform in platforms]
        for turn, chat, expires_at in waiting:
            if expires_at <= now and await self._store.approvals.expire(turn, ensure):
                log.info("turn %s: nobody decided in time about what it asked", turn)
                await show(turn, chat)
        return min((expires_at for *_, expires_at in waiting if expires_at > now), default=None)
