"""Presses of the buttons under a reply: who may press, and what each does.

A button's content is never trusted: its turn is looked up, and must belong to the place of the press; a reminder must
belong to the presser, in this chat.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, assert_never

from bot.commands.answers import CommandAnswers
from bot.context import Admitted, language_for
from bot.contract import JOB, Button, ChatId, Control, ControlPressed, MessageSent, Sender
from bot.policy import Access, Once, may_be_told
from bot.sentences import say
from bot.store import Store, TurnRecord
from bot.turn import Approvals, EndReason, TurnQueue, is_job

_DECIDES: Final = frozenset({Control.ALLOW, Control.DENY})


@dataclass(frozen=True, slots=True)
class PressVerdict:
    """The outcome of a press."""

    said: str = ""
    """The private notice for the presser; empty: none."""
    refused: bool = False
    asks: MessageSent | None = None
    """A message that asks the same, to be admitted as if it had been written."""
    redrawn: tuple[str, tuple[Button, ...]] = ("", ())
    """The new text and buttons of the button's message; empty: unchanged."""


@dataclass(eq=False, repr=False, kw_only=True)
class Presses:
    """Decides about presses; one for the process."""

    store: Store
    access: Access
    once: Once
    queue: TurnQueue
    answers: CommandAnswers
    approvals: Approvals

    def __post_init__(self) -> None:
        self._speaking: dict[int, int] = {}
        """Turns whose answers are being spoken after a press, with that press's inbox row."""

    async def decide(self, id: int, press: ControlPressed) -> PressVerdict:
        """Do at once what is possible for a press, and return the rest.

        Args:
            id: its inbox row.

        Raises:
            StoreError: no decision is possible now.
        """
        asked = Admitted(press.aside, await language_for(self.store, press.aside))
        allowed = await self.access.allows(press)
        match press.control:
            case Control.PAUSE | Control.RESUME | Control.DELETE:
                if not allowed:
                    return await self._refuse(press, asked)
                said = await self.answers.press(press, asked)
                return PressVerdict(said, redrawn=await self.answers.list_again(press, asked))
        turn = await self.store.turns.find_record(self._turn_of(press))
        known = turn is not None and turn.chat.place == press.chat.place
        asker = known and turn is not None and turn.person == press.sender.id
        for_admins = press.control in _DECIDES and self.approvals.admins
        may = allowed and (asker or not known) and not for_admins
        if not may and not await self.access.is_admin(press.sender):
            return await self._refuse(press, asked, "admins_only" if for_admins else "not_yours")
        if turn is None or not known:
            # A platform's own Stop names no turn, and is ignored if none runs.
            gone = "approval_gone" if press.control in _DECIDES else "button_old" if press.turn else ""
            return PressVerdict(asked.say(gone) if gone else "", refused=True)
        match press.control:
            case Control.STOP:
                return self._stop(turn, press, asked)
            case Control.GOOD | Control.BAD:
                await self.store.turns.rate(turn.id, press.control)
                return PressVerdict(asked.say("button_noted"))
            case Control.ALLOW | Control.DENY:
                return await self._decide(id, turn, press, asked)
            case Control.REGENERATE | Control.CONTINUE | Control.SPEAK:
                return await self._ask(id, turn, press, asked)
            case _:
                assert_never(press.control)

    async def _refuse(self, press: ControlPressed, asked: Admitted, why: str = "not_yours") -> PressVerdict:
        """Tell somebody, once in a while, that a button is not theirs."""
        told = await self.once.claim(may_be_told(press.chat.place, press.sender.id))
        return PressVerdict(asked.say(why) if told else "", refused=True)

    def _turn_of(self, press: ControlPressed) -> int:
        """Return the turn of a press: a Stop without a turn means the running one in its chat."""
        if press.turn or press.control is not Control.STOP:
            return press.turn
        running = self.queue.find_running(press.chat) or self.queue.find_beside(press.chat)
        return running.id if running is not None else 0

    def _stop(self, turn: TurnRecord, press: ControlPressed, asked: Admitted) -> PressVerdict:
        running = self.queue.find_turn(turn.chat, turn.id)
        if running is None:
            return PressVerdict(asked.say("stopped_nothing"))
        running.end(EndReason.STOPPED)
        # Everybody reads it in the reply.
        return PressVerdict(asked.say("stopped") if press.awaited else "")

    async def _decide(self, id: int, turn: TurnRecord, press: ControlPressed, asked: Admitted) -> PressVerdict:
        """Record a decision, and return the message that begins its turn; the first decision counts."""
        approval = await self.approvals.decide(id, press)
        if approval is None:
            return PressVerdict(asked.say("approval_gone"), refused=True)
        if approval.press != id:
            return PressVerdict(asked.say(f"approval_{approval.state}"), refused=True)
        message = replace(
            question_of(press, turn.chat, approval.language),
            sender=press.sender if press.sender.id == turn.person else await self._find_asker(turn),
            command=await self._job_of(turn),
            decides=turn.id,
        )
        return PressVerdict(asked.say("button_begun") if press.awaited else "", asks=message)

    async def _job_of(self, turn: TurnRecord) -> str:
        """Return the command that begins a job if a turn is one, or decided about a call of one; else empty."""
        found: TurnRecord | None = turn
        while found is not None and isinstance(pressed := found.incoming, ControlPressed):
            found = await self.store.turns.find_record(pressed.turn)
        return JOB if found is not None and isinstance(found.incoming, MessageSent) and is_job(found.incoming) else ""

    async def _find_asker(self, turn: TurnRecord) -> Sender:
        """Return the asker: a call that an admin allowed has the rights of the person who wanted it."""
        found: TurnRecord | None = turn
        while found is not None and found.incoming.sender.id != turn.person:
            pressed = found.incoming
            found = await self.store.turns.find_record(pressed.turn) if isinstance(pressed, ControlPressed) else None
        return found.incoming.sender if found is not None else Sender(id=turn.person)

    async def _ask(self, id: int, turn: TurnRecord, press: ControlPressed, asked: Admitted) -> PressVerdict:
        """Return the message for a press: about the newest answer of its chat, or about none; only speaking can be
        about an older one.

        If the answer's end is not stored yet, its last edit is in flight; the message waits until it is stored.
        """
        begun = await self.store.turns.find_record(id)
        last = await self.store.turns.find_last(turn.chat)
        newest = last is not None and last.id == turn.id
        if begun is None and turn.ended_at and not newest and not press.replies_to:
            return PressVerdict(asked.say("button_old"), refused=True)
        said = asked.say("button_begun") if press.awaited else ""
        if press.control is Control.SPEAK and not self._begins_to_speak(id, turn):
            return PressVerdict(said)
        question = question_of(press, turn.chat, asked.language)
        if press.control is Control.CONTINUE:
            question = replace(question, command=await self._job_of(turn))
        return PressVerdict(said, asks=question)

    def _begins_to_speak(self, id: int, turn: TurnRecord) -> bool:
        """Return whether an answer should be spoken for a press, and remember that; False while it is spoken for
        another."""
        under_way = {of: by for of, by in self._speaking.items() if by == id or self.queue.knows(by)}
        self._speaking = {turn.id: id} | under_way
        return self._speaking[turn.id] == id


def question_of(press: ControlPressed, chat: ChatId, language: str) -> MessageSent:
    """Return the message for a press of Regenerate, Continue, Speak, Allow or Refuse, as if the person had written it;
    for a decision only the words, since its call was made or not."""
    again = press.control is Control.REGENERATE
    words = {Control.ALLOW: "approval_yes", Control.DENY: "approval_no"}.get(press.control, "button_go_on")
    return MessageSent(
        delivery=press.delivery,
        chat=chat,
        sender=press.sender,
        target=press.target,
        sent_at=press.sent_at,
        group=press.group,
        text="" if again or press.command else say(words, language),
        command="retry" if again else press.command,
        replies_to=press.replies_to,
        replaces=press.turn if again else 0,
    )
