"""From "something arrived" to "its turn begins": known already? allowed? a command? busy?

`deliver` returns as soon as the delivery is stored; everything else happens after the platform was told
"received", in the order of arrival within a chat.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

from bot.commands import CommandAnswers, NewestAnswer
from bot.context import Summaries, subject
from bot.contract import (
    BY_WORD,
    ChatId,
    Clock,
    DeliveryError,
    Incoming,
    MessageSent,
    SettingsError,
    StopPressed,
    StoreError,
    Surface,
    TimerDue,
    is_private,
)
from bot.intake.language import language_for
from bot.intake.waiting import WaitingSigns
from bot.policy import DAY, MINUTE, Access, Budgets, Once, once_in_chat, once_per_person, once_spent, payer_of
from bot.reply import Settling
from bot.safety import enclosed_in, redacted
from bot.sentences import how_long, language_of, refuses, say
from bot.store import InboxRow, Store
from bot.turn import STARTS_AT_ONCE, Conversation, EarlierWords, Ending, Reminders, Running, TurnQueue

log = logging.getLogger(__name__)

OFFLINE_AFTER = 15 * 60.0
"""A message that waited longer than this for a start is not answered late but asked for again."""
REFUSED_AGAIN_AFTER = 3600.0
"""Seconds in which a person is told once that something is not theirs to do."""
MOST_TOLD = 5
"""Sentences of our own that wait to be shown in one chat; who floods it gets no more of them."""
MOST_TOLD_OVER_ALL = 1_000
"""The same in all chats together."""
MOST_IN_CHAT = 50
"""Messages of everybody that wait in one chat: a large group can fill no memory, and nobody waits for hours."""
_NOT_NOW = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before a delivery is decided about again that the store held up."""


