"""Load what an answer needs: what is stored of the turn, and what its chat says."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from bot.context import Briefings, ChatBook, ChatFacts, ChatOptions, Past, Pinned, user_entry, with_spoken
from bot.contract import Enclosure, MessageSent, Picture, UserEntry
from bot.model import Models
from bot.policy import Payer, Quotas, charge
from bot.safety import enclosed_in
from bot.sentences import language_of
from bot.store import Store, StoredTurn
from bot.turn.attachments import AttachmentReader
from bot.turn.run import Run
from bot.turn.thread_context import ThreadContext

STARTS_AT_ONCE = 4
"""Turns that are looked up in the store at the same time. When a hundred begin at once, all side by side, the first
request to a model leaves as late as the last; a few at a time, those that came first are answered first."""


@dataclass(frozen=True, slots=True)
class Known:
    """Everything that an answer needs, loaded before the model is asked."""

    before: StoredTurn
    options: ChatOptions
    past: Past
    facts: Pinned
    payer: Payer
    question: MessageSent
    """With what was written before it."""
    asked: UserEntry
    """The question as the model is told it."""
    in_place: bool = False
    """It takes the place of an answer that others have followed since."""
    stands: bool = False
    """The answer is complete and stored, and only its voice may be missing."""


@dataclass(eq=False, repr=False, kw_only=True)
class Loading:
    """Looks up what is known before a question is asked; one object for the whole process."""

    store: Store
    models: Models
    book: ChatBook
    briefings: Briefings
    quotas: Quotas
    earlier: ThreadContext
    enclosed: AttachmentReader

    def __post_init__(self) -> None:
        self._starts = asyncio.Semaphore(STARTS_AT_ONCE)

    async def take_over(self, run: Run) -> int:
        """Open a turn in the place of the one that it replaces, unless that is done, and return that.

        Raises:
            StoreError: the store does not work now.
        """
        question = run.question
        return await self.store.turns.take_over(run.turn, question.replaces, question.chat, question.sender.id)

    async def look_up(self, run: Run) -> Known:
        """Count the attempt of this process, and load what an answer to the question needs.

        Raises:
            StoreError: it cannot be looked up now.
            Unreachable: the platform is not connected now.
        """
        store, question = self.store, run.question
        async with self._starts:
            # Side by side they are one way to the store's threads and back. What is stored of a turn that is opened
            # only now is nothing, whichever comes first.
            _, before, options, past, facts, payer = await asyncio.gather(
                run.limits.count(lambda: store.turns.begin(run.turn, question.chat, question.sender.id)),
                store.turns.load(run.turn),
                self.book.options_of(question.chat),
                self.briefings.load_past(question, run.turn),
                ChatFacts(store.facts, question).load_pinned(),
                self.quotas.payer_for(question),
            )
        # Of a turn that has ended, its pages are kept and its passes are not.
        if before.pages and not before.passes and await store.turns.load_shown(run.turn) is not None:
            return Known(before, options, past, facts, payer, question, user_entry(question), stands=True)
        model = options.model or self.models.name
        question = await self.earlier.complete(question, model)
        replaced = await store.turns.load_replaced(run.turn) if question.replaces else None
        if replaced is not None and replaced.question.text != question.text and (replaced.later or before.passes):
            question = replace(question, before_change=replaced.question.text)
        pictures: tuple[Picture, ...] = ()
        # Where the turn has ended meanwhile, or is given up, nothing is fetched or paid any more.
        if run.limits.attempts and not run.limits.exceeded:
            with charge(payer):
                # A token is four characters of English, and less than two of Chinese: about a quarter of the window.
                question, pictures = await self.enclosed.bring(question, self.briefings.window_of(model) // 2)
            await self._keep_enclosed(run, question)
        spoken = with_spoken(question)
        if not question.text.strip():
            run.language = language_of(spoken.text, run.language)
        question = spoken
        asked = user_entry(question, past.quoted_origin, pictures)
        in_place = bool(question.replaces) and (replaced is None or replaced.later)
        return Known(before, options, past, facts, payer, question, asked, in_place)

    async def _keep_enclosed(self, run: Run, question: MessageSent) -> None:
        """Store what became of what is enclosed: what was heard is not paid for twice, and the reply's head stays."""
        before, asked = run.question, question.quoted
        kept = replace(before, enclosed=tuple(map(_to_keep, question.enclosed)))
        if before.quoted is not None and asked is not None:
            kept = replace(kept, quoted=replace(before.quoted, enclosed=tuple(map(_to_keep, asked.enclosed))))
        if _states(kept) != _states(before):
            run.question = kept
            await self.store.intake.keep_enclosed(run.turn, kept)


def _to_keep(one: Enclosure) -> Enclosure:
    """What is stored of it with the question: what a file says is in the file."""
    return one if one.heard else replace(one, text="")


def _states(question: MessageSent) -> list[tuple[int, str, str]]:
    return [(one.stored, one.text, one.problem) for one in enclosed_in(question)]
