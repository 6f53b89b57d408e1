"""Load what an answer needs: the stored state of the turn, and the chat's history and settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from bot.context import Briefings, ChatBook, ChatFacts, ChatOptions, Past, Pinned, user_entry, with_spoken
from bot.contract import Enclosure, MessageSent, Picture, UserEntry
from bot.model import Models
from bot.policy import Payer, Quotas, charge
from bot.safety import enclosed_in
from bot.sentences import language_of
from bot.store import Store, StoredTurn
from bot.turn.attachments import Attachments
from bot.turn.run import Run
from bot.turn.thread_context import ThreadContext

STARTS_AT_ONCE = 4
"""Turns that are loaded from the store at the same time. If a hundred loaded in parallel, the first request to a model
would leave as late as the last; a few at a time, the first to come are answered first."""


@dataclass(frozen=True, slots=True)
class Known:
    """Everything that an answer needs, loaded before the model is asked."""

    before: StoredTurn
    options: ChatOptions
    past: Past
    facts: Pinned
    payer: Payer
    question: MessageSent
    """With the messages before it."""
    asked: UserEntry
    """The question as the model reads it."""
    in_place: bool = False
    """It replaces an answer that others have followed since."""
    stands: bool = False
    """The answer is complete and stored; only its voice may be missing."""


@dataclass(eq=False, repr=False, kw_only=True)
class Loading:
    """Loads everything known before a question is asked; one object for the whole process."""

    store: Store
    models: Models
    book: ChatBook
    briefings: Briefings
    quotas: Quotas
    thread_context: ThreadContext
    attachments: Attachments

    def __post_init__(self) -> None:
        self._starts = asyncio.Semaphore(STARTS_AT_ONCE)

    async def take_over(self, run: Run, drop: Callable[[int], Awaitable[None]]) -> None:
        """Open a turn in place of those that it replaces, if not yet done, and `drop` their replies: whoever still
        shows one would post it anew, since its messages are gone.

        Raises:
            StoreError: the store fails now.
        """
        question = run.question
        turns = self.store.turns
        await turns.take_over(run.turn, question.replaces, question.chat, question.sender.id)
        for replaced in await turns.list_replaced(run.turn):
            await drop(replaced)

    async def look_up(self, run: Run) -> Known:
        """Count this process's attempt, and load what an answer to the question needs.

        Raises:
            StoreError: it cannot be loaded now.
            Unreachable: the platform is not connected now.
        """
        store, question = self.store, run.question
        async with self._starts:
            # In parallel they take one round trip to the store's threads. A turn that is only now opened has nothing
            # stored, whichever comes first.
            _, before, options, past, facts, payer = await asyncio.gather(
                run.limits.count(lambda: store.turns.begin(run.turn, question.chat, question.sender.id)),
                store.turns.load(run.turn),
                self.book.options_of(question.chat),
                self.briefings.load_past(question, run.turn),
                ChatFacts(store.facts, question).load_pinned(),
                self.quotas.payer_for(question),
            )
        # A turn that has ended keeps its pages, but not its passes.
        if before.pages and not before.passes and await store.turns.load_shown(run.turn) is not None:
            return Known(before, options, past, facts, payer, question, user_entry(question), stands=True)
        model = options.model or self.models.name
        question = await self.thread_context.complete(question, model)
        replaced = await store.turns.load_replaced(run.turn) if question.replaces else None
        if replaced is not None and replaced.question.text != question.text and (replaced.later or before.passes):
            question = replace(question, before_change=replaced.question.text)
        pictures: tuple[Picture, ...] = ()
        # If the turn has ended meanwhile, or is given up, nothing more is fetched or paid.
        if run.limits.attempts and not run.limits.exceeded:
            with charge(payer):
                # A token is four characters of English, and less than two of Chinese: about a quarter of the window.
                question, pictures = await self.attachments.bring(question, self.briefings.window_of(model) // 2)
            await self._keep_enclosed(run, question)
        spoken = with_spoken(question)
        if not question.text.strip():
            run.language = language_of(spoken.text, run.language)
        question = spoken
        asked = user_entry(question, past.quoted_origin, pictures)
        in_place = bool(question.replaces) and (replaced is None or replaced.later)
        return Known(before, options, past, facts, payer, question, asked, in_place)

    async def _keep_enclosed(self, run: Run, question: MessageSent) -> None:
        """Store the state of the attachments: a transcript is not paid for twice, and the reply's head stays the
        same."""
        before, asked = run.question, question.quoted
        kept = replace(before, enclosed=tuple(map(_to_keep, question.enclosed)))
        if before.quoted is not None and asked is not None:
            kept = replace(kept, quoted=replace(before.quoted, enclosed=tuple(map(_to_keep, asked.enclosed))))
        if _states(kept) != _states(before):
            run.question = kept
            await self.store.intake.keep_enclosed(run.turn, kept)


def _to_keep(one: Enclosure) -> Enclosure:
    """Return the attachment as stored with the question: without a file's text, which is in the file."""
    return one if one.heard else replace(one, text="")


def _states(question: MessageSent) -> list[tuple[int, str, str]]:
    return [(one.stored, one.text, one.problem) for one in enclosed_in(question)]