_YES = frozenset({"yes", "是", "确定", "確定"})
_ASKS_A_MODEL = frozenset({"", "retry", "tool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What is let through to a turn; 0 is no limit. From the settings."""

    message_chars: int = 100_000
    waiting: int = 2
    """Messages of one person that wait in one chat."""
    turns: int = 5
    """Turns of one person under way in all chats."""


class Dispatcher:
    """Takes in deliveries and begins their turns."""

    def __init__(
        self,
        *,
        store: Store,
        access: Access,
        conversation: Conversation,
        reminders: Reminders,
        clock: Clock,
        surface: Callable[[MessageSent], Surface],
        budgets: Budgets,
        once: Once,
        admission: Admission | None = None,
        summaries: Summaries,
        settling: Settling,
        answers: CommandAnswers,
        earlier: EarlierWords,
        signs: WaitingSigns,
        redact: redacted.Redact = redacted.nothing,
    ) -> None:
        """
        Args:
            redact: takes secrets out of what arrives, before it is stored or told to a model.
        """
        self._redact = redact
        self._starts = asyncio.Semaphore(STARTS_AT_ONCE)
        self._summaries = summaries
        self._settling = settling
        self._answers = answers
        self._earlier = earlier
        self._signs = signs
        self._store = store
        self._access = access
        self._conversation = conversation
        self._reminders = reminders
        self._clock = clock
        self._surface = surface
        self._budgets = budgets
        self._once = once
        self._admission = admission or Admission()
        self._queue = TurnQueue()
        self._newest = NewestAnswer(store, self._queue)
        self._routes: dict[ChatId, asyncio.Task[None]] = {}
        self._loose: set[asyncio.Task[None]] = set()
        self._telling: Counter[ChatId] = Counter()
        self._open = True
        self._resumed: set[str] = set()
        self.resting: dict[str, int] = {}
        """Platform → how many deliveries wait there until a start that has it."""

    @property
    def queue(self) -> TurnQueue:
        return self._queue

    async def deliver(self, incoming: Incoming) -> None:
        """Store a delivery; return when it is safe. What was stored before is dropped.

        Raises:
            StoreError: it could not be stored; the platform must deliver it again.
        """
        incoming = redacted.of_incoming(incoming, self._redact)
        follows = isinstance(incoming, MessageSent) and incoming.follow_up
        if follows and not await self._store.history.turns(incoming.chat):
            # People among themselves: nothing of it is kept.
            return
        try:
            id = await self._store.intake.take_in(incoming)
        except StoreError:
            await self._regret(incoming)
            raise
        if id is None:
            log.debug("delivered before: %s %s", incoming.chat, incoming.delivery)
            return
        # A reminder for a platform that is not logged in yet waits for `resume`.
        if self._open and (not isinstance(incoming, TimerDue) or incoming.chat.platform in self._resumed):
            self._route(id, incoming)

    async def resume(self, platform: str) -> None:
        """Go on with everything that a former process left unfinished on a platform, once it is logged in."""
        if platform in self._resumed:
            return
        self._resumed.add(platform)
        self._queue.enter(platform)
        now = self._clock.wall()
        try:
            await self._settling.resume(platform)
            waiting = await self._store.intake.waiting()
        except BaseException:
            # Asked again, it has all of it to do.
            self._resumed.discard(platform)
            raise
        for row in waiting:
            if row.chat.platform != platform:
                continue
            if row.state == "new" and isinstance(row.incoming, MessageSent):
                self._signs.take_away(row.incoming)
            late = row.state == "new" and now - row.received_at > OFFLINE_AFTER
            if late and not isinstance(row.incoming, TimerDue):
                self._begin(row.chat, partial(self._offline, row))
            else:
                self._route(row.id, row.incoming, again=True)

    async def rest(self, platform: str) -> None:
        """Begin nothing more on a platform that is of no use in this run; what is unfinished there goes on at a start
        that has it, and the attempts that failed for want of it do not count."""
        self._resumed.discard(platform)
        await self._settling.rest(platform)
        for turn in await self._queue.leave(platform):
            await self._patiently(platform, partial(self._store.intake.pause, turn))
        await self._patiently(platform, lambda: self.name_resting(platform.__eq__))

    async def name_resting(self, rests: Callable[[str], bool]) -> None:
        """Tell the operator once what waits for each platform of which `rests` says that it is not in use."""
        for platform, count in (await self._store.intake.unfinished()).items():
            if rests(platform):
                self.resting[platform] = count
                log.warning("unfinished on %s: %d, which go on at a start that can use %s", platform, count, platform)

    async def close(self, grace: float = 8.0) -> None:
        """Take in nothing more, and end what runs; unfinished turns go on at the next start."""
        self._open = False
        await self._queue.close(grace)
        await self._settling.close()
        await self._signs.close()
        rest = [*self._routes.values(), *self._loose]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def idle(self) -> None:
        """Wait until everything taken in so far is answered."""
        while (tasks := {*self._loose, *self._routes.values()}) or self._queue.busy:
            if tasks:
                # Not `gather`, which from Python 3.12 on returns at once where all are done: their callbacks, which
                # take them out here, would never be called.
                await asyncio.wait(tasks)
            await self._queue.idle()

    def _route(self, id: int, incoming: Incoming, *, again: bool = False) -> None:
        """Decide about a stored delivery, after the chat's earlier ones: the order of arrival is kept.

        Args:
            again: a former process took it in; it was counted, and is not turned away now.
        """
        self._begin(incoming.chat, lambda: self._in_turn(id, incoming, again))

    def _begin(self, chat: ChatId, work: Callable[[], Awaitable[None]]) -> None:
        before = self._routes.get(chat)

        async def in_order() -> None:
            if before is not None:
                await asyncio.gather(before, return_exceptions=True)
            try:
                await self._patiently(chat, work)
            except Exception:
                log.exception("%s: a delivery could not be handled", chat)
            finally:
                if self._routes.get(chat) is asyncio.current_task():
                    del self._routes[chat]

        self._routes[chat] = asyncio.create_task(in_order(), name=f"route {chat}")

    async def _patiently(self, chat: ChatId | str, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` as soon as the store lets it, and what comes after it in the chat later still."""
        tries = 0
        while True:
            try:
                await work()
                return
            except StoreError as error:
                log.error("%s waits: %s", chat, error)
            await self._clock.sleep(_NOT_NOW[min(tries, len(_NOT_NOW) - 1)])
            tries += 1

    async def _ended(self, id: int, chat: ChatId, state: str) -> None:
        """Write down the end of a delivery that was answered already, however long the store takes."""
        await self._patiently(chat, lambda: self._store.intake.end(id, state))

    async def _regret(self, incoming: Incoming) -> None:
        """Say that a message cannot be stored now; it comes again, and is answered then."""
        if not isinstance(incoming, MessageSent) or not await self._once.first(once_in_chat(incoming.chat, "store")):
            return
        try:
            allowed = await self._access.allowed(incoming)
        except StoreError:
            return
        if allowed:
            reference = secrets.token_hex(3)
            log.error("%s: a message cannot be stored [%s]", incoming.chat, reference, extra={"reference": reference})
            self._tell(incoming, say("store", language_of(incoming.text, incoming.sender.language), id=reference))

    async def _in_turn(self, id: int, incoming: Incoming, again: bool) -> None:
        async with self._starts:
            await self._decide(id, incoming, again)

    async def _decide(self, id: int, incoming: Incoming, again: bool) -> None:
        if isinstance(incoming, MessageSent):
            await self._message(id, incoming, again)
            return
        if not await self._access.allowed(incoming):
            await self._store.intake.end(id, "refused")
            return
        match incoming:
            case TimerDue():
                self._queue.put(incoming.chat, id, incoming.sender.id, lambda _: self._reminders.show(id, incoming))
                return
            case StopPressed():
                await self._stop(incoming)
        await self._store.intake.end(id, "done")

    async def _message(self, id: int, message: MessageSent, again: bool) -> None:
        language = await language_for(self._store, message)
        command = BY_WORD.get(message.command)
        if not await self._access.allowed(message) and not (command is not None and command.open):
            await self._store.intake.end(id, "refused")
            if message.awaited or (not message.group and await self._says("stranger", message, DAY)):
                self._tell(message, say("stranger", language, id=message.sender.id), private=True)
            return
        counted = self._budgets.message if message.command in _ASKS_A_MODEL else self._budgets.command
        if not again and message.command != "stop" and not await counted(payer_of(message)):
            await self._store.intake.end(id, "refused")
            if await self._says("too many", message, MINUTE):
                self._tell(message, say("too_many", language), private=True)
            return
        message = await self._newest.meant(id, message)
        if message.command and not (command is not None and command.queued):
            await self._command(message, language)
            await self._ended(id, message.chat, "done")
            return
        refusal = None if again else await self._refusal(message, language)
        if refusal is not None:
            await self._store.intake.end(id, "refused")
            if refusal and (message.awaited or await self._once.first(once_in_chat(message.chat, refusal))):
                self._tell(message, refusal, private=True)
            return
        waits = self._queue.running(message.chat) is not None or self._queue.waiting(message.chat) > 0
        begun = self._signs.show(message, language) if waits else lambda: None

        async def turn(running: Running) -> None:
            begun()
            await self._turn(id, message, language, running)

        self._queue.put(message.chat, id, message.sender.id, turn)

    async def _refusal(self, message: MessageSent, language: str) -> str | None:
        """Why this message begins no turn, as a sentence, empty when that was said already; None when it begins one."""
        most, person = self._admission, message.sender.id
        if len(message.text) > most.message_chars:
            return say("too_big", language, length=len(message.text), limit=most.message_chars)
        if not message.command and not subject(message).strip() and not enclosed_in(message):
            return say("empty_question", language)
        here = self._queue.running(message.chat)
        elsewhere = self._queue.of(person) - (here is not None and here.person == person)
        if self._queue.waiting(message.chat) >= MOST_IN_CHAT:
            return say("queue_full_chat", language)
        if 0 < most.waiting <= self._queue.waiting(message.chat, person) or 0 < most.turns <= elsewhere:
            return say("queue_full", language)
        payer = payer_of(message)
        spent = await self._budgets.exhausted(payer) if message.command in _ASKS_A_MODEL else None
        if spent is None:
            return None
        # Asked in any case: the answer to a slash command counts as the one time.
        if not await self._once.first(once_spent(spent.whose, spent.until, payer)) and not message.awaited:
            return ""
        wait = how_long(max(1.0, spent.until - self._clock.wall()), language)
        return say(f"spent_{spent.whose}", language, wait=wait)

    async def _says(self, what: str, message: MessageSent, seconds: float) -> bool:
        """Whether a refusal is spoken: once in so many seconds to each person, also across restarts."""
        return await self._once.first(once_per_person(what, message.sender.id, seconds)) or message.awaited

    async def _turn(self, id: int, message: MessageSent, language: str, running: Running) -> None:
        match message.command:
            case "new":
                said = await self._begin_anew(id, message, language)
                await self._conversation.tell(message, said, private=refuses(said, language))
                await self._store.intake.end(id, "done")
            case "retry":
                await self._retry(id, message, language, running)
            case "forget":
                said = await self._forget(message, language)
                await self._conversation.tell(message, said, private=refuses(said, language))
                await self._store.intake.end(id, "done")
            case _:
                await self._conversation.run(id, message, language, lambda: running.ending)

    async def _begin_anew(self, id: int, message: MessageSent, language: str) -> str:
        """Leave what was said behind: in a group what this person asked, or for an admin everything; what to say."""
        everything = not message.group or message.text.strip().lower() == "all"
        if everything and message.group and not await self._access.admin(message.sender):
            return say("admins_only", language)
        await self._summaries.drop(message.chat)
        await self._earlier.begin_anew(message)
        if everything:
            await self._store.history.new(message.chat)
            return say("new", language)
        await self._store.history.new_for(message.chat, message.sender.id, id)
        form = self._surface(message).limits.command_form
        return say("new_own", language, all=form.format(word="new all"))

    async def _forget(self, message: MessageSent, language: str) -> str:
        """Delete everything kept of this chat, once that was asked for twice; what the person is told."""
        if message.group and not await self._access.admin(message.sender):
            return say("admins_only", language)
        form = self._surface(message).limits.command_form
        if message.text.strip().lower() not in _YES:
            turns = await self._store.history.turns(message.chat)
            words = {"command": form.format(word="forget"), "memory": form.format(word="memory")}
            return say("forget_sure", language, turns=turns, **words)
        await self._summaries.drop(message.chat)
        turns = await self._store.history.turns(message.chat)
        await self._store.history.forget(message.chat)
        await self._earlier.begin_anew(message)
        log.info("%s forgot %s: %d turns", message.sender.id, message.chat, turns)
        return say("forgotten", language, turns=turns)

    async def _retry(self, id: int, message: MessageSent, language: str, running: Running) -> None:
        """Ask the last question again; its former answer leaves the history."""
        # What a former process began was allowed then, and has taken the last answer out already.
        if await self._store.turns.record(id) is None:
            last = await self._store.turns.last(message.chat)
            if last is not None and last.person != message.sender.id and not await self._access.admin(message.sender):
                if await self._says(f"not yours {message.chat}", message, REFUSED_AGAIN_AFTER):
                    await self._conversation.tell(message, say("not_yours", language), private=True)
                await self._store.intake.end(id, "refused")
                return
            if last is not None:
                await self._store.turns.open(id, message.chat, message.sender.id)
        replaced = await self._store.turns.replace_last(message.chat, id)
        if replaced is None or not isinstance(asked := replaced.incoming, MessageSent):
            await self._conversation.tell(message, say("retry_nothing", language), private=True)
            await self._store.intake.end(id, "done")
            return
        # A command from outside the thread is answered in it; any other where it was written.
        target = asked.target if message.whole_channel and message.chat.thread else message.target
        again = replace(asked, target=target, delivery=message.delivery, chat=message.chat)
        await self._conversation.run(id, again, await language_for(self._store, again), lambda: running.ending)

    async def _command(self, message: MessageSent, language: str) -> None:
        """Answer a command at once, beside whatever the chat is busy with."""
        private = is_private(message.command)
        if message.command == "stop":
            said = await self._stop(message)
            private = said != "stopped"
            # Where the reply itself says so in its place, nothing else does.
            text = "" if said == "stopped" and not message.awaited else say(said, language)
        else:
            text = await self._answers.to(message, language)
        if refuses(text, language):
            private = True
            text = text if await self._says(f"not yours {message.chat}", message, REFUSED_AGAIN_AFTER) else ""
        if text:
            self._tell(message, text, private=private)

    async def _stop(self, incoming: Incoming) -> str:
        """End the chat's running turn, if the sender may; what came of it, as a key of `bot.sentences`."""
        running = self._queue.running(incoming.chat)
        if running is None:
            return "stopped_nothing"
        if running.person != incoming.sender.id and not await self._access.admin(incoming.sender):
            return "not_yours"
        running.end(Ending.STOPPED)
        return "stopped"

    async def _offline(self, row: InboxRow) -> None:
        """The message waited too long while no process ran: say so once."""
        await self._store.intake.end(row.id, "offline")
        if isinstance(row.incoming, MessageSent) and await self._access.allowed(row.incoming):
            self._tell(row.incoming, say("offline", await language_for(self._store, row.incoming)))

    def _tell(self, message: MessageSent, text: str, *, private: bool = False) -> None:
        """Show a sentence of our own without holding anything up; see `Conversation.tell`."""

        too_many = self._telling[message.chat] >= MOST_TOLD and not message.awaited
        if too_many or len(self._loose) >= MOST_TOLD_OVER_ALL:
            log.info("%s: too many sentences wait there already", message.chat)
            return
        self._telling[message.chat] += 1

        async def tell() -> None:
            try:
                await self._conversation.tell(message, text, private=private)
            except (DeliveryError, SettingsError) as error:
                log.warning("%s: %s", message.chat, error)
            except Exception:
                log.exception("%s: a sentence could not be shown", message.chat)
            finally:
                self._telling[message.chat] -= 1
                if not self._telling[message.chat]:
                    del self._telling[message.chat]

        task = asyncio.create_task(tell(), name=f"tell {message.chat}")
        self._loose.add(task)
        task.add_done_callback(self._loose.discard)
