"""Commands that act: stop an answer, ask again, start anew, forget."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bot.commands.answers import CommandAnswers
from bot.commands.exports import Exports, read_wish
from bot.commands.presses import question_of
from bot.context import Admitted, Summaries, language_for
from bot.contract import (
    Button,
    Clock,
    ControlPressed,
    DeliveryError,
    MessageSent,
    Surface,
    Watcher,
    is_private,
    tell_aside,
)
from bot.policy import Access, Once, may_be_told
from bot.reply import Notices
from bot.sentences import how_long, refuses, say
from bot.store import InboxState, Store, TurnRecord
from bot.turn import Approvals, Conversation, EndReason, Running, ThreadContext, TurnQueue
from tools.programs.cancelling import complete

log = logging.getLogger(__name__)

_WITHOUT_MODEL = frozenset({"new", "forget", "export", "voice"})
"""Commands that wait for their turn, and are none of a model."""
_YES = frozenset({"yes", "是", "确定", "確定"})


@dataclass(frozen=True, slots=True)
class Said:
    """The reply to a command."""

    text: str
    """Markdown; empty: no reply."""
    private: bool
    """Only for the asker, if the platform can do that."""
    buttons: tuple[Button, ...] = ()
    """The buttons below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandActions:
    """Does what commands ask for; one for the process."""

    store: Store
    access: Access
    once: Once
    queue: TurnQueue
    answers: CommandAnswers
    conversation: Conversation
    exports: Exports
    notices: Notices
    approvals: Approvals
    summaries: Summaries
    thread_context: ThreadContext
    surface: Callable[[MessageSent], Surface]
    clock: Clock
    watchers: Sequence[Watcher] = ()

    async def run_at_once(self, asked: Admitted) -> Said:
        """Run a command that waits for no turn, and return the reply."""
        with tell_aside(self.watchers, self.clock, asked.message.chat, command=asked.message.command):
            return await self._run_at_once(asked)

    async def _run_at_once(self, asked: Admitted) -> Said:
        message = asked.message
        private, buttons = is_private(message.command), await self.answers.buttons(asked)
        if message.command == "stop":
            dropped = await self._drop_questions(asked)
            said = await self.stop(message)
            said = "dropped_waiting" if dropped else said
            private = said != "stopped"
            # If the reply itself says so, nothing else does.
            text = "" if said == "stopped" and not message.awaited else asked.say(said)
        elif message.command == "pair" and message.text.strip():
            text = await self._pair(asked)
        elif message.command == "forbid":
            text = await self._forbid(asked)
        else:
            text = await self.answers.answer(asked)
        if refuses(text, asked.language):
            private = True
            text = text if await self._may_refuse(message) else ""
        return Said(text, private, buttons)

    async def stop(self, message: MessageSent) -> str:
        """End the chat's running turn and its undecided question about a tool, if the sender may; return the outcome as
        a key of `bot.sentences`."""
        admin = await self.access.is_admin(message.sender)
        withdrawn = await self.approvals.withdraw(message.chat, "" if admin else message.sender.id)
        running = self.queue.find_running(message.chat) or self.queue.find_beside(message.chat)
        if running is None or running.deletes:
            return "stopped" if withdrawn else "stopped_nothing"
        if running.person != message.sender.id and not admin:
            return "stopped" if withdrawn else "not_yours"
        running.end(EndReason.STOPPED)
        return "stopped"

    async def _drop_questions(self, asked: Admitted) -> bool:
        """Drop the sender's questions that wait in the chat; return True if there were any.

        Raises:
            StoreError: some may still wait.
        """
        chat = asked.message.chat
        waiting = self.queue.list_questions(chat, asked.message.sender.id)
        for one in waiting:
            await self.store.intake.end(one.id, InboxState.STOPPED)
            self.queue.drop(chat, (one.id,))
            if one.question is not None and one.question.awaited:
                self.notices.soon(one.question, asked.say("stopped"))
        return bool(waiting)

    async def _pair(self, asked: Admitted) -> str:
        """Try a code, and return the reply; the owner who requested the code learns which account used it."""
        message = asked.message
        words = {word: self._form(message).format(word=word) for word in ("pair", "link")}
        paired = await self.access.pair(message, message.text)
        if paired.asked is not None:
            await self._tell_owner(paired.asked, message.sender.id)
        wait = how_long(max(1.0, paired.wait), asked.language)
        return asked.say(paired.said, id=message.sender.id, wait=wait, **words)

    async def _forbid(self, asked: Admitted) -> str:
        """Exclude a person or a chat, with their undecided questions about tools; return the reply."""
        message = asked.message
        said, values = await self.access.change(message, message.text, forbid=True)
        if said == "forbidden":
            await self.approvals.keep_out(values["id"])
        return asked.say(said, whoami=self._form(message).format(word="whoami"), **values)

    async def _tell_owner(self, asked: MessageSent, account: str) -> None:
        """Tell the owner who requested the code, in the same chat, which account used it."""
        try:
            forbid = self._form(asked).format(word="forbid")
        except DeliveryError as error:
            log.warning("%s: could not tell the owner that %s is now an owner, too: %s", asked.chat, account, error)
            return
        said = say("link_used", await language_for(self.store, asked), id=account, forbid=forbid)
        self.notices.soon(replace(asked, delivery=f"{asked.delivery} used"), said, private=True)

    def _form(self, message: MessageSent) -> str:
        return self.surface(message).limits.command_form

    async def run_in_turn(self, id: int, asked: Admitted, running: Running) -> None:
        """Run a command that waits like a question, when its turn has come.

        Args:
            id: its inbox row.
        """
        message = asked.message
        watchers = self.watchers if message.command in _WITHOUT_MODEL else ()
        with tell_aside(watchers, self.clock, message.chat, command=message.command):
            await self._run_in_turn(id, asked, running)

    async def _run_in_turn(self, id: int, asked: Admitted, running: Running) -> None:
        message = asked.message
        match message.command:
            case "retry":
                await self._retry(id, asked, running)
            case "new" | "forget":
                new = message.command == "new"
                said = await (self._begin_anew(id, asked) if new else self._forget(id, asked))
                await self.notices.tell(message, said, private=refuses(said, asked.language))
                await self.store.intake.end(id, InboxState.DONE)
            case "voice" if message.text.strip():
                said = await self.answers.answer(asked)
                await self.notices.tell(message, said, private=refuses(said, asked.language))
                await self.store.intake.end(id, InboxState.DONE)
            case "export" if refused := await self._refuse_export(asked):
                await self.notices.tell(message, refused, private=True)
                await self.store.intake.end(id, InboxState.REFUSED)
            case _:
                do = {"export": self.exports.send, "voice": self.conversation.read_aloud}.get(message.command)
                await self.conversation.run(id, asked, running, do=do)

    async def _refuse_export(self, asked: Admitted) -> str:
        """Return why nothing is exported; empty if it may be: in a group everybody exports their own questions, admins
        all."""
        message = asked.message
        wish = read_wish(message)
        if wish is None:
            form = self._form(message)
            return asked.say("export_usage", command=form.format(word="export"))
        everything = message.group and wish[1]
        return "" if not everything or await self.access.is_admin(message.sender) else asked.say("admins_only")

    async def _begin_anew(self, id: int, asked: Admitted) -> str:
        """Clear the history: in a group this person's questions, or for an admin everything; return the reply."""
        message = asked.message
        everything = not message.group or message.text.strip().lower() == "all"
        if everything and message.group and not await self.access.is_admin(message.sender):
            return asked.say("admins_only")
        await self.summaries.drop(message.chat)
        await self.thread_context.begin_anew(message)
        await self.approvals.withdraw(message.chat, "" if everything else message.sender.id)
        if everything:
            await self.store.history.begin_anew(message.chat)
            return asked.say("new")
        await self.store.history.begin_anew_for(message.chat, message.sender.id, id)
        form = self._form(message)
        return asked.say("new_own", all=form.format(word="new all"))

    async def _forget(self, id: int, asked: Admitted) -> str:
        """Delete everything stored of this chat, after a confirmation; return the reply."""
        message = asked.message
        if message.group and not await self.access.is_admin(message.sender):
            return asked.say("admins_only")
        form = self._form(message)
        if message.text.strip().lower() not in _YES:
            turns = await self.store.history.count_turns(message.chat)
            words = {"command": form.format(word="forget"), "memory": form.format(word="memory")}
            return asked.say("forget_sure", turns=turns, **words)
        if (job := self.queue.find_job(message.chat)) is not None and job.task is not None:
            job.end(EndReason.STOPPED)
            await asyncio.wait({job.task})
        await self.summaries.drop(message.chat)
        await self.approvals.take_away(message.chat)
        turns = await self.store.history.count_turns(message.chat)
        await self.store.history.forget(message.chat, id)
        await self.thread_context.begin_anew(message)
        log.info("%s forgot %s: %d turns", message.sender.id, message.chat, turns)
        said = asked.say("forgotten", turns=turns)
        return f"{said} {asked.say('forgotten_soon')}" if self.store.writer.traces else said

    async def _retry(self, id: int, asked: Admitted, running: Running) -> None:
        """Ask the last question again; its former answer leaves the history, and with a button also the screen."""
        message = asked.message
        turns, button = self.store.turns, bool(message.replaces)
        # A former process admitted it then, and has already removed the last answer.
        if await turns.find_record(id) is None:
            last = await turns.find_last(message.chat)
            refused = await self._refuse_retry(asked, last)
            if refused:
                if button or await self._may_refuse(message):
                    await self.notices.tell(message, refused, private=True)
                await self.store.intake.end(id, InboxState.REFUSED)
                return
            if last is not None and isinstance(last.incoming, MessageSent | ControlPressed):
                person = last.person if button else message.sender.id

                async def take_over(last: int = last.id, person: str = person) -> None:
                    await turns.take_over(id, last, message.chat, person, asks_again=True, messages=button)
                    if button:
                        await self.conversation.settling.drop(last)

                # A change of the question may end this turn at once, and takes over only this turn's messages.
                await complete(take_over())
                await self.approvals.show(last.id, message.chat)
        record = await turns.find_record(id)
        former = None if record is None else record.incoming
        if isinstance(former, ControlPressed):
            former = question_of(former, message.chat, asked.language)
        if not isinstance(former, MessageSent):
            await self.notices.tell(message, asked.say("retry_nothing"), private=True)
            await self.store.intake.end(id, InboxState.DONE)
            return
        # A command from outside the thread is answered in it, a button at the answer.
        elsewhere = (button and former.target.lasts) or (message.whole_channel and message.chat.thread)
        target = former.target if elsewhere else message.target
        again = replace(former, target=target, delivery=message.delivery, chat=message.chat, replaces=message.replaces)
        await self.conversation.run(id, Admitted(again, await language_for(self.store, again)), running)

    async def _refuse_retry(self, asked: Admitted, last: TurnRecord | None) -> str:
        """Return why the last question is not asked again; empty if it may be."""
        message = asked.message
        if message.replaces:
            return "" if last is not None and last.id == message.replaces else asked.say("button_old")
        if last is None or last.person == message.sender.id or await self.access.is_admin(message.sender):
            return ""
        return asked.say("not_yours")

    async def _may_refuse(self, message: MessageSent) -> bool:
        """Return whether a person gets a refusal: once an hour in each chat, and always if an answer is awaited."""
        return await self.once.claim(may_be_told(message.chat, message.sender.id)) or message.awaited
