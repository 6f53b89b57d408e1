"""Load what an attempt at a turn continues from: the chat's history, and the results of earlier attempts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from bot.agent import CallKey, learn_result
from bot.context import Briefings, ChatBook, ChatFacts, ChatOptions, Past, Pinned, user_entry
from bot.contract import File, MessageSent, SurfaceLimits, UserEntry
from bot.model import Models
from bot.policy import Payer, Prices, Quotas
from bot.reply import ReplyStream, files_before
from bot.safety import LinkPolicy, enclosures, tool_entry
from bot.store import FILE_BYTES, Store, StoredTurn
from bot.turn import workings
from bot.turn.attempts import Run
from bot.turn.earlier import EarlierWords
from bot.turn.progress import Progress
from bot.turn.turnoptions import TurnOptions
from tools.base import ToolResult
from tools.registry import ToolRegistry

STARTS_AT_ONCE = 8
"""Turns that are looked up in the store at the same time. When a hundred begin at once, all side by side, the first
request to a model leaves as late as the last; a few at a time, those that came first are answered first."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is looked up before a question is asked."""

    before: StoredTurn
    options: ChatOptions
    past: Past
    facts: Pinned
    payer: Payer
    question: MessageSent
    """With what was written before it."""
    asked: UserEntry
    """The question as the model is told it."""


class Lookup:
    """Looks up what is known before a question is asked; one object for the whole process."""

    def __init__(
        self,
        store: Store,
        models: Models,
        book: ChatBook,
        briefings: Briefings,
        quotas: Quotas,
        earlier: EarlierWords,
    ) -> None:
        self._store = store
        self._models = models
        self._book = book
        self._briefings = briefings
        self._quotas = quotas
        self._earlier = earlier
        self._starts = asyncio.Semaphore(STARTS_AT_ONCE)

    async def look_up(self, run: Run) -> Known:
        """Count the attempt, once, and look up what the answer goes on from.

        Raises:
            StoreError: it cannot be looked up now.
            Unreachable: the platform is not connected now.
        """
        store, question = self._store, run.question
        async with self._starts:
            # Side by side they are one way to the store's threads and back. What is stored of a turn that is opened
            # only now is nothing, whichever comes first.
            _, before, options, past, facts, payer = await asyncio.gather(
                run.count(lambda: store.turns.begin(run.turn, question.chat, question.sender.id)),
                store.turns.load(run.turn),
                self._book.options_of(question.chat),
                self._briefings.load_past(question),
                ChatFacts(store.facts, question).load_pinned(),
                self._quotas.payer_for(question),
            )
        question = await self._earlier.complete(question, options.model or self._models.name)
        return Known(before, options, past, facts, payer, question, user_entry(question, past.quoted_origin))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a turn: what it goes on from, what it has brought, and where that is shown."""

    run: Run
    known: Known
    options: TurnOptions
    policy: LinkPolicy
    reply: ReplyStream
    limits: SurfaceLimits
    made: Progress
    results: dict[CallKey, ToolResult] = field(default_factory=dict)
    """Of the calls that former attempts made."""
    unknown: set[CallKey] = field(default_factory=set)
    """Calls with effects that a former attempt began, and that may have had them."""

    @property
    def unread(self) -> str:
        """The sentence that is the whole answer where the question holds nothing that can be read; else empty."""
        return enclosures.answer_unread(self.known.question, self.run.language)

    def go_on(self, registry: ToolRegistry, prices: Prices) -> None:
        """Take over what former attempts brought, so that nothing is asked or called again."""
        made, before = self.made, self.known.before
        for one in before.passes:
            made.passes.append(one.entry)
            made.model, made.usage = one.model, made.usage + one.usage
            made.dollars += prices.dollars_of(one.model, one.usage) or 0.0
        for record in before.calls:
            key = (record.passnumber, record.call.id)
            if record.result is not None:
                made.dollars += record.result.dollars
                self.results[key] = record.result
                origin = made.passes[record.passnumber - 1].origin
                made.results[key] = tool_entry(record.call, record.result, made.marker, origin)
                made.citations.add(record.result.sources)
                learn_result(self.policy, registry.spec(record.call.name), record.call, record.result)
            elif record.effects:
                self.unknown.add(key)
        for file in files_before(before):
            self.attach(file)

    def show_again(self) -> None:
        """Write what the passes of former attempts said."""
        for entry in self.made.passes:
            if entry.text:
                self.say(entry.text)

    def say(self, text: str) -> None:
        """Write what a model says; the first words of a pass stand apart from what is written already."""
        self._put(text if self.made.current else workings.gap_after(self.made.visible, self.options) + text)

    def write(self, words: str) -> None:
        """Write a sentence of our own, as a paragraph apart."""
        self._put(workings.as_paragraph(self.made.visible, words))

    def _put(self, text: str) -> None:
        self.made.visible.append(text)
        self.reply.append(text)

    def attach(self, file: File) -> None:
        """Post a file after the text, if it can be posted."""
        if len(file.content) > min(self.limits.attachment_bytes, FILE_BYTES):
            self.made.unsent.append((file, "file_too_large"))
        else:
            self.reply.attach(file)
